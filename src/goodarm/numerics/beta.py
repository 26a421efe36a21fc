"""The Beta distribution in log scale, its quantiles in both tails, and Student's quantile through it."""

import math

from goodarm.numerics.entropy import deviance
from goodarm.numerics.normal import LOG_SQRT_TWO_PI, normal_quantile_log

LOG_HALF = -0.6931471805599453
# exp(-MAX_LOGIT) is the smallest odds in the search for a quantile, just above the smallest normal float.
MAX_LOGIT = 708.0


def _stirling_remainder(x: float) -> float:
    """Remainder of Stirling's formula for the log-gamma function.

    w(x) = log Gamma(x) - ((x - 1/2) log x - x + log(2 pi)/2), about 1/(12 x). `x` > 0.

    >>> round(_stirling_remainder(20.0), 15)
    0.004166319691997

    Reference: DLMF 5.11.1.
    """
    if x < 10.0:
        return math.lgamma(x) - (x - 0.5) * math.log(x) + x - LOG_SQRT_TWO_PI
    return _stirling_series(x)


def _stirling_series(x: float) -> float:
    """`_stirling_remainder` for x >= 10."""
    r = 1.0 / x
    s = r * r
    series = 1.0 / 1188.0 - s * (691.0 / 360360.0 - s / 156.0)
    return r * (1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0 - s * series))))


def log_beta(a: float, b: float) -> float:
    """Logarithm of the Beta function.

    log B(a, b) = log Gamma(a) + log Gamma(b) - log Gamma(a + b), `a`, `b` > 0.
    From 10 on, Stirling's formula is substituted into the three terms, so that their large parts cancel analytically
    instead of numerically: with a <= b,

        log B = log(2 pi)/2 + w(a) + w(b) - w(a + b) + (a - 1/2) log(a/(a + b)) - b log(1 + a/b) - log(b)/2.

    >>> log_beta(1.0, 1.0)
    0.0
    >>> round(log_beta(2.0, 3.0) + math.log(12.0), 12)
    0.0
    >>> round(log_beta(1e7, 1e7), 6)
    -13862950.404735
    """
    small = min(a, b)
    large = max(a, b)
    if large < 10.0:
        return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    total = small + large
    remainders = _stirling_remainder(small) + _stirling_remainder(large) - _stirling_remainder(total)
    powers = (small - 0.5) * math.log(small / total) - large * math.log1p(small / large)
    return LOG_SQRT_TWO_PI + remainders + powers - 0.5 * math.log(large)


def _whole_remainder(x: float) -> float:
    """`_stirling_remainder` of a whole number from 1 on, with a factorial in place of log-gamma."""
    if x >= 10.0:
        return _stirling_series(x)
    factorial = 1.0
    for i in range(2, int(x)):
        factorial *= i
    return math.log(factorial) - (x - 0.5) * math.log(x) + x - LOG_SQRT_TWO_PI


def log_choose_growth(top: float, chosen: float, more: float) -> float:
    """Logarithm of C(top + more, chosen) / C(top, chosen), for whole numbers 0 <= chosen <= top and more >= 0.

    With a = top + 1 and b = a - chosen it is log Gamma(a + more) - log Gamma(a) - log Gamma(b + more) + log Gamma(b).
    Stirling's formula is substituted into the four terms, so that their large parts cancel analytically instead of
    numerically: the error stays near 1e-16 times `more`. It calls no log-gamma, which Python and compiled code round
                 differently, so a rule that uses it need not be compiled.

    >>> round(log_choose_growth(4.0, 2.0, 1.0), 12) == round(math.log(10.0 / 6.0), 12)
    True
    >>> log_choose_growth(1e12, 0.0, 1e6)
    0.0
    """
    if chosen <= 0.0:
        return 0.0
    a = top + 1.0
    b = a - chosen
    remainders = (_whole_remainder(a + more) - _whole_remainder(a)) - (_whole_remainder(b + more) - _whole_remainder(b))
    powers = (a + more - 0.5) * math.log1p(more / a) - (b + more - 0.5) * math.log1p(more / b)
    return powers - more * math.log1p(-chosen / a) + remainders


