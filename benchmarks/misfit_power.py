"""`python -m benchmarks.misfit_power [--runs N]`: how often the check of a model's fit warns, where the line is wrong.

1000 unit vectors in 10 dimensions, means linear in them within 0.2 of the threshold, and then some arms are lowered.
Printed: runs with a wrong verdict, runs with the warning, and runs in which each of the four questions alone warns.
"""

from __future__ import annotations

import argparse
import math
import warnings
from typing import Any

import numpy as np

from goodarm.environments import Environment
from goodarm.environments.laws import bernoulli_reward
from goodarm.environments.with_features import in_band, unit_vectors
from goodarm.errors import ModelWarning
from goodarm.models import misfit
from goodarm.numerics import log_normal_cdf
from goodarm.simulation.run import assembly_of, play
from goodarm.simulation.specification import specify

SEED = 2026
ALARM_AT = log_normal_cdf(-misfit.ALARM) - math.log(misfit.QUESTIONS)
CASES = (  # arms that are lowered, by how much
    (0, 0.0), (1, 0.4), (10, 0.1), (10, 0.2), (10, 0.4), (100, 0.05), (100, 0.1), (100, 0.2),
)  # fmt: skip
POLICIES = ("widest+self-normalised(norm=1)@linear", "widest+design(norm=1)@linear", "ucb(beta=1)+kt@linear")


def lowered(count: int, depth: float) -> Environment:
    """The linear environment with its `count` best arms `depth` below the line."""
    features = unit_vectors(1000, 10)

    def draw(generator: Any) -> Any:
        means = in_band(features @ generator.standard_normal(10), width=0.2)
        best = np.argsort(-means, kind="stable")[:count]
        means[best] -= depth
        return np.clip(means, 0.0, 1.0)

    return Environment("lowered", 1000, 0.5, draw, bernoulli_reward, describe=lambda: features)


def row(name: str, count: int, depth: float, runs: int, horizon: int) -> list[str]:
    """One line of the table."""
    spec = specify(name, lowered(count, depth), horizon=horizon, seed=SEED)
    assembly = assembly_of(spec)
    wrong, warned, single = 0, 0, np.zeros(4, dtype=int)
    kept: list[Any] = []
    ask, assembly_misfit = misfit.misfit, type(assembly).misfit

    def remember(self: Any, arms: Any) -> float:
        kept.append(arms.copy())
        return float(assembly_misfit(self, arms))

    type(assembly).misfit = remember  # type: ignore[method-assign]  # the table of a run is not kept otherwise
    try:
        for number in range(runs):
            run = play(spec, number, assembly)
            good = run.means >= 0.5
            wrong += bool((((run.verdicts == 1) & ~good) | ((run.verdicts == -1) & good)).any())
            warned += run.misfit > misfit.ALARM
            single += np.array(misfit.chances(kept[-1], spec.problem.bar)) < ALARM_AT
    finally:
        type(assembly).misfit = assembly_misfit  # type: ignore[method-assign]
    assert ask is misfit.misfit
    return [f"`{name}`", str(count), f"{depth:g}", f"{wrong}", f"{warned}", *map(str, single)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.misfit_power", description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--horizon", type=int, default=50_000)
    options = parser.parse_args()
    heads = ["policy", "arms lowered", "by", "wrong runs", "warned", "all together", "any arm", "any called good",
             "neighbours"]  # fmt: skip
    print(f"| {' | '.join(heads)} |\n| {' | '.join('---' for _ in heads)} |")
    warnings.simplefilter("ignore", ModelWarning)
    for name in POLICIES:
        for count, depth in CASES:
            print(f"| {' | '.join(row(name, count, depth, options.runs, options.horizon))} |", flush=True)


if __name__ == "__main__":
    main()
