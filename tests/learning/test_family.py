"""Learning from a log's per-arm totals, and the prior's fit, also broken on purpose."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from goodarm.errors import InvalidValue, UnreadableTable
from goodarm.learning import family_from_rows, family_from_table, family_from_totals, learn
from goodarm.problem import Gaussian, NonNegative, Problem
from goodarm.rules.beliefs import ARM_FIELDS, Pool
from goodarm.rules.learners import prior


def totals(arms: int, pulls: int, spread: float, *, seed: int = 1) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return generator.binomial(pulls, generator.normal(0.3, spread, arms).clip(0, 1))


@pytest.mark.parametrize("spread", [0.02, 0.05, 0.1])
def test_recovers_the_spread_of_the_means(spread: float) -> None:
    family = family_from_totals(np.full(2000, 300), totals(2000, 300, spread), 0.3)
    means = family.instance(np.random.default_rng(2)).means
    assert means.mean() == pytest.approx(0.3, abs=0.01)
    assert means.std() == pytest.approx(spread, rel=0.1)


def test_a_fit_that_forgets_the_noise_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check above must fail for a fit that takes the rewards' own noise for spread."""
    monkeypatch.setattr(prior, "reward_variance", lambda mean, bar: 1e-9)
    with pytest.raises(AssertionError):
        test_recovers_the_spread_of_the_means(0.02)


def test_gaussian_rewards_have_their_own_noise() -> None:
    generator = np.random.default_rng(3)
    means = generator.normal(1.0, 0.5, 1000)
    arms = np.zeros((1000, ARM_FIELDS))
    arms[:, 0] = 16.0
    arms[:, 1] = 16.0 * (means + generator.normal(0.0, 2.0 / 4.0, 1000))
    bar = Problem(threshold=1.0, arms=1000, rewards=Gaussian(2.0)).bar
    fitted = prior.fit(arms, Pool(0.0, math.inf, prior.start(bar)), bar, 0.0).learned
    assert fitted.prior_mean == pytest.approx(1.0, abs=0.05)
    assert fitted.prior_variance == pytest.approx(0.25, rel=0.15)
    assert fitted.prior_strength == pytest.approx(4.0 / fitted.prior_variance)


@pytest.mark.slow
def test_learns_on_the_family_of_a_table(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = [f"item {i},200,{s}" for i, s in enumerate(totals(40, 200, 0.05))]
    path.write_text("\n".join(["arm,pulls,total", *rows]), encoding="utf-8")
    learned = learn(family_from_table(path, 0.3), "dgai", horizon=5000, budget=14)
    assert learned.learned_on["environment"] == "family:log.csv"
    assert "fitted to the totals of 40 arms" in learned.learned_on["reading"]


@pytest.mark.parametrize(
    ("row", "message"),
    [("a,nan,3", "pulls in row 1"), ("a,10,11", "total between 0"), ("a,0,0", "pulls must be at least 1")],
)
def test_bad_rows_are_named(tmp_path: Path, row: str, message: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(f"arm,pulls,total\n{row}\nb,10,3\n", encoding="utf-8")
    with pytest.raises(UnreadableTable, match=message):
        family_from_table(path, 0.3)


def test_totals_without_any_variation_are_refused() -> None:
    with pytest.raises(InvalidValue, match="all rewards of the log are equal"):
        family_from_totals([10, 10], [0, 0], 0.3)


def rows(values: np.ndarray) -> tuple[list[str], np.ndarray]:
    """A log of arms × samples as names and rewards."""
    return [f"arm {i}" for i in range(len(values)) for _ in range(values.shape[1])], values.ravel()


def test_rows_of_0_1_rewards_are_the_family_of_their_totals() -> None:
    draw = np.random.default_rng(5)
    values = (draw.random((50, 40)) < draw.beta(3.0, 7.0, 50)[:, None]).astype(float)
    totals = family_from_totals(np.full(50, 40), values.sum(axis=1), 0.3)
    assert family_from_rows(*rows(values), 0.3).reading == totals.reading


def test_graded_rewards_keep_their_variance() -> None:
    """Means ~ Beta(6, 4), rewards ~ Beta of concentration 12: a family of 0/1 rewards would vary 13 times as much."""
    draw = np.random.default_rng(6)
    means = draw.beta(6.0, 4.0, 400)
    values = draw.beta(12.0 * means[:, None], 12.0 * (1.0 - means[:, None]), size=(400, 60))
    family = family_from_rows(*rows(values), 0.6)
    assert float(family.extra[0]) == pytest.approx(12.0, rel=0.1)
    drawn = np.concatenate([family.instance(np.random.default_rng(k)).means for k in range(5)])
    assert (drawn.mean(), drawn.std()) == (pytest.approx(0.6, abs=0.02), pytest.approx(0.148, rel=0.1))


def test_gaussian_rows_and_totals() -> None:
    draw = np.random.default_rng(7)
    values = draw.normal(5.0, 0.7, 2000)[:, None] + draw.normal(0.0, 2.0, size=(2000, 30))
    family = family_from_rows(*rows(values), 5.5, rewards=Gaussian(2.0))
    means = np.concatenate([family.instance(np.random.default_rng(k)).means for k in range(5)])
    assert (means.mean(), means.std()) == (pytest.approx(5.0, abs=0.15), pytest.approx(0.7, rel=0.15))
    assert family.rewards == Gaussian(2.0)


@pytest.mark.slow
def test_dgai_learns_offline_on_gaussian_rewards() -> None:
    draw = np.random.default_rng(8)
    values = draw.normal(5.0, 0.7, 40)[:, None] + draw.normal(0.0, 2.0, size=(40, 30))
    learned = learn(
        family_from_rows(*rows(values), 5.5, rewards=Gaussian(2.0)), "dgai", horizon=3000, budget=14, seed=1
    )
    assert 0.1 <= learned.parameters["beta"] <= 10.0
    assert str(learned.policy.guarantee) == "certified"


@pytest.mark.parametrize(
    ("values", "given", "message"),
    [
        ([0.5, 1.5, 0.2, 0.3], {}, "row 2 is 1.5, outside .0, 1."),
        ([0.5, float("nan"), 0.2, 0.3], {}, "row 2 is nan"),
        ([0.5, 0.5, 0.2, 0.2], {}, "no arm of the log has two different rewards"),
        ([0.5, 2.0, 0.2, 0.3], {"rewards": NonNegative()}, "a family can't be made from"),
    ],
)
def test_rows_of_which_no_family_can_be_made(values: list[float], given: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        family_from_rows(["a", "a", "b", "b"], values, 0.5, **given)
    with pytest.raises(InvalidValue, match="at least two arms"):
        family_from_rows(["a", "a"], [0.5, 0.6], 0.5)
