"""For the site: examples in docstrings become code blocks, and aligned lists stay aligned."""

from __future__ import annotations

from typing import Any

import griffe


class FencedDoctests(griffe.Extension):
    """Wrap what doctest would run, and its output, in a code fence."""

    def on_instance(self, *, obj: Any, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """A block is what starts with >>> and what follows it up to an empty line; so is a list of `name : meaning`."""
    lines: list[str] = []
    for block in text.split("\n\n"):
        first = block.lstrip().splitlines()[0] if block.strip() else ""
        kind = "pycon" if first.startswith(">>>") else "text" if " : " in first else ""
        lines.append(f"```{kind}\n{block}\n```" if kind else block)
    return "\n\n".join(lines)
