"""`goodarm serve --demo`: simulated visitors feed a campaign, so that a newcomer sees verdicts fall.

Nothing here is real: the arms are made up, their means are drawn from a seed, and the campaign's name says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from numpy.random import Generator, default_rng

if TYPE_CHECKING:
    from goodarm.campaign import Campaign

NAME = "demo: simulated visitors"
SEED = 7
THRESHOLD = 0.3
PER_TURN, TURN_SECONDS = 60, 0.2
MOST_REWARDS = 200_000
"""The visitors go home then, so that a demo left open does not fill the disk."""
TONES = ("Calm", "Bold", "Curious", "Dry", "Warm", "Blunt", "Playful", "Formal")
TOPICS = ("seas ahead", "weekend deals", "a new recipe", "the long read", "five tips", "your city")

Play = Callable[[str, Callable[["Campaign"], Any]], Awaitable[Any]]


def arms() -> list[dict[str, str]]:
    """Made-up headlines."""
    return [
        {"id": f"h{i:02}", "label": f"{tone} headline: {topic}"}
        for i, (tone, topic) in enumerate((tone, topic) for tone in TONES for topic in TOPICS)
    ]


def means() -> dict[str, float]:
    """The made-up share of visitors who click on each."""
    drawn = default_rng(SEED).beta(1.2, 2.0, size=len(arms()))
    return {arm["id"]: float(mean) for arm, mean in zip(arms(), drawn, strict=True)}


def _tell(told: list[tuple[Any, float]], campaign: Campaign) -> None:
    campaign.tell_many(told)


class Visitors:
    """Visitors who are shown what the campaign asks for, and click as their arm's made-up mean says."""

    def __init__(self, write: Play) -> None:
        self._write = write
        self._means = means()
        self._random: Generator = default_rng(SEED + 1)

    async def run(self) -> None:
        """Come and go until every arm is decided."""
        for _ in range(MOST_REWARDS // PER_TURN):
            tickets = await self._write(NAME, lambda campaign: campaign.ask(PER_TURN))
            if not tickets:
                return
            told = [(ticket, float(self._random.random() < self._means[ticket.arm])) for ticket in tickets]
            await asyncio.sleep(TURN_SECONDS)
            await self._write(NAME, partial(_tell, told))
