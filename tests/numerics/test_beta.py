"""The beta and Student's distribution against mpmath, scipy and each other."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numerics_values import (
    BETA,
    LOG_BETAS,
    close,
    fixed,
    probabilities,
    shapes,
    small_shapes,
)
from scipy import special, stats

from goodarm import numerics
from goodarm.numerics import beta


class TestBeta:
    @pytest.mark.parametrize(("a", "b", "expected"), LOG_BETAS)
    def test_log_beta_reference(self, a, b, expected):
        assert close(numerics.log_beta(a, b), expected, 1e-14)
        assert numerics.log_beta(b, a) == numerics.log_beta(a, b)

    @fixed
    @given(small_shapes, small_shapes)
    def test_log_beta_scipy(self, a, b):
        # scipy subtracts log-gammas: B(1, b) = 1/b is off by 1.5e-11 at b = 9182.
        assert close(numerics.log_beta(a, b), special.betaln(a, b), 1e-13, 1e-14 * (1.0 + special.gammaln(a + b)))
        assert close(numerics.log_beta(1.0, b), -math.log(b), 1e-14, 5e-15)

    @pytest.mark.parametrize(("x", "a", "b", "log_cdf", "log_sf"), BETA)
    def test_reference(self, x, a, b, log_cdf, log_sf):
        # The smaller tail is good to a few roundings of its own logarithm and of x; where the other logarithm is near
        # 0, it has the same error, relatively.
        tail = min(log_cdf, log_sf)
        slope = math.exp(beta.log_beta_kernel(x, 1.0 - x, a, b) - tail) / (1.0 - x)
        relative = 4e-16 * (10.0 - tail + slope)
        assert abs(min(numerics.log_beta_cdf(x, a, b), numerics.log_beta_sf(x, a, b)) - tail) <= relative
        assert close(numerics.log_beta_cdf(x, a, b), log_cdf, max(1e-14, min(relative, 2e-12)), 1e-307)
        assert close(numerics.log_beta_sf(x, a, b), log_sf, max(1e-14, min(relative, 2e-12)), 1e-307)

    @fixed
    @given(small_shapes, small_shapes, st.floats(1e-6, 1.0 - 1e-6))
    def test_scipy(self, a, b, x):
        # scipy works on the probability, not its logarithm: comparable down to its underflow.
        for value, reference in (
            (numerics.log_beta_cdf(x, a, b), special.betainc(a, b, x)),
            (numerics.log_beta_sf(x, a, b), special.betaincc(a, b, x)),
        ):
            if 1e-290 < reference < 0.9:
                assert close(value, math.log(reference), 1e-11, 1e-11)

    @fixed
    @given(shapes, shapes, st.floats(-6.0, 6.0))
    def test_the_two_tails_add_up(self, a, b, z):
        # Around the middle of the distribution, where the continued fraction takes its most terms.
        mean = a / (a + b)
        x = mean + z * math.sqrt(mean * (1.0 - mean) / (a + b + 1.0))
        if 0.0 < x < 1.0:
            below, above = numerics.log_beta_cdf(x, a, b), numerics.log_beta_sf(x, a, b)
            assert close(math.exp(below) + math.exp(above), 1.0, 1e-14)
            # Recurrence DLMF 8.17.20, between two evaluations with different shapes:
            # I_x(a, b) - I_x(a + 1, b) = x^a (1-x)^b / (a B(a, b)).
            gap = math.exp(below) - math.exp(numerics.log_beta_cdf(x, a + 1.0, b))
            density = a * math.log(x) + b * math.log1p(-x) - numerics.log_beta(a, b) - math.log(a)
            assert close(gap, math.exp(density), 1e-6, 1e-13 * (1.0 + math.sqrt(max(a, b))))

    @pytest.mark.parametrize("share", [0.001, 0.3, 0.5, 0.9])
    @pytest.mark.parametrize("size", [10.0, 1e4, 1e7])
    def test_continued_fraction_converges(self, size, share):
        # At the mean of a wide range of shapes; betainc of scipy (Boost) is good to about 1e-13 there.
        a, b = size * share, size * (1.0 - share)
        assert close(math.exp(numerics.log_beta_cdf(share, a, b)), special.betainc(a, b, share), 1e-12)

    def test_ends(self):
        assert numerics.log_beta_cdf(0.0, 2.0, 3.0) == numerics.log_beta_sf(1.0, 2.0, 3.0) == -math.inf
        assert numerics.log_beta_cdf(1.0, 2.0, 3.0) == numerics.log_beta_sf(0.0, 2.0, 3.0) == 0.0
        assert numerics.beta_quantile(0.0, 2.0, 3.0) == numerics.beta_quantile_above(0.0, 2.0, 3.0) == 0.0
        assert numerics.beta_quantile(1.0, 2.0, 3.0) == numerics.beta_quantile_above(-math.inf, 2.0, 3.0) == 1.0
        # Below the smallest normal float there is nothing to find.
        assert numerics.beta_quantile(1e-300, 0.5, 3.0) < 1e-307


class TestBetaQuantile:
    @fixed
    @given(small_shapes, small_shapes, probabilities)
    def test_scipy(self, a, b, p):
        # betaincinv is off by up to about 1e-10: at a = b = 2.1294407253808507 its median is 0.5 + 5.7e-11.
        assert close(numerics.beta_quantile(p, a, b), special.betaincinv(a, b, p), 1e-9, 1e-300)
        if p < 1.0 - 1e-6:
            above = special.betainccinv(a, b, p)
            assert close(numerics.beta_quantile_above(math.log(p), a, b), above, 1e-9, 1e-300)

    @fixed
    @given(shapes, shapes, st.floats(-10.0, math.log(1e5)).map(lambda t: -math.exp(t)))
    def test_above_inverts_the_survival(self, a, b, log_sf):
        x = numerics.beta_quantile_above(log_sf, a, b)
        assert 0.0 <= x <= 1.0
        if 1e-300 < x < 0.999:
            # One rounding of x moves the logarithm by the slope times x times 1e-16: no inverse can do better.
            slope = math.exp(beta.log_beta_kernel(x, 1.0 - x, a, b) - numerics.log_beta_sf(x, a, b)) / (1.0 - x)
            tolerance = 1e-13 * abs(log_sf) + 1e-14 * slope * max(1.0, -math.log(x)) + 1e-13
            assert abs(numerics.log_beta_sf(x, a, b) - log_sf) <= tolerance

    def test_draw_far_in_the_tail(self):
        # Beta(100, 900) known to exceed 0.9: P is e^-1700. The draw at u = 1/2 is just above 0.9.
        level = numerics.log_beta_sf(0.9, 100.0, 900.0)
        assert level < -1700.0
        x = numerics.beta_quantile_above(level + math.log(0.5), 100.0, 900.0)
        assert 0.9 < x < 0.901
        assert numerics.beta_quantile_above(level, 100.0, 900.0) == pytest.approx(0.9, rel=1e-14)


class TestStudent:
    @fixed
    @given(st.floats(1e-10, 1.0 - 1e-10), st.floats(0.0, math.log(1e6)).map(math.exp))
    def test_scipy(self, p, degrees):
        assert close(numerics.student_quantile(p, degrees), stats.t.ppf(p, degrees), 1e-10, 1e-14)

    def test_closed_forms(self):
        for p in (1e-100, 1e-9, 0.01, 0.3, 0.5 + 1e-9, 0.7, 0.99):
            cauchy = (
                math.tan(math.pi * (p - 0.5))
                if 0.25 < p < 0.75
                else math.copysign(1.0, p - 0.5) / math.tan(math.pi * min(p, 1.0 - p))
            )
            two = (2.0 * p - 1.0) * math.sqrt(2.0 / (4.0 * p * (1.0 - p)))
            assert close(numerics.student_quantile(p, 1.0), cauchy, 1e-13)
            assert close(numerics.student_quantile(p, 2.0), two, 1e-13)
        assert close(numerics.student_quantile(0.975, 1e12), numerics.normal_quantile(0.975), 1e-11)

    def test_ends(self):
        assert numerics.student_quantile(0.5, 3.0) == 0.0
        assert numerics.student_quantile(0.0, 3.0) == -math.inf
        assert numerics.student_quantile(1.0, 3.0) == math.inf
