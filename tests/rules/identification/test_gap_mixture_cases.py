"""`gap-mixture` on finite sets: the formula as in a book, its limits, and intervals about the mean of the set."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goodarm.engine import winner_tree
from goodarm.engine.assemble import loop_parameters, parts_of
from goodarm.engine.totals import evidence_from_totals, interval_from_totals, more_pulls_needed
from goodarm.errors import InvalidValue, UnsoundPairing
from goodarm.policies import policy
from goodarm.problem import Cases, GradedCases, Problem
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification.gap_mixture import CERTAIN, GAPS, LOG_WEIGHTS, gap_mixture, smallest_good, totals
from goodarm.rules.learners.ladder import ladder_learner


def bar_of(threshold: float, cases: int, arms: int = 1):
    return Problem(threshold=threshold, arms=arms, rewards=Cases(cases)).bar


@settings(max_examples=60, deadline=None)
@given(threshold=st.floats(0.02, 0.98), cases=st.integers(2, 80), data=st.data())
def test_it_is_the_average_of_hypergeometric_ratios(threshold: float, cases: int, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, cases))
    s = data.draw(st.integers(0, n))
    good = int(smallest_good(threshold, cases))
    for side, null, seen in zip((1, -1), (good - 1, good), totals(n, s, bar_of(threshold, cases)), strict=True):
        below = math.comb(null, s) * math.comb(cases - null, n - s)
        if below == 0:
            assert abs(seen) == CERTAIN
            continue
        average = 0.0
        for gap, log_weight in zip(GAPS, LOG_WEIGHTS, strict=True):
            mean = 1.0 / (1.0 + (1.0 - threshold) / threshold * math.exp(-side * gap))
            if side > 0:
                other = min(max(math.floor(cases * mean + 0.5), null + 1), cases)
            else:
                other = max(min(cases - math.floor(cases * (1.0 - mean) + 0.5), null - 1), 0)
            above = math.comb(other, s) * math.comb(cases - other, n - s)
            average += math.exp(log_weight) * above / below
        assert seen == pytest.approx(math.log(average), abs=1e-5) if average else seen == -CERTAIN


@pytest.mark.parametrize(("pulls", "total"), [(1000.0, 35.0), (1000.0, 12.0), (40.0, 0.0), (3.0, 3.0)])
def test_many_cases_are_nearly_endless(pulls: float, total: float) -> None:
    endless = totals(pulls, total, Problem(threshold=0.02, arms=200).bar)
    assert totals(pulls, total, bar_of(0.02, 10**9, 200)) == pytest.approx(endless, abs=2e-4)


def test_certainty_and_impossibility() -> None:
    bar = bar_of(0.5, 10)  # good from 5 successes on
    assert totals(5.0, 5.0, bar) == (CERTAIN, -CERTAIN)
    assert totals(6.0, 0.0, bar) == (-CERTAIN, CERTAIN)
    assert totals(10.0, 5.0, bar) == (CERTAIN, -CERTAIN)
    assert totals(10.0, 4.0, bar) == (-CERTAIN, CERTAIN)
    assert totals(11.0, 11.0, bar) == (-CERTAIN, -CERTAIN)  # no such set: no verdict


@pytest.mark.parametrize(("threshold", "cases", "good"), [(0.56, 750, 420), (0.8, 500, 400), (0.7, 10, 7), (0.3, 7, 3)])
def test_a_mean_that_is_the_bar_is_good(threshold: float, cases: int, good: int) -> None:
    """0.56 * 750 is a little more than 420 in floating point."""
    assert smallest_good(threshold, cases) == good


def test_only_rules_with_a_proof_for_cases_may_decide() -> None:
    assert policy("uniform+gap-mixture", rewards=Cases(100)).identification is gap_mixture
    with pytest.raises(UnsoundPairing, match="100 cases"):
        policy("uniform+kt", rewards=Cases(100))
    with pytest.raises(UnsoundPairing, match="100 cases"):
        policy("uniform+gap-mixture", rewards=GradedCases(100))


@pytest.mark.parametrize("count", [0, -1, 2.5, True, "many", 10**10])
def test_a_number_of_cases_that_makes_no_sense(count: object) -> None:
    with pytest.raises(InvalidValue):
        Cases(count)


def test_a_case_passes_or_fails() -> None:
    Cases(3).check_reward(1.0)
    with pytest.raises(InvalidValue, match="GradedCases"):
        Cases(3).check_reward(0.5)


@pytest.mark.slow
@pytest.mark.parametrize(("threshold", "cases"), [(0.5, 40), (0.83, 61)])
def test_the_interval_agrees_with_the_verdict_and_ends_in_a_point(threshold: float, cases: int) -> None:
    bar = bar_of(threshold, cases)
    n, s = (each[1:].astype(float) for each in np.tril_indices(cases + 1))
    low, high = interval_from_totals(gap_mixture, n, s, bar, bar.budget)
    for_good, for_bad = evidence_from_totals(gap_mixture, n, s, bar)
    good, bad = for_good >= bar.budget, for_bad >= bar.budget
    assert ((low >= threshold) == good).all()
    assert ((high < threshold) == bad).all()
    assert (low <= high).all()
    assert (s / cases <= low).all()
    assert (high <= (s + cases - n) / cases).all()
    last = n == cases
    assert (low[last] == s[last] / cases).all()
    assert (high[last] == s[last] / cases).all()


def test_the_interval_covers_the_mean_of_the_set_at_all_times() -> None:
    """400 orders, looked at after every draw; 5% may miss on each side, and 2 * 400 * 0.05 = 40 is allowed for."""
    cases, total, arms = 60, 40, 400
    bar = Problem(threshold=0.5, arms=1, delta=0.05, rewards=Cases(cases)).bar
    drawn = np.random.default_rng(5).permuted(np.tile(np.arange(cases) < total, (arms, 1)), axis=1)
    s, n = np.cumsum(drawn, axis=1).astype(float), np.broadcast_to(np.arange(1.0, cases + 1), (arms, cases))
    low, high = interval_from_totals(gap_mixture, n, s, bar, bar.budget)
    missed = ((low > total / cases + 1e-12) | (high < total / cases - 1e-12)).any(axis=1)
    assert missed.sum() <= 40


def test_no_more_cases_are_needed_than_there_are() -> None:
    bar = bar_of(0.5, 100)
    needed = more_pulls_needed(gap_mixture, np.array([10.0, 50.0, 50.0]), np.array([5.0, 25.0, 40.0]), bar, bar.budget)
    assert (needed <= [90.0, 50.0, 50.0]).all()
    assert needed[2] == 0.0


@pytest.mark.parametrize("name", ["value", "settle"])
def test_on_a_fixed_set_no_index_is_read_from_kept_likelihoods(name: str) -> None:
    """`learned-bets` keeps none there."""
    bar = Problem(threshold=0.5, arms=3, rewards=Cases(100)).bar
    arm, pool = Arm(20.0, 14.0, 0.7, 0.2, 0.5, -0.4, np.zeros(60), 0.0), Pool(30.0, math.inf, ladder_learner.start(bar))
    made, tree = policy(name), winner_tree.empty(3)
    parts_of(made, uniform_draw, bar).update(tree, 1, arm, pool, bar, loop_parameters(made)[0])
    assert tree[1].tolist() == [made.sampling.index(arm, pool, bar), 1.0]
    assert tree[1, 0] > 0.0


def uniform_draw(i: int, pulls: float, source: object) -> float:
    return 0.5
