"""What every verb prints with: plain text through rich, or one JSON object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

BAD_INPUT = 2
INTERRUPTED = 130
"""Exit codes; 130 is what shells expect after Ctrl-C."""


def console(*, stderr: bool = False) -> Console:
    """A console that takes every text literally: names of policies and files are no markup."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, highlight=False, emoji=False)


def print_json(value: Any) -> None:
    """One JSON object on stdout."""
    from goodarm.report.numbers import json_text

    typer.echo(json_text(value))
