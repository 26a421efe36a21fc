"""What batches cost: pulls until no arm is open when rewards come back n at a time, against one at a time."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.section import Row, Section, Target
from goodarm.engine.step import Step
from goodarm.environments.names import environment as find_environment
from goodarm.policies import policy
from goodarm.problem import Problem
from goodarm.rules.beliefs import VERDICT

Floats = NDArray[np.float64]

POLICY = "value+gap-mixture"
RUNS, LONG_RUNS = 8, 2
SEED = 40_000
BATCHES = (1, 10, 100)


def run() -> Section:
    notes = [
        "kano-1: until no arm is open. headlines: examples/headlines.csv, 200 arms at 2%, until half of the good ones "
        "are called good; some lie so near to the bar that a stop would take tens of millions of pulls."
    ]
    title = f"{POLICY}, the same rewards for each batch size"
    return Section("batches", title, "by batch 1", [*rows("kano-1"), *rows("headlines")], notes)


def rows(name: str) -> list[Row]:
    """One row per batch size."""
    means, threshold, share = problem(name)
    runs, batches = (RUNS, BATCHES) if name == "kano-1" else (LONG_RUNS, (1, 100))
    pulls = {batch: [until(means, threshold, share, batch, seed) for seed in range(runs)] for batch in batches}
    targets = {("kano-1", 10): Target(at_most=1.1), ("headlines", 100): Target(at_most=1.3)}
    found = []
    for batch in batches:
        ratio = float(np.mean(pulls[batch]) / np.mean(pulls[1]))
        cells = {"problem": name, "runs": runs, "batch": batch, "pulls": float(np.mean(pulls[batch]))}
        found.append(Row(cells, ratio, targets.get((name, batch))))
    return found


def problem(name: str) -> tuple[Floats, float, float]:
    """Means, threshold, and the share of the good arms after which to stop; 1 stands for every arm decided."""
    if name == "kano-1":
        return find_environment("kano-1").instance(np.random.default_rng(0)).means, 0.5, 1.0
    with (Path(__file__).parents[1] / "examples" / "headlines.csv").open(encoding="utf-8") as lines:
        return np.array([float(row["mean"]) for row in csv.DictReader(lines)]), 0.02, 0.5


def until(means: Floats, threshold: float, share: float, batch: int, seed: int) -> int:
    """Pulls until the question is answered; the n-th reward of an arm is the same for every batch size."""
    wanted = math.ceil(share * int((means >= threshold).sum()))
    step = Step(policy(POLICY), Problem(threshold=threshold, arms=len(means)), horizon=math.inf)
    streams = [np.random.default_rng([SEED, seed, arm]) for arm in range(len(means))]
    pulls = 0
    while True:
        out = []
        for _ in range(batch):
            arm = step.choose()
            if arm < 0:
                break
            step.ask(arm)
            out.append(arm)
        if not out:
            return pulls
        pulls += len(out)
        if share < 1.0 and int((step.state.arms[:, VERDICT] > 0).sum()) >= wanted:
            return pulls
        for arm in out:
            step.absorb(arm, float(streams[arm].random() < means[arm]))
