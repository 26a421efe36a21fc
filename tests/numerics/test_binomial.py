"""The binomial distribution and its exact intervals against scipy."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numerics_values import (
    close,
    fixed,
)
from scipy import special, stats

from goodarm import numerics


class TestBinomial:
    @fixed
    @given(st.integers(0, 2000), st.integers(0, 2000), st.floats(1e-6, 1.0 - 1e-6))
    def test_tail_scipy(self, first, second, probability):
        successes, trials = min(first, second), max(first, second)
        expected = stats.binom.sf(successes - 1, trials, probability)
        assert close(numerics.binomial_tail(successes, trials, probability), expected, 1e-10, 1e-290)

    def test_tail_exact(self):
        for n, p in ((1, 0.25), (7, 0.5), (12, 0.9)):
            for s in range(n + 1):
                direct = math.fsum(math.comb(n, k) * p**k * (1.0 - p) ** (n - k) for k in range(s, n + 1))
                assert close(numerics.binomial_tail(s, n, p), direct, 1e-13)
        assert numerics.binomial_tail(-1, 5, 0.3) == 1.0
        assert numerics.binomial_tail(6, 5, 0.3) == 0.0
        assert numerics.binomial_tail(3, 5, 0.0) == 0.0
        assert numerics.binomial_tail(3, 5, 1.0) == 1.0

    @pytest.mark.slow
    @fixed
    @given(st.integers(0, 5000), st.integers(1, 5000), st.floats(0.5, 0.9999))
    def test_interval_scipy(self, first, second, level):
        successes, trials = min(first, second), max(first, second)
        two_sided = stats.binomtest(successes, trials).proportion_ci(level, "exact")
        low, high = numerics.clopper_pearson(successes, trials, level)
        # binomtest stops its root search at an absolute error of about 1e-9.
        assert close(low, two_sided.low, 0.0, 1e-8)
        assert close(high, two_sided.high, 0.0, 1e-8)
        if 0 < successes < trials:
            assert close(low, special.betaincinv(successes, trials - successes + 1, (1.0 - level) / 2.0), 1e-9)
            assert close(high, special.betainccinv(successes + 1, trials - successes, (1.0 - level) / 2.0), 1e-9)
        upper = stats.binomtest(successes, trials, alternative="less").proportion_ci(level, "exact").high
        assert close(numerics.clopper_pearson_upper(successes, trials, level), upper, 0.0, 1e-8)

    def test_interval_is_the_inverse_of_the_test(self):
        low, high = numerics.clopper_pearson(123, 1_000_000, 0.99)
        assert close(numerics.binomial_tail(123, 1_000_000, low), 0.005, 1e-12)
        assert close(1.0 - numerics.binomial_tail(124, 1_000_000, high), 0.005, 1e-11)

    def test_ends(self):
        assert numerics.clopper_pearson(0, 0, 0.95) == (0.0, 1.0)
        assert numerics.clopper_pearson(0, 10, 0.95)[0] == 0.0
        assert numerics.clopper_pearson(10, 10, 0.95)[1] == 1.0
        assert numerics.clopper_pearson(5, 10, 1.0) == (0.0, 1.0)
        assert numerics.clopper_pearson_upper(10, 10, 0.95) == numerics.clopper_pearson_upper(5, 10, 1.0) == 1.0
