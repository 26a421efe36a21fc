"""Late rewards under `bet-mixture`: in the order of asking, or by sums with pending rewards at their worst."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from benchmarks.section import Row, Section
from goodarm.problem import Problem
from goodarm.rules.identification.bet_mixture import STEPS, bets, log_shares

Floats = NDArray[np.float64]
SEED, RUNS, LONGEST, ARMS = 31, 200, 4_000, 16
MEAN, BAR, CONCENTRATION = 0.6, 0.5, 8.0
DELAYS = ((0, 0.0), (10, 0.0), (100, 0.0), (10, 0.002), (10, 0.02))
"""Asks until a reward comes back, on average, and the share of tickets that are never told."""


def stops(chance: np.random.Generator, delay: int, lost: float) -> tuple[float, float]:
    """Tickets of one arm until it is good: in order, and by sums."""
    bar = Problem(BAR, ARMS).bar
    rewards = chance.beta(CONCENTRATION * MEAN, CONCENTRATION * (1.0 - MEAN), LONGEST)
    told = np.arange(LONGEST) + chance.geometric(1.0 / (delay + 1.0), LONGEST) - 1.0
    told[chance.random(LONGEST) < lost] = math.inf
    grid, shares = bets(bar)[:STEPS], log_shares(bar)
    logs = np.log1p(grid * (rewards[:, None] - BAR))
    worst = np.log1p(-grid * BAR)
    asks = np.arange(LONGEST)
    # in order: the tickets before the first one that is out
    evidence = np.logaddexp.reduce(shares + np.cumsum(logs, axis=0), axis=1)
    enough = np.flatnonzero(evidence >= bar.budget)
    known = np.maximum.accumulate(told)
    in_order = float(known[enough[0]]) if enough.size else math.inf
    # by sums: what was told by then, and everything that is out at its worst
    by_sums = math.inf
    arrivals = np.argsort(told, kind="stable")
    sums, place = np.zeros(STEPS), 0
    for now in asks:
        while place < LONGEST and told[arrivals[place]] <= now:
            sums += logs[arrivals[place]]
            place += 1
        if np.logaddexp.reduce(shares + sums + (now + 1 - place) * worst) >= bar.budget:
            by_sums = float(now)
            break
    return in_order + 1.0, by_sums + 1.0


def run() -> Section:
    chance, rows = np.random.default_rng(SEED), []
    for delay, lost in DELAYS:
        found = np.array([stops(chance, delay, lost) for _ in range(RUNS)])
        middle, decided = np.median(found, axis=0), np.isfinite(found).mean(axis=0)
        cells = {
            "delay": delay,
            "never told": f"{lost:.1%}",
            "in order, tickets": float(middle[0]),
            "by sums, tickets": float(middle[1]),
            "in order, decided": f"{decided[0]:.0%}",
            "by sums, decided": f"{decided[1]:.0%}",
        }
        rows.append(Row(cells, float(middle[1] / middle[0]) if np.isfinite(middle).all() else None))
    notes = [
        f"One arm of {ARMS}, rewards Beta with mean {MEAN:g} and concentration {CONCENTRATION:g} against a bar of "
        f"{BAR:g}; medians of {RUNS} arms of {LONGEST:,} tickets, inf where fewer than half are decided. A reward "
        "comes back after a geometric number of asks of the arm."
    ]
    return Section(
        "pending", "late rewards under bet-mixture, two ways to count them", "by sums / in order", rows, notes
    )
