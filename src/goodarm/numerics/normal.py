"""The standard normal distribution: density, distribution function, its logarithm, quantiles, Mills ratio."""

import math

SQRT_HALF = 0.7071067811865476
SQRT_TWO_PI = 2.5066282746310002
LOG_SQRT_TWO_PI = 0.9189385332046728
LOG_QUARTER = -1.3862943611198906
# Below -FAR the continued fraction of the Mills ratio is both exact to the last digits and cheap.
FAR = 5.0


def normal_pdf(z: float) -> float:
    """Density of the standard normal distribution.

    phi(z) = exp(-z^2/2)/sqrt(2 pi).

    >>> round(normal_pdf(1.0), 12)
    0.241970724519
    """
    return math.exp(-0.5 * z * z) / SQRT_TWO_PI


def normal_cdf(z: float) -> float:
    """Distribution function of the standard normal distribution.

    Phi(z) = erfc(-z/sqrt 2)/2, which keeps its relative accuracy in the lower tail until it underflows (z about -38).

    >>> round(normal_cdf(1.0), 12)
    0.841344746069
    >>> round(normal_cdf(-10.0) * 1e24, 9)
    7.619853024
    """
    return 0.5 * math.erfc(-z * SQRT_HALF)


def _far_inverse_mills(x: float) -> float:
    """Hazard phi(x)/(1 - Phi(x)) for x >= 5, from Laplace's continued fraction.

    phi(x)/(1 - Phi(x)) = x + 1/(x + 2/(x + 3/(x + ...))).
    Evaluated backwards from the last term: it stays near x throughout, and all terms are positive, so nothing cancels.

    >>> round(_far_inverse_mills(5.0), 12)
    5.186503967126

    Reference: P. S. Laplace, Traite de mecanique celeste, vol. 4, book 10, 1805; DLMF 7.9.
    """
    if x > 1e8:
        return x
    terms = 8.0 + math.floor(600.0 / (x * x))
    tail = x
    while terms >= 1.0:
        tail = x + terms / tail
        terms -= 1.0
    return tail


def mills_ratio(x: float) -> float:
    """Mills ratio (1 - Phi(x))/phi(x) for x >= 0, to 1e-10 relative, at a fifth of the cost of erfc.

    A rational function of degrees 6 and 7 with the right limit 1/x, fitted to 60-digit values at 121 points of
    [0, 200) by reweighted least squares; its largest relative error there is 6.4e-11.

    >>> round(mills_ratio(0.0), 9), round(mills_ratio(5.0), 9)
    (1.253314137, 0.192808105)
    """
    # Pairs of coefficients are added side by side rather than one after the other: half the latency of Horner's rule.
    x2 = x * x
    x4 = x2 * x2
    above = (
        (1835.5018538245963 + 2252.0241318094257 * x)
        + (1342.1257434522972 + 482.42434729918132 * x) * x2
        + ((109.60565195401507 + 15.03169054217567 * x) + x2) * x4
    )
    below = (
        (1464.5185904767342 + 2965.3720597404616 * x)
        + (2704.6266585629735 + 1449.7186316493182 * x) * x2
        + ((497.45644626803724 + 110.60564523175536 * x) + (15.031690582154959 + x) * x2) * x4
    )
    return above / below


def cubed_surplus(z: float) -> float:
    """E[ max(Z + z, 0)^3 ] for a standard normal Z: (z^3 + 3z) Phi(z) + (z^2 + 2) phi(z).

    With x = |z| and R the Mills ratio: phi(x) ((x^2 + 2) - (x^3 + 3x) R(x)) for z < 0, which keeps its sign; and by
    E[(Z + z)^3] = z^3 + 3z that much more for z > 0.

    >>> round(cubed_surplus(0.0), 9), round(cubed_surplus(1.0), 9)
    (0.797884561, 4.091291158)
    """
    x = abs(z)
    cubic = x * (x * x + 3.0)
    below = normal_pdf(x) * (x * x + 2.0 - cubic * mills_ratio(x))
    return below + (cubic if z > 0.0 else 0.0)


def log_normal_cdf(z: float) -> float:
    """Logarithm of the standard normal distribution function, for any z.

    log Phi(z) = log phi(z) - log(phi(z)/Phi(z)) far in the lower tail, log(1 - Phi(-z)) by log1p for z > 0.

    >>> round(log_normal_cdf(-40.0), 9)
    -804.608442014
    >>> log_normal_cdf(-1e10)
    -5e+19
    """
    if z > 0.0:
        return math.log1p(-normal_cdf(-z))
    if z > -FAR:
        return math.log(normal_cdf(z))
    if z < -1e154:
        return -math.inf
    return -0.5 * z * z - LOG_SQRT_TWO_PI - math.log(_far_inverse_mills(-z))


