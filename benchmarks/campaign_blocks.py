"""Blocks: simulated impressions over 1000 arms, four processes, one entry per block instead of two per impression."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.section import Row, Section
from goodarm import Campaign, bernoulli, simulate
from goodarm.policies import LIVE_POLICY

ARMS = 1000
BLOCK = 100_000
IMPRESSIONS = int(os.environ.get("GOODARM_IMPRESSIONS", "100_000_000"))
PROCESSES = 4
THRESHOLD = 0.02


def means() -> np.ndarray:
    """Click rates around the bar."""
    return np.random.default_rng(11).beta(4.0, 196.0, size=ARMS)


def work(address: str, blocks: int, seed: int) -> None:
    """Ask for blocks and tell each in two parts, as two data centres would."""
    rng, rates = np.random.default_rng([12, seed]), means()
    with Campaign.open(address, "c") as campaign:
        for _ in range(blocks):
            block = campaign.ask_block(BLOCK)
            if not block.pulls:
                return
            clicks = {arm: int(rng.binomial(n, rates[int(arm)])) for arm, n in block.pulls.items()}
            half = {arm: n // 2 for arm, n in block.pulls.items()}
            first = {arm: min(clicks[arm], int(rng.binomial(half[arm], rates[int(arm)]))) for arm in half}
            first = {arm: max(first[arm], clicks[arm] - (block.pulls[arm] - half[arm])) for arm in half}
            campaign.tell_block(block, {arm: (half[arm], float(first[arm])) for arm in half}, part="one")
            rest = {arm: (n - half[arm], float(clicks[arm] - first[arm])) for arm, n in block.pulls.items()}
            campaign.tell_block(block, rest, part="two")


def run() -> Section:
    with tempfile.TemporaryDirectory() as folder:
        address = f"sqlite:///{Path(folder) / 'blocks.db'}"
        Campaign.create(address, "c", [str(i) for i in range(ARMS)], THRESHOLD).close()
        context = multiprocessing.get_context("spawn")
        started = time.perf_counter()
        blocks = IMPRESSIONS // BLOCK // PROCESSES
        processes = [context.Process(target=work, args=(address, blocks, seed)) for seed in range(PROCESSES)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        seconds = time.perf_counter() - started
        found = in_blocks(address, seconds)
    rows = compared(found, one_by_one())
    note = (
        "wrong: verdicts that are not what the simulated click rates say; delta is 5% for any at all. One by one: "
        "`simulate` with the same policy, click rates and number of impressions, other rewards. Pulls per verdict: "
        "over the arms that both have decided, the pulls that were told when the verdict fell."
    )
    title = f"{ARMS} arms at {THRESHOLD:.0%}, blocks of {BLOCK:,}, {PROCESSES} processes, SQLite"
    return Section("blocks", title, "wrong", rows, [note])


class Outcome(NamedTuple):
    """What came of the impressions: 1, -1 or 0 per arm, and the pulls that were told when its verdict fell."""

    how: str
    impressions: int
    entries: int | None
    seconds: float
    verdicts: NDArray[np.int64]
    pulls: NDArray[np.int64]


def in_blocks(address: str, seconds: float) -> Outcome:
    verdicts, pulls = np.zeros(ARMS, dtype=np.int64), np.zeros(ARMS, dtype=np.int64)
    with Campaign.open(address, "c") as campaign:
        told, entries = campaign.tally().told, campaign.number
        for i in range(ARMS):
            decision = campaign.audit(str(i))
            if decision is not None:
                verdicts[i], pulls[i] = 1 if decision["verdict"] == "good" else -1, decision["told"]
    return Outcome("blocks", told, entries, seconds, verdicts, pulls)


def one_by_one() -> Outcome:
    started = time.perf_counter()
    environment = bernoulli(means(), threshold=THRESHOLD)
    played = simulate(LIVE_POLICY, environment, horizon=IMPRESSIONS, seed=13)
    (one,) = played.runs
    return Outcome(
        "one by one", int(one.pulls.sum()), None, time.perf_counter() - started, one.verdicts.astype(np.int64),
        one.pulls.astype(np.int64),
    )  # fmt: skip


def compared(*outcomes: Outcome) -> list[Row]:
    true = np.where(means() >= THRESHOLD, 1, -1)
    both = np.logical_and.reduce([each.verdicts != 0 for each in outcomes])
    return [
        Row(
            {
                "how": each.how, "impressions": each.impressions, "entries": each.entries, "seconds": each.seconds,
                "good": int((each.verdicts > 0).sum()), "bad": int((each.verdicts < 0).sum()),
                "open": int((each.verdicts == 0).sum()), "pulls per verdict": float(each.pulls[both].mean()),
            },
            float(((each.verdicts != 0) & (each.verdicts != true)).sum()),
        )
        for each in outcomes
    ]  # fmt: skip
