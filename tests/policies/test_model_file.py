"""A file keeps every argument of every model: the policy that is read pulls the same arms."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from goodarm import Kernel, Linear, Mixed, Neural, policy, simulate
from goodarm.environments import Environment
from goodarm.environments.laws import bernoulli_reward
from goodarm.errors import InvalidValue
from goodarm.learning import LearnedPolicy
from goodarm.policies.file import arguments_as_json, arguments_from_json
from goodarm.policies.names import MODELS, model_kind
from goodarm.problem import Bounded
from goodarm.rules.sampling import IndexRule

POINTS = np.random.default_rng(5).random((12, 2)) * [1.0, 7.0]
FRAME = pl.DataFrame({"a": POINTS[:, 1], "b": POINTS[:, 0], "c": np.arange(12.0)})
KERNEL = ConstantKernel(1.3, (0.1, 1e3)) * Matern(np.array([0.2, 3.0]), nu=1.5) + WhiteKernel(0.123456789)

OTHER: dict[str, dict[str, Any]] = {
    "features": {"features": POINTS[::-1] / 3.0},
    "columns": {"features": FRAME, "columns": ["c", "a"]},
    "standardise": {"standardise": True},
    "ridge": {"ridge": 0.123456789},
    "intercept": {"intercept": True},
    "tau2": {"tau2": 0.0123456789},
    "kernel": {"kernel": KERNEL},
    "gamma": {"gamma": 0.123456789},
    "length": {"length": 0.123456789},
    "width": {"width": 8},
    "steps": {"steps": 3},
    "growth": {"growth": 1.55555555},
    "seed": {"seed": 3},
}
"""For every argument of every model, a value that is not its default."""

CASES = [(name, entry.name) for name in MODELS for entry in fields(model_kind(name))]


def shop() -> Environment:
    return Environment(
        "shop", 12, 0.5, lambda generator: generator.random(12), bernoulli_reward, describe=lambda: POINTS
    )


def kept(made: Any, path: Path) -> Any:
    """The policy as its file says it is."""
    LearnedPolicy(made, {}, {"rewards": Bounded()}, ()).save(path)
    return policy(str(path))


@pytest.mark.slow
@pytest.mark.parametrize(("model", "argument"), CASES)
def test_every_argument_comes_back_and_plays_the_same(model: str, argument: str, tmp_path: Path) -> None:
    """Once Linear(intercept=True, ridge=0.123456789) came back as intercept=False and ridge=0.123457."""
    if model == "neural":
        pytest.importorskip("jax", reason="@neural needs the extra 'neural'")
    made = policy("ucb+kt", model=model_kind(model)(**OTHER[argument]))
    plain = policy("ucb+kt", model=model_kind(model)())
    assert made.fingerprint != plain.fingerprint, "the value is the default: the test would see nothing"
    read = kept(made, tmp_path / "p.json")
    assert read.fingerprint == made.fingerprint
    traces = [simulate(each, shop(), horizon=260, trace=True).runs[0].trace.tolist() for each in (made, read)]
    assert traces[0] == traces[1]


@pytest.mark.parametrize("made", [Linear(ridge=1.0 / 3.0, intercept=True), Mixed(tau2=1e-7 / 3.0), Kernel(gamma=1 / 3)])
def test_a_models_name_is_read_back_exactly(made: Linear | Kernel) -> None:
    named = policy("ucb+kt", model=made)
    assert policy(named.name).fingerprint == named.fingerprint


def test_a_kernel_comes_back_with_all_its_parameters() -> None:
    back = Kernel(**arguments_from_json(arguments_as_json(Kernel(kernel=KERNEL))))
    assert np.array_equal(back.chosen()(POINTS), KERNEL(POINTS))
    assert repr(back.kernel.get_params()) == repr(KERNEL.get_params())


class Mine(Matern):
    """A kernel that only its author knows."""


class Own(Linear):
    """A model that is not registered under its name."""


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Kernel(kernel=Mine()), r"kernel of @kernel is a .*Mine, which a policy file can't store exactly"),
        (Own(), "can't store the model Own"),
    ],
)
def test_what_a_file_can_not_keep_is_refused(model: Linear | Kernel, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=message):
        kept(policy("ucb+kt", model=model), tmp_path / "p.json")
    assert not (tmp_path / "p.json").exists()


def test_a_rule_of_ones_own_is_not_saved_under_somebody_elses_name(tmp_path: Path) -> None:
    impostor = IndexRule(name="ucb", index=lambda arm, pool, bar: -arm.mean)
    with pytest.raises(InvalidValue, match="another rule is registered under this name"):
        kept(policy(impostor, "kt"), tmp_path / "p.json")


def test_the_criterion_comes_back(tmp_path: Path) -> None:
    assert kept(policy("ucb+kt", criterion="fdr"), tmp_path / "p.json").promise == "certified, fdr"
    assert kept(policy("ucb+kt"), tmp_path / "p.json").asked is None


def test_neural_has_no_argument_that_was_forgotten() -> None:
    assert {argument for _, argument in CASES} == set(OTHER)
    assert Neural in map(model_kind, MODELS)
