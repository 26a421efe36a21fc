"""The main job in one go: a live campaign of 200 subject lines with delayed opens, then a verdict from its log.

The readers and the time are simulated, so that a day takes seconds; campaign, store and log are real. `make demo`
runs it, and ends with a picture and the address of the page:

    python examples/demo.py [FOLDER]
"""

from __future__ import annotations

import csv
import heapq
import os
import random
import sys
import time
from collections import Counter
from pathlib import Path

from goodarm import Campaign, judge
from goodarm.campaign.rows import ArmRow

BAR, WINDOW, BATCH, READERS = 0.2, 1800.0, 500, 120_000
"""Good is an open rate of 20% or more. An open counts within half an hour; 500 letters are sent per request."""
TIMES = 10.0
"""Open rates of letters are taken to be ten times the click rates of headlines."""
STRIP = 60
"""Characters of the strip that shows good, undecided and bad lines."""
SHOWN = 4
"""Number of good and of bad verdicts that are printed one by one."""
HEADLINES = Path(__file__).with_name("headlines.csv")


class FakeReaders:
    """One reader per second, sent one subject line each; who opens the letter does so after a minute on average."""

    def __init__(self, rates: dict[str, float]) -> None:
        self.rates, self.random, self.time = rates, random.Random(7), 0.0
        self.opens: list[tuple[float, str]] = []
        self.log: list[tuple[str, int]] = []

    def send(self, ticket: str, line: str) -> None:
        self.time += 1.0
        opened = self.random.random() < self.rates[line]
        delay = self.random.expovariate(1 / 60.0)
        if opened:
            heapq.heappush(self.opens, (self.time + delay, ticket))
        self.log.append((line, int(opened and delay <= WINDOW)))

    def opened(self) -> list[str]:
        """Tickets whose letter was opened since the last look."""
        found = []
        while self.opens and self.opens[0][0] <= self.time:
            found.append(heapq.heappop(self.opens)[1])
        return found


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    store = folder / "goodarm.db"
    for old in folder.glob("goodarm.db*"):
        old.unlink()
    with HEADLINES.open(newline="", encoding="utf-8") as file:
        rates = {row["arm"]: min(TIMES * float(row["mean"]), 0.95) for row in csv.DictReader(file)}
    readers = FakeReaders(rates)
    print(
        f"{len(rates)} subject lines; good is an open rate of {BAR:.0%} or more; any error with probability 5% at most"
    )
    started = time.perf_counter()
    about = {"title": f"Which of {len(rates)} subject lines are opened by {BAR:.0%} or more?", "measured": "open rate"}
    with Campaign.create(
        f"sqlite:///{store}", "letters", list(rates), threshold=BAR, policy="settle+gap-mixture",
        after=WINDOW, unanswered="zero", clock=lambda: readers.time, seed=1, metadata=about,
    ) as campaign:  # fmt: skip
        first: Counter[str] = Counter()

        def tell(row: ArmRow) -> None:
            """Print the first good and the first bad verdicts; the rest is counted at the end."""
            first[row.verdict] += 1
            sent = min(readers.time, READERS)  # the last window passes without letters
            if first[row.verdict] <= SHOWN:
                print(f"  after {sent:>7,.0f} letters: {row.label!r} is {row.verdict}")
            elif first[row.verdict] == SHOWN + 1:
                print(f"  and more that are {row.verdict} ...")

        campaign.on_verdict(tell)
        while readers.time < READERS and (tickets := campaign.ask(BATCH)):
            for ticket in tickets:
                readers.send(ticket.ticket, ticket.arm)
            campaign.tell_many([(ticket, 1.0) for ticket in readers.opened()])
        readers.time += WINDOW
        campaign.tell_many([(ticket, 1.0) for ticket in readers.opened()])
        found = campaign.verdicts()
        print(f"\n{campaign}\n")
    took = time.perf_counter() - started
    log = folder / "log.csv"
    with log.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("line", "opened"), *readers.log])
    judged = judge(log, arm="line", reward="opened", threshold=BAR)
    print(f"The same {len(readers.log):,} rows judged as a log, in any order:\n{judged.sentence}\n")
    wrong = sum((row.sign > 0) != (rates[row.arm] >= BAR) for row in found.arms if row.sign)
    print(strip(found.good, found.open, found.bad))
    print(f"{wrong} of {found.good + found.bad} verdicts wrong, by the true rates that only the fake readers know.")
    picture = folder / "verdicts.png"
    judged.plot().savefig(picture, dpi=110)
    print(
        f"\n{took:.0f} s for the campaign. A picture of the verdicts: {picture}\nThe page: start\n"
        f"  {program()} serve --store sqlite:///{store}\n"
        "and open http://127.0.0.1:8000/#/campaign/letters in a browser."
    )


def strip(good: int, undecided: int, bad: int) -> str:
    """Good lines from the left, bad ones from the right."""
    every = good + undecided + bad
    left, right = round(STRIP * good / every), round(STRIP * bad / every)
    drawn = "█" * left + "·" * (STRIP - left - right) + "▒" * right
    return f"{drawn}  {good} good, {undecided} undecided, {bad} bad"


def program() -> str:
    """The `goodarm` that belongs to this Python, as one would type it here."""
    beside = Path(sys.executable).with_name("goodarm")
    return os.path.relpath(beside) if beside.exists() else "goodarm"


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo"))
