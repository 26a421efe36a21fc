"""Calibrated means: this very policy was measured on this very family, and passed."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from goodarm import bernoulli, policy, simulate
from goodarm.environments import Environment
from goodarm.errors import CertificateLost, InvalidValue
from goodarm.policies import Policy
from goodarm.policies.certificate import Certificate, confidence_of
from goodarm.rules.identification import IdentificationRule
from goodarm.rules.parameters import Setting
from goodarm.rules.sampling import IndexRule
from goodarm.streams import uniform
from goodarm.verdict import Guarantee

HORIZON = 400
MEANS = np.array([0.9, 0.8, 0.2, 0.1])


def law(kind: str) -> Any:
    """Laws that have one name: 0/1 rewards of the arm's mean, and of its opposite."""
    if kind == "true":

        def reward(arm: int, means: Any, extra: Any, key: Any) -> float:
            return 1.0 if uniform(key, 0) < means[arm] else 0.0

    else:

        def reward(arm: int, means: Any, extra: Any, key: Any) -> float:
            return 1.0 if uniform(key, 0) < 1.0 - means[arm] else 0.0

    return reward


def family(kind: str = "true") -> Environment:
    return Environment("family", 4, 0.5, lambda generator: MEANS, law(kind), horizon=HORIZON)


@cache
def calibrated() -> Policy:
    plain = policy("value+studentised(alpha=3)")
    made = replace(plain, certificate=certificate(plain, wrong_runs=0))
    assert made.guarantee is Guarantee.CALIBRATED
    return made


def certificate(of: Policy, wrong_runs: int) -> Certificate:
    return Certificate(
        "family",
        family().fingerprint,
        of.fingerprint,
        0.5,
        4,
        0.05,
        HORIZON,
        100,
        wrong_runs,
        seed=0,
        attempt=1,
        version="x",
    )


@pytest.mark.slow
def test_on_its_own_family_it_stays_calibrated() -> None:
    assert simulate(calibrated(), family()).guarantee is Guarantee.CALIBRATED


@pytest.mark.slow
def test_another_law_of_the_same_name_takes_the_certificate_off() -> None:
    """The means are the same, and so are the name and all numbers; once 332 of 400 such runs erred as calibrated."""
    with pytest.warns(CertificateLost, match="other arms, also called family"):
        runs = simulate(calibrated(), family("opposite"), runs=20)
    assert runs.wrong_runs == 20
    assert runs.guarantee is Guarantee.HEURISTIC


def test_a_certificate_that_does_not_pass_calibrates_nothing() -> None:
    plain = policy("ucb+studentised(alpha=0.1)")
    failed = replace(plain, certificate=certificate(plain, wrong_runs=100))
    assert failed.certificate is not None
    assert failed.guarantee is Guarantee.HEURISTIC
    assert replace(plain, certificate=certificate(plain, wrong_runs=0)).guarantee is Guarantee.CALIBRATED


def other_index(arm: Any, pool: Any, bar: Any, patience: float = 1.0) -> float:
    return -patience * float(arm.pulls)


CHANGES: dict[str, dict[str, Any]] = {
    "a parameter of deciding": {"setting": {"identification": {"alpha": 0.5}}},
    "a parameter of sampling": {"setting": {"sampling": {"patience": 3.0}}},
    "a parameter of learning": {"setting": {"learner": {"firmness": 2.0}}},
    "a rule of the same name": {"sampling": {"index": other_index}},
    "a model": {"model": {}},
}


def changed(made: Policy, change: str) -> dict[str, Any]:
    name, parts = next(iter(CHANGES[change].items()))
    if name == "setting":
        owner, values = next(iter(parts.items()))
        return {"setting": replace(made.setting, **{owner: {**getattr(made.setting, owner), **values}})}
    if name == "sampling":
        assert isinstance(made.sampling, IndexRule)
        return {"sampling": replace(made.sampling, index=parts["index"])}
    return {"model": policy("value@linear").model}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_changes_the_policy_takes_the_certificate_off(change: str) -> None:
    with pytest.warns(CertificateLost, match="measured with other rules, parameters, models or criterion"):
        other = replace(calibrated(), **changed(calibrated(), change))
    assert other.certificate is None
    assert other.guarantee is Guarantee.HEURISTIC


def test_a_name_may_change() -> None:
    assert replace(calibrated(), name="another").guarantee is Guarantee.CALIBRATED


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.04, 0.2])
def test_another_delta_takes_the_certificate_off(delta: float) -> None:
    """A larger one too: what `value` pulls depends on how much evidence is still missing."""
    with pytest.warns(CertificateLost, match=f"delta 0.05, not {delta}"):
        assert simulate(calibrated(), family(), delta=delta).guarantee is Guarantee.HEURISTIC


@pytest.mark.parametrize(
    ("name", "owner", "values", "message"),
    [
        ("hdoc+lil", "identification", {"epsilon": 2.0}, "epsilon of lil must be"),
        ("hdoc+beta-mixture", "identification", {"a0": -1.0}, "a0 of beta-mixture must be"),
        ("ucb+kt", "sampling", {"beta": -1.0}, "beta of ucb must be"),
        ("ucb+kt", "sampling", {"gamma": 1.0}, "gamma is not one"),
        ("widest+design(norm=1)@linear", "identification", {"norm": -1.0}, "norm of design must be"),
    ],
)
def test_a_changed_setting_is_checked_as_a_new_one_is(name: str, owner: str, values: Any, message: str) -> None:
    made = policy(name)
    values = {**getattr(made.setting, owner), **values}
    with pytest.raises(InvalidValue, match=message):
        replace(made, setting=replace(made.setting, **{owner: values}))


def test_a_setting_must_be_whole() -> None:
    with pytest.raises(InvalidValue, match="beta is missing"):
        replace(policy("ucb+kt"), setting=Setting())


def test_all_attempts_together_are_wrong_one_time_in_twenty() -> None:
    assert sum(1.0 - confidence_of(k) for k in range(1, 100_000)) == pytest.approx(0.05, abs=1e-6)
    assert sum(1.0 - confidence_of(k) for k in range(1, 100_000)) < 0.05


def test_a_certificate_says_nothing_of_a_rule_with_a_proof() -> None:
    certified = policy("value")
    assert isinstance(certified.identification, IdentificationRule)
    assert replace(certified, certificate=certificate(certified, 0)).guarantee is Guarantee.CERTIFIED


@pytest.mark.slow
def test_bernoulli_by_another_threshold_is_another_family() -> None:
    with pytest.warns(CertificateLost, match="environment family, not bernoulli"):
        simulate(calibrated(), bernoulli(MEANS, 0.5), horizon=HORIZON)
