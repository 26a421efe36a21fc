"""Problems and environments refuse what they can't mean, naming the value and the fix."""

import math

import numpy as np
import pytest

from goodarm import Bounded, Gaussian, Problem, SubGaussian, bernoulli, beta, environment, gaussian
from goodarm.errors import GoodarmError, InvalidValue, UnknownName, UnreadableTable


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.05, 5.0, math.nan, math.inf])
def test_delta_is_a_probability(delta: float) -> None:
    with pytest.raises(InvalidValue, match=r"delta must lie strictly between 0 and 1.*for example 0\.05"):
        Problem(threshold=0.5, arms=3, delta=delta)


@pytest.mark.parametrize("threshold", [0.0, 1.0, -0.1, 1.5, math.nan, math.inf])
def test_threshold_for_bounded_rewards(threshold: float) -> None:
    with pytest.raises(InvalidValue, match=r"threshold.*Gaussian"):
        Problem(threshold=threshold, arms=3)
    with pytest.raises(InvalidValue, match="threshold"):
        bernoulli([0.1, 0.2], threshold).problem()


@pytest.mark.parametrize("threshold", [math.nan, math.inf, -math.inf])
def test_threshold_for_gaussian_rewards(threshold: float) -> None:
    with pytest.raises(InvalidValue, match="threshold"):
        Problem(threshold=threshold, arms=3, rewards=Gaussian(1.0))
    assert Problem(threshold=-7.5, arms=3, rewards=Gaussian(2.0)).bar.spread == 2.0


@pytest.mark.parametrize("arms", [0, -1])
def test_no_arms(arms: int) -> None:
    with pytest.raises(InvalidValue, match="at least one arm"):
        Problem(threshold=0.5, arms=arms)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf])
def test_scales(scale: float) -> None:
    for make in (Gaussian, SubGaussian):
        with pytest.raises(InvalidValue, match="must be a positive number"):
            make(scale)
    with pytest.raises(InvalidValue, match="concentration"):
        beta([0.5], 0.5, concentration=scale)


@pytest.mark.parametrize("reward", [-0.1, 1.1, math.nan, math.inf])
def test_rewards_out_of_range(reward: float) -> None:
    with pytest.raises(InvalidValue, match=r"reward must lie in \[0, 1\]"):
        Bounded().check_reward(reward)
    if not math.isfinite(reward):
        with pytest.raises(InvalidValue, match="finite"):
            Gaussian(1.0).check_reward(reward)


@pytest.mark.parametrize(("mean", "where"), [(math.nan, 1), (1.01, 1), (-0.01, 1), (math.inf, 1)])
def test_means_out_of_range(mean: float, where: int) -> None:
    for make in (bernoulli, beta):
        with pytest.raises(InvalidValue, match=f"mean of arm {where} must be between 0 and 1; got"):
            make([0.5, mean, 0.5], 0.5)
    if not math.isfinite(mean):
        with pytest.raises(InvalidValue, match="finite"):
            gaussian([0.5, mean], 0.5)


@pytest.mark.parametrize("means", [[], [[0.1, 0.2]], 0.5])
def test_means_that_are_no_list(means: object) -> None:
    with pytest.raises(InvalidValue, match="at least one number"):
        bernoulli(means, 0.5)


def test_means_are_copied_and_kept() -> None:
    mine = np.array([0.2, 0.8])
    made = bernoulli(mine, 0.5)
    mine[0] = 0.9
    kept = made.instance(np.random.default_rng(0)).means
    assert kept.tolist() == [0.2, 0.8]
    with pytest.raises(ValueError, match="read-only"):
        kept[0] = 0.9


def test_unknown_environments_suggest_the_nearest() -> None:
    with pytest.raises(UnknownName, match="kano-1"):
        environment("kano1")
    with pytest.raises(InvalidValue, match="--threshold"):
        environment("table:means.csv")
    with pytest.raises(UnreadableTable, match="no such file"):
        environment("table:nowhere.csv", threshold=0.5)


def test_errors_have_one_root() -> None:
    for error in (InvalidValue, UnknownName, UnreadableTable):
        assert issubclass(error, GoodarmError)


def test_the_bar_in_numbers() -> None:
    bar = Problem(threshold=0.2, arms=50, delta=0.1).bar
    assert bar.budget == pytest.approx(math.log(500.0))
    assert bar.spread == pytest.approx(0.4)
    assert (bar.sigma, bar.arms, bar.bounded) == (0.5, 50.0, 1.0)
