"""Blocks: so many pulls of each arm in one entry, told in parts. By totals only: counts merge, in any order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from goodarm.arguments import number, whole
from goodarm.errors import InvalidValue, Refused


class OpenBlock:
    """A block that is out: how many of its samples have not been told, per arm, and the cases of each arm if any."""

    __slots__ = ("at", "cases", "out")

    def __init__(self, out: dict[int, int], at: float) -> None:
        self.out = out
        self.at = at
        self.cases: dict[int, list[int]] = {}

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


Part = list[tuple[int, int, float]]
"""Rows (arm, told, total), sorted, without those of which nothing was told."""


def read_part(given: Any, index: Mapping[str, int]) -> Part:
    """The rows of a part as a caller gives them, each checked by itself."""
    if not isinstance(given, Mapping):
        raise InvalidValue(f"a part is a dictionary {{arm: (told, total)}}; got {given!r}.")
    rows = []
    for name, counts in given.items():
        if name not in index:
            raise InvalidValue(f"there is no arm {name!r} in this campaign.")
        told, total = _counts(name, counts)
        if told:
            rows.append((index[name], told, total))
    return sorted(rows)


def _counts(name: str, given: Any) -> tuple[int, float]:
    try:
        told_given, total_given = given
    except (TypeError, ValueError):
        raise InvalidValue(f"a part has (told, total) for each arm; got {given!r} for {name!r}.") from None
    told, total = whole(told_given), number(total_given)
    if told is None or told < 0:
        raise InvalidValue(f"told must be a whole number of pulls; got {told_given!r} for {name!r}.")
    if total is None or not math.isfinite(total):
        raise InvalidValue(f"total must be the sum of the told rewards; got {total_given!r} for {name!r}.")
    if not 0.0 <= total <= told:
        raise InvalidValue(
            f"the total of {told} rewards in [0, 1] must lie between 0 and {told}; got {total_given!r} for {name!r}."
        )
    return told, total + 0.0  # -0.0 is stored as 0.0


def check_part(block: OpenBlock, rows: Part, names: Sequence[str]) -> None:
    """Refuse more than the block has left."""
    for arm, told, _ in rows:
        if told > block.out.get(arm, 0):
            raise Refused(
                f"{told} pulls of {names[arm]!r} can't be told: the block has {block.out.get(arm, 0)} of them left. "
                "Was a part told under two ids?"
            )
        if block.cases and told != block.out[arm]:
            raise Refused(
                f"{told} of the {block.out[arm]} cases of {names[arm]!r} can't be told alone: on a fixed test set a "
                "part has all cases that the block has of an arm. Tell the arm's cases together, or use tickets."
            )
