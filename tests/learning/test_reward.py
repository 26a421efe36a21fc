"""Collecting rewards with a threshold: ucb1, thompson, softucb, dgai-reward and the printed form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goodarm import Environment, Guarantee, bernoulli, gaussian, simulate
from goodarm.policies import REWARD_POLICIES, reward_policy
from goodarm.problem import Problem
from goodarm.rules.beliefs import ARM_FIELDS, Arm, Pool, write_arm
from goodarm.rules.learners.contenders import Contenders, bound, fit, kept
from goodarm.rules.learners.prior import posterior_mean, posterior_scale

pytestmark = pytest.mark.slow

SMALL = bernoulli(np.linspace(0.40, 0.70, 12), threshold=0.6, horizon=3000)


def regrets(name: str, environment: Environment, runs: int, horizon: int | None = None) -> np.ndarray:
    result = simulate(reward_policy(name), environment, runs=runs, horizon=horizon, seed=11)
    best = [run.rounds * run.means.max() for run in result.runs]
    return np.array(best) - [float(run.pulls @ run.means) for run in result.runs]


@pytest.mark.parametrize("name", REWARD_POLICIES)
def test_a_policy_for_rewards_gives_no_verdict(name: str) -> None:
    result = simulate(reward_policy(name), SMALL, horizon=300, runs=2)
    assert result.guarantee is Guarantee.NONE
    assert all(run.rounds == 300 and run.open_arms == 12 and not run.verdicts.any() for run in result.runs)


def test_reward_and_regret_of_arms_that_always_pay_the_same() -> None:
    environment = bernoulli([0.0, 1.0], threshold=0.5, horizon=100)
    result = simulate(reward_policy("uniform"), environment, runs=2)
    assert result.reward.mean == 50.0
    assert result.regret.mean == 50.0


def test_ucb1_is_the_textbook_index() -> None:
    """Arms that always pay the same make the index known at every round."""
    means = np.array([0.0, 1.0, 1.0])
    trace = simulate(reward_policy("ucb1"), bernoulli(means, threshold=0.5, horizon=200), trace=True).runs[0].trace
    pulls = np.ones(3)
    assert trace[:3].tolist() == [0, 1, 2]
    for t, arm in enumerate(trace[3:], start=4):
        assert arm == np.argmax(means + np.sqrt(2.0 * math.log(t) / pulls))
        pulls[arm] += 1.0


@pytest.mark.parametrize("threshold", [0.51, 0.1, 0.9])
def test_dgai_reward_is_not_worse_than_ucb1_whatever_the_threshold(threshold: float) -> None:
    """Also with a threshold that every arm clears, or none. Paired over 12 runs; the margin is 3 standard errors."""
    environment = bernoulli(np.linspace(0.45, 0.55, 30), threshold=threshold, horizon=20_000)
    saved = regrets("ucb1", environment, 12) - regrets("dgai-reward", environment, 12)
    assert saved.mean() > 3.0 * saved.std(ddof=1) / math.sqrt(12)


def test_dgai_reward_is_not_worse_than_ucb1_on_gaussian_rewards() -> None:
    environment = gaussian(np.linspace(-1.0, 1.0, 20), threshold=0.5, scale=2.0, horizon=10_000)
    saved = regrets("ucb1", environment, 8) - regrets("dgai-reward", environment, 8)
    assert saved.mean() > 3.0 * saved.std(ddof=1) / math.sqrt(8)


def table(pulls: list[int], totals: list[int]) -> np.ndarray:
    arms = np.zeros((len(pulls), ARM_FIELDS))
    for i, (n, s) in enumerate(zip(pulls, totals, strict=True)):
        write_arm(arms, i, Arm(float(n), float(s), s / n, 1.0 / math.sqrt(n), 0.0, 0.0, 0.0, 0.0))
    return arms


@given(
    st.lists(st.tuples(st.integers(1, 500), st.floats(0.0, 1.0)), min_size=2, max_size=10),
    st.floats(0.05, 0.95),
    st.sampled_from([1e4, math.inf]),
)
def test_the_threshold_never_removes_an_arm_that_may_beat_the_best(
    found: list[tuple[int, float]], threshold: float, horizon: float
) -> None:
    bar = Problem(threshold=threshold, arms=len(found)).bar
    arms = table([n for n, _ in found], [round(n * share) for n, share in found])
    pool = fit(arms, Pool(1000.0, horizon, Contenders(threshold, 1.0, 0.0, threshold, 0.0)), bar)
    beliefs = [Arm(*row) for row in arms]
    best = max(posterior_mean(arm, pool, bar) for arm in beliefs)
    assert pool.learned.level == min(threshold, best)
    assert pool.learned.share >= min(horizon, 10_000.0) / len(found)
    for arm in beliefs:
        upper = posterior_mean(arm, pool, bar) + bound(arm, pool, bar) * posterior_scale(arm, pool, bar)
        assert kept(arm, pool, bar) >= 0.5 or upper < best


@pytest.mark.parametrize("name", ["dgai-reward", "softucb"])
def test_tree_and_scan_pull_the_same_arms(name: str) -> None:
    fast, plain = (
        simulate(reward_policy(name), SMALL, horizon=500, trace=True, scan=scan).runs[0].trace for scan in (False, True)
    )
    assert fast.tolist() == plain.tolist()


def test_printed_form_is_the_largest_product_of_score_and_share() -> None:
    """Arms that always pay the same; alpha and beta do not move at rate 0."""
    means, xi, beta, alpha, sharpness = np.array([0.0, 1.0, 1.0]), 0.5, 0.5, 1.0, 10.0
    made = f"dgai-reward-printed(alpha0={alpha}, beta0={beta}, rate=0)"
    trace = simulate(made, bernoulli(means, threshold=xi, horizon=60), trace=True).runs[0].trace
    pulls = np.ones(3)
    for arm in trace[3:]:
        m, u = xi + pulls * (means - xi) / (pulls + 1.0), 1.0 / np.sqrt(pulls + 1.0)
        leader = np.argmax(m - beta * u)
        share = 1.0 / (1.0 + np.exp(-sharpness * (m - alpha * u - xi)))
        assert arm == np.argmax((beta * (u + u[leader]) - (m[leader] - m)) * share)
        pulls[arm] += 1.0


def test_drawn_without_a_coldness_the_printed_form_is_nearly_uniform() -> None:
    """exp(S I) with scores well below 1: every arm keeps about its even share of the pulls."""
    run = simulate("dgai-reward-printed-softmax", SMALL, seed=4).runs[0]
    assert run.pulls.min() > 0.7 * run.rounds / 12
    assert run.pulls.max() < 1.3 * run.rounds / 12