def inverse_mills(z: float) -> float:
    """Inverse Mills ratio: the shift of a normal variable's mean when it is known to lie above -z.

    phi(z)/Phi(z): about -z for z -> -inf, and phi(z) for z -> inf.

    >>> round(inverse_mills(0.0), 12)
    0.797884560803
    >>> inverse_mills(-1e6)
    1000000.000001

    Reference: J. P. Mills, "Table of the ratio", Biometrika 18, 1926.
    """
    if z > -FAR:
        return normal_pdf(z) / normal_cdf(z)
    return _far_inverse_mills(-z)


def _central_normal_quantile(excess: float) -> float:
    """The z with Phi(z) - 1/2 = `excess`, for |excess| <= 1/4.

    Start: with u = sqrt(2 pi) excess, z = u + u^3/6 + 7 u^5/120 + 127 u^7/5040 + ...; then Halley's steps on
    erf(z/sqrt 2)/2 - excess, whose relative accuracy holds at z = 0.

    >>> round(_central_normal_quantile(0.25), 12)
    0.674489750196
    """
    u = SQRT_TWO_PI * excess
    square = u * u
    z = u * (1.0 + square * (1.0 / 6.0 + square * (7.0 / 120.0 + square * (127.0 / 5040.0))))
    step = 0
    while step < 2:
        newton = (0.5 * math.erf(z * SQRT_HALF) - excess) / normal_pdf(z)
        z -= newton / (1.0 + 0.5 * z * newton)
        step += 1
    return z


def _tail_normal_quantile(log_p: float) -> float:
    """The z with log Phi(z) = `log_p`, for log_p <= log(1/4).

    Rational start in t = sqrt(-2 log p), error below 4.5e-4; then Halley's steps on log Phi(z) - log p, whose
    derivatives are h = phi(z)/Phi(z) and -h (z + h).

    >>> round(_tail_normal_quantile(-804.608442014), 9)
    -40.0

    Reference: start from M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions, 1964, 26.2.23.
    """
    t = math.sqrt(-2.0 * log_p)
    z = (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t
    step = 0
    while step < 8:
        hazard = inverse_mills(z)
        newton = (log_normal_cdf(z) - log_p) / hazard
        change = newton / (1.0 + 0.5 * newton * (z + hazard))
        z -= change
        if abs(change) <= 1e-6 * abs(z):
            # Each step cubes the error, so the next one would change nothing.
            break
        step += 1
    return z


def normal_quantile(p: float) -> float:
    """Quantile of the standard normal distribution: the z with Phi(z) = `p`.

    `p` lies in [0, 1]. The middle is solved for Phi(z) - 1/2 and the tails for log Phi, so that z has its full relative
    accuracy at p = 1/2 and at p = 1e-300.

    >>> round(normal_quantile(0.975), 12)
    1.95996398454
    >>> normal_quantile(0.5), normal_quantile(0.0)
    (0.0, -inf)
    """
    if p <= 0.0:
        return -math.inf
    if p >= 1.0:
        return math.inf
    if p < 0.25:
        return _tail_normal_quantile(math.log(p))
    if p > 0.75:
        return -_tail_normal_quantile(math.log(1.0 - p))
    return _central_normal_quantile(p - 0.5)


def normal_quantile_log(log_p: float) -> float:
    """The z with log Phi(z) = `log_p`: the quantile of a probability too small to be written as a float.

    `log_p` <= 0. A normal variable known to lie below z0 is drawn as normal_quantile_log(log Phi(z0) + log u), with u
    uniform on (0, 1), for any z0.

    >>> round(normal_quantile_log(-804.608442014), 9)
    -40.0
    >>> round(normal_quantile_log(-0.1), 12)
    1.309617799458
    """
    if log_p >= 0.0:
        return math.inf
    if log_p == -math.inf:
        return -math.inf
    if log_p <= LOG_QUARTER:
        return _tail_normal_quantile(log_p)
    upper = -math.expm1(log_p)
    if upper < 0.25:
        return -_tail_normal_quantile(math.log(upper))
    return _central_normal_quantile(0.5 - upper)
