"""The interface of every source, and the sums that it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from goodarm.errors import UnreadableTable
from goodarm.judgement.log_columns import LogColumns
from goodarm.judgement.options import LogOptions

Floats = NDArray[np.float64]
Progress = Callable[[float], None]
"""Called with the share of the log that has been read, from 0 to 1."""

NULLISH = ("", "null", "na", "n/a", "nan", "none", "nil", "\\n")
"""Texts that mean a missing reward, in files without types."""
WORDS = {"true": 1, "false": 0, "yes": 1, "no": 0}
"""Words that mean a reward, in files without types."""

LATEST = 1e300
"""Largest absolute value of a time. Anything beyond is NaN or infinite."""
LATEST_SECONDS = 1e11
"""Largest Unix time in seconds that is plausible, in the year 5138. In milliseconds it lies in March 1973."""
FINER = ((1e14, "milliseconds", 1_000), (1e17, "microseconds", 1_000_000), (LATEST, "nanoseconds", 1_000_000_000))
"""Largest plausible Unix time in finer units, their names, and their number per second."""
YEAR = 31_556_952.0
"""Seconds of a mean year."""
FITS = 1.0 - 1e-9
"""Minimum of a propensity times the cap, with a tolerance for rounding."""


def check_seconds(column: str, low: float | None, high: float | None) -> None:
    """Refuse numbers that can't be Unix times in seconds: those in finer units, and dates like 20261031.

    low, high : the smallest and the largest number of the column, None if it has none
    """
    if low is None or high is None:
        return
    if _like_date(low) and _like_date(high):
        raise UnreadableTable(
            f"the column {column!r} holds numbers such as {int(low)}, which look like dates. Numbers are read as "
            "Unix seconds. Write the dates as 2026-10-31."
        )
    far = high if abs(high) >= abs(low) else low
    if abs(far) <= LATEST_SECONDS:
        return
    unit, many = next((name, many) for largest, name, many in FINER if abs(far) < largest)
    raise UnreadableTable(
        f"the column {column!r} holds the number {far:.0f}. Numbers are read as Unix seconds, and this one would be in "
        f"the year {1970.0 + far / YEAR:.0f}. If these are {unit}, divide them by {many:,}, or write them as times "
        "such as 2026-10-31 14:00."
    )


def unreadable_time(column: str, value: object) -> UnreadableTable:
    """The error about a column of times whose values can't be read."""
    return UnreadableTable(
        f"the column {column!r} holds neither times nor numbers, so the time of each row is unknown. Its first value "
        f"is {str(value)[:60]!r}. Write times as 2026-10-31 14:00, or as Unix seconds."
    )


def _like_date(number: float) -> bool:
    """Whether a number looks like a date.

    >>> _like_date(20261031.0), _like_date(20261099.0), _like_date(1772323200.0)
    (True, False, False)
    """
    year, rest = divmod(number, 10_000.0)
    month, day = divmod(rest, 100.0)
    return 1900.0 <= year <= 2100.0 and 1.0 <= month <= 12.0 and 1.0 <= day <= 31.0 and day.is_integer()


def silent(share: float) -> None:
    """Ignore the progress."""


@dataclass(frozen=True)
class Sums:
    """One entry per segment and arm.

    segment  : the values of the columns `by`, as text
    arm      : its name as text, None for rows without an arm
    rows     : rows of the log
    pulls    : rewards, one per row or per unit
    missing  : rows whose reward is NULL
    unreadable : rows whose reward is a text that is not a number
    total    : sum of the rewards, on the rule's scale: bounded rewards as (x - LOW)/(HIGH - LOW), subtracted from each
               reward before it is added, since a sum of large numbers loses the digits that matter
    outside  : whether any reward is out of the declared range. Computing a flag takes a third of the time of minimum
               and maximum
    squares  : sum of the squares, on the scale of `total`; only for Gaussian rewards and comparisons by squares
    graded   : whether any reward lies strictly between the smallest and the largest possible; only if this determines
               the rule
    logs     : sums of log(1 + l_j (x - xi)) for each bet of `LogOptions.bets`, shape (K, J); only by sums
    smallest, largest : smallest and largest reward; only for rewards without a range
    weight   : sum of the weights, of which `total` is the weighted sum; each weight lies in [0, 1]
    capped, improper : rows whose weight was cut, or whose propensity is not a probability; only with propensities
    pending  : units whose window is still open; they count only in `rows`
    unnamed  : rows without a unit; they count only in `rows`
    timeless : rows whose time is missing or infinite; only with a window, and then refused
    over     : whether any unit is larger than `unit_limit`
    around   : rows of the arm's segment, including those without an arm or a reward; only with propensities
    first    : time of its first row, in seconds or the column's own unit; only where a time is known
    """

    segment: tuple[NDArray[np.object_], ...]
    arm: NDArray[np.object_]
    rows: Floats
    pulls: Floats
    missing: Floats
    unreadable: Floats
    total: Floats
    outside: NDArray[np.bool_]
    squares: Floats | None = None
    smallest: Floats | None = None
    largest: Floats | None = None
    weight: Floats | None = None
    capped: Floats | None = None
    improper: Floats | None = None
    first: Floats | None = None
    pending: Floats | None = None
    unnamed: Floats | None = None
    timeless: Floats | None = None
    over: Floats | None = None
    logs: Floats | None = None
    around: Floats | None = None
    graded: Floats | None = None


class Stray(NamedTuple):
    """Rewards that can't be judged: their number, and the first one."""

    rows: int
    arm: str | None
    value: Any


class Batch(NamedTuple):
    """Consecutive rewards of a log in order."""

    arm: NDArray[np.int64]
    reward: Floats
    at: NDArray[Any]


Cell = tuple[str | None, str | None, float | None, Any, float | None]
"""Arm, case, reward, place in the order of the draws, score."""


class LogSource(Protocol):
    """A log that can sum itself up."""

    title: str

    def names(self) -> list[str]:
        """The log's columns, found without reading its rows."""

    def times(self) -> list[str]:
        """The columns that hold times."""

    def sums(self, columns: LogColumns, options: LogOptions, progress: Progress) -> Sums:
        """Rows, rewards and their sums per segment and arm."""

    def stray(self, columns: LogColumns, options: LogOptions) -> Stray:
        """Rewards that are outside the declared range, or are not numbers."""

    def rows_before(self, columns: LogColumns, options: LogOptions, moment: float) -> int:
        """Number of rows before a time, in the unit of `Sums.first`."""

    def distinct(self, columns: LogColumns, options: LogOptions, column: str) -> int:
        """Number of distinct values of a column within segments and arms, added up; may be an estimate."""

    def cells(self, columns: LogColumns, options: LogOptions, drawn: str | None, score: str | None) -> list[Cell]:
        """Every row of a fixed test set; `drawn` and `score` are columns."""

    def in_order(self, columns: LogColumns, options: LogOptions, sums: Sums, progress: Progress) -> Iterator[Batch]:
        """The rewards in the order of a column; an arm is its place in `sums`."""
