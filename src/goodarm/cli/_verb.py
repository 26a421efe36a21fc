"""Common style of help texts: flags without types, and examples at the end."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from typer import Typer
from typer.core import TyperCommand, TyperGroup

STORE_VARIABLE = "GOODARM_STORE"
"""The environment variable with the store's address, which may contain a password. Command lines are public."""


class Verb(TyperCommand):
    """A command whose help shows flags without a value type. A store as first argument may be left out."""

    def get_params(self, ctx: Any) -> list[Any]:
        return plain_flags(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the environment's store if the first argument is not a store's address.

        Arguments are matched by position, so the campaign's name would otherwise count as the store.
        """
        named = os.environ.get(STORE_VARIABLE)
        first = next((each.name for each in self.params if each.param_type_name == "argument"), None)
        if named and first == "store":
            given = self.make_parser(ctx).parse_args(list(args))[0].get("store")
            if not (isinstance(given, str) and _is_address(given)):
                args = [named, *args]
        return super().parse_args(ctx, args)


def _is_address(text: str) -> bool:
    """Whether a text looks like a store's address.

    >>> [_is_address(text) for text in ("sqlite:///a.db", "a.db", "file:/run/secrets/store", "prompts")]
    [True, True, True, False]
    """
    return "://" in text or text.startswith(("file:", "memory")) or text.endswith((".db", ".sqlite"))


class Verbs(TyperGroup):
    """A group of commands in the same style."""

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
    """The end of a verb's help: the EXAMPLES in its file, one per line."""
    listed: tuple[str, ...] = getattr(sys.modules[verb.__module__], "EXAMPLES", ())
    return _written(tuple(line for line in listed if line.startswith(f"goodarm {verb.__name__}")))


def _written(lines: tuple[str, ...]) -> str | None:
    return "\n\n".join(["Examples:", *lines]) if lines else None
