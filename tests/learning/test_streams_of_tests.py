"""A test's runs belong to one call: not to an edit of goodarm, and not to two rules of one name."""

from __future__ import annotations

from typing import Any

from goodarm import bernoulli, policy
from goodarm.policies import Policy
from goodarm.rules.sampling import IndexRule


def boldest(sign: float) -> Policy:
    def index(arm: Any, pool: Any, bar: Any) -> float:
        return float(sign * arm.mean)

    return policy(IndexRule(name="mine", index=index), "kt")


def test_rules_of_ones_own_are_told_apart_by_their_code() -> None:
    assert boldest(1.0).description == boldest(1.0).description
    assert boldest(1.0).description != boldest(-1.0).description


def test_parameters_and_families_are_told_apart() -> None:
    assert policy("ucb(beta=1)+kt").description != policy("ucb(beta=2)+kt").description
    assert policy("ucb+kt").description != policy("ucb+kt").fingerprint
    assert bernoulli([0.4, 0.6], 0.5).description != bernoulli([0.4, 0.7], 0.5).description
