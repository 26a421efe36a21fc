"""`gap-mixture` is the average it says it is, and a number wherever the threshold lies."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goodarm.problem import Gaussian, Problem, SubGaussian
from goodarm.rules.identification.gap_mixture import GAPS, LOG_WEIGHTS, totals


def test_the_weights_of_a_side_sum_to_one() -> None:
    assert math.fsum(map(math.exp, LOG_WEIGHTS)) == pytest.approx(1.0, abs=1e-12)
    assert totals(0.0, 0.0, Problem(threshold=0.3, arms=4).bar) == pytest.approx((0.0, 0.0), abs=1e-12)


@given(threshold=st.floats(0.01, 0.99), pulls=st.integers(1, 60), share=st.floats(0.0, 1.0))
def test_it_is_the_average_of_likelihood_ratios_of_means(threshold: float, pulls: int, share: float) -> None:
    """Written with the means themselves, as one reads it in a book."""
    successes = round(share * pulls)
    for side, seen in zip((1.0, -1.0), totals(pulls, successes, Problem(threshold=threshold, arms=4).bar), strict=True):
        average = 0.0
        for gap, log_weight in zip(GAPS, LOG_WEIGHTS, strict=True):
            mean = 1.0 / (1.0 + math.exp(-(math.log(threshold / (1.0 - threshold)) + side * gap)))
            won, lost = mean / threshold, (1.0 - mean) / (1.0 - threshold)
            average += math.exp(log_weight) * won**successes * lost ** (pulls - successes)
        assert seen == pytest.approx(math.log(average), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("threshold", [1e-99, 1e-9, 0.5, 1.0 - 1e-12])
@pytest.mark.parametrize("pulls", [1.0, 1e12])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_it_is_a_number_everywhere(threshold: float, pulls: float, share: float) -> None:
    good, bad = totals(pulls, share * pulls, Problem(threshold=threshold, arms=4).bar)
    assert math.isfinite(good)
    assert math.isfinite(bad)


@pytest.mark.parametrize("kind", [Gaussian, SubGaussian])
def test_only_units_of_sigma_above_the_threshold_count(kind: type[SubGaussian]) -> None:
    plain = Problem(threshold=0.0, arms=4, rewards=kind(scale=1.0)).bar
    moved = Problem(threshold=7.0, arms=4, rewards=kind(scale=3.0)).bar
    assert totals(40.0, 11.0, plain) == pytest.approx(totals(40.0, 40.0 * 7.0 + 3.0 * 11.0, moved), rel=1e-9)
    good, bad = totals(40.0, 11.0, plain)
    assert totals(40.0, -11.0, plain) == (bad, good)
