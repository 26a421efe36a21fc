"""Checks of plain arguments, before arithmetic trips over them: numbers are numbers, whole numbers are whole."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from goodarm.errors import InvalidValue


def check_real(**numbers: Any) -> None:
    """Refuse what is no number.

    >>> check_real(threshold="high")
    Traceback (most recent call last):
        ...
    goodarm.errors.InvalidValue: threshold must be a number; got 'high'.
    """
    for name, value in numbers.items():
        if not isinstance(value, Real):
            raise InvalidValue(f"{name} must be a number; got {shown(value)}.")


def check_whole(**numbers: Any) -> None:
    """Refuse what is no whole number.

    >>> check_whole(runs=2.5)
    Traceback (most recent call last):
        ...
    goodarm.errors.InvalidValue: runs must be a whole number; got 2.5.
    >>> check_whole(horizon=1e5)
    Traceback (most recent call last):
        ...
    goodarm.errors.InvalidValue: horizon must be a whole number; got 100000.0. Write 100_000.
    """
    for name, value in numbers.items():
        if not isinstance(value, Integral):
            written = f" Write {int(value):_}." if isinstance(value, float) and value.is_integer() else ""
            raise InvalidValue(f"{name} must be a whole number; got {shown(value)}.{written}")


def shown(value: object) -> str:
    """A value in a message, cut short."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
