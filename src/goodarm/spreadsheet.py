"""Values of CSV and Excel files, safe to open in a spreadsheet."""

from __future__ import annotations

from typing import Any

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters that make a spreadsheet run a text as a formula."""


def cell(value: Any) -> Any:
    """Put a quote before text that a spreadsheet would run as a formula. Numbers stay as they are.

    >>> cell("=1+1"), cell("calm"), cell(-0.5), cell(None)
    ("'=1+1", 'calm', -0.5, None)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
