"""Units in campaigns: all rewards of one person, session or machine count as one.

`Units` gives each unit one ticket, whose key is the unit's id: the unit gets the same arm however often it comes back,
and from whichever process. Its rows are summed up to one reward, which is told when the unit is closed. Until then the
ticket is pending and counts at its worst, so that nobody gains by closing some units before others.

Certified: units are independent, and each has one reward in the range of the campaign's rewards, so a campaign of units
is a campaign of tickets (docs/campaign.md). How the rows of one unit depend on each other does not matter. What matters
is that a unit is closed for a reason that does not depend on its rewards: after a window, or when its session ends.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from goodarm.arguments import number, shown
from goodarm.campaign.rows import Told
from goodarm.campaign.terms import read_duration
from goodarm.errors import InvalidValue, Refused, UnknownName
from goodarm.problem import Bounded

if TYPE_CHECKING:
    from goodarm.campaign.campaign import Campaign
    from goodarm.campaign.tickets import Ticket

PER_UNIT = ("mean", "any", "sum", "ratio")
PREFIX = "unit:"
"""Begins the keys of tickets that belong to units."""
Row = tuple[float, float]
"""A reward and its denominator."""


def unit_reward(rows: Iterable[Row], per_unit: str, threshold: float = 0.0, unit_limit: float = math.inf) -> float:
    """One reward from all rows of a unit; 0 for a unit without rows.

    mean  : mean of the rewards
    any   : 1 if any reward is above 0
    sum   : sum of the rewards, which must lie in the range of the campaign's rewards
    ratio : xi + sum (x - xi d)/D, for rewards 0 <= x <= d and at most D = `unit_limit` in the denominators d of a unit.
            It lies in [0, 1], since sum x lies between 0 and sum d <= D, and its mean reaches the threshold xi exactly
            if E sum x >= xi E sum d: the bar is about all rewards over all denominators (without them, over all rows)

    >>> rows = [(1.0, 1.0), (0.0, 1.0), (1.0, 1.0), (1.0, 1.0)]
    >>> [unit_reward(rows, per_unit, 0.5, 10) for per_unit in ("mean", "any", "sum", "ratio")]
    [0.75, 1.0, 3.0, 0.6]
    """
    found = list(rows)
    total = math.fsum(reward for reward, _ in found)
    if per_unit == "mean":
        return total / len(found) if found else 0.0
    if per_unit == "any":
        return float(any(reward > 0.0 for reward, _ in found))
    if per_unit == "sum":
        return total
    below = threshold * math.fsum(size for _, size in found)
    return min(max(threshold + (total - below) / unit_limit, 0.0), 1.0)


class Units:
    """One reward per unit for a campaign, in a store or at a server.

    per_unit   : "mean", "any", "sum" or "ratio", as in `judge`; see `unit_reward`
    window     : how long the rows of a unit count after its first ask: seconds, or text like 7d
    unit_limit : for ratios, the largest number of rows (or sum of denominators) of a unit

    >>> from goodarm import Campaign
    >>> campaign = Campaign.create("memory:", "pages", ["old", "new"], threshold=0.3)
    >>> units = Units(campaign)
    >>> units.ask("user 7") == units.ask("user 7")
    True
    >>> for clicked in (1.0, 0.0, 0.0, 1.0):
    ...     units.tell("user 7", clicked)
    >>> told = units.close("user 7")
    >>> campaign.tally().told, sum(row.total for row in campaign.arms())
    (1, 0.5)

    Rows are kept in this process until their unit is closed. After a crash `ask` finds the ticket of a unit again; give
    the rows again, or leave the ticket pending.
    """

    def __init__(
        self,
        campaign: Campaign,
        per_unit: str = "mean",
        *,
        window: float | str | timedelta | None = None,
        unit_limit: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if per_unit not in PER_UNIT:
            raise UnknownName("way to sum up a unit", str(per_unit), PER_UNIT)
        bounded = isinstance(campaign.terms.rewards, Bounded)
        if per_unit in ("any", "ratio") and not bounded:
            raise InvalidValue(f"per_unit={per_unit!r} needs a campaign with rewards in [0, 1].")
        limit = number(unit_limit)
        if (per_unit == "ratio") != (unit_limit is not None) or (limit is not None and not 0.0 < limit < math.inf):
            raise InvalidValue(
                "per_unit='ratio' needs unit_limit=D, the largest number of rows of a unit (or sum of its "
                f"denominators), fixed beforehand; the other ways have none. Got {shown(unit_limit)}."
            )
        if campaign.terms.cases is not None or campaign.terms.question.references:
            raise InvalidValue("units are for campaigns with a threshold and without a fixed test set.")
        self.campaign, self.per_unit, self.unit_limit = campaign, per_unit, limit or math.inf
        self.window = read_duration(window)
        self._clock = clock
        self._tickets: dict[str, tuple[Ticket, float]] = {}
        self._rows: dict[str, list[Row]] = {}

    def ask(self, unit: str) -> Ticket | None:
        """The ticket of a unit, the same one every time; None if no arm is open."""
        if unit not in self._tickets:
            found = self.campaign.ask(key=PREFIX + _checked(unit))
            if not found:
                return None
            self._tickets[unit] = found[0], self._clock()
        return self._tickets[unit][0]

    def tell(self, unit: str, reward: float, denominator: float = 1.0) -> None:
        """One row of a unit. Rows after its window do not count."""
        if _checked(unit) not in self._tickets:
            raise Refused(f"the unit {unit!r} has no ticket that is open. Ask for it first.")
        value, size = number(reward), number(denominator)
        if value is None or size is None or not (math.isfinite(value) and math.isfinite(size)):
            raise InvalidValue(f"a reward must be a finite number; got {shown(reward)} of {shown(denominator)}.")
        if self.per_unit == "ratio":
            if not 0.0 <= value <= size:
                raise InvalidValue(f"a reward must lie between 0 and its denominator {size:g}; got {value:g}.")
        elif self.per_unit != "sum":
            self.campaign.terms.rewards.check_reward(value)
        if self._is_over(unit):
            return
        rows = self._rows.get(unit, [])
        if self.per_unit == "ratio" and math.fsum(each for _, each in rows) + size > self.unit_limit:
            raise InvalidValue(f"the unit {unit!r} would have more than unit_limit={self.unit_limit:g}.")
        self._rows.setdefault(unit, []).append((value, size))

    def close(self, *units: str) -> Told:
        """Tell the rewards of these units, which are complete, in one transaction."""
        for unit in units:
            if unit not in self._tickets:
                raise Refused(f"the unit {unit!r} has no ticket that is open. Ask for it first.")
        bar = self.campaign.terms.question.bar
        told = self.campaign.tell_many(
            [
                (self._tickets[unit][0], unit_reward(self._rows.get(unit, ()), self.per_unit, bar, self.unit_limit))
                for unit in dict.fromkeys(units)
            ]
        )
        for unit in units:
            self._tickets.pop(unit, None)
            self._rows.pop(unit, None)
        return told

    def close_due(self) -> Told:
        """Tell the rewards of all units whose window is over."""
        if self.window is None:
            raise InvalidValue(
                "without a window no unit is due; give window='7d', or close each unit when it is complete."
            )
        return self.close(*[unit for unit in self._tickets if self._is_over(unit)])

    @property
    def open(self) -> list[str]:
        """Units whose reward is still to be told."""
        return list(self._tickets)

    def _is_over(self, unit: str) -> bool:
        return self.window is not None and self._clock() - self._tickets[unit][1] >= self.window


def _checked(unit: Any) -> str:
    if not isinstance(unit, str) or not unit:
        raise InvalidValue(f"a unit's id must be a non-empty string; got {shown(unit)}.")
    return unit
