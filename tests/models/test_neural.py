"""The neural model: widths equal the paper's formula while gradients are frozen, trainings follow their schedule."""

from __future__ import annotations

import numpy as np
import pytest
from tracker import Tracker

from goodarm.errors import InvalidValue, UnsoundPairing
from goodarm.models.neural import FIRST_TRAINING, NUGGET, Neural
from goodarm.policies import policy
from goodarm.problem import Problem

pytestmark = pytest.mark.slow


def test_widths_are_the_papers_in_parameter_space():
    """sqrt(g'Z^-1 g/gamma) with Z = I + sum g g'/gamma; g centred, of length 1, with one more entry for the level and

    one for each arm's nugget.
    """
    import jax

    rng = np.random.default_rng(1)
    features = rng.standard_normal((12, 2))
    model = Neural(features, gamma=2.0, width=8)
    tracker = Tracker(model, Problem(threshold=0.5, arms=12).bar)
    arms = rng.integers(0, 9, 60)
    for arm in arms:
        tracker.tell(int(arm), float(rng.random()))
    made, theta = model.made(), model.made().start()
    slope = jax.vmap(jax.grad(made.output), in_axes=(None, 0))(theta, model.inputs())
    g = np.asarray(slope, dtype=np.float64)
    g -= g.mean(axis=0)
    g /= np.linalg.norm(g, axis=1, keepdims=True)
    g = np.concatenate([g, np.ones((12, 1)), np.sqrt(NUGGET) * np.eye(12)], axis=1)
    z = np.eye(g.shape[1]) + g[arms].T @ g[arms] / 2.0
    width = np.sqrt(np.einsum("ij,ji->i", g, np.linalg.solve(z, g.T)) / 2.0)
    assert np.abs(tracker.width - width).max() < 1e-4  # JAX computes gradients in single precision


def test_training_learns_the_means():
    rng = np.random.default_rng(8)
    features = rng.uniform(-1.0, 1.0, (40, 1))
    truth = 0.5 + 0.3 * np.sin(3.0 * features[:, 0])
    tracker = Tracker(Neural(features, width=32, growth=2.0), Problem(threshold=0.5, arms=40).bar)
    for t in range(2 * FIRST_TRAINING):
        tracker.tell(t % 40, float(truth[t % 40]))
    assert np.abs(tracker.mean - 0.5).max() > 0.2
    assert np.abs(tracker.mean - truth).max() < 0.05
    assert tracker.due == 4 * FIRST_TRAINING


def test_no_certificate_of_its_own():
    with pytest.raises(UnsoundPairing, match="not for @neural: its verdicts would have no guarantee"):
        policy("ucb+rkhs(norm=1)@neural")
    assert str(policy("ucb+kt@neural").decided_by) == "own evidence"


def test_refusals():
    with pytest.raises(InvalidValue, match="keeps a matrix of arms x arms"):
        Neural(np.random.default_rng(0).random((4001, 1))).bind(None, 4001)
    with pytest.raises(InvalidValue, match="growth of @neural must be a number of at least"):
        Neural(growth=1.0)
