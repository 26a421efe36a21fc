"""Numbers from callers: Python's and numpy's count, truth values, texts and arrays do not."""

from __future__ import annotations

import math
from typing import Any

from goodarm.errors import InvalidValue


def number(value: Any) -> float | None:
    """The number as a float, infinite if it is too large for one; None for anything that is no number.

    >>> number(1), number(10**400), number(True), number("1")
    (1.0, inf, None, None)
    """
    if type(value) is float:
        return value
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    from_numpy = kind in ("f", "i", "u") and not getattr(value, "ndim", 1)
    if isinstance(value, bool) or not (isinstance(value, int | float) or from_numpy):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def whole(value: Any) -> int | None:
    """The number if it is a whole one, Python's or numpy's; None for anything else.

    >>> whole(3), whole(3.0), whole(True)
    (3, None, None)
    """
    if getattr(getattr(value, "dtype", None), "kind", "") in ("i", "u") and not getattr(value, "ndim", 1):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def checked_number(what: str, value: Any) -> float:
    """The number as a float, or a refusal."""
    found = number(value)
    if found is None:
        raise InvalidValue(f"{what} must be a number; got {value!r}.")
    return found


def check_whole(what: str, value: Any, least: int, most: int | None = None) -> None:
    """Refuse what is not a whole number in its range."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        upto = "" if most is None else f" and at most {most:,}"
        raise InvalidValue(f"{what} must be a whole number of at least {least}{upto}; got {value!r}.")
