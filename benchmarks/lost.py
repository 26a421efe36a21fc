"""Lost tickets: verdicts of live campaigns some of whose rewards never come back."""

from __future__ import annotations

import random
from statistics import mean

from benchmarks.section import Row, Section
from goodarm import Campaign

ARMS, ASKS, RUNS, BAR = 60, 4_000, 10, 0.5
POLICIES = ("value+gap-mixture", "settle+gap-mixture", "hdoc+gap-mixture")
LOSSES = ((0, 0.0), (1, 0.0), (6, 0.0), (0, 0.05), (0, 0.2))
"""Tickets of each arm that are lost at the start, and the share of all later tickets that are lost."""
BATCHES = (1, 20, 100)


def verdicts(policy: str, first: int, share: float, batch: int, seed: int) -> tuple[int, int]:
    """Good and bad verdicts after 4,000 asks. The means lie evenly between 5% and 95%, half of them above the bar."""
    chance, means = random.Random(seed), {f"arm {i}": 0.05 + 0.9 * i / (ARMS - 1) for i in range(ARMS)}
    with Campaign.create("memory:", "lost", list(means), threshold=BAR, policy=policy, seed=seed) as campaign:
        for _ in range(first):
            campaign.ask(ARMS)
        for _ in range(0, ASKS, batch):
            back = [ticket for ticket in campaign.ask(batch) if chance.random() >= share]
            campaign.tell_many([(ticket, float(chance.random() < means[ticket.arm])) for ticket in back])
        found = campaign.verdicts()
        return found.good, found.bad


def run() -> Section:
    """The table: one row per policy and kind of loss."""
    rows = []
    for policy in POLICIES:
        for first, share in LOSSES:
            cells: dict[str, object] = {"policy": policy, "lost per arm at first": first, "lost later": f"{share:.0%}"}
            for batch in BATCHES:
                found = [verdicts(policy, first, share, batch, seed) for seed in range(RUNS)]
                good, bad = mean(good for good, _ in found), mean(bad for _, bad in found)
                cells[f"good, bad with ask({batch})"] = f"{good:.1f}, {bad:.1f}"
            rows.append(Row(cells))
    about = f"verdicts after {ASKS:,} asks, {ARMS} arms, half of them above the bar, means of {RUNS} campaigns"
    return Section("lost", about, "", rows, [])
