"""`goodarm backup` and `goodarm restore`: a whole store as one file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goodarm.cli._options import Json
from goodarm.cli._show import print_json
from goodarm.cli._verb import STORE_VARIABLE
from goodarm.cli.serve import read_store

if TYPE_CHECKING:
    from goodarm.service.backup import Copied

EXAMPLES = (
    "goodarm backup sqlite:///goodarm.db goodarm.backup",
    "goodarm backup postgresql://localhost/goodarm goodarm.backup",
    "goodarm restore goodarm.backup sqlite:///other.db",
    "goodarm restore goodarm.backup postgresql://localhost/other",
)

StoreArgument = Annotated[
    str,
    typer.Argument(
        metavar="STORE",
        envvar=STORE_VARIABLE,
        callback=read_store,
        help="sqlite:///FILE or postgresql://…; file:PATH is a file that contains the address.",
    ),
]
BackupFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="The backup: one file, including all secrets of the store.")
]


def backup(store: StoreArgument, file: BackupFile, json: Json = False) -> None:
    """Copy a store to a file while servers use it: journals, tokens and webhooks."""
    from goodarm.service.backup import backup as copy

    _say("written", file, copy(store, file), json)


def restore(file: BackupFile, store: StoreArgument, json: Json = False) -> None:
    """Copy a backup into an empty store, of the same kind or another."""
    from goodarm.service.backup import restore as copy

    _say("restored", file, copy(file, store), json)


def _say(what: str, file: Path, copied: Copied, json: bool) -> None:
    if json:
        print_json({"file": str(file), **copied._asdict()})
        return
    from goodarm.report.numbers import counted

    counts = ", ".join(
        counted(count, "entry" if name == "entries" else name.removesuffix("s"), name)
        for name, count in copied._asdict().items()
    )
    typer.echo(f"{what}: {file} ({counts})", err=True)
