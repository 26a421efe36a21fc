"""Common style of help texts: flags without types, and examples at the end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from typer import Typer
from typer.core import TyperCommand, TyperGroup


class Verb(TyperCommand):
    """A command whose help shows flags without a value type."""

    def get_params(self, ctx: Any) -> list[Any]:
        return plain_flags(super().get_params(ctx))


class Verbs(TyperGroup):
    """The same for a group of commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        return plain_flags(super().get_params(ctx))


def plain_flags(params: list[Any]) -> list[Any]:
    for each in params:
        if getattr(each, "is_flag", False) and each.metavar is None:
            each.metavar = " "
    return list(params)


def add_group(app: Typer, name: str, group: Typer, lines: tuple[str, ...]) -> None:
    """A group of verbs under a name, with the same help style, and examples."""
    for each in group.registered_commands:
        each.cls = Verb
    app.add_typer(group, name=name, cls=Verbs, epilog=_written(lines))


def examples(verb: Callable[..., Any]) -> str | None:
    """The end of a verb's help: its EXAMPLES in its file, one per line."""
    listed: tuple[str, ...] = getattr(sys.modules[verb.__module__], "EXAMPLES", ())
    return _written(tuple(line for line in listed if line.startswith(f"goodarm {verb.__name__}")))


def _written(lines: tuple[str, ...]) -> str | None:
    return "\n\n".join(["Examples:", *lines]) if lines else None
