"""Format numbers for people and for JSON."""

from __future__ import annotations

import json
import math
from typing import Any

from goodarm.wire import jsonable

NOTHING = "-"
"""Shown for a missing number, such as the mean of no runs."""

_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def short(value: float, digits: int = 4) -> str:
    """A number in a few characters: `digits` figures, then k, M or G for a thousand, a million, a billion.

    >>> short(1993521.0), short(-412.0), short(0.0), short(12345.0, digits=2), short(999999.0), short(0.04217)
    ('1.994M', '-412', '0', '12k', '1.000M', '0.04217')
    """
    if not math.isfinite(value):
        return NOTHING
    rounded = float(f"{value:.{digits}g}")
    for unit, letter in _UNITS:
        if abs(rounded) >= unit:
            scaled = rounded / unit
            decimals = max(0, digits - 1 - math.floor(math.log10(abs(scaled))))
            return f"{scaled:.{decimals}f}{letter}"
    return f"{int(rounded)}" if rounded.is_integer() else f"{rounded:.{digits}g}"


def count(value: float) -> str:
    """A number of rounds, rounded to whole ones.

    >>> count(10299.7), count(float("nan"))
    ('10,300', '-')
    """
    return f"{value:,.0f}" if math.isfinite(value) else NOTHING


def counted(number: int, word: str, several: str | None = None) -> str:
    """A number of things, singular or plural.

    >>> counted(1, "run"), counted(2000, "run"), counted(3, "policy", "policies")
    ('1 run', '2,000 runs', '3 policies')
    """
    return f"{number:,} {word if number == 1 else several or word + 's'}"


def percent(value: float) -> str:
    """A share.

    >>> percent(0.98765), percent(float("nan"))
    ('98.8%', '-')
    """
    return f"{value:.1%}" if math.isfinite(value) else NOTHING


def plain(value: float) -> str:
    """A mean of whole numbers, without needless decimals.

    >>> plain(5.0), plain(4.87)
    ('5', '4.9')
    """
    return f"{value:.0f}" if value == round(value) else f"{value:.1f}"


def json_text(value: Any) -> str:
    """Valid JSON for any numbers: NaN and infinities become null.

    >>> print(json_text({"mean": float("nan"), "runs": 0}))
    {
      "mean": null,
      "runs": 0
    }
    """
    return json.dumps(jsonable(value), indent=2, allow_nan=False)
