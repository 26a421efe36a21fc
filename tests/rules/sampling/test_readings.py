"""Rules that exist because a paper prints them: each does what its page says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from goodarm import bernoulli, policy, simulate
from goodarm.problem import Problem
from goodarm.rules.beliefs import Pool, write_arm
from goodarm.rules.identification.hoeffding import hoeffding_radius
from goodarm.rules.identification.lil import lil_radius
from goodarm.rules.sampling.top_two import choose_printed
from goodarm.rules.sampling.ucb_v import index as bernstein_index
from goodarm.testing import arm_after

BAR = Problem(threshold=0.5, arms=10).bar
SPREAD = bernoulli(np.linspace(0.3, 0.7, 5), 0.5, horizon=20_000)
NEAR = bernoulli(np.linspace(0.49, 0.51, 5), 0.5, horizon=15_000)
"""No arm is decided within the horizon."""


def initial_phase(arms: int, epsilon: float) -> int:
    bar = Problem(threshold=0.5, arms=arms).bar
    return next(n for n in range(1, 10_000) if lil_radius(n, bar, epsilon) <= hoeffding_radius(n, bar))


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.01, 0.05])
def test_lil_hdoc_pulls_every_arm_until_its_bound_is_the_narrower_one(epsilon: float) -> None:
    first = initial_phase(5, epsilon)
    assert first > 1
    trace = simulate(f"lil-hdoc(epsilon={epsilon})", NEAR, trace=True, seed=1).runs[0].trace[: 5 * first]
    assert np.bincount(trace, minlength=5).tolist() == [first] * 5
    assert set(trace[:5].tolist()) == set(range(5)), "in turns, not one arm after the other"


def test_the_two_bounds_cross_only_once() -> None:
    """So that comparing them at N tells whether the initial phase of an arm is over."""
    for arms in (2, 50, 10_000):
        bar = Problem(threshold=0.5, arms=arms).bar
        ahead = [
            lil_radius(n, bar, 0.01) <= hoeffding_radius(n, bar) for n in np.unique(np.geomspace(1, 1e8, 500).round())
        ]
        assert ahead == sorted(ahead)
        assert ahead[-1]


@pytest.mark.slow
def test_after_its_initial_phase_lil_hdoc_samples_as_hdoc() -> None:
    """The arms after it have the largest UCB1 index, worked out here from the trace and the rewards it implies."""
    first = 5 * initial_phase(5, 0.01)
    run = simulate("lil-hdoc", NEAR, trace=True, seed=1).runs[0]
    after = np.bincount(run.trace[first:], minlength=5)
    assert run.rounds == 15_000
    assert after.sum() == 15_000 - first
    assert after.max() > 1.5 * after.min(), "no longer in turns"


def table_of(*arms: tuple[int, float]) -> np.ndarray:
    table = np.zeros((len(arms), 8))
    for i, (pulls, total) in enumerate(arms):
        write_arm(table, i, arm_after(pulls=pulls, total=total))
    return table


def test_tt_ts_printed_pulls_the_arm_that_is_second_most_likely_to_be_the_best() -> None:
    """Against shares of 40,000 joint draws from the normal posteriors."""
    arms = [(40, 30.0), (60, 42.0), (10, 6.0), (200, 100.0), (5, 1.0)]
    rng = np.random.default_rng(3)
    means = [(1.0 + s) / (2.0 + n) for n, s in arms]
    draws = np.array(
        [
            m + math.sqrt(m * (1.0 - m) / (3.0 + n)) * rng.standard_normal(40_000)
            for m, (n, _) in zip(means, arms, strict=True)
        ]
    )
    shares = np.bincount(draws.argmax(axis=0), minlength=5)
    assert choose_printed(table_of(*arms), Pool(1.0), BAR, rng) == int(np.argsort(-shares)[1])


def test_tt_ts_printed_takes_the_only_open_arm() -> None:
    table = table_of((10, 9.0), (10, 5.0))
    table[0, 7] = 1.0
    assert choose_printed(table, Pool(1.0), BAR, np.random.default_rng(0)) == 1


@pytest.mark.slow
def test_tt_ts_printed_draws_nothing_and_tt_ts_does() -> None:
    assert policy("tt-ts-printed").identification.name == "hoeffding"
    one, other = (simulate("tt-ts-printed", SPREAD, horizon=300, seed=seed, trace=True).runs[0] for seed in (1, 1))
    assert one.trace.tolist() == other.trace.tolist()
    assert one.trace.tolist() != simulate("tt-ts", SPREAD, horizon=300, seed=1, trace=True).runs[0].trace.tolist()


def test_the_bernstein_bound_is_narrower_than_hoeffdings_where_rewards_vary_little() -> None:
    rare, even = arm_after(pulls=10_000, total=50.0), arm_after(pulls=10_000, total=5000.0)
    assert bernstein_index(rare, None, BAR) - rare.mean < 0.5 * hoeffding_radius(10_000, BAR)
    assert bernstein_index(even, None, BAR) - even.mean > hoeffding_radius(10_000, BAR)


def test_the_bernstein_bound_covers_a_mean_as_often_as_it_says() -> None:
    """3 exp(-x) with x = log(4 K N^2/delta): far below delta/K; of 20,000 samples of size 50 none is outside."""
    rng = np.random.default_rng(5)
    totals = rng.binomial(50, 0.03, 20_000)
    assert all(bernstein_index(arm_after(pulls=50, total=float(s)), None, BAR) >= 0.03 for s in np.unique(totals))
