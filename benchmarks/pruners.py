"""Pruning a trial on the same cases as the incumbent: Optuna's WilcoxonPruner and ours on the same simulated trials."""

from __future__ import annotations

import warnings

import numpy as np
import optuna

from benchmarks.section import Row, Section
from goodarm.integrations.optuna_pruner import CertifiedPruner

CASES, PASSED, STUDIES, SEED = 100, 70, 100, 90210
LEVEL = 0.1
TRIALS = {"1 point better": 71, "10 points worse": 60, "20 points worse": 50}


def results(chance: np.random.Generator, passed: int) -> np.ndarray:
    """Which cases pass: `passed` of them, at random."""
    return chance.permutation(np.arange(CASES) < passed).astype(np.float64)


def evaluated(pruner: optuna.pruners.BasePruner, incumbent: np.ndarray, trial: np.ndarray, order: np.ndarray) -> int:
    """How many cases of the trial are evaluated before it is pruned; all of them if it is not."""
    study = optuna.create_study(direction="maximize", pruner=pruner)
    steps = {int(case): float(incumbent[case]) for case in range(CASES)}
    study.add_trial(optuna.trial.create_trial(value=float(incumbent.mean()), intermediate_values=steps))
    asked = study.ask()
    if isinstance(pruner, CertifiedPruner):
        order = np.array(list(pruner.order(asked)))
    for count, case in enumerate(order, start=1):
        asked.report(float(trial[case]), int(case))
        if asked.should_prune():
            return count
    return CASES


def run() -> Section:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    rows = []
    for kind, passed in TRIALS.items():
        chance = np.random.default_rng(SEED)
        seen: dict[str, list[int]] = {"WilcoxonPruner": [], "CertifiedPruner": []}
        for number in range(STUDIES):
            incumbent, trial, order = results(chance, PASSED), results(chance, passed), chance.permutation(CASES)
            certified = CertifiedPruner(CASES, delta=LEVEL, seed=number)
            seen["WilcoxonPruner"].append(
                evaluated(optuna.pruners.WilcoxonPruner(p_threshold=LEVEL), incumbent, trial, order)
            )
            seen["CertifiedPruner"].append(evaluated(certified, incumbent, trial, order))
        for name, counts in seen.items():
            pruned = sum(count < CASES for count in counts)
            cells = {
                "trial": kind,
                "pruner": name,
                "pruned": f"{pruned} of {STUDIES}",
                "cases evaluated, mean": float(np.mean(counts)),
            }
            rows.append(Row(cells))
    notes = [
        f"{CASES} cases with 0/1 results, of which the incumbent passes {PASSED}; which cases pass is independent. "
        f"p_threshold and delta are {LEVEL:g}; seed {SEED}."
    ]
    return Section("pruners", "a trial against the incumbent, on the same cases", "", rows, notes)
