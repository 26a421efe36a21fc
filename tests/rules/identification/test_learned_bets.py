"""`learned-bets`: half of each expert before landing, bets that can still pay, verdicts that land on the budget,
thresholds next to 0 and 1.

That it is a fair game down to 1e-15 is asked of every evidence rule, in tests/conformance.
"""

import math

import numpy as np
import pytest

from goodarm import bernoulli, simulate
from goodarm.problem import Bar, Gaussian, Problem
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification.learned_bets import in_time, landed, learned_bets, observe
from goodarm.rules.learners.ladder import COST, DRIFT, FIXED, SLOPE, WEIGHTS, Ladder, start
from goodarm.testing.rule_checks import NOTHING

FAR = Problem(threshold=0.4, arms=4, delta=1e-100).bar
"""A budget so large that nothing lands."""
WITHOUT_BOUNDS = Problem(threshold=1.0, arms=4, delta=1e-100, rewards=Gaussian(scale=2.0)).bar


def learned(bar: Bar) -> Ladder:
    """A ladder whose learned weights lean to large gaps."""
    ladder = start(bar)
    weights = ladder.table[FIXED] * np.abs(ladder.table[SLOPE])
    ladder.table[WEIGHTS] = weights / weights.sum()
    return ladder


def evidence_after(rewards: list[float], ladder: Ladder, bar: Bar) -> tuple[float, float]:
    arm, row = Arm(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), np.zeros(learned_bets.memory)
    for reward in rewards:
        good, bad, _ = observe(arm._replace(memory=row), reward, Pool(1.0, math.inf, ladder), bar)
        arm = arm._replace(pulls=arm.pulls + 1.0, total=arm.total + reward, for_good=good, for_bad=bad)
    return arm.for_good, arm.for_bad


def mixture(rewards: list[float], weights: np.ndarray, ladder: Ladder, good: bool) -> float:
    """log of the likelihood ratio averaged over one side of the ladder, from its definition."""
    side = ladder.table[SLOPE] > 0.0 if good else ladder.table[SLOPE] < 0.0
    terms = np.exp(sum(rewards) * ladder.table[SLOPE][side] + len(rewards) * ladder.table[DRIFT][side])
    return math.log(float((weights[side] / weights[side].sum()) @ terms))


@pytest.mark.parametrize("bar", [FAR, WITHOUT_BOUNDS], ids=["bounded", "without bounds"])
@pytest.mark.parametrize("good", [True, False])
def test_before_landing_it_is_half_of_each_expert(bar: Bar, good: bool) -> None:
    ladder = learned(bar)
    rewards = [1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0] * 4
    experts = [mixture(rewards, weights, ladder, good) for weights in (ladder.table[FIXED], ladder.table[WEIGHTS])]
    expected = float(np.logaddexp(*experts)) - math.log(2.0)
    assert evidence_after(rewards, ladder, bar)[0 if good else 1] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("bar", [FAR, WITHOUT_BOUNDS], ids=["bounded", "without bounds"])
@pytest.mark.parametrize("good", [True, False])
def test_near_the_end_only_gaps_that_can_still_pay_are_counted_on(bar: Bar, good: bool) -> None:
    ladder = learned(bar)
    half, side = ladder.table.shape[1] // 2, 0 if good else 1
    rounds = 10.0 * bar.budget * ladder.table[COST].min()
    first, last = in_time(ladder, half if good else 0, 2 * half if good else half, 0.5 * rounds, bar.budget)
    assert 0 < last - first < half
    arm = Arm(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, np.zeros(learned_bets.memory), 0.0)
    found = observe(arm, 1.0, Pool(101.0, 100.0 + rounds, ladder), bar)[side]
    factors = np.exp(ladder.table[SLOPE] + ladder.table[DRIFT])[first:last]
    shares = [ladder.table[row][first:last] for row in (FIXED, WEIGHTS)]
    expected = math.log(sum(float(share @ factors / share.sum()) for share in shares) / 2.0)
    assert found == pytest.approx(expected, rel=1e-9)
    assert found != pytest.approx(observe(arm, 1.0, Pool(101.0, math.inf, ladder), bar)[side], rel=1e-3)


