"""Blocks: so many pulls of each arm in one entry, told in parts. By totals only: counts merge, in any order."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from goodarm.errors import InvalidValue, Refused


class OpenBlock:
    """A block that is out: how many of its pulls have not been told, per arm."""

    __slots__ = ("at", "out")

    def __init__(self, out: dict[int, int], at: float) -> None:
        self.out = out
        self.at = at

    @property
    def done(self) -> bool:
        return not self.out

    @property
    def pending(self) -> int:
        return sum(self.out.values())

    def take(self, arm: int, told: int) -> None:
        """This many pulls of an arm came back."""
        left = self.out[arm] - told
        if left:
            self.out[arm] = left
        else:
            del self.out[arm]


def check_part(block: OpenBlock, given: Mapping[str, Any], index: Mapping[str, int]) -> list[tuple[int, int, float]]:
    """The rows (arm, told, total) of a part, each checked."""
    rows = []
    for name, counts in given.items():
        if name not in index:
            raise InvalidValue(f"there is no arm {name!r} in this campaign.")
        arm = index[name]
        try:
            told, total = counts
        except (TypeError, ValueError):
            raise InvalidValue(f"a part has (told, total) for each arm; got {counts!r} for {name!r}.") from None
        if isinstance(told, bool) or not isinstance(told, int) or told < 0:
            raise InvalidValue(f"told must be a whole number of pulls; got {told!r} for {name!r}.")
        if isinstance(total, bool) or not isinstance(total, int | float) or not math.isfinite(total):
            raise InvalidValue(f"total must be the sum of the told rewards; got {total!r} for {name!r}.")
        if not 0.0 <= total <= told:
            raise InvalidValue(
                f"the total of {told} rewards in [0, 1] must lie between 0 and {told}; got {total!r} for {name!r}."
            )
        if told > block.out.get(arm, 0):
            raise Refused(
                f"{told} pulls of {name!r} can't be told: the block has {block.out.get(arm, 0)} of them left. "
                "Was a part told under two ids?"
            )
        if told:
            rows.append((arm, told, float(total)))
    return sorted(rows)
