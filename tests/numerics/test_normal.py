"""Entropy and the normal distribution against mpmath, scipy and each other."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numerics_values import (
    ENTROPIES,
    NORMAL,
    QUANTILES,
    close,
    fixed,
    probabilities,
)
from scipy import integrate, special, stats

from goodarm import numerics


class TestEntropy:
    @pytest.mark.parametrize(("p", "q", "expected"), ENTROPIES)
    def test_reference(self, p, q, expected):
        assert close(numerics.bernoulli_kl(p, q), expected, 1e-14)

    @fixed
    @given(probabilities, probabilities)
    def test_scipy(self, p, q):
        textbook = special.rel_entr(p, q) + special.rel_entr(1.0 - p, 1.0 - q)
        assert close(numerics.bernoulli_kl(p, q), textbook, 1e-12, 1e-15)

    @pytest.mark.parametrize(
        ("p", "q", "expected"),
        [
            (0.0, 0.0, 0.0),
            (1.0, 1.0, 0.0),
            (0.3, 0.3, 0.0),
            (0.0, 0.25, -math.log(0.75)),
            (1.0, 0.25, math.log(4.0)),
            (0.5, 0.0, math.inf),
            (0.5, 1.0, math.inf),
            (1.0, 0.0, math.inf),
            (0.0, 1.0, math.inf),
        ],
    )
    def test_ends(self, p, q, expected):
        assert numerics.bernoulli_kl(p, q) == pytest.approx(expected, rel=1e-15)

    @fixed
    @given(probabilities, st.floats(-14.0, -1.0))
    def test_near_equality_is_the_quadratic(self, q, exponent):
        p = q + q * (1.0 - q) * 10.0**exponent
        d = p - q
        cubic = d * d / (2.0 * q * (1.0 - q)) - d**3 / 6.0 * (1.0 / q**2 - 1.0 / (1.0 - q) ** 2)
        assert close(numerics.bernoulli_kl(p, q), cubic, max(1e-12, 2.0 * 10.0 ** (2.0 * exponent)))


class TestNormal:
    @pytest.mark.parametrize(("z", "log_cdf", "hazard"), NORMAL)
    def test_reference(self, z, log_cdf, hazard):
        assert close(numerics.log_normal_cdf(z), log_cdf, 1e-13)
        assert close(numerics.inverse_mills(z), hazard, 1e-13)
        assert close(numerics.normal_cdf(z), math.exp(log_cdf), 2e-13, 1e-320)

    @fixed
    @given(st.floats(-1e5, 37.0))
    def test_scipy(self, z):
        assert close(numerics.log_normal_cdf(z), special.log_ndtr(z), 2e-12)
        assert close(numerics.normal_cdf(z), special.ndtr(z), 2e-12, 1e-307)
        assert close(numerics.normal_pdf(z), stats.norm.pdf(z), 2e-13, 1e-307)

    @fixed
    @given(st.floats(-1e12, 37.0))
    def test_hazard_is_the_slope_of_the_log_cdf(self, z):
        hazard = numerics.inverse_mills(z)
        # phi/Phi lies between max(-z, 0) and (sqrt(z^2 + 4) - z)/2 for z < 0 (Birnbaum 1942).
        if z < 0.0:
            assert -z <= hazard <= (math.sqrt(z * z + 4.0) - z) / 2.0 * (1.0 + 1e-15)
        if abs(z) < 35.0:
            log_ratio = -z * z / 2.0 - math.log(2.0 * math.pi) / 2.0 - special.log_ndtr(z)
            assert close(math.log(hazard), log_ratio, 1e-12, 1e-12)

    @pytest.mark.parametrize(("p", "z"), QUANTILES)
    def test_quantile_reference(self, p, z):
        assert close(numerics.normal_quantile(p), z, 1e-15)
        # log p itself is rounded: worth 1e-16 in log p, hence more in z where z is near 0.
        assert close(numerics.normal_quantile_log(math.log(p)), z, 2e-15, 1e-15) or p > 0.9

    @fixed
    @given(st.floats(1e-300, 1.0, exclude_max=True))
    def test_quantile_scipy(self, p):
        assert close(numerics.normal_quantile(p), special.ndtri(p), 1e-13, 1e-15)

    @fixed
    @given(st.floats(-1e5, -0.1))
    def test_quantile_log_inverts(self, z):
        assert close(numerics.normal_quantile_log(numerics.log_normal_cdf(z)), z, 1e-14)

    def test_ends(self):
        assert numerics.normal_quantile(0.0) == numerics.normal_quantile_log(-math.inf) == -math.inf
        assert numerics.normal_quantile(1.0) == numerics.normal_quantile_log(0.0) == math.inf
        assert numerics.log_normal_cdf(-math.inf) == -math.inf
        assert numerics.log_normal_cdf(math.inf) == 0.0
        assert numerics.inverse_mills(-math.inf) == math.inf
        assert numerics.inverse_mills(math.inf) == 0.0


@pytest.mark.parametrize("x", [0.0, 1e-9, 0.3, 1.0, 2.5, 5.0, 12.0, 38.0, 150.0, 1e6])
def test_mills_ratio_against_scipy(x: float) -> None:
    expected = math.sqrt(math.pi / 2.0) * special.erfcx(x / math.sqrt(2.0))
    assert numerics.mills_ratio(x) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("z", [-37.0, -20.0, -8.0, -3.0, -0.5, 0.0, 0.7, 3.0, 10.0])
def test_cubed_surplus_against_integration(z: float) -> None:
    """E[max(Z + z, 0)^3] as phi(z) times an integral that does not underflow."""
    shifted, _ = integrate.quad(lambda t: t**3 * math.exp(z * t - 0.5 * t * t), 0.0, max(12.0, z + 12.0), limit=200)
    assert numerics.cubed_surplus(z) == pytest.approx(numerics.normal_pdf(z) * shifted, rel=1e-6 if z > -10 else 0.03)
