"""Problems and environments refuse what they can't mean, naming the value and the fix."""

import math

import numpy as np
import pytest

from goodarm import Bounded, Gaussian, Problem, SubGaussian, bernoulli, beta, environment, gaussian, simulate
from goodarm.engine.totals import evidence_from_totals
from goodarm.errors import GoodarmError, InvalidValue, UnknownName, UnreadableTable
from goodarm.problem import LARGEST_REWARD, LARGEST_SCALE, LEAST_SCALE, MOST_PULLS, bar_at, bar_with
from goodarm.rules.identification.normal_mixture import normal_mixture


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.05, 5.0, math.nan, math.inf])
def test_delta_is_a_probability(delta: float) -> None:
    with pytest.raises(InvalidValue, match=r"delta must lie strictly between 0 and 1.*for example 0\.05"):
        Problem(threshold=0.5, arms=3, delta=delta)


@pytest.mark.parametrize("threshold", [0.0, 1.0, -0.1, 1.5, math.nan, math.inf])
def test_threshold_for_bounded_rewards(threshold: float) -> None:
    with pytest.raises(InvalidValue, match=r"threshold.*Bounded"):
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
    with pytest.raises(InvalidValue, match=r"threshold=0\.05"):
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


@pytest.mark.parametrize("threshold", [1e10 + 0.37, -1.1e6])
def test_a_threshold_far_from_zero_in_units_of_the_scale_is_refused(threshold: float) -> None:
    """At 1e10 + 0.37 and scale 1, after two million pulls of an arm the sum has no digit left: 19 of 20 runs erred."""
    with pytest.raises(InvalidValue, match=r"times the scale 1, more than 1e\+06.*Subtract a constant"):
        gaussian([threshold, threshold + 1.0], threshold).problem()
    assert Problem(threshold=threshold, arms=2, rewards=Gaussian(abs(threshold))).arms == 2


def test_more_pulls_than_a_sum_can_hold_are_refused() -> None:
    far = gaussian([5e5, 5e5 + 1.0], 5e5)
    with pytest.raises(InvalidValue, match="at most 200,000,000 are possible"):
        simulate("uniform+normal-mixture", far, horizon=10**9)


@pytest.mark.slow
def test_sums_keep_their_digits_up_to_the_farthest_threshold_that_is_accepted() -> None:
    """The same rewards around 0 and around a million scales give the same evidence after 500,000 pulls per arm."""
    near, far = (
        simulate("uniform+normal-mixture", gaussian([xi, xi - 0.02], xi), horizon=10**6, seed=3).runs[0]
        for xi in (0.37, 999_999.37)
    )
    assert np.abs(near.evidence - far.evidence).max() < 0.01


@pytest.mark.parametrize("scale", [1e-101, 1e-125, 1e-150, 5e-324, 1e101, 1e125, 1e150, 1e308])
@pytest.mark.parametrize("family", [Gaussian, SubGaussian])
def test_scales_whose_squares_are_no_floats_are_refused(family: type[SubGaussian], scale: float) -> None:
    with pytest.raises(InvalidValue, match=r"between 1e-100 and 1e\+100.*another unit"):
        family(scale)


def test_every_scale_that_is_accepted_has_a_finite_evidence() -> None:
    for scale in (1e-100, 1.0, 1e100):
        found = Problem(threshold=0.0, arms=2, rewards=Gaussian(scale)).rewards.divergence(scale, 0.0)
        assert found == pytest.approx(0.5)


@pytest.mark.parametrize("scale", [LEAST_SCALE, 1e-99, 1e-50, 1e50, 1e99, LARGEST_SCALE])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_the_largest_sum_that_is_accepted_has_a_finite_evidence(scale: float, sign: float) -> None:
    bar = Problem(threshold=0.0, arms=2, rewards=Gaussian(scale)).bar
    pulls, total = float(MOST_PULLS), sign * MOST_PULLS * LARGEST_REWARD * scale
    evidence = evidence_from_totals(normal_mixture, np.array([pulls]), np.array([total]), bar)
    assert np.isfinite(evidence).all()
    assert evidence[0 if sign > 0.0 else 1][0] > bar.budget


def test_at_larger_scales_the_squares_of_rewards_are_floats_but_not_those_of_sums() -> None:
    for scale in (1e140, 1e145):
        assert math.isfinite((LARGEST_REWARD * scale) ** 2)
        with pytest.raises(OverflowError):
            (MOST_PULLS * LARGEST_REWARD * scale) ** 2


def test_more_pulls_than_can_be_counted_are_refused() -> None:
    problem = Problem(threshold=0.5, arms=2)
    problem.check_sums(10**15)
    with pytest.raises(InvalidValue, match="at most 1,000,000,000,000,000 pulls"):
        problem.check_sums(10**15 + 1)


def test_a_bar_keeps_its_other_numbers() -> None:
    bar = Problem(threshold=0.5, arms=2).bar._replace(modelled=1.0, purse=1.0)
    assert bar_at(bar, 0.2) == bar._replace(threshold=0.2, spread=0.4)
    assert bar_with(bar, 0.01, 3.0) == bar._replace(delta=0.01, budget=3.0)
