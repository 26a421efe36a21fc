"""Special functions against mpmath (values below), scipy, each other, and themselves compiled by numba."""

import inspect
import math

import numba
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.extending import register_jitable
from scipy import integrate, special, stats

from goodarm import numerics
from goodarm.numerics import beta, binomial, entropy, logistic, normal, scale

fixed = settings(max_examples=100, deadline=None, derandomize=True)
shapes = st.floats(math.log(0.5), math.log(1e7)).map(math.exp)
small_shapes = st.floats(math.log(0.5), math.log(1e4)).map(math.exp)
probabilities = st.floats(1e-12, 1.0 - 1e-12)

# Computed with mpmath 1.4 at 60 digits or more, by series of positive terms; rounded to the nearest float.
# x, a, b, log P(Beta(a, b) <= x), log P(Beta(a, b) > x); 0.0 stands for less than 1e-308 in size.
BETA = [
    (0.5, 1e6, 1e6, -0.6931471805599453, -0.6931471805599453),
    (0.499, 1e6, 1e6, -6.0580961769793085, -0.0023415887873714084),
    (0.4, 1e6, 1e6, -40828.55836186977, 0.0),
    (0.6, 1e6, 1e6, 0.0, -40828.55836186977),
    (0.5003, 1e7, 1e7, -0.003651836624958112, -5.61435041567238),
    (0.9, 1e7, 1e6, -5198.750593559013, 0.0),
    (0.1, 1e7, 1e6, -19780224.435156938, 0.0),
    (0.003, 60.5, 1e4, -14.1132902313515, -7.424651821332168e-07),
    (0.003, 5.0, 1e4, -3.4664465640928385e-09, -19.48013581434313),
    (0.003, 0.5, 1e7, 0.0, -30050.81706088894),
    (1e-9, 0.5, 1e7, -2.185131759240925, -0.11930497219547613),
    (1e-12, 0.5, 0.5, -14.267093263253562, -6.366199750101407e-07),
    (1e-300, 0.5, 0.5, -345.8393466543963, -6.366197723675813e-151),
    (0.999999, 0.5, 0.5, -0.0006368226069601354, -7.359337817590486),
    (0.75, 0.5, 0.5, -0.4054651081081644, -1.0986122886681098),
    (0.5, 9.99, 10.01, -0.6895100968197596, -0.6967975409813547),
    (0.2, 1.5, 3e3, -5.150330342132586e-290, -666.1106161115513),
    (0.5, 3e3, 1.5, -2075.6638576930227, 0.0),
    (0.9999999, 1e7, 0.5, -1.8496055422258275, -0.17114330921328227),
    (0.999, 1e7, 0.5, -10010.180920920515, 0.0),
    (0.55, 1000.0, 1234.5, -1.4423075900985666e-22, -50.29062772177912),
    (0.005, 3.25, 1e6, 0.0, -4994.313489377782),
]
# z, log Phi(z), phi(z)/Phi(z)
NORMAL = [
    (-1e6, -500000000014.73444, 1000000.000001),
    (-1000.0, -500007.82669481216, 1000.000999998),
    (-100.0, -5005.524208694205, 100.00999800099926),
    (-40.0, -804.6084420137538, 40.02496884720726),
    (-20.0, -203.91715537109727, 20.04975306852785),
    (-5.001, -15.07018538160944, 5.18747127610326),
    (-5.0, -15.064998393988725, 5.186503967125842),
    (-4.999, -15.059812373671576, 5.185536668974189),
    (-1.0, -1.8410216450092636, 1.525135276160981),
    (0.0, -0.6931471805599453, 0.7978845608028654),
    (1.0, -0.17275377902344988, 0.2875999709391784),
    (8.0, -6.220960574271786e-16, 5.052271083536895e-15),
    (20.0, -2.7536241186062337e-89, 5.520948362159764e-88),
]
# p, z
QUANTILES = [
    (1e-300, -37.0470962993612),
    (1e-100, -21.273453560965326),
    (1e-16, -8.222082216130435),
    (0.001, -3.0902323061678136),
    (0.2499999, -0.6744900648826232),
    (0.25, -0.6744897501960817),
    (0.3, -0.5244005127080408),
    (0.5000000001, 2.506628482030354e-10),
    (0.7500001, 0.674490064882623),
    (0.975, 1.9599639845400538),
    (1.0 - 2.0**-53, 8.209536151601387),
]
# p, q, kl(p, q)
ENTROPIES = [
    (0.5000001, 0.5, 1.99999999789459e-14),
    (1e-20, 2e-20, 3.0685281944005468e-21),
    (7e-20, 6e-20, 7.905475879080805e-22),
    (0.3, 0.30000000000000004, 7.336875978618041e-33),
    (1e-5, 0.999, 6.9075610822297),
    (0.999999, 1e-300, 690.7748223071758),
    (0.9, 0.5, 0.36806420716849714),
]
# a, b, log B(a, b)
LOG_BETAS = [
    (1e7, 1e7, -13862950.404734597),
    (1e7, 0.5, -7.48668287005446),
    (0.5, 0.5, 1.1447298858494002),
    (9.99, 10.01, -13.736218710401053),
    (1e6, 3.0, -40.75338749333038),
    (1e-5, 1e7, 11.512758511939817),
    (12345.5, 678.25, -2666.8264077035483),
    (2.0, 3.0, -2.4849066497880004),
]


