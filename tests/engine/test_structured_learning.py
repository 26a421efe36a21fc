"""Learning of beta and calibration of alpha work with every model of the arms."""

from __future__ import annotations

from dataclasses import replace

import pytest

from goodarm.environments.with_features import linear
from goodarm.learning.train import learn
from goodarm.simulation.simulate import simulate
from goodarm.verdict import Basis, Guarantee

pytestmark = pytest.mark.slow

SMALL = replace(linear(12, 3), horizon=600)


@pytest.mark.parametrize("model", ["linear", "kernel", "neural(width=8, steps=20)"])
def test_beta_is_learned(model):
    learned = learn(SMALL, f"ucb+kt@{model}", budget=14)
    assert 0.1 < learned.parameters["beta"] < 10.0
    assert learned.policy.name.endswith(f"@{model}")
    assert simulate(learned.policy, SMALL, runs=2, seed=1).wrong_runs == 0


def test_alpha_is_calibrated():
    longer = replace(SMALL, horizon=20_000)
    learned = learn(longer, "ucb(beta=1)@linear", objective="none", calibrate=True, learning_runs=200, tests=400)
    assert learned.policy.guarantee is Guarantee.CALIBRATED
    assert learned.policy.decided_by is Basis.OWN
    assert simulate(learned.policy, longer, runs=60, seed=1).wrong_share.low <= 0.05


def test_the_printed_bound_follows_the_model():
    """alpha * width around the model's mean decides without a proof, and says so."""
    result = simulate("ucb(beta=1)+learned(alpha=3)@linear", SMALL, runs=2)
    assert (result.guarantee, result.spec.policy.decided_by) == (Guarantee.HEURISTIC, Basis.MODEL)
    assert result.found.mean > 0
