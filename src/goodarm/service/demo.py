"""`goodarm serve --demo`: simulated visitors feed a campaign, to show verdicts within minutes.

The arms are invented and their means are drawn from a seed; the page says so. Since the means are known, the page can
count wrong verdicts, and the wrong claims of a dashboard with ordinary 95% intervals.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.random import Generator, default_rng

from goodarm.errors import UnknownName

if TYPE_CHECKING:
    from goodarm.campaign import Campaign

NAME = "demo"
SEED = 7
THRESHOLD = 0.3
SPREAD = 0.12
"""Standard deviation of the simulated click rates around the threshold."""
PER_TURN, TURN_SECONDS = 60, 0.2
MOST_REWARDS = 200_000
"""Number of rewards after which the visitors stop, to keep a forgotten demo from filling the disk."""
TONES = ("Calm", "Bold", "Curious", "Dry", "Warm", "Blunt", "Playful", "Formal")
TOPICS = ("seas ahead", "weekend deals", "a new recipe", "the long read", "five tips", "your city")
MEANS = "means"
"""The field of a simulated campaign's metadata that holds the true means by arm."""
QUANTILE = 1.96
"""Quantile of the standard normal distribution for a two-sided 95% interval."""

Play = Callable[[str, Callable[["Campaign"], Any]], Awaitable[Any]]


def arms() -> list[dict[str, str]]:
    """Invented headlines."""
    return [
        {"id": f"h{i:02}", "label": f"{tone} headline: {topic}"}
        for i, (tone, topic) in enumerate((tone, topic) for tone in TONES for topic in TOPICS)
    ]


def means() -> dict[str, float]:
    """The simulated click rate of each arm."""
    drawn = default_rng(SEED).normal(THRESHOLD, SPREAD, size=len(arms())).clip(0.02, 0.98)
    return {arm["id"]: round(float(mean), 4) for arm, mean in zip(arms(), drawn, strict=True)}


def terms() -> dict[str, Any]:
    """Arguments of `Campaign.create` for the demo."""
    return {
        "name": NAME,
        "arms": arms(),
        "threshold": THRESHOLD,
        "policy": "settle+gap-mixture",
        "metadata": {
            "simulated": True,
            "title": f"Which of {len(arms())} headlines do at least {THRESHOLD:.0%} of visitors click?",
            "measured": "click rate",
            "by": "simulated visitors",
            MEANS: means(),
        },
    }


def _tell(told: list[tuple[Any, float]], campaign: Campaign) -> None:
    campaign.tell_many(told)


class Visitors:
    """Simulated visitors, who click at the simulated rate of the arm that the campaign chose."""

    def __init__(self, write: Play) -> None:
        self._write = write
        self._means = means()
        self._random: Generator = default_rng(SEED + 1)

    async def run(self) -> None:
        """Simulate visits until every arm is decided."""
        for _ in range(MOST_REWARDS // PER_TURN):
            tickets = await self._write(NAME, lambda campaign: campaign.ask(PER_TURN))
            if not tickets:
                return
            told = [(ticket, float(self._random.random() < self._means[ticket.arm])) for ticket in tickets]
            await asyncio.sleep(TURN_SECONDS)
            await self._write(NAME, partial(_tell, told))


class Score(NamedTuple):
    """Numbers of verdicts and claims so far, and of those that the true means prove wrong."""

    verdicts: int
    wrong: int
    claims: int
    wrong_claims: int


class Peeking:
    """A dashboard with ordinary 95% intervals, read after every reward of a campaign.

    It claims that an arm is good or bad as soon as the Wilson score interval of its rewards excludes the bar. Such an
    interval is valid for one look at a sample size fixed beforehand. Here it is checked after every reward, so more
    than 5% of the claims about arms near the bar are wrong. The input is the journal as `Campaign.history` shows it.

    >>> peeking = Peeking(0.5)
    >>> peeking.read({"number": i, "kind": "told", "arm": "a", "reward": 1.0} for i in range(1, 6))
    >>> peeking.claims
    {'a': True}
    """

    def __init__(self, bar: float) -> None:
        self.number = 0
        self.claims: dict[str, bool] = {}
        """The first claim about each arm: True for good, False for bad."""
        self._bar = bar
        self._totals: dict[str, tuple[int, float]] = {}

    def read(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Fold entries."""
        for event in events:
            self.number = event["number"]
            if event["kind"] in ("told", "missing", "given"):
                self._see(event["arm"], 1, event["reward"])
            elif event["kind"] == "part":
                for arm, (count, total) in event["content"]["arms"].items():
                    self._see(arm, count, total)

    def _see(self, arm: str, count: int, total: Any) -> None:
        if not isinstance(total, int | float):  # a record, with several bars
            return
        before = self._totals.get(arm, (0, 0.0))
        self._totals[arm] = told, sum_ = before[0] + count, before[1] + total
        low, high = wilson(told, sum_)
        if arm not in self.claims and not low <= self._bar <= high:
            self.claims[arm] = low > self._bar


def wilson(count: int, total: float) -> tuple[float, float]:
    """The Wilson score interval of a share, 95%.

    >>> low, high = wilson(10, 5)
    >>> round(low, 3), round(high, 3)
    (0.237, 0.763)
    """
    mean, square = total / count, QUANTILE**2 / count
    half = QUANTILE * math.sqrt(max(mean * (1.0 - mean), 0.0) / count + square / (4.0 * count))
    return (mean + square / 2.0 - half) / (1.0 + square), (mean + square / 2.0 + half) / (1.0 + square)


def true_means(campaign: Campaign) -> Mapping[str, float]:
    """The true means of a simulated campaign, by arm."""
    found = campaign.terms.metadata.get(MEANS)
    if not isinstance(found, Mapping) or campaign.terms.question.references:
        raise UnknownName("simulated campaign", campaign.name, [])
    return {arm: float(mean) for arm, mean in found.items() if isinstance(mean, int | float)}


def score(campaign: Campaign, peeking: Peeking) -> Score:
    """Numbers of wrong verdicts and claims so far."""
    true, bar = true_means(campaign), campaign.terms.question.bar

    def wrong(said: Mapping[str, bool]) -> int:
        return sum(good != (true[arm] >= bar) for arm, good in said.items() if arm in true)

    verdicts = {row.arm: row.sign > 0 for row in campaign.arms() if row.sign}
    return Score(len(verdicts), wrong(verdicts), len(peeking.claims), wrong(peeking.claims))