def test_where_no_gap_is_large_enough_for_the_time_left_bets_are_as_without_an_end() -> None:
    ladder = learned(FAR)
    arm = Arm(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, np.zeros(learned_bets.memory), 0.0)
    unhurried = observe(arm, 1.0, Pool(101.0, math.inf, ladder), FAR)
    assert observe(arm, 1.0, Pool(101.0, 101.0, ladder), FAR) == unhurried
    assert observe(arm, 1.0, Pool(101.0, 50.0, ladder), FAR) == unhurried


@pytest.mark.slow
def test_few_rounds_are_used_boldly() -> None:
    """Eleven pulls for each of ten good arms: the same bets without a deadline find fewer in time."""
    arms = bernoulli(lambda generator: generator.uniform(0.42, 0.65, 10), 0.4)
    played = simulate("value", arms, horizon=110, runs=200, seed=6)
    timid = simulate("value(deadline=1e9)", arms, horizon=110, runs=200, seed=6)
    assert played.exploit_score.mean > 1.3 * timid.exploit_score.mean
    assert played.wrong_runs == 0


@pytest.mark.parametrize("missing", [0.01, 0.3, 1.0])
def test_a_whole_number_of_successes_lands_on_the_budget(missing: float) -> None:
    above = landed(0.05, missing, 0.4)
    successes = missing / math.log1p(above / 0.4)
    assert successes == pytest.approx(round(successes), abs=1e-9)
    assert 0.0 < above <= 0.05
    assert landed(0.05, 5.0, 0.4) == 0.05


def test_a_bet_never_risks_everything_to_land() -> None:
    assert landed(0.004, 0.2, 0.99) <= 0.95 * 0.01


@pytest.mark.slow
def test_verdicts_do_not_jump_over_the_budget() -> None:
    """Where a success is worth much, plain mixtures overshoot; here every verdict stands on the budget."""
    played = simulate("value", bernoulli([0.05] * 3 + [0.2] * 3, 0.08), runs=20, seed=4)
    budget = played.spec.problem.bar.budget
    good = np.concatenate([run.evidence[run.verdicts == 1, 0] for run in played.runs])
    assert good.size > 40
    assert (good >= budget).all()
    assert good.max() < budget + 1e-6


@pytest.mark.slow
def test_an_arm_that_always_pays_0_is_never_good() -> None:
    """At 1 - 1e-14 the guess for a good arm once lay below the threshold, and every 0 was evidence for good."""
    result = simulate("uniform+learned-bets", bernoulli([0.0], 1.0 - 1e-14), horizon=2000, runs=1)
    assert result.runs[0].verdicts.tolist() == [-1]


@pytest.mark.parametrize("threshold", [0.2, 0.05, 1e-3, 1e-15])
def test_one_reward_costs_at_most_three_nats(threshold: float) -> None:
    """Below 0.2 the first bet was once everything, and an early success cost 24 nats."""
    bar = Problem(threshold=threshold, arms=10).bar
    pool, arm = Pool(1.0, 1e6, start(bar)), NOTHING._replace(memory=np.zeros(learned_bets.memory))
    assert min(observe(arm, reward, pool, bar)[side] for reward in (0.0, 1.0) for side in (0, 1)) > math.log(0.049)


@pytest.mark.slow
def test_few_runs_wait_long_for_bad_below_a_small_threshold() -> None:
    """The 90% quantile of pulls was 4800 when an early success could cost 24 nats; it is 1400."""
    result = simulate("uniform+learned-bets", bernoulli([0.15], 0.2), horizon=20_000, runs=400, seed=3)
    assert np.quantile([run.rounds for run in result.runs], 0.9) < 2000