def log_beta_kernel(x: float, y: float, a: float, b: float) -> float:
    """Logarithm of x^a y^b / B(a, b), the density of logit X when X is Beta(a, b); x + y = 1, both > 0.

    Saddle-point form: log(ab/(2 pi n))/2 - D(a, nx) - D(b, ny) - w(a) - w(b) + w(n), n = a + b, D the deviance.
    Its error is a few units in the last place of the result, whereas a log x + b log y - log B has the rounding errors
    of terms that may be 1e7 times larger.

    >>> round(math.exp(log_beta_kernel(0.5, 0.5, 2.0, 3.0)), 12)  # 12 / 32
    0.375
    """
    n = a + b
    difference = a * y - b * x
    remainders = _stirling_remainder(a) + _stirling_remainder(b) - _stirling_remainder(n)
    scale = 0.5 * math.log(a * (b / n)) - LOG_SQRT_TWO_PI
    return scale - deviance(a, n * x, difference) - deviance(b, n * y, -difference) - remainders


def _beta_tail_ratio(x: float, y: float, a: float, b: float) -> float:
    """P(Beta(a, b) <= x) divided by x^a y^b / B(a, b), for x up to the mean a/(a + b); x + y = 1.

    I_x(a, b) B(a, b)/(x^a y^b) = 1/(beta_1 + alpha_2/(beta_2 + alpha_3/(beta_3 + ...))), l = a - (a + b) x,
    alpha_{n+1} = (a + n - 1)(a + b + n - 1) n (b - n) x^2/(a + 2n - 1)^2,
    beta_{n+1} = n + n (b - n) x/(a + 2n - 1) + (a + n)/(a + 2n + 1) (l + 1 + n (1 + y)).
    At the mean it needs about 5.5 max(a, b)^(1/3) terms (1200 at 1e7); two standard deviations away, a few dozen.

    >>> round(_beta_tail_ratio(0.5, 0.5, 0.5, 0.5), 12)  # (1/2) / (1/2 / pi)
    3.14159265359

    Reference: A. R. DiDonato and A. H. Morris, "Algorithm 708", ACM Trans. Math. Softw. 18, 1992, equation 9;
    evaluated by W. J. Lentz, "Generating Bessel functions in Mie scattering calculations", Appl. Opt. 15, 1976.
    """
    lead = a * y - b * x + 1.0
    fraction = a / (a + 1.0) * lead
    upward = fraction
    downward = 0.0
    n = 1.0
    while n < 20000.0:
        middle = a + 2.0 * n - 1.0
        step = n * (b - n) * x / middle
        alpha = (a + n - 1.0) * ((a + b + n - 1.0) * x / middle) * step
        beta = n + step + (a + n) / (middle + 2.0) * (lead + n * (1.0 + y))
        upward = beta + alpha / upward
        downward = 1.0 / (beta + alpha * downward)
        change = upward * downward
        fraction *= change
        if abs(change - 1.0) <= 4e-16:
            break
        n += 1.0
    return 1.0 / fraction


def _log_beta_below(x: float, y: float, a: float, b: float) -> float:
    """log P(Beta(a, b) <= x) with x and y = 1 - x both given, so that neither end loses its digits; both > 0.

    Up to the mean the tail itself is computed; past it the other tail, and its complement by log(1 - e^t).

    >>> round(_log_beta_below(0.25, 0.75, 1.0, 1.0), 12)
    -1.38629436112
    """
    past = b * x > a * y
    if past:
        x, y, a, b = y, x, b, a
    tail = log_beta_kernel(x, y, a, b) + math.log(_beta_tail_ratio(x, y, a, b))
    if not past:
        return min(tail, 0.0)
    if tail > LOG_HALF:
        return math.log(-math.expm1(min(tail, -1e-300)))
    return math.log1p(-math.exp(tail))


