"""Output of verbs: plain text through rich, or one JSON object."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from goodarm.arguments import arguments_as_options

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn

BAD_INPUT = 2
INTERRUPTED = 130
"""Exit codes; 130 is what shells expect after Ctrl-C."""


def console(*, stderr: bool = False) -> Console:
    """A console without markup: names of policies and files are printed literally."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, highlight=False, emoji=False)


def say_written(paths: Iterable[Path], *, stderr: bool) -> None:
    """Name the files that were written; on stderr if stdout has other output."""
    for path in paths:
        typer.echo(f"written: {path}", err=stderr)


@contextmanager
def progress_bar(*columns: ProgressColumn) -> Iterator[Progress]:
    """A progress bar on stderr, in a terminal only; it disappears at the end."""
    from rich.progress import Progress

    screen = console(stderr=True)
    with Progress(*columns, console=screen, disable=not screen.is_terminal, transient=True) as bars:
        yield bars


def in_options(message: str) -> str:
    """Translate Python arguments in a message, such as `threshold=0.05`, to command-line options.

    >>> in_options("Give one, for example `threshold=0.05`, or `from_table`.")
    'Give one, for example --threshold 0.05, or --from-table.'
    >>> in_options("Give `objective='none'` and `calibrate=True`.")
    'Give --objective none and --calibrate.'
    >>> in_options("Give `bars='correct >= 0.9, slow <= 0.05'`.")
    'Give --bars "correct >= 0.9, slow <= 0.05".'
    """

    def option(match: re.Match[str]) -> str:
        name = f"--{match[1].replace('_', '-')}"
        value = match[2] or ""
        if value[:1] in ("'", '"') and value.endswith(value[:1]):
            value = value[1:-1]
        if re.search(r"[ <>']", value):  # the shell would split it
            value = f'"{value}"'
        return name if value in ("", "True") else f"{name} {value}"

    return arguments_as_options(re.sub(r"`([a-z_]+)(?:=([^`]*))?`", option, message))


def print_json(value: Any) -> None:
    """One JSON object on stdout."""
    from goodarm.report.numbers import json_text

    typer.echo(json_text(value))


def on_one_line(text: str) -> str:
    """Text from elsewhere as one line of output, with line breaks and control characters escaped.

    >>> on_one_line("tea \u2615"), on_one_line("a\\n2-beef"), on_one_line("\\x1b[2J")
    ('tea ☕', 'a\\\\n2-beef', '\\\\x1b[2J')
    """
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
