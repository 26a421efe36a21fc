"""Headlines on a fake website: clicks come back within seconds, and "no click" is only known when the time has passed.

The website and its visitors are simulated, and so is the time, so that a day takes seconds. The campaign is real: put
your own website in the place of `FakeWebsite` and leave out `clock`.

    python examples/live_headlines.py [sqlite:///headlines.db]
"""

from __future__ import annotations

import heapq
import random
import sys

from goodarm import Campaign

HEADLINES = {
    "Ten ways to sharpen a knife": 0.09,
    "Your knife is blunt, and you know it": 0.14,
    "Knife sharpening explained": 0.02,
    "What chefs never tell you about knives": 0.12,
    "Knives: an introduction": 0.015,
    "Sharp in a minute": 0.05,
}
"""Each with the share of visitors who click, which only the fake website knows."""
BAR = 0.05


class FakeWebsite:
    """Visitors arrive every second; those who click do so after half a minute on average."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.time = 0.0
        self.clicks: list[tuple[float, str]] = []

    def show(self, ticket: str, headline: str) -> None:
        self.time += 1.0
        if self.random.random() < HEADLINES[headline]:
            heapq.heappush(self.clicks, (self.time + self.random.expovariate(1 / 30), ticket))

    def clicked(self) -> list[str]:
        """Tickets that were clicked since the last look."""
        found = []
        while self.clicks and self.clicks[0][0] <= self.time:
            found.append(heapq.heappop(self.clicks)[1])
        return found


def main(store: str, visitors: int = 6000) -> None:
    website = FakeWebsite(seed=1)
    with Campaign.create(
        store, "headlines", list(HEADLINES), threshold=BAR, after="5min", unanswered="zero", clock=lambda: website.time
    ) as campaign:
        campaign.on_verdict(lambda row: print(f"after {website.time:,.0f} s: {row.label!r} is {row.verdict}"))
        for _ in range(visitors // 20):
            for ticket in campaign.ask(20):  # one request to the campaign serves twenty visitors
                website.show(ticket.ticket, ticket.arm)
            clicked = website.clicked()
            campaign.tell_many([(ticket, 1.0) for ticket in clicked])
            if not campaign.tally().open:
                break
        print(campaign)


if __name__ == "__main__":
    main(*(sys.argv[1:2] or ["memory:"]))