def log_beta_cdf(x: float, a: float, b: float) -> float:
    """Logarithm of the distribution function of Beta(a, b): of the regularised incomplete beta function.

    log I_x(a, b) = log P(Beta(a, b) <= x); `x` in [0, 1] (outside, as at the nearer end), `a`, `b` > 0.
    It is accurate in log scale in both tails: near 0 it is -P(Beta(a, b) > x), to full relative accuracy.

    >>> round(log_beta_cdf(0.3, 2.0, 5.0), 12)  # P(Binomial(6, 0.3) >= 2) = 0.579825
    -0.545028945107
    >>> round(log_beta_cdf(0.4, 1e6, 1e6), 6)
    -40828.558362
    """
    if x <= 0.0:
        return -math.inf
    if x >= 1.0:
        return 0.0
    return _log_beta_below(x, 1.0 - x, a, b)


def log_beta_sf(x: float, a: float, b: float) -> float:
    """Logarithm of the survival function of Beta(a, b).

    log(1 - I_x(a, b)) = log P(Beta(a, b) > x); arguments as in `log_beta_cdf`.

    >>> round(log_beta_sf(0.3, 2.0, 5.0), 12)
    -0.86708398782
    >>> round(log_beta_sf(0.6, 1e6, 1e6), 6)
    -40828.558362
    """
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return -math.inf
    return _log_beta_below(1.0 - x, x, b, a)


def _expit(logit: float) -> float:
    """The probability with log-odds `logit`: 1/(1 + e^-s), without overflow and with full relative accuracy.

    >>> _expit(0.0), _expit(-700.0) > 0.0
    (0.5, True)
    """
    if logit >= 0.0:
        return 1.0 / (1.0 + math.exp(-logit))
    odds = math.exp(logit)
    return odds / (1.0 + odds)


def _lower_logit_start(log_p: float, a: float, b: float) -> float:
    """A first guess at the log-odds of the quantile of Beta(a, b) at e^`log_p`, log_p <= log(1/2).

    The larger of the normal approximation log(a/b) + z sqrt(1/a + 1/b), good in the middle, and the far tail,
    P(Beta(a, b) <= x) ~ x^a/(a B(a, b)), which for b >= 1 is never past the root.

    >>> round(_lower_logit_start(math.log(0.25), 1.0, 1.0), 4)  # the root is log(1/3) = -1.0986
    -0.9539
    """
    s = math.log(a / b) + normal_quantile_log(log_p) * math.sqrt(1.0 / a + 1.0 / b)
    log_x = (log_p + math.log(a) + log_beta(a, b)) / a
    if log_x < 0.0:
        s = max(s, log_x - math.log(-math.expm1(log_x)))
    return min(max(s, -MAX_LOGIT), MAX_LOGIT)


def _lower_logit(log_p: float, a: float, b: float) -> float:
    """The log-odds s of the x with log P(Beta(a, b) <= x) = `log_p`, for log_p <= log(1/2); at least -MAX_LOGIT.

    As a function of s = log(x/y) the density g = x^a y^b/B(a, b) is log-concave, hence so is its integral F: Newton's
    steps on log F cannot diverge. Near the root they are Halley's, with (log F)' = g/F and
    (log F)'' = (log F)' (a y - b x - g/F). A bracket guards both. Two to five evaluations are usual.

    >>> round(_lower_logit(math.log(0.25), 1.0, 1.0), 12)
    -1.098612288668
    """
    low = -MAX_LOGIT
    high = MAX_LOGIT
    s = _lower_logit_start(log_p, a, b)
    enough = 1e-6 * max(1.0, -log_p)
    step = 0
    while step < 100:
        x = _expit(s)
        y = _expit(-s)
        log_cdf = _log_beta_below(x, y, a, b)
        error = log_cdf - log_p
        slope = math.exp(min(log_beta_kernel(x, y, a, b) - log_cdf, MAX_LOGIT))
        if error > 0.0:
            high = s
        else:
            low = s
        following = 0.5 * (low + high)
        if slope > 0.0:
            newton = error / slope
            bend = 1.0 + 0.5 * newton * (slope - a * y + b * x)
            if not 0.5 <= bend <= 2.0:
                bend = 1.0
            proposal = max(s - newton / bend, -MAX_LOGIT)
            if low <= proposal <= high:
                following = proposal
        finished = abs(error) <= enough or following == s
        s = following
        if finished:
            # This step cubed an error that was already small, so another would change nothing.
            break
        step += 1
    return s


