"""The kernel model against the paper's two formulas, exact and cut off."""

from __future__ import annotations

import logging
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, WhiteKernel
from tracker import Tracker

from goodarm.errors import InvalidValue, UnsoundPairing
from goodarm.models import gram
from goodarm.models import kernel as kernels
from goodarm.models._base import new_table
from goodarm.models.kernel import CutKernel, Kernel
from goodarm.policies import policy
from goodarm.problem import Problem
from goodarm.rules.beliefs import PULLS, TOTAL, WIDTH, read_arm
from goodarm.simulation.specification import specify

pytestmark = pytest.mark.slow


def papers_formulas(kernel, features, arms, rewards, gamma, threshold):
    """m = k'(K + gamma I)^-1 y, U = gamma^-1/2 sqrt(k(x,x) - k'(K + gamma I)^-1 k), log det(I + K/gamma)."""
    whole = kernel(features)
    among, to = whole[np.ix_(arms, arms)], whole[:, arms]
    inverse = np.linalg.inv(among + gamma * np.eye(len(arms)))
    mean = threshold + to @ inverse @ (np.array(rewards) - threshold)
    width = np.sqrt(np.diag(whole - to @ inverse @ to.T) / gamma)
    return mean, width, np.linalg.slogdet(np.eye(len(arms)) + among / gamma)[1]


KERNELS = [RBF(0.4), Matern(0.5, nu=1.5), ConstantKernel(0.3) * RBF(0.2) + WhiteKernel(0.01), DotProduct(0.5)]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_equal_to_the_papers_formulas(kernel):
    rng = np.random.default_rng(2)
    features = rng.uniform(size=(25, 2))
    tracker = Tracker(Kernel(features, kernel, gamma=0.3), Problem(threshold=0.4, arms=25).bar)
    arms, rewards = [], []
    for _ in range(300):  # more than a block of pending columns, with pulls of one arm in a row
        arms.append(arms[-1] if arms and rng.random() < 0.4 else int(rng.integers(20)))
        rewards.append(float(rng.random()))
        tracker.tell(arms[-1], rewards[-1])
    mean, width, log_det = papers_formulas(kernel, features, arms, rewards, 0.3, 0.4)
    assert np.abs(tracker.mean - mean).max() < 1e-9
    assert np.abs(tracker.width - width).max() < 1e-9
    assert tracker.belief.numbers[0] == pytest.approx(log_det, abs=1e-8)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), gamma=st.floats(0.01, 100.0), length=st.floats(0.05, 2.0), pulls=st.integers(1, 150)
)
def test_equal_for_any_gamma_and_length(seed, gamma, length, pulls):
    rng = np.random.default_rng(seed)
    features = rng.uniform(size=(8, 2))
    tracker = Tracker(Kernel(features, gamma=gamma, length=length), Problem(threshold=0.5, arms=8).bar)
    arms, rewards = rng.integers(0, 8, pulls).tolist(), rng.random(pulls).tolist()
    for arm, reward in zip(arms, rewards, strict=True):
        tracker.tell(arm, reward)
    mean, width, _ = papers_formulas(RBF(length), features, arms, rewards, gamma, 0.5)
    assert np.abs(tracker.mean - mean).max() < 1e-8
    assert np.abs(tracker.width**2 - width**2).max() < 1e-8 / gamma


def exact_widths(prior, gamma, pulls):
    """sqrt((k - k'(K + gamma/N)^-1 k)/gamma) in rational numbers."""
    size = range(len(prior))
    k = [[Fraction(float(prior[i, j])) for j in size] for i in size]
    rows = [
        [k[i][j] + (Fraction(gamma) / Fraction(float(pulls[i])) if i == j else 0) for j in size] + k[i] for i in size
    ]
    for i in size:
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for j in size:
            if j != i:
                rows[j] = [value - rows[j][i] * pivot for value, pivot in zip(rows[j], rows[i], strict=True)]
    solved = [row[len(prior) :] for row in rows]
    left = [k[i][i] - sum(k[i][j] * solved[j][i] for j in size) for i in size]
    return np.sqrt(np.array([float(value / Fraction(gamma)) for value in left]))


