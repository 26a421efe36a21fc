"""Values that JSON can hold. NaN and infinity, which it can't, become null."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def jsonable(value: Any) -> Any:
    """A value that JSON can hold, also within lists and mappings.

    >>> jsonable(float("nan")), jsonable(0.5), jsonable({"ends": (0.25, math.inf)})
    (None, 0.5, {'ends': [0.25, None]})
    """
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [jsonable(each) for each in value]
    return {name: jsonable(each) for name, each in value.items()} if isinstance(value, Mapping) else value


def unknown_as_nan(value: float | None) -> float:
    """The inverse for a number that may be unknown."""
    return math.nan if value is None else value
