"""`value` and `settle` read the likelihoods that `learned-bets` keeps: the same numbers, computed once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goodarm.problem import Bar, Gaussian, Problem
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification.learned_bets import learned_bets, observe
from goodarm.rules.learners.ladder import (
    COST,
    DRIFT,
    FAINT,
    LEAVING,
    LIKELIHOODS,
    SLOPE,
    WEIGHTS,
    WORTH,
    Ladder,
    likelihoods,
    start,
)
from goodarm.rules.sampling.settle import hope_for_bad, hope_for_good, settle
from goodarm.rules.sampling.value import TOO_LATE, value

BARS = [
    Problem(threshold=0.3, arms=20).bar,
    Problem(threshold=0.01, arms=1000).bar,
    Problem(threshold=1.0, arms=20, rewards=Gaussian(scale=2.0)).bar,
]


def told(bar: Bar, rewards: list[float], pool: Pool) -> Arm:
    """An arm of `learned-bets` after some rewards."""
    arm = Arm(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, np.zeros(learned_bets.memory), 0.0)
    for reward in rewards:
        good, bad, _ = observe(arm, reward, pool, bar)
        arm = arm._replace(pulls=arm.pulls + 1.0, total=arm.total + reward, for_good=good, for_bad=bad)
    return arm


def some_rewards(bar: Bar, count: int, seed: int) -> list[float]:
    draws = np.random.default_rng(seed).random(count)
    return [float(x < bar.threshold) if bar.bounded > 0.0 else float(2.0 * x) for x in draws]


@pytest.mark.parametrize("bar", BARS)
@pytest.mark.parametrize("rule", [value, settle], ids=lambda rule: rule.name)
@pytest.mark.parametrize("count", [1, 7, 120])
def test_the_index_is_the_same_from_kept_likelihoods(bar: Bar, rule, count: int) -> None:
    pool = Pool(float(count), 1e5, start(bar)._replace(left=1e4))
    arm = told(bar, some_rewards(bar, count, count), pool)
    assert rule.index_of_kept(arm, pool, bar) == rule.index(arm, pool, bar) > 0.0


@pytest.mark.parametrize("bar", BARS)
def test_likelihoods_that_belong_to_other_totals_are_not_used(bar: Bar) -> None:
    """An arm may come from elsewhere, as in a check of the bets: then its memory is of another arm."""
    pool = Pool(50.0, 1e5, start(bar))
    arm = told(bar, some_rewards(bar, 30, 1), pool)
    moved = arm._replace(total=arm.total + 1.0)
    fresh = moved._replace(memory=np.zeros(learned_bets.memory))
    fresh.memory[:2] = moved.memory[:2]
    assert observe(moved, 1.0, pool, bar) == observe(fresh, 1.0, pool, bar)
    assert np.array_equal(moved.memory, fresh.memory)
    assert np.array_equal(moved.memory[LIKELIHOODS:], likelihoods(31.0, moved.total + 1.0, pool.learned))


@given(st.floats(0.0, 7.0), st.floats(0.0, 1.0), st.sampled_from(BARS))
def test_only_faint_likelihoods_are_left_out(size: float, share: float, bar: Bar) -> None:
    """Whole blocks of steps are left out, up to ten million pulls: exactly those below e^-30 of the largest."""
    pulls = float(round(10.0**size))
    steps = start(bar)
    total = share * pulls if bar.bounded > 0.0 else bar.threshold * pulls + 20.0 * (share - 0.5) * math.sqrt(pulls)
    logs = total * steps.table[SLOPE] + pulls * steps.table[DRIFT]
    found, expected = likelihoods(pulls, total, steps), logs - logs.max()
    assert np.array_equal(found > 0.0, expected > -FAINT)
    assert np.allclose(np.log(found[found > 0.0]), expected[found > 0.0], atol=2e-4)
    assert found.max() == 1.0


def best_of_all_hopes(chances: np.ndarray, ladder: Ladder, patience: float, missing: float, bad: bool) -> float:
    """The formula of `value`'s docstring for every second hope of one side, none skipped."""
    table = ladder.table
    size = table.shape[1]
    order = np.arange(size)[::-1] if bad else np.arange(size)
    posterior = (chances * table[WEIGHTS])[order]
    worth, cost = np.ones(size) if bad else table[WORTH], table[COST][order]
    best = 0.0
    for g in range(size - 1, size // 2 - 1, -2):
        leaving = table[LEAVING + order[g]][order]
        most = missing * cost[g]
        lost = float(np.sum(posterior[:g] * np.minimum(most, patience * leaving[:g])))
        gained = float(np.sum(posterior[g:] * worth[g:]))
        found = gained / (missing * float(np.sum(posterior[g:] * cost[g:])) + lost) if gained > 0.0 else 0.0
        best = max(best, found if most <= ladder.left else TOO_LATE * found)
    return best


@given(st.integers(1, 3000), st.floats(0.0, 1.0), st.floats(10.0, 1e6), st.sampled_from(BARS[:2]))
def test_a_hope_that_is_skipped_would_not_have_won(pulls: int, share: float, left: float, bar: Bar) -> None:
    ladder = start(bar)._replace(left=left)
    arm = Arm(float(pulls), share * pulls, share, 1.0 / math.sqrt(pulls), 0.5, 0.25, 0.0, 0.0)
    chances = likelihoods(arm.pulls, arm.total, ladder)
    hope = best_of_all_hopes(chances, ladder, 2.0, bar.budget - 0.5 + 0.5, bad=False)
    assert value.index(arm, Pool(1.0, 1e6, ladder), bar) == pytest.approx(hope, rel=1e-12)
    fear = best_of_all_hopes(chances, ladder, 2.0, bar.budget - 0.25 + 0.5, bad=True)
    assert settle.index(arm, Pool(1.0, 1e6, ladder), bar) >= fear * (1.0 - 1e-12)


@pytest.mark.parametrize("bar", BARS[:2])
@pytest.mark.parametrize("purse", [0.0, 1.0])
def test_the_usual_rewards_are_observed_alike_by_the_shorter_function(bar: Bar, purse: float) -> None:
    """Simulations compile `usual` in place of `observe`."""
    bar = bar._replace(purse=purse)
    arms = []
    for rule in (observe, learned_bets.usual):
        assert rule is not None
        pool = Pool(50.0, 1e5, start(bar))
        arm = Arm(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, np.zeros(learned_bets.memory), 0.0)
        for reward in [*some_rewards(bar, 40, 2), 0.25]:
            good, bad, _ = rule(arm, reward, pool, bar)
            arm = arm._replace(pulls=arm.pulls + 1.0, total=arm.total + reward, for_good=good, for_bad=bad)
        arms.append((arm.for_good, arm.for_bad, arm.memory.tolist(), pool.learned.table.tolist()))
    assert arms[0] == arms[1]


def test_a_model_of_the_arms_has_the_same_index_by_the_shorter_function() -> None:
    bar = BARS[0]._replace(modelled=1.0)
    arm, pool = Arm(30.0, 12.0, 0.35, 0.1, 0.5, 0.25, 0.0, 0.0), Pool(31.0, 1e4, start(bar))
    assert value.index_of_model is not None
    assert value.index_of_model(arm, pool, bar) == value.index(arm, pool, bar) > 0.0


@given(st.integers(1, 3000), st.floats(0.0, 1.0), st.floats(10.0, 1e6), st.sampled_from(BARS[:2]))
def test_the_larger_hope_does_not_depend_on_which_one_comes_first(
    pulls: int, share: float, left: float, bar: Bar
) -> None:
    ladder = start(bar)._replace(left=left)
    chances = likelihoods(float(pulls), share * pulls, ladder)
    good = hope_for_good(chances, ladder.table, 2.0, bar.budget, left, 0.0)
    bad = hope_for_bad(chances, ladder.table, 2.0, bar.budget + 1.0, left, 0.0)
    assert hope_for_bad(chances, ladder.table, 2.0, bar.budget + 1.0, left, good) == max(good, bad)
    assert hope_for_good(chances, ladder.table, 2.0, bar.budget, left, bad) == max(good, bad)


@given(
    st.integers(1, 400),
    st.floats(0.2, 5.0),
    st.sampled_from([-1.0, *map(float, range(0, 17, 2)), *map(float, range(17, 34, 2))]),
    st.floats(1.0, 1e6),
    st.sampled_from(BARS[:2]),
    st.sampled_from([value, settle]),
)
def test_an_arm_stays_ahead_only_if_its_index_exceeds_the_rival(
    count: int, share: float, hint: float, left: float, bar: Bar, rule
) -> None:
    pool = Pool(float(count), 1e5, start(bar)._replace(left=left))
    arm = told(bar, some_rewards(bar, count, count), pool)
    index = rule.index_of_kept(arm, pool, bar)
    for rival in (share * index, index, 0.0, -math.inf, math.nan):
        if rule.stays_ahead(arm, pool, bar, rival, hint) >= 0.0:
            assert index > rival


@pytest.mark.parametrize("bar", BARS[:2])
@pytest.mark.parametrize("count", [1, 7, 120])
def test_an_arm_that_is_far_ahead_is_found_with_any_hint_and_its_hope_is_the_next_hint(bar: Bar, count: int) -> None:
    pool = Pool(float(count), 1e5, start(bar)._replace(left=1e4))
    arm = told(bar, some_rewards(bar, count, count), pool)
    rival = 0.999 * value.index_of_kept(arm, pool, bar)
    for hint in (-1.0, 17.0, 33.0):
        found = value.stays_ahead(arm, pool, bar, rival, hint)
        assert found >= 0.0
        assert value.stays_ahead(arm, pool, bar, rival, found) == found


def test_an_arm_whose_waste_is_not_counted_would_seem_ahead() -> None:
    """A wrong sum, as if what is wasted on worse arms were free, finds arms ahead that are not."""
    bar = BARS[0]
    ladder = start(bar)._replace(left=1e4)
    arm = told(bar, some_rewards(bar, 30, 1), Pool(30.0, 1e5, ladder))
    index = value.index_of_kept(arm, Pool(30.0, 1e5, ladder), bar)
    free = ladder._replace(table=np.where(np.arange(len(ladder.table))[:, None] >= LEAVING, 0.0, ladder.table))
    assert value.stays_ahead(arm, Pool(30.0, 1e5, ladder), bar, index, -1.0) == -1.0
    assert value.stays_ahead(arm, Pool(30.0, 1e5, free), bar, index, -1.0) >= 0.0
