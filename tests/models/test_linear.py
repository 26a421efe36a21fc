"""The linear model against direct solutions in 60 digits, also where rounding is worst."""

from __future__ import annotations

import math
from decimal import Decimal, getcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracker import Tracker

from goodarm.errors import InvalidValue
from goodarm.models._base import first_upkeep, new_table
from goodarm.models.linear import Linear
from goodarm.models.mixed import Mixed, learned_ratio
from goodarm.problem import Problem

getcontext().prec = 60
exactly = np.vectorize(Decimal, otypes=[object])


def solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Gauss without pivots, for a positive definite matrix of Decimals."""
    a, b = matrix.copy(), right.copy()
    for j in range(len(a)):
        for i in range(j + 1, len(a)):
            share = a[i, j] / a[j, j]
            a[i] -= share * a[j]
            b[i] -= share * b[j]
    for j in reversed(range(len(a))):
        for k in range(j + 1, len(a)):
            b[j] -= a[j, k] * b[k]
        b[j] = b[j] / a[j, j]
    return b


def direct(features, pulls, totals, ridge, ratio, threshold):
    """Mean and width from the definition, with 60 digits: extended precision alone is wrong by 1e-7 here."""
    x, n, total = exactly(features), exactly(pulls), exactly(totals)
    r, xi = Decimal(ratio), Decimal(threshold)
    d = 1 / (1 + r * n)
    surplus = total - n * xi
    v = (x.T * (n * d)).dot(x)
    v[np.diag_indices(len(v))] += Decimal(ridge)
    line = x.dot(solve(v, x.T.dot(surplus * d)[:, None])[:, 0])
    spread = (x * solve(v, x.T.copy()).T).sum(axis=1)
    mean = xi + line * d + r * surplus * d
    return mean.astype(float), np.sqrt((r * d + spread * d * d).astype(float))


def compiled_pulls(model, bar, arms, rewards):
    """Many pulls through the compiled update, with upkeep as in the engine."""
    from numba import njit

    from goodarm.engine.compile import register
    from goodarm.rules.beliefs import read_arm

    absorb = type(model).absorb
    register([absorb, read_arm])

    @njit(error_model="numpy")
    def some(belief, table, bar, arms, rewards, start, stop):
        for t in range(start, stop):
            a = arms[t]
            wants = absorb(belief, table, a, read_arm(table, a), rewards[t], bar)
            table[a, 0] += 1.0
            table[a, 1] += rewards[t]
            if wants:
                return t + 1
        return stop

    table, belief = new_table(int(bar.arms)), model.start(bar)
    due, now = first_upkeep(model, belief, table, bar), 0
    while now < len(arms):
        stop = min(due, len(arms))
        reached = some(belief, table, bar, arms, rewards, now, stop)
        early = reached < stop
        now = reached
        if now < len(arms) and (early or now >= due):
            due = model.upkeep(belief, table, now, bar)
    return table, belief


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ridge", "near"), [(1.0, 1.0), (1e-6, 1e-4), (1e-8, 1e-7)], ids=["plain", "collinear", "nearly equal"]
)
def test_exact_after_a_million_pulls(ridge, near):
    """1e-9 of the direct solution; `near` is how far the last two features are apart."""
    rng = np.random.default_rng(7)
    features = rng.standard_normal((60, 5))
    features[:, 4] = features[:, 3] + near * rng.standard_normal(60)
    bar = Problem(threshold=0.4, arms=60).bar._replace(modelled=1.0)
    # pulls that come back to a few arms for long, as a sampling rule's do
    arms = np.concatenate([rng.integers(0, 60, 400_000), rng.integers(0, 5, 300_000), rng.integers(0, 60, 300_000)])
    rewards = (rng.random(1_000_000) < 0.3).astype(float)
    table, _ = compiled_pulls(Linear(features, ridge=ridge), bar, arms, rewards)
    mean, width = direct(features, table[:, 0], table[:, 1], ridge, 0.0, 0.4)
    assert table[:, 0].sum() == 1_000_000
    assert np.abs(table[:, 2] - mean).max() < 1e-9
    assert np.abs(table[:, 3] - width).max() < 1e-9


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    arms=st.integers(2, 12),
    dimension=st.integers(1, 6),
    ridge=st.floats(1e-3, 1e3),
    tau2=st.sampled_from([0.0, 1e-3, 0.05, 2.0]),
)
def test_equal_to_the_direct_solve(seed, arms, dimension, ridge, tau2):
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((arms, dimension))
    problem = Problem(threshold=0.3, arms=arms)
    tracker = Tracker(Mixed(features, ridge=ridge, tau2=tau2), problem.bar)
    for _ in range(150):
        tracker.tell(int(rng.integers(arms)), float(rng.random()))
    ratio = tau2 / problem.bar.spread**2
    mean, width = direct(features, tracker.table[:, 0], tracker.table[:, 1], ridge, ratio, 0.3)
    assert np.abs(tracker.mean - mean).max() < 1e-9
    assert np.abs(tracker.width - width).max() < 1e-9


@pytest.mark.parametrize("tau2", [0.0, 0.01])
def test_mixed_is_the_dense_gaussian_process(tau2):
    """Kernel XX' noise/ridge + tau2 I, noise variance spread^2, one row per reward."""
    rng = np.random.default_rng(3)
    features = rng.standard_normal((15, 3))
    problem = Problem(threshold=0.5, arms=15)
    noise = problem.bar.spread**2
    tracker = Tracker(Mixed(features, ridge=2.0, tau2=tau2), problem.bar)
    arms, rewards = rng.integers(0, 12, 120), rng.random(120)  # three arms are never pulled
    for a, y in zip(arms, rewards, strict=True):
        tracker.tell(int(a), float(y))
    prior = features @ features.T * noise / 2.0 + tau2 * np.eye(15)
    among = prior[np.ix_(arms, arms)] + noise * np.eye(120)
    mean = 0.5 + prior[:, arms] @ np.linalg.solve(among, rewards - 0.5)
    variance = np.diag(prior - prior[:, arms] @ np.linalg.solve(among, prior[arms]))
    assert np.abs(tracker.mean - mean).max() < 1e-12
    assert np.abs(tracker.width - np.sqrt(variance / noise)).max() < 1e-12


