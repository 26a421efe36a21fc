"""The promise: look after every reward; wrong runs stay within delta. Exact tests, level 1e-9 each."""

from __future__ import annotations

import numpy as np
import pytest

import goodarm
from goodarm.engine.compile import ALWAYS
from goodarm.engine.totals import evidence_from_totals
from goodarm.judgement.options import BY_TOTALS
from goodarm.numerics import binomial_tail
from goodarm.policies.names import identification_rule
from goodarm.problem import Gaussian, Problem
from goodarm.rules.identification.versus import as_if_paired, versus
from goodarm.testing.error_rates import LAW_LEVEL

pytestmark = pytest.mark.slow

DELTA, LEVEL = 0.1, LAW_LEVEL
RUNS, ROWS, ARMS = 400, 600, 4


def require_kept(wrong: int, runs: int) -> None:
    assert binomial_tail(wrong, runs, DELTA) > LEVEL, f"{wrong} of {runs} runs are wrong"


def paths(threshold: float, law: str) -> tuple[np.ndarray, np.ndarray]:
    """Pulls and totals after every reward, shapes (runs, arms, rows); every arm is exactly at the threshold."""
    chance = np.random.default_rng([int(1e6 * threshold), len(law)])
    shape = (RUNS, ARMS, ROWS)
    rewards = {
        "0/1": lambda: chance.random(shape) < threshold,
        "between": lambda: chance.beta(0.3 * threshold, 0.3 * (1.0 - threshold), shape),
        "gaussian": lambda: chance.normal(threshold, 1.0, shape),
    }[law]()
    return np.broadcast_to(np.arange(1.0, ROWS + 1.0), shape), np.cumsum(rewards, axis=2)


@pytest.mark.parametrize(
    ("threshold", "law"), [(0.001, "0/1"), (0.02, "0/1"), (0.5, "0/1"), (0.3, "between"), (0.0, "gaussian")]
)
def test_looking_after_every_reward(threshold: float, law: str) -> None:
    """An arm at the threshold is good: only `bad` is wrong. Below by nothing that matters: `good` is counted too."""
    rewards = {"rewards": Gaussian(1.0)} if law == "gaussian" else {}
    problem = Problem(threshold=threshold, arms=ARMS, delta=DELTA, **rewards)
    pulls, totals = paths(threshold, law)
    for side in evidence_from_totals(identification_rule(BY_TOTALS), pulls, totals, problem.bar):
        require_kept(int((side.max(axis=(1, 2)) >= problem.bar.budget).sum()), RUNS)


def test_the_test_sees_a_budget_without_log_k() -> None:
    problem = Problem(threshold=0.5, arms=ARMS, delta=DELTA)
    pulls, totals = paths(0.5, "0/1")
    side, _ = evidence_from_totals(identification_rule(BY_TOTALS), pulls, totals, problem.bar)
    naive = (np.abs(totals - 0.5 * pulls) > 1.96 * 0.5 * np.sqrt(pulls)).any(axis=(1, 2)).sum()
    assert binomial_tail(int(naive), RUNS, DELTA) < LEVEL
    assert (side.max(axis=(1, 2)) >= problem.bar.budget).sum() < naive


LOOKS = np.unique(np.geomspace(5, 4000, 60).astype(int))
PAIRS = 300
"""Rows of the arm at which it is compared with the control, and number of runs."""


def sums(chance: np.random.Generator, mean: float, share: int) -> np.ndarray:
    """Totals of an arm at each look, with `share` rewards per row; shape (runs, looks)."""
    steps = share * np.diff(LOOKS, prepend=0)
    return np.cumsum(chance.binomial(steps, mean, (PAIRS, LOOKS.size)), axis=1).astype(float)


@pytest.mark.parametrize("mean", [0.001, 0.02, 0.5])
@pytest.mark.parametrize("share", [1, 4])
def test_equal_arms_against_each_other(mean: float, share: int) -> None:
    """Margin 0, both means equal, the control pulled `share` times as often; looked at often on the way."""
    chance = np.random.default_rng([share, int(1e6 * mean)])
    for wrong in called(sums(chance, mean, 1), sums(chance, mean, share), share):
        require_kept(wrong, PAIRS)


def test_an_arm_may_move_with_the_control_but_not_compete_with_it() -> None:
    """The printed condition: with shared draws no run is wrong, with a reward that only one of them gets many are."""
    arm = sums(np.random.default_rng(1), 0.5, 1)
    for wrong in called(arm, arm, 1):
        require_kept(wrong, PAIRS)
    assert binomial_tail(max(called(arm, LOOKS - arm, 1)), PAIRS, DELTA) < 1e-3
    found = goodarm.judge({"arm": ["a", "b"], "pulls": [9, 9], "total": [5, 4]}, versus="a")
    assert any("do not compete with the control" in each for each in found.conditions)


def called(arm: np.ndarray, control: np.ndarray, share: int) -> list[int]:
    """Runs in which the arm was ever called better, or worse."""
    at, runs = LOOKS, PAIRS
    problem = Problem(threshold=0.5, arms=1, delta=DELTA)
    worst = np.full((2, runs), -np.inf)
    for j, n in enumerate(at):
        for total in np.unique(control[:, j]):
            which = control[:, j] == total
            values = (float(share * n), float(total / (share * n)))
            pulls = np.full(int(which.sum()), float(n))
            paired = as_if_paired(pulls, arm[which, j], values[1])
            found = evidence_from_totals(versus, pulls, paired, problem.bar, values, ALWAYS)
            worst[:, which] = np.maximum(worst[:, which], found)
    return [int((side >= problem.bar.budget).sum()) for side in worst]
