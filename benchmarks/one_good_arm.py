"""One good arm, or none (1-identification): samples until the answer, beside the published records of other algorithms.

The problems, and the mean stopping times that others are printed with, are those of Li & Cheung, "Near Optimal
Non-asymptotic Sample Complexity of 1-Identification" (ICML 2025; the records are in the repository of their code):
Gaussian rewards of variance 1, threshold 0.5, delta 0.001, 1000 runs each. APGAI's runs were cut at 50,000 samples per
arm there; its means count the cut runs as that long, and so do ours.

`python -m benchmarks one_good_arm`; `python -m benchmarks.one_good_arm 10 50` leaves out K = 200, which takes longest.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.section import Row, Section
from goodarm.environments.laws import gaussian
from goodarm.simulation.simulate import simulate

SEED, DELTA, RUNS = 90_310, 0.001, 100
SIZES = (10, 50, 200)
CUT = 50_000
"""Largest number of samples per arm."""
OURS = ("value", "dgai", "ucb+gap-mixture", "apgai+gap-mixture", "hdoc")
COLUMNS = ("HDoC", "LUCB-G", "lil'HDoC", "Track-and-Stop", "SEE", "APGAI")
PUBLISHED: dict[str, dict[int, tuple[float | None, ...]]] = {
    "one arm at 0.65, the others at 0.5": {
        10: (4994.6, 6898.7, 6535.1, 3148.9, 4847.8, 201717.0),
        50: (19456.3, 29267.2, 23744.7, 10044.3, 16100.9, 1454700.9),
        200: (79632.2, 118925.6, 94422.8, 38182.3, 64729.3, None),
    },
    "a quarter at 0.65, the others at 0.5": {
        10: (5134.2, 6728.1, 7182.3, 2366.1, 4255.0, 90246.0),
        50: (17155.5, 22760.6, 27229.8, 6476.0, 8686.1, 23000.4),
        200: (52714.8, 70388.2, 93144.3, 25290.2, 22713.5, None),
    },
    "half at 0.65, half at 0.5": {
        10: (5839.7, 7218.3, 9168.3, 2155.6, 3778.6, None),
        50: (19554.6, 24819.0, 33809.0, 6971.3, 8019.6, None),
        200: (60379.9, 76573.2, 115875.9, 27123.2, 20958.2, None),
    },
    "all at 0.65": {
        10: (7217.6, 8625.9, 12107.2, 2257.4, 3515.0, None),
        50: (23839.1, 29429.8, 45723.0, 7699.1, 7555.4, None),
        200: (73293.2, 89332.5, 157613.7, 28798.9, 18980.5, None),
    },
    "evenly from 0.35 to 0.65": {
        10: (5882.5, 7499.6, 8043.7, 2994.9, 4975.6, 11800.9),
        50: (20905.1, 28188.7, 30604.0, 8046.2, 12028.9, 11819.3),
        200: (66122.0, 88884.7, 104553.3, 30095.4, 31947.6, None),
    },
    "all at 0.25: none is good": {
        10: (7506.5, 7502.7, 11580.6, 7364.9, 6217.1, 5099.1),
        50: (40248.4, 40250.5, 63684.7, 44165.9, 34082.5, 28501.3),
        200: (170539.0, 170549.9, 275275.9, 195100.1, 146704.1, None),
    },
}


def means_of(problem: str, arms: int) -> np.ndarray:
    means = np.full(arms, 0.5)
    if problem.startswith("one"):
        means[-1] = 0.65
    elif problem.startswith("a quarter"):
        means[: arms // 4] = 0.65
    elif problem.startswith("half"):
        means[: arms // 2] = 0.65
    elif problem.startswith("evenly"):
        means = np.linspace(0.35, 0.65, arms)
    else:
        means[:] = 0.65 if "0.65" in problem else 0.25
    return means


def run(sizes: Sequence[int] = SIZES) -> Section:
    """Samples until the answer; the ratio is to the best published algorithm of that problem."""
    rows = []
    for problem, published in PUBLISHED.items():
        for arms in sizes:
            where = gaussian(means_of(problem, arms), 0.5, horizon=CUT * arms)
            best = min(each for each in published[arms] if each is not None)
            for policy in OURS:
                print(f"  {problem}, {arms} arms: {policy}", file=sys.stderr, flush=True)
                played = simulate(policy, where, runs=RUNS, seed=SEED, delta=DELTA, stop_after=1, workers=1)
                answers = played.answers
                mean = float(np.mean([each.rounds for each in played.runs]))
                cells: dict[str, Any] = {
                    "means": problem,
                    "arms": arms,
                    "policy": policy,
                    "samples": mean,
                    "+-": 1.96 * float(np.std([each.rounds for each in played.runs])) / RUNS**0.5,
                    "cut": answers.open,
                    "wrong": answers.wrong,
                    **dict(zip(COLUMNS, published[arms], strict=True)),
                }
                rows.append(Row(cells, mean / best))
    return Section(
        "one_good_arm",
        f"one good arm, or none; delta {DELTA:g}, {RUNS} runs",
        "of the best published",
        rows,
        [f"Columns {', '.join(COLUMNS)}: mean stopping times of 1000 runs as published by Li & Cheung 2025."],
    )


if __name__ == "__main__":
    section = run([int(each) for each in sys.argv[1:]] or SIZES)
    section.print(Console(width=200))
    print(section.markdown(), flush=True)