def test_one_hot_features_are_independent_arms():
    tracker = Tracker(Linear(np.eye(3), ridge=1e-9), Problem(threshold=0.5, arms=3).bar)
    for arm, reward in [(0, 1.0), (0, 0.0), (0, 1.0), (1, 1.0)]:
        tracker.tell(arm, reward)
    assert np.abs(tracker.mean - [2 / 3, 1.0, 0.5]).max() < 1e-8
    assert np.abs(tracker.width[:2] - [1 / math.sqrt(3), 1.0]).max() < 1e-8


def test_intercept_and_coefficients():
    rng = np.random.default_rng(5)
    features = rng.standard_normal((40, 2))
    model = Linear(features, ridge=1e-6, intercept=True)
    tracker = Tracker(model, Problem(threshold=0.5, arms=40).bar)
    for arm in range(40):
        tracker.tell(arm, float(0.55 + features[arm] @ [0.1, -0.2]))
    assert np.abs(model.coefficients(tracker.belief) - [0.1, -0.2, 0.05]).max() < 1e-6


@pytest.mark.parametrize("tau2", [0.0, 0.01, 0.09])
def test_tau2_is_learned(tau2):
    """The learned variance is the true one within a factor 2, or next to nothing where there is none."""
    rng = np.random.default_rng(11)
    features = rng.standard_normal((300, 4)) / 2.0
    bar = Problem(threshold=0.5, arms=300).bar._replace(modelled=1.0)
    model = Mixed(features)
    belief, table = model.start(bar), new_table(300)
    truth = 0.5 + features @ [0.1, 0.0, -0.1, 0.05] + math.sqrt(tau2) * rng.standard_normal(300)
    table[:, 0] = 200.0
    table[:, 1] = 200.0 * (truth + 0.5 / math.sqrt(200.0) * rng.standard_normal(300))
    found = learned_ratio(belief, table, bar) * bar.spread**2
    assert found < 2e-4 if tau2 == 0.0 else 0.5 * tau2 < found < 2.0 * tau2


@pytest.mark.parametrize("ridge", [0.0, -1.0, math.nan, math.inf])
def test_a_bad_ridge_is_refused(ridge):
    with pytest.raises(InvalidValue, match="ridge of @linear must be a positive number"):
        Linear(ridge=ridge)
