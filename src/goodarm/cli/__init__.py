"""The command line: one file per verb. A verb parses, calls and prints; it computes nothing.

To add a verb, write its function in a new file and add it to VERBS. These files import nothing heavy at the top, so
`goodarm --help` is fast.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer

from goodarm.cli._show import BAD_INPUT, INTERRUPTED, in_options
from goodarm.cli._verb import Verb, Verbs, add_group, examples
from goodarm.cli.backup import backup, restore
from goodarm.cli.campaign import EXAMPLES as CAMPAIGNS
from goodarm.cli.campaign import campaign
from goodarm.cli.compare import compare
from goodarm.cli.data import EXAMPLES as DATASETS
from goodarm.cli.data import data
from goodarm.cli.environments import environments
from goodarm.cli.gate import gate
from goodarm.cli.init import init
from goodarm.cli.judge import judge
from goodarm.cli.learn import learn
from goodarm.cli.plan import plan
from goodarm.cli.policies import policies
from goodarm.cli.reproduce import reproduce
from goodarm.cli.serve import serve
from goodarm.cli.token import EXAMPLES as TOKENS
from goodarm.cli.token import token
from goodarm.errors import GoodarmError

VERBS: tuple[Callable[..., None], ...] = (
    init,
    judge,
    gate,
    compare,
    learn,
    plan,
    reproduce,
    policies,
    environments,
    serve,
    backup,
    restore,
)


def _say_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, file: Any = None, line: Any = None
) -> None:
    """A warning as one line on stderr."""
    typer.echo(f"goodarm: warning: {in_options(str(message))}", err=True)


class _Verbs(Verbs):
    """Turn goodarm's errors into one message and exit code 2, and Ctrl-C into exit code 130."""

    def invoke(self, ctx: Any) -> Any:
        warnings.showwarning = _say_warning
        try:
            return super().invoke(ctx)
        except GoodarmError as error:
            typer.echo(f"goodarm: {in_options(str(error))}", err=True)
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            typer.echo("goodarm: interrupted.", err=True)
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    name="goodarm",
    cls=_Verbs,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from goodarm.version import __version__

        typer.echo(f"goodarm {__version__}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")]


@app.callback()
def _top(version: Version = False) -> None:
    """Which of my many options clear the bar, with the fewest samples, and how sure am I?"""


for verb in VERBS:
    app.command(cls=Verb, epilog=examples(verb), no_args_is_help=verb in (judge, compare, learn, plan))(verb)
add_group(app, "data", data, DATASETS)
add_group(app, "campaign", campaign, CAMPAIGNS)
add_group(app, "token", token, TOKENS)


def main() -> None:
    """The entry point of the command `goodarm`."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # terminals without Greek letters show ? instead of a traceback
            stream.reconfigure(errors="replace")
    app()
