"""Plain-text tables of verdicts that fit a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

WIDTH = 80
"""Assumed width of a terminal."""
SHORTEST = 8
"""Minimum number of columns left to the names in the first column."""
GAP = "  "


def plain_table(headings: Sequence[str], rows: Sequence[Sequence[str]], most: int = 60, width: int = WIDTH) -> str:
    """A table with a left-aligned first column of names and right-aligned other columns.

    Names that do not fit are truncated. Rows after the first `most` are counted instead of shown.

    >>> print(plain_table(["arm", "samples"], [["calm", "12"], ["loud", "7"]]))
    arm   samples
    calm       12
    loud        7
    """
    shown = [headings, *rows[:most]]
    others = [max(columns(row[i]) for row in shown) for i in range(1, len(headings))]
    room = max(width - sum(others) - len(GAP) * len(others), SHORTEST)
    first = min(max(columns(row[0]) for row in shown), room)
    lines = [
        GAP.join([_left(row[0], first), *(_right(cell, size) for cell, size in zip(row[1:], others, strict=True))])
        for row in shown
    ]
    if len(rows) > most:
        lines.append(f"and {len(rows) - most:,} more")
    return "\n".join(line.rstrip() for line in lines)


def columns(text: str) -> int:
    """Width of the text in a terminal: two columns for wide characters, none for combining ones."""
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _left(text: str, size: int) -> str:
    clean = "".join(character if character.isprintable() else "�" for character in text)
    if columns(clean) > size:
        while columns(clean) > size - 1:
            clean = clean[:-1]
        clean += "…"
    return clean + " " * (size - columns(clean))


def _right(text: str, size: int) -> str:
    return " " * (size - columns(text)) + text
