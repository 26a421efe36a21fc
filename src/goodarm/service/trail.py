"""What happened over time, thinned so that a page can draw it: verdicts of a campaign, totals of each arm.

A trail is a separate fold of the journal, kept by a worker and brought up to date when it is read; a million
entries leave a few hundred points.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from goodarm.question import OPEN, from_json

MOST_POINTS = 400
MOST_PER_ARM = 96


class Point(NamedTuple):
    """The campaign after an entry."""

    number: int
    at: str
    asked: int
    told: int
    good: int
    bad: int


class ArmTrail:
    """An arm's totals (asked, told, total of rewards) as they grew; when there are too many points, half are dropped.

    >>> trail = ArmTrail()
    >>> for reward in (1.0, 0.0, 1.0):
    ...     trail.ask(1); trail.tell(1, reward)
    >>> trail.points()
    [(1.0, 1.0, 1.0), (2.0, 2.0, 1.0), (3.0, 3.0, 2.0)]
    """

    __slots__ = ("_every", "_kept", "_skipped", "asked", "told", "total")

    def __init__(self) -> None:
        self._kept = array("d")
        self._every, self._skipped = 1, 0
        self.asked, self.told, self.total = 0, 0, 0.0

    def ask(self, count: int) -> None:
        self.asked += count

    def tell(self, count: int, total: float) -> None:
        self.told += count
        self.total += total
        self._skipped += 1
        if self._skipped >= self._every:
            self._skipped = 0
            self._kept.extend((self.asked, self.told, self.total))
            if len(self._kept) > 3 * MOST_PER_ARM:
                points = self._triples()[1::2]
                self._kept = array("d", [value for point in points for value in point])
                self._every *= 2

    def points(self) -> list[tuple[float, float, float]]:
        """The kept points, and where the arm is now."""
        found = self._triples()
        now = (float(self.asked), float(self.told), self.total)
        return found if not self.told or (found and found[-1] == now) else [*found, now]

    def _triples(self) -> list[tuple[float, float, float]]:
        values = iter(self._kept)
        return list(zip(values, values, values, strict=True))


class Trail:
    """A campaign over time."""

    def __init__(self) -> None:
        self.number = 0
        self.arms: dict[str, ArmTrail] = {}
        self._points: list[Point] = []
        self._asked = self._told = self._good = self._bad = 0
        self._every = 1
        self._last: Point | None = None
        self._sign: Callable[[str], int] = {OPEN: 0}.__getitem__
        """Of a verdict, by its word; known from the first entry."""

    def read(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Fold entries, as `Campaign.history` shows them."""
        for event in events:
            self._fold(event)
            self.number = event["number"]
            self._last = Point(self.number, event["at"], self._asked, self._told, self._good, self._bad)
            if event["kind"] in ("created", "verdict", "ended") or self.number % self._every == 0:
                self._points.append(self._last)
                if len(self._points) > MOST_POINTS:
                    self._points = [self._points[0], *self._points[2::2]]
                    self._every *= 2

    def points(self) -> list[Point]:
        """The kept points, and where the campaign is now."""
        last = self._last
        return self._points if last is None or self._points[-1:] == [last] else [*self._points, last]

    def _fold(self, event: Mapping[str, Any]) -> None:
        kind, arm = event["kind"], event.get("arm")
        if kind == "created":
            self._sign = from_json(event["content"]).sign
        elif kind == "verdict":
            sign = self._sign(event["content"]["verdict"])
            self._good += sign > 0
            self._bad += sign < 0
        elif kind == "asked":
            self._ask(arm, 1)
        elif kind in ("told", "missing"):
            self._tell(arm, 1, event["reward"])
        elif kind == "given":
            self._ask(arm, 1)
            self._tell(arm, 1, event["reward"])
        elif kind == "void":
            self._ask(arm, -1)
        elif kind == "block":
            for each, (count, *_) in event["content"]["arms"].items():
                self._ask(each, count)
        elif kind == "part":
            for each, (count, total) in event["content"]["arms"].items():
                self._tell(each, count, total)

    def _ask(self, arm: Any, count: int) -> None:
        self._asked += count
        self.arms.setdefault(arm, ArmTrail()).ask(count)

    def _tell(self, arm: Any, count: int, total: float | Mapping[str, float]) -> None:
        """Records have no single total."""
        self._told += count
        self.arms.setdefault(arm, ArmTrail()).tell(count, math.nan if isinstance(total, Mapping) else total)
