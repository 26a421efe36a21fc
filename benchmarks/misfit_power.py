"""`python -m benchmarks.misfit_power [--runs N]`: how often the check of a model's fit warns, where the line is wrong.

300 unit vectors in 5 dimensions, means linear in them within 0.2 of the threshold, then the best arms are lowered.
Printed: runs with a wrong verdict, runs in which the check warns, and its largest score, of a run or of all together.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np

from goodarm.environments import Environment
from goodarm.environments.laws import bernoulli_reward
from goodarm.environments.with_features import in_band, unit_vectors
from goodarm.errors import ModelWarning
from goodarm.simulation.simulate import simulate

SEED = 2026
CASES = (  # arms that are lowered, by how much
    (0, 0.0), (1, 0.2), (1, 0.4), (10, 0.1), (10, 0.2), (10, 0.3), (50, 0.05), (50, 0.1), (50, 0.2),
)  # fmt: skip
POLICIES = ("widest+self-normalised(norm=1)@linear", "widest+design(norm=1)@linear", "ucb(beta=1)+kt@linear")


def lowered(count: int, depth: float) -> Environment:
    """The linear environment with its `count` best arms `depth` below the line."""
    features = unit_vectors(300, 5)

    def draw(generator: Any) -> Any:
        means = in_band(features @ generator.standard_normal(5), width=0.2)
        best = np.argsort(-means, kind="stable")[:count]
        means[best] -= depth
        return np.clip(means, 0.0, 1.0)

    return Environment("lowered", 300, 0.5, draw, bernoulli_reward, describe=lambda: features)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.misfit_power", description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--horizon", type=int, default=20_000)
    options = parser.parse_args()
    heads = [
        "policy",
        "best arms lowered",
        "by",
        "wrong runs",
        "runs warned of",
        "largest score, of a run or of all together",
    ]
    print(f"| {' | '.join(heads)} |\n| {' | '.join('---' for _ in heads)} |")
    warnings.simplefilter("ignore", ModelWarning)
    for name in POLICIES:
        for count, depth in CASES:
            runs = simulate(name, lowered(count, depth), runs=options.runs, horizon=options.horizon, seed=SEED)
            cells = [f"`{name}`", count, f"{depth:g}", runs.wrong_runs, runs.misfitting, f"{runs.misfit:.1f}"]
            print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
