"""Costs from 1 to 20 per arm: money until half of the good arms are found, with and without regard to cost.

40 arms, means uniform in [0.3, 0.7], bar 0.5. Samples are asked for in blocks of 10, and told at once.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from benchmarks.section import Row, Section
from goodarm.engine.live.threshold import ThresholdStep
from goodarm.policies import policy
from goodarm.problem import Problem

RUNS, ARMS, BLOCK, DELTA, SEED, BAR = 20, 40, 10, 0.05, 43, 0.5
DEAREST = 20.0
POLICY = "value+gap-mixture"
Floats = NDArray[np.float64]


def run() -> Section:
    rows = []
    for kind in ("unrelated to the mean", "the better, the dearer", "the better, the cheaper"):
        spent = np.array([[_money(number, kind, aware) for aware in (True, False)] for number in range(RUNS)])
        cheaper = int((spent[:, 0] < spent[:, 1]).sum())
        for place, sampling in enumerate(("index / cost", "ignores cost")):
            cells = {
                "costs": kind,
                "policy": POLICY,
                "sampling": sampling,
                "cheaper in runs": "" if place else f"{cheaper} of {RUNS}",
                "ratio of means": "1" if place else f"{spent[:, 0].mean() / spent[:, 1].mean():.2f}",
            }
            rows.append(Row(cells, float(spent[:, place].mean())))
    notes = [
        f"{RUNS} runs with the same means, costs and rewards for both; {ARMS} arms, costs log-uniform from 1 to "
        f"{DEAREST:g}, delta {DELTA:g}. The promise is the same: no verdict depends on the cost."
    ]
    return Section("costs", "money until half of the good arms are found", "money", rows, notes)


def _money(number: int, kind: str, aware: bool) -> float:
    """What the samples cost until half of the good arms have their verdict."""
    rng = np.random.default_rng([SEED, number])
    means, costs = rng.uniform(0.3, 0.7, ARMS), np.exp(rng.uniform(0.0, math.log(DEAREST), ARMS))
    if kind != "unrelated to the mean":
        order = np.argsort(np.argsort(means))
        costs = np.sort(costs)[order if kind == "the better, the dearer" else ARMS - 1 - order]
    streams = [np.random.default_rng([SEED, number, arm]) for arm in range(ARMS)]
    step = ThresholdStep(policy(POLICY), Problem(BAR, ARMS, DELTA), costs=costs if aware else None)
    wanted, spent, found = math.ceil((means >= BAR).sum() / 2), 0.0, 0
    while found < wanted:
        counts = step.choose_block(BLOCK)
        if not counts.any():
            break
        spent += float((counts * costs).sum())
        totals = [float((streams[arm].random(counts[arm]) < means[arm]).sum()) for arm in range(ARMS)]
        decided = step.absorb_block(counts, totals)
        found += sum(step.row(arm).verdict > 0 for arm in decided)
    return spent
