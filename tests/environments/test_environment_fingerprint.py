"""Two environments of the same name differ in everything that changes what is drawn from them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from goodarm import bernoulli, gaussian
from goodarm.environments import Environment
from goodarm.problem import SubGaussian
from goodarm.streams import uniform


def law(generous: bool) -> Any:
    """A reward law of one name and two bodies."""
    if generous:

        def reward(arm: int, means: Any, extra: Any, key: Any) -> float:
            return 1.0 if uniform(key, 0) < 0.5 * (1.0 + means[arm]) else 0.0

    else:

        def reward(arm: int, means: Any, extra: Any, key: Any) -> float:
            return 1.0 if uniform(key, 0) < means[arm] else 0.0

    return reward


def base() -> Environment:
    return Environment("shop", 3, 0.5, lambda generator: np.array([0.1, 0.5, 0.9]), law(generous=False))


def drawn_elsewhere(generator: Any) -> Any:
    return np.array([0.1, 0.5, 0.9]) if generator.random() < 0.99 else np.array([0.5, 0.5, 0.5])


CHANGES: dict[str, dict[str, Any]] = {
    "another law of the same name": {"reward": law(generous=True)},
    "a draw that differs once in a hundred": {"draw": drawn_elsewhere},
    "features": {"describe": lambda: np.eye(3)},
    "what the law reads": {"extra": np.array([1.0])},
    "the reward family": {"rewards": SubGaussian(1.00000001)},
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_shows(change: str) -> None:
    assert replace(base(), **CHANGES[change]).fingerprint != base().fingerprint


def test_the_same_again_does_not() -> None:
    assert base().fingerprint == base().fingerprint
    assert bernoulli([0.4, 0.6], 0.5).fingerprint == bernoulli([0.4, 0.6], 0.5).fingerprint
    assert gaussian([0.4], 0.5, scale=1.0).fingerprint != gaussian([0.4], 0.5, scale=1.0000001).fingerprint
