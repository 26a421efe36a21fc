"""What every verb's help has in common: flags shown as flags, and examples at the end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from typer.core import TyperCommand


class Verb(TyperCommand):
    """A command whose help shows a flag without the type of a value that it does not take."""

    def get_params(self, ctx: Any) -> list[Any]:
        params = super().get_params(ctx)
        for each in params:
            if getattr(each, "is_flag", False) and each.metavar is None:
                each.metavar = " "
        return list(params)


def examples(verb: Callable[..., Any]) -> str | None:
    """The end of a verb's help: the EXAMPLES of its file, one per line."""
    lines = getattr(sys.modules[verb.__module__], "EXAMPLES", ())
    return "\n\n".join(["Examples:", *lines]) if lines else None