@pytest.mark.parametrize("gamma", [1.1e-10, 1e-7, 1e-3, 1.0])
@pytest.mark.parametrize("pulls", [10.0, 1e3, 1e5, 3e6])
def test_a_width_is_never_rounded_down(gamma, pulls):
    """At gamma = 1.1e-10 widths became 0 after a few hundred thousand pulls, and `rkhs` was wrong in 6 of 10 runs."""
    rng = np.random.default_rng(0)
    bar = Problem(threshold=0.5, arms=3).bar
    belief, table = Kernel(np.array([[0.0], [0.4], [1.0]]), gamma=gamma, length=0.3).start(bar), new_table(3)
    table[:, PULLS], table[:, TOTAL] = pulls, rng.binomial(int(pulls), 0.5, 3)
    gram.rebuild(belief, table, bar)
    assert (table[:, WIDTH] >= exact_widths(belief.prior, gamma, table[:, PULLS])).all()
    for n in range(300):
        arm, reward = (int(rng.integers(3)) if n % 2 else 1), float(rng.random() < 0.5)
        if gram.absorb(belief, table, arm, read_arm(table, arm), reward, bar):
            gram.flush(belief)
        table[arm, PULLS] += 1.0
        table[arm, TOTAL] += reward
    exact = exact_widths(belief.prior, gamma, table[:, PULLS])
    assert (table[:, WIDTH] >= exact).all()
    assert gamma < 1e-5 or (table[:, WIDTH] < 1.001 * exact).all()


def test_rebuilding_changes_nothing(monkeypatch):
    rng = np.random.default_rng(4)
    features, bar = rng.uniform(size=(30, 2)), Problem(threshold=0.5, arms=30).bar
    pulls = [(int(rng.integers(30)), float(rng.random())) for _ in range(700)]
    means = []
    for after in (10**9, 50):
        monkeypatch.setattr(kernels, "REBUILD_AFTER", after)
        tracker = Tracker(Kernel(features, gamma=0.5), bar)
        for arm, reward in pulls:
            tracker.tell(arm, reward)
        means.append((tracker.mean, tracker.width))
    assert np.abs(means[0][0] - means[1][0]).max() < 1e-11
    assert np.abs(means[0][1] - means[1][1]).max() < 1e-11


def test_many_arms_are_cut_off_with_a_message(monkeypatch, caplog):
    rng = np.random.default_rng(6)
    features, bar = rng.uniform(size=(120, 2)), Problem(threshold=0.5, arms=120).bar
    exact = Tracker(Kernel(features, gamma=0.5, length=0.4), bar)
    monkeypatch.setattr(kernels, "EXACT_ARMS", 100)
    with caplog.at_level(logging.WARNING, logger="goodarm"):
        cut = Tracker(Kernel(features, gamma=0.5, length=0.4), bar)
    assert isinstance(cut.model, CutKernel)
    assert "120 arms are more than 100; continuing with" in caplog.text
    for _ in range(400):
        arm, reward = int(rng.integers(60)), float(rng.random())
        exact.tell(arm, reward)
        cut.tell(arm, reward)
    assert np.abs(cut.mean - exact.mean).max() < 2e-3
    assert np.abs(cut.width / exact.width - 1.0).max() < 0.02
    assert (cut.width / exact.width).min() > 0.999  # never understated


def test_a_cut_kernel_carries_no_certificate(monkeypatch):
    from goodarm.simulation.run import assembly_of

    monkeypatch.setattr(kernels, "EXACT_ARMS", 100)
    made = policy("ucb+rkhs(norm=1)@kernel")
    with pytest.raises(UnsoundPairing, match="rkhs is proved for @kernel"):
        assembly_of(specify(made, "bumps", horizon=1000))


@pytest.mark.parametrize("kernel", ["rbf", 3.0])
def test_what_is_no_kernel_is_refused(kernel):
    with pytest.raises(InvalidValue, match="kernel must be a scikit-learn kernel object"):
        Kernel(kernel=kernel)