def beta_quantile(p: float, a: float, b: float) -> float:
    """Quantile of Beta(a, b): the x with P(Beta(a, b) <= x) = `p`.

    `p` in [0, 1], `a`, `b` > 0. Solved from the nearer tail, for the log-odds of x. The result is at least 3e-308.

    >>> round(beta_quantile(0.5, 2.0, 3.0), 12)
    0.385727568132
    >>> round(beta_quantile(1e-300, 2.0, 3.0) / 4.08248290463863e-151, 12)  # about sqrt(p/6)
    1.0
    """
    if p <= 0.0:
        return 0.0
    if p >= 1.0:
        return 1.0
    upper = p > 0.5
    if upper:
        p, a, b = 1.0 - p, b, a
    logit = _lower_logit(math.log(p), a, b)
    return _expit(-logit if upper else logit)


def beta_quantile_above(log_sf: float, a: float, b: float) -> float:
    """The x with log P(Beta(a, b) > x) = `log_sf`: the quantile by the upper tail, for any tail probability.

    `log_sf` <= 0, `a`, `b` > 0. A Beta variable known to exceed x0 is drawn as
    beta_quantile_above(log_beta_sf(x0, a, b) + log u, a, b), with u uniform on (0, 1).

    >>> round(beta_quantile_above(-40828.558362, 1e6, 1e6), 9)
    0.6
    >>> round(beta_quantile_above(math.log(0.5), 2.0, 3.0), 12)
    0.385727568132
    """
    if log_sf >= 0.0:
        return 0.0
    if log_sf == -math.inf:
        return 1.0
    upper = log_sf <= LOG_HALF
    if upper:
        a, b = b, a
    else:
        log_sf = math.log(-math.expm1(log_sf))
    logit = _lower_logit(log_sf, a, b)
    return _expit(-logit if upper else logit)


def student_quantile(p: float, degrees: float) -> float:
    """Quantile of Student's t distribution with `degrees` degrees of freedom.

    With t > 0 and k = `degrees`, P(|T| <= t) = P(Beta(1/2, k/2) <= w) for odds w/(1 - w) = t^2/k; so
    t = sqrt(k e^s), s the log-odds of that quantile. `p` in [0, 1], `degrees` > 0. |t| stops at 5e153 sqrt(k).

    >>> round(student_quantile(0.975, 9.0), 12)
    2.262157162798
    >>> round(student_quantile(0.25, 1.0), 12)
    -1.0

    Reference: DLMF 8.17 and M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions, 1964, 26.7.1.
    """
    if p <= 0.0:
        return -math.inf
    if p >= 1.0:
        return math.inf
    if p == 0.5:
        return 0.0
    # The smaller of P(|T| > t) and P(|T| <= t), so that its logarithm keeps its digits.
    outside = 2.0 * min(p, 1.0 - p)
    far = outside <= 0.5
    a = 0.5 * degrees if far else 0.5
    b = 0.5 if far else 0.5 * degrees
    logit = _lower_logit(math.log(outside if far else abs(2.0 * p - 1.0)), a, b)
    size = math.sqrt(degrees) * math.exp(-0.5 * logit if far else 0.5 * logit)
    return -size if p < 0.5 else size
