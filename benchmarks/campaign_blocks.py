"""Blocks: simulated impressions over 1000 arms, four processes, one entry per block instead of two per impression."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.section import Row, Section
from goodarm import Campaign

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
        rows = [summary(address, seconds)]
    note = "wrong: verdicts that are not what the simulated click rates say; delta is 5% for any at all."
    return Section("blocks", f"{ARMS} arms, blocks of {BLOCK:,}, {PROCESSES} processes, SQLite", "wrong", rows, [note])


def summary(address: str, seconds: float) -> Row:
    rates = means()
    with Campaign.open(address, "c") as campaign:
        tally, entries = campaign.tally(), campaign.number
        wrong = sum(
            (row.verdict == "good") != (rates[int(row.arm)] >= THRESHOLD)
            for row in campaign.arms()
            if row.verdict != "open"
        )
    cells = {
        "impressions": tally.told, "entries": entries, "seconds": seconds, "good": tally.good, "bad": tally.bad,
        "open": tally.open,
    }  # fmt: skip
    return Row(cells, float(wrong))
