"""Units in campaigns: all rows of one person, session or machine form one reward.

A campaign that is created with `per_unit=` hands out one ticket per unit, whose key is the unit's id. The unit gets the
same arm however often it comes back, at any process or server. Its rows are entries of the journal. The unit's reward
is told once, when it is closed: at the end of its window, or when the caller declares it complete.

Why the verdicts hold. Let X_u be the reward of unit u on the arm it was given: a function, fixed beforehand, of all
rows of u within its window (without a window: of all rows it will ever have).

1. Units are independent of each other, and the arm of u is chosen before any of its rows is known. Conditional on
   everything before the ask for u, X_u has the arm's mean. How the rows of u depend on each other, how many there are,
   and whether that depends on the arm or on earlier rows, is irrelevant, because X_u is one number per unit.
2. The evidence of an arm equals that of a campaign without units whose tickets have the rewards X_u, in the order of
   asking. It is a supermartingale that starts at 1 under the null. A unit that is open counts at its worst (rules by
   totals), or not before all earlier units are closed (rules in order). Either is at most the evidence with every X_u
   known. So the time at which a unit is closed may depend on anything, including its rows, provided the reward told is
   X_u.
3. A cut that depends on rewards would break the guarantee: closing a unit while its mean looks high loses the rows that
   follow. So a window closes every unit by the clock alone, and `close_units` is refused. Without a window the caller
   declares that a unit is complete, and the guarantee depends on this.
4. The rule for ignoring rows is fixed beforehand: rows after the window, and for ratios a row
   that would exceed `unit_limit`. A unit without rows has reward 0 and counts: dropping it would select the units that
   came back because of the arm. For ratios it adds nothing to either sum.

Counting rows as rewards breaks step 1: the second row of u does not have the arm's mean given the first one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from goodarm.arguments import number, read_duration, shown
from goodarm.campaign.journal import Event
from goodarm.errors import DamagedJournal, InvalidValue, UnknownName
from goodarm.problem import NEGATIVE, Bounded, NonNegative, Rewards
from goodarm.question import KINDS, PER_UNIT, Question, read_reward

LONGEST_ID = 1000


class OpenUnit(NamedTuple):
    """An open unit: its id, the number of its rows, and the sums of rewards and sizes.

    size : sum of the denominators; by default the number of rows
    """

    unit: str
    rows: int = 0
    total: float = 0.0
    size: float = 0.0

    def plus(self, reward: float, denominator: float) -> OpenUnit:
        """The unit with one more row."""
        return OpenUnit(self.unit, self.rows + 1, self.total + reward, self.size + denominator)


@dataclass(frozen=True)
class UnitTerms:
    """How the rows of a unit become one reward.

    per_unit   : "mean", "any", "sum" or "ratio"
    window     : seconds from the ask during which rows count; None if the caller closes units
    unit_limit : for ratios, the largest number of rows, or sum of denominators, of a unit
    """

    per_unit: str
    window: float | None = None
    unit_limit: float | None = None

    def as_json(self) -> dict[str, Any]:
        return {"per_unit": self.per_unit, "window": self.window, "unit_limit": self.unit_limit}

    @staticmethod
    def from_json(content: Mapping[str, Any] | None) -> UnitTerms | None:
        return None if content is None else UnitTerms(**content)

    def reward(self, unit: OpenUnit, bar: float) -> float:
        """One reward from all rows of a unit.

        mean  : mean of the rewards; 0 without rows
        any   : 1 if any reward is above 0
        sum   : sum of the rewards
        ratio : xi + sum (x - xi d)/D, for rewards 0 <= x <= d and at most D = `unit_limit` in the denominators d of a
                unit. It lies in [0, 1], since sum x lies between 0 and sum d <= D, and its mean reaches the threshold
                xi exactly if E sum x >= xi E sum d: the bar applies to all rewards over all denominators

        >>> unit = OpenUnit("anna", rows=4, total=3.0, size=4.0)
        >>> [UnitTerms(way, None, 10.0).reward(unit, 0.5) for way in PER_UNIT]
        [0.75, 1.0, 3.0, 0.6]
        """
        if self.per_unit == "mean":
            return unit.total / unit.rows if unit.rows else 0.0
        if self.per_unit == "any":
            return 1.0 if unit.total > 0.0 else 0.0
        if self.per_unit == "sum":
            return unit.total
        return min(max(bar + (unit.total - bar * unit.size) / (self.unit_limit or math.inf), 0.0), 1.0)

    def row(self, unit: OpenUnit, reward: Any, denominator: Any, rewards: Rewards) -> tuple[float, float] | None:
        """Check a row as the caller gave it; None if it does not count because the unit is full."""
        value, size = read_reward(reward), number(denominator)
        if size is None or not 0.0 < size < math.inf:
            raise InvalidValue(f"a denominator must be a positive number; got {shown(denominator)}.")
        if self.per_unit == "ratio":
            if not 0.0 <= value <= size:
                raise InvalidValue(f"a reward must lie between 0 and its denominator {size:g}; got {value:g}.")
            return None if unit.size + size > (self.unit_limit or math.inf) else (value, size)
        if size != 1.0:
            raise InvalidValue(f"a denominator belongs to per_unit='ratio'; this campaign has {self.per_unit!r}.")
        if self.per_unit != "sum":
            rewards.check_reward(value)
            return value, size
        if value < 0.0:
            raise InvalidValue(f"a reward must be at least 0; got {value:g}. {NEGATIVE}")
        try:
            rewards.check_reward(unit.total + value)
        except InvalidValue as error:
            raise InvalidValue(
                f"with this row the unit {unit.unit!r} sums to {unit.total + value:g}: {error}"
            ) from None
        return value, size


def agreed_units(
    per_unit: Any, window: float | str | timedelta | None, unit_limit: Any, question: Question, rewards: Rewards
) -> UnitTerms | None:
    """The terms of units, checked; None for a campaign without them."""
    if per_unit is None:
        if window is not None or unit_limit is not None:
            raise InvalidValue(
                "window and unit_limit require units. Say how to combine the rows of a unit: per_unit='mean'."
            )
        return None
    if per_unit not in PER_UNIT:
        raise UnknownName("way to combine the rows of a unit", str(per_unit), PER_UNIT)
    limit = number(unit_limit)
    if (per_unit == "ratio") != (unit_limit is not None) or (limit is not None and not 0.0 < limit < math.inf):
        raise InvalidValue(
            "per_unit='ratio' needs unit_limit=D, the largest number of rows of a unit (or sum of its denominators), "
            f"fixed beforehand; the other ways need none. Got {shown(unit_limit)}."
        )
    if type(rewards) is not Bounded and (per_unit in ("any", "ratio") or not isinstance(rewards, NonNegative)):
        raise InvalidValue(
            f"per_unit={per_unit!r} is for rewards in [0, 1]"
            + (", or of 0 or more" if per_unit in ("mean", "sum") else "")
            + f": a unit without rows counts as 0, the smallest reward. These are {rewards}."
        )
    if per_unit not in question.per_unit:
        others = " or ".join(f"a {kind.field}" for kind in KINDS if per_unit in kind.per_unit)
        raise InvalidValue(
            f"per_unit={per_unit!r} needs a campaign with {others}: a unit without rows counts as 0, which must be the "
            "worst reward."
        )
    return UnitTerms(per_unit, read_duration(window, "window"), limit)


class UnitBook:
    """Open units by the number of their ticket. Closed units are only in the journal."""

    def __init__(self, terms: UnitTerms, bar: float) -> None:
        self.terms = terms
        self.bar = bar
        self.open: dict[int, OpenUnit] = {}

    def asked(self, event: Event) -> None:
        """Record the ticket of a unit."""
        self.open[event.ticket or 0] = OpenUnit(event.content["unit"])

    def row(self, event: Event) -> None:
        """Record a row of a unit."""
        ticket = event.ticket or 0
        size = float(event.content.get("of", 1.0)) if event.payload else 1.0
        self.open[ticket] = self.open[ticket].plus(event.reward or 0.0, size)

    def closed(self, event: Event) -> None:
        """Record the end of a unit. Refuse a told reward that doesn't follow from its rows."""
        unit = self.open.pop(event.ticket or 0)
        if event.reward is not None and event.reward != self.terms.reward(unit, self.bar):
            raise DamagedJournal(
                f"entry {event.number} tells {event.reward!r} for the unit {unit.unit!r}, whose rows give "
                f"{self.terms.reward(unit, self.bar)!r}. goodarm did not write this entry; restore the store from a "
                "backup."
            )

    def reward(self, ticket: int) -> float:
        """The reward of a unit, computed from its present rows."""
        return self.terms.reward(self.open[ticket], self.bar)


def check_unit(unit: Any) -> str:
    """Refuse an invalid id of a unit."""
    if not isinstance(unit, str) or not unit or len(unit) > LONGEST_ID:
        raise InvalidValue(f"a unit's id must be a string of 1 to {LONGEST_ID:,} characters; got {shown(unit)}.")
    return unit
