"""`learned-bets-ladder`: half of each expert before landing, and verdicts that land on the budget."""

import math

import numpy as np
import pytest

from goodarm import bernoulli, simulate
from goodarm.problem import Bar, Gaussian, Problem
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification.learned_bets_ladder import landed, observe
from goodarm.rules.learners.ladder import DRIFT, FIXED, SLOPE, Ladder, start

FAR = Problem(threshold=0.4, arms=4, delta=1e-100).bar
"""A budget so large that nothing lands."""
WITHOUT_BOUNDS = Problem(threshold=1.0, arms=4, delta=1e-100, rewards=Gaussian(scale=2.0)).bar


def learned(bar: Bar) -> Ladder:
    """A ladder whose learned weights lean to large gaps."""
    ladder = start(bar)
    weights = ladder.steps[FIXED] * np.abs(ladder.steps[SLOPE])
    return ladder._replace(weights=weights / weights.sum())


def evidence_after(rewards: list[float], ladder: Ladder, bar: Bar) -> tuple[float, float]:
    arm, row = Arm(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), np.zeros(2)
    for reward in rewards:
        good, bad, _ = observe(arm._replace(memory=row), reward, Pool(1.0, 1e6, ladder), bar)
        arm = arm._replace(pulls=arm.pulls + 1.0, total=arm.total + reward, for_good=good, for_bad=bad)
    return arm.for_good, arm.for_bad


def mixture(rewards: list[float], weights: np.ndarray, ladder: Ladder, good: bool) -> float:
    """log of the likelihood ratio averaged over one side of the ladder, from its definition."""
    side = ladder.steps[SLOPE] > 0.0 if good else ladder.steps[SLOPE] < 0.0
    terms = np.exp(sum(rewards) * ladder.steps[SLOPE][side] + len(rewards) * ladder.steps[DRIFT][side])
    return math.log(float((weights[side] / weights[side].sum()) @ terms))


@pytest.mark.parametrize("bar", [FAR, WITHOUT_BOUNDS], ids=["bounded", "without bounds"])
@pytest.mark.parametrize("good", [True, False])
def test_before_landing_it_is_half_of_each_expert(bar: Bar, good: bool) -> None:
    ladder = learned(bar)
    rewards = [1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0] * 4
    experts = [mixture(rewards, weights, ladder, good) for weights in (ladder.steps[FIXED], ladder.weights)]
    expected = float(np.logaddexp(*experts)) - math.log(2.0)
    assert evidence_after(rewards, ladder, bar)[0 if good else 1] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("missing", [0.01, 0.3, 1.0])
def test_a_whole_number_of_successes_lands_on_the_budget(missing: float) -> None:
    above = landed(0.05, missing, 0.4)
    successes = missing / math.log1p(above / 0.4)
    assert successes == pytest.approx(round(successes), abs=1e-9)
    assert 0.0 < above <= 0.05
    assert landed(0.05, 5.0, 0.4) == 0.05


def test_a_bet_never_risks_everything_to_land() -> None:
    assert landed(0.004, 0.2, 0.99) <= 0.95 * 0.01


def test_verdicts_do_not_jump_over_the_budget() -> None:
    """Where a success is worth much, plain mixtures overshoot; here every verdict stands on the budget."""
    played = simulate("value-ladder", bernoulli([0.05] * 3 + [0.2] * 3, 0.08), runs=20, seed=4)
    budget = played.spec.problem.bar.budget
    good = np.concatenate([run.evidence[run.verdicts == 1, 0] for run in played.runs])
    assert good.size > 40
    assert (good >= budget).all()
    assert good.max() < budget + 1e-6