def close(value: float, reference: float, relative: float, absolute: float = 0.0) -> bool:
    return math.isclose(value, reference, rel_tol=relative, abs_tol=absolute)


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


# What each public function is called with when its compiled form is compared with Python's. The private ones are
# compiled on the way.
POINTS = [(x, a, b) for x, a, b, _, _ in BETA] + [(0.0, 2.0, 3.0), (1.0, 2.0, 3.0)]
SHAPES = [(0.5, 0.5), (3.0, 400.0), (2e5, 1e5), (60.0, 0.5)]
POINTS_Z = [(-1e6,), (-40.0,), (-5.5,), (-4.5,), (-0.3,), (0.0,), (0.7,), (9.0,), (36.0,)]
CALLS = {
    "bernoulli_kl": [(p, q) for p, q, _ in ENTROPIES] + [(0.0, 0.0), (0.0, 0.4), (1.0, 0.4), (0.4, 1.0)],
    "beta_quantile": [(p, a, b) for p in (0.0, 1e-200, 1e-6, 0.3, 0.9, 1.0) for a, b in SHAPES],
    "beta_quantile_above": [(t, a, b) for t in (-1e4, -50.0, -0.01, 0.0) for a, b in SHAPES],
    "binomial_tail": [(0, 5, 0.3), (3, 5, 0.3), (6, 5, 0.3), (60_000, 100_000, 0.59)],
    "clopper_pearson": [(0, 20, 0.95), (3, 20, 0.95), (20, 20, 0.95), (700, 1_000_000, 0.99)],
    "clopper_pearson_upper": [(0, 20, 0.95), (3, 20, 0.95), (20, 20, 0.95)],
    "log_scale_evidence": [(10_000.0, 10_000.0), (10_000.0, 12_100.0), (1.0, 0.0)],
    "sigmoid": [(0.0,), (3.0,), (-800.0,), (800.0,)],
    "deviance": [(3.0, 2.0, 1.0), (1.0 + 1e-9, 1.0, 1e-9), (0.0, 2.0, -2.0), (1e7, 1e-305, 1e7), (1.0, 0.0, 1.0)],
    "cubed_surplus": POINTS_Z,
    "inverse_mills": POINTS_Z,
    "mills_ratio": [(abs(z),) for (z,) in POINTS_Z],
    "log_beta": [(a, b) for a, b, _ in LOG_BETAS],
    "log_beta_cdf": POINTS,
    "log_beta_kernel": [(x, 1.0 - x, a, b) for x, a, b in POINTS if 0.0 < x < 1.0],
    "log_beta_sf": POINTS,
    "log_normal_cdf": POINTS_Z,
    "normal_cdf": POINTS_Z,
    "normal_pdf": POINTS_Z,
    "normal_quantile": [(p,) for p, _ in QUANTILES] + [(0.0,), (1.0,)],
    "normal_quantile_log": [(-1e5,), (-2.0,), (-0.5,), (-1e-9,), (0.0,)],
    "student_quantile": [(p, k) for p in (1e-9, 0.3, 0.5, 0.975) for k in (1.0, 9.0, 1e5)],
}
FUNCTIONS = {
    name: function
    for module in (entropy, logistic, normal, beta, binomial, scale)
    for name, function in inspect.getmembers(module, inspect.isfunction)
    if function.__module__ == module.__name__
}


@pytest.fixture(scope="module")
def registered():
    for function in FUNCTIONS.values():
        register_jitable(function)


@pytest.mark.parametrize("name", numerics.__all__)
def test_compiled_equals_python(name, registered):
    function = FUNCTIONS[name]
    compiled = numba.njit(error_model="numpy")(_caller(function, len(CALLS[name][0])))
    for arguments in CALLS[name]:
        expected, got = function(*arguments), compiled(*arguments)
        pairs = zip(got, expected, strict=True) if isinstance(expected, tuple) else [(got, expected)]
        assert all(close(a, b, 1e-12) for a, b in pairs), arguments


def _caller(function, arity):
    return {
        1: lambda x: function(x),
        2: lambda x, y: function(x, y),
        3: lambda x, y, z: function(x, y, z),
        4: lambda x, y, z, w: function(x, y, z, w),
    }[arity]


def test_public_names_are_sorted_and_complete():
    assert numerics.__all__ == sorted(numerics.__all__)
    assert set(numerics.__all__) == {name for name in FUNCTIONS if not name.startswith("_")}


@pytest.mark.parametrize("x", [0.0, 1e-9, 0.3, 1.0, 2.5, 5.0, 12.0, 38.0, 150.0, 1e6])
def test_mills_ratio_against_scipy(x: float) -> None:
    expected = math.sqrt(math.pi / 2.0) * special.erfcx(x / math.sqrt(2.0))
    assert numerics.mills_ratio(x) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("z", [-37.0, -20.0, -8.0, -3.0, -0.5, 0.0, 0.7, 3.0, 10.0])
def test_cubed_surplus_against_integration(z: float) -> None:
    """E[max(Z + z, 0)^3] as phi(z) times an integral that does not underflow."""
    shifted, _ = integrate.quad(lambda t: t**3 * math.exp(z * t - 0.5 * t * t), 0.0, max(12.0, z + 12.0), limit=200)
    assert numerics.cubed_surplus(z) == pytest.approx(numerics.normal_pdf(z) * shifted, rel=1e-6 if z > -10 else 0.03)
