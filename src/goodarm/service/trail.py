"""History for charts, thinned to a few hundred points: verdicts of a campaign, totals of each arm.

A trail is a separate fold of the journal. A worker caches it and updates it at each read.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from goodarm.campaign import journal
from goodarm.campaign.journal import Row
from goodarm.campaign.rows import iso
from goodarm.question import OPEN, from_json
from goodarm.simulation.stop import Stop

MOST_POINTS = 400
MOST_PER_ARM = 96


class Point(NamedTuple):
    """State of the campaign after an entry."""

    number: int
    at: str
    asked: int
    told: int
    good: int
    bad: int


class ArmTrail:
    """History of an arm's totals (asked, told, total of rewards). When there are too many points, half are dropped.

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
        """The kept points and the present one."""
        found = self._triples()
        now = (float(self.asked), float(self.told), self.total)
        return found if not self.told or (found and found[-1] == now) else [*found, now]

    def _triples(self) -> list[tuple[float, float, float]]:
        values = iter(self._kept)
        return list(zip(values, values, values, strict=True))


class Trail:
    """A campaign over time. Arms are numbers here, as in the journal."""

    def __init__(self) -> None:
        self.number = 0
        self.arms: dict[int, ArmTrail] = {}
        self._points: list[Point] = []
        self._asked = self._told = self._good = self._bad = 0
        self._every = 1
        self._last: Point | None = None
        self._sign: Callable[[str], int] = {OPEN: 0}.__getitem__
        """Sign of each verdict word; known from the first entry."""

    def read(self, chunks: Iterable[list[Row]], stop: Stop | None = None) -> None:
        """Fold entries in chunks."""
        for rows in chunks:
            self._read(rows)
            if stop is not None:
                stop.check()

    def _read(self, rows: list[Row]) -> None:
        for row in rows:
            number, kind, _, arm, reward, payload, at, _ = row
            if kind == journal.ASKED:
                self._ask(arm or 0, 1)
            elif kind == journal.TOLD:
                self._tell(arm or 0, 1, reward)
            else:
                self._fold(kind, arm or 0, reward, payload)
            self.number = number
            if number % self._every == 0 or kind in SHOWN:
                self._points.append(Point(number, iso(at), self._asked, self._told, self._good, self._bad))
                if len(self._points) > MOST_POINTS:
                    self._points = [self._points[0], *self._points[2::2]]
                    self._every *= 2
        if rows:
            self._last = Point(self.number, iso(rows[-1][6]), self._asked, self._told, self._good, self._bad)

    def points(self) -> list[Point]:
        """The kept points and the present one."""
        last = self._last
        return self._points if last is None or self._points[-1:] == [last] else [*self._points, last]

    def _fold(self, kind: str, arm: int, reward: float | None, payload: str | None) -> None:
        """Fold an entry of a rarer kind."""
        if kind == journal.MISSING:
            self._tell(arm, 1, reward)
        elif kind == journal.GIVEN:
            self._ask(arm, 1)
            self._tell(arm, 1, reward)
        elif kind == journal.VOID:
            self._ask(arm, -1)
        elif kind in READ:
            self._fold_content(kind, json.loads(payload or "{}"))

    def _fold_content(self, kind: str, content: Mapping[str, Any]) -> None:
        if kind == journal.CREATED:
            self._sign = from_json(content).sign
        elif kind == journal.VERDICT:
            sign = self._sign(content["verdict"])
            self._good += sign > 0
            self._bad += sign < 0
        elif kind == journal.BLOCK:
            for arm, count in content["arms"]:
                self._ask(arm, count)
        else:
            for arm, count, total in content["arms"]:
                self._tell(arm, count, total)

    def _ask(self, arm: int, count: int) -> None:
        self._asked += count
        found = self.arms.get(arm)
        if found is None:
            found = self.arms[arm] = ArmTrail()
        found.asked += count

    def _tell(self, arm: int, count: int, total: float | Mapping[str, float] | None) -> None:
        """Add told rewards. Records have no single total."""
        self._told += count
        self.arms.setdefault(arm, ArmTrail()).tell(count, total if isinstance(total, int | float) else math.nan)


SHOWN = frozenset({journal.CREATED, journal.VERDICT, journal.ENDED})
"""Kinds whose entries are points."""
READ = frozenset({journal.CREATED, journal.VERDICT, journal.BLOCK, journal.PART})
"""Kinds whose content matters here."""
