"""The main job in one go: a live campaign of 200 headlines with delayed clicks, then a verdict from its log.

The visitors and the time are simulated, so that a week takes seconds; campaign, store and log are real. `make demo`
runs it:

    python examples/demo.py [FOLDER]
"""

from __future__ import annotations

import csv
import heapq
import os
import random
import sys
import time
from pathlib import Path

from goodarm import Campaign, judge

BAR, WINDOW, BATCH, VISITORS = 0.02, 1800.0, 500, 120_000
"""Good is a click rate of 2% or more. A click counts within half an hour; 500 visitors are served per request."""
HEADLINES = Path(__file__).with_name("headlines.csv")


class FakeVisitors:
    """One visitor per second, shown one headline each; who clicks does so after a minute on average."""

    def __init__(self, rates: dict[str, float]) -> None:
        self.rates, self.random, self.time = rates, random.Random(7), 0.0
        self.clicks: list[tuple[float, str]] = []
        self.log: list[tuple[str, int]] = []

    def show(self, ticket: str, headline: str) -> None:
        self.time += 1.0
        clicked = self.random.random() < self.rates[headline]
        delay = self.random.expovariate(1 / 60.0)
        if clicked:
            heapq.heappush(self.clicks, (self.time + delay, ticket))
        self.log.append((headline, int(clicked and delay <= WINDOW)))

    def clicked(self) -> list[str]:
        """Tickets that were clicked since the last look."""
        found = []
        while self.clicks and self.clicks[0][0] <= self.time:
            found.append(heapq.heappop(self.clicks)[1])
        return found


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    store = folder / "goodarm.db"
    for old in folder.glob("goodarm.db*"):
        old.unlink()
    with HEADLINES.open(newline="", encoding="utf-8") as file:
        visitors = FakeVisitors({row["arm"]: float(row["mean"]) for row in csv.DictReader(file)})
    print(
        f"{len(visitors.rates)} headlines; good is a click rate of {BAR:.0%} or more; wrong with probability 5% at most"
    )
    started = time.perf_counter()
    with Campaign.create(
        f"sqlite:///{store}", "headlines", list(visitors.rates), threshold=BAR, horizon=VISITORS,
        after=WINDOW, unanswered="zero", clock=lambda: visitors.time, seed=1,
    ) as campaign:  # fmt: skip
        campaign.on_verdict(
            lambda row: print(f"  after {visitors.time:>7,.0f} visitors: {row.label!r} is {row.verdict}")
        )
        while visitors.time < VISITORS and (tickets := campaign.ask(BATCH)):
            for ticket in tickets:
                visitors.show(ticket.ticket, ticket.arm)
            campaign.tell_many([(ticket, 1.0) for ticket in visitors.clicked()])
        visitors.time += WINDOW
        campaign.tell_many([(ticket, 1.0) for ticket in visitors.clicked()])
        print(f"\n{campaign}\n")
    took = time.perf_counter() - started
    log = folder / "log.csv"
    with log.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("headline", "clicked"), *visitors.log])
    found = judge(log, arm="headline", reward="clicked", threshold=BAR)
    print(f"The same {len(visitors.log):,} rows judged as a log, in any order:\n{found.sentence}")
    wrong = [name for name in found.good if visitors.rates[name] < BAR]
    wrong += [name for name in found.bad if visitors.rates[name] >= BAR]
    print(f"Against the true rates, which only the fake visitors know: {len(wrong)} wrong.")
    print(
        f"\n{took:.0f} s for the campaign. Look at it: start\n  {program()} serve --store sqlite:///{store}\n"
        "and open http://127.0.0.1:8000 in a browser."
    )


def program() -> str:
    """The `goodarm` that belongs to this Python, as one would type it here."""
    beside = Path(sys.executable).with_name("goodarm")
    return os.path.relpath(beside) if beside.exists() else "goodarm"


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo"))
