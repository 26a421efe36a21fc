"""Fixed test sets: what share of all arms × cases must be evaluated until arms are decided.

Real results of 240 prompt templates on 750 cases and of 30 models on 1000 questions; 20 random orders. Results are in
docs/cases-cost.md.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import goodarm
from benchmarks.section import Row, Section, Target
from goodarm.engine.totals import evidence_from_totals
from goodarm.environments.matrix import read_matrix
from goodarm.problem import Problem
from goodarm.rules.identification.gap_mixture import gap_mixture
from goodarm.rules.identification.paired import paired_results, paired_threshold
from goodarm.rules.identification.versus import as_if_paired, versus
from goodarm.rules.identification.with_scores import evidence_with_scores
from goodarm.simulation.run import Run

ORDERS, SEED, DELTA, SHARE = 20, 2025, 0.05, 0.8
BARS = {
    "prompt_templates": {0.41: 0.61, 0.52: 0.51, 0.56: 0.42},
    "gsm_models": {0.50: 0.21, 0.68: 0.23, 0.83: 0.13},
}
Floats = NDArray[np.float64]


def run() -> Section:
    rows = []
    for name, bars in BARS.items():
        for threshold, most in bars.items():
            rows += _policies(name, threshold, most)
    rows += [_with_replacement(), *_pairs(), *_judges()]
    notes = [
        f"{ORDERS} random orders, delta {DELTA:g}. Cells: evaluations of one arm on one case.",
        "80% of all: until 80% of the arms have a verdict. 80% of good: until 80% of the good arms are called good.",
    ]
    title = "share of all cells that is evaluated until arms are decided"
    return Section("cases", title, "until all are decided", rows, notes)


def folder() -> Path:
    return Path(os.environ.get("GOODARM_DATA") or Path(__file__).parents[2] / "shared" / "data") / "evals"


def _policies(name: str, threshold: float, most: float) -> list[Row]:
    environment = goodarm.matrix(folder() / f"{name}.csv.gz", threshold)
    rows = []
    for policy in ("uniform+gap-mixture", "settle+gap-mixture", "value+gap-mixture", "uniform+learned-bets"):
        found = goodarm.simulate(policy, environment, runs=ORDERS, seed=SEED, delta=DELTA, workers=1)
        cells = {
            "set": name,
            "bar": f"{threshold:.2f}",
            "method": policy,
            "80% of all": np.mean([_until(each, threshold, good=False) for each in found.runs]) / environment.horizon,
            "80% of good": np.mean([_until(each, threshold, good=True) for each in found.runs]) / environment.horizon,
            "undecided": sum(each.open_arms for each in found.runs),
            "wrong orders": f"{found.wrong_runs} of {ORDERS}",
        }
        share = float(np.mean([each.rounds for each in found.runs])) / environment.horizon
        rows.append(Row(cells, share, Target(at_most=most) if policy == "uniform+gap-mixture" else None))
    return rows


def _until(each: Run, threshold: float, good: bool) -> float:
    """Round of the verdict with which 80% of all arms are decided, or 80% of the good ones called good."""
    at = np.where(each.verdicts != 0, each.verdict_rounds, np.iinfo(np.int64).max)
    if good:
        at = at[each.means >= threshold]
    return float(np.sort(at)[math.ceil(SHARE * at.size) - 1])


def _line(name: str, bar: str, method: str, undecided: int, wrong: str, share: float) -> Row:
    cells = {"set": name, "bar": bar, "method": method, "80% of all": None, "80% of good": None}
    return Row({**cells, "undecided": undecided, "wrong orders": wrong}, share)


def _orders(results: Floats, number: int) -> Floats:
    """The results of every arm in a random order of its own."""
    return np.random.default_rng([SEED, number]).permuted(results, axis=1)


def _with_replacement() -> Row:
    """The rule that does not know N, on one set at one bar: what it leaves undecided after all cases."""
    name, threshold = "prompt_templates", 0.52
    _, results = read_matrix(folder() / f"{name}.csv.gz")
    bar = Problem(threshold=threshold, arms=len(results), delta=DELTA).bar
    pulls, spent, left = np.arange(1.0, results.shape[1] + 1), 0, 0
    for number in range(ORDERS):
        totals = _orders(results, number).cumsum(axis=1)
        good, bad = evidence_from_totals(gap_mixture, np.broadcast_to(pulls, totals.shape), totals, bar)
        decided = np.maximum(good, bad) >= bar.budget
        first = np.where(decided.any(axis=1), decided.argmax(axis=1) + 1, results.shape[1])
        spent, left = spent + int(first.sum()), left + int((~decided.any(axis=1)).sum())
    return _line(name, f"{threshold:.2f}", "uniform, N not known", left, "", spent / (ORDERS * results.size))


def _pairs() -> list[Row]:
    """Against the median model: pairs on the same cases, and the rule that compares two means."""
    _, results = read_matrix(folder() / "gsm_models.csv.gz")
    control = int(np.argsort(results.mean(axis=1))[len(results) // 2])
    environment = goodarm.matrix(paired_results(results, control), paired_threshold(0.0))
    found = goodarm.simulate("uniform+bet-mixture", environment, runs=ORDERS, seed=SEED, delta=DELTA, workers=1)
    cases = results.shape[1]
    paired = np.mean([each.rounds + cases for each in found.runs]) / results.size
    bar, others = Problem(threshold=0.5, arms=len(results) - 1, delta=DELTA).bar, np.delete(results, control, axis=0)
    looks = np.arange(50.0, cases + 1, 50.0)
    spent, left, orders = 0, 0, 2
    for number in range(orders):
        totals = _orders(others, number).cumsum(axis=1)[:, looks.astype(int) - 1]
        own = np.random.default_rng([SEED, 77, number]).permutation(results[control]).cumsum()[looks.astype(int) - 1]
        for arm in totals:
            stop = cases
            for n, total, mean in zip(looks, arm, own / looks, strict=True):
                read = as_if_paired(np.array([n]), np.array([total]), mean)
                good, bad = evidence_from_totals(versus, np.array([n]), read, bar, (n, mean))
                if max(good[0], bad[0]) >= bar.budget:
                    stop = int(n)
                    break
            else:
                left += 1
            spent += stop
    unpaired = (spent / orders + cases) / results.size
    wrong, undecided = f"{found.wrong_runs} of {ORDERS}", sum(each.open_arms for each in found.runs)
    return [
        _line(
            "gsm_models",
            "median model",
            "pairs, bet-mixture; control evaluated on all",
            undecided,
            wrong,
            float(paired),
        ),
        _line("gsm_models", "median model", f"two means, versus; {orders} orders", left, "", float(unpaired)),
    ]


JUDGED = {
    "prompt_templates": (0.52, 2),
    "gsm_models": (0.68, 5),
    "made up, near": (0.8, 3),
    "made up, wide": (0.8, 3),
    "made up, apart": (0.8, 3),
}
"""Sets on which labels are counted with judges that err, their bars, and the number of random orders."""


def _labels(name: str, order: int) -> Floats:
    """Results in a random order: real ones, or 20 arms on 2000 cases. Near: means uniform in [.65, .95]; wide: in
    [.3, 1]; apart: .75 or .85."""
    if not name.startswith("made up"):
        return _orders(np.asarray(read_matrix(folder() / f"{name}.csv.gz")[1], dtype=float), order)
    rng = np.random.default_rng([SEED, 5, order])
    low, high = (0.3, 1.0) if name.endswith("wide") else (0.65, 0.95)
    means = rng.uniform(low, high, size=20)
    if name.endswith("apart"):
        means = np.where(means < 0.8, 0.75, 0.85)
    return (rng.random((20, 2000)) < means[:, None]).astype(float)


def _judges() -> list[Row]:
    """Labels with a judge that errs in a share of the cases, of those without one."""
    rows = []
    for name, (threshold, orders) in JUDGED.items():
        sets = [_labels(name, order) for order in range(orders)]
        arms, cases = sets[0].shape
        bar = Problem(threshold=threshold, arms=arms, delta=DELTA, rewards=goodarm.Cases(cases)).bar
        pulls = np.broadcast_to(np.arange(1.0, cases + 1), (arms, cases))
        plain = 0
        for labels in sets:
            good, bad = evidence_from_totals(gap_mixture, pulls, labels.cumsum(axis=1), bar)
            plain += int((np.argmax(np.maximum(good, bad) >= bar.budget, axis=1) + 1).sum())
        for errs in (0.02, 0.05, 0.1, 0.2, 0.5):
            rng, spent, wrong = np.random.default_rng([SEED, int(1000 * errs)]), 0, 0
            for labels in sets:
                for each in labels:
                    scores = np.where(rng.random(cases) < errs, 1.0 - each, each)
                    good, bad = evidence_with_scores(each, scores, bar)
                    stop = int(np.argmax(np.maximum(good, bad) >= bar.budget))
                    spent += stop + 1
                    wrong += int((good[stop] >= bar.budget) != (each.mean() >= threshold))
            method = f"labels with a judge that errs in {errs:.0%}, of those without"
            rows.append(_line(name, f"{threshold:.2f}", method, 0, f"{wrong} arms", spent / plain))
    return rows
