"""Binomial tails and the exact confidence limits of a share."""

import math

from goodarm.numerics.beta import beta_quantile, beta_quantile_above, log_beta_cdf


def binomial_tail(successes: int, trials: int, probability: float) -> float:
    """Probability of at least this many successes.

    P(X >= s) = P(Beta(s, n - s + 1) <= p) for X ~ Binomial(n, p): s = `successes`, n = `trials`, p = `probability`.

    >>> round(binomial_tail(8, 10, 0.5), 12)  # 56 / 1024
    0.0546875
    >>> binomial_tail(0, 10, 0.5), binomial_tail(11, 10, 0.5)
    (1.0, 0.0)

    Reference: DLMF 8.17.5.
    """
    if successes <= 0:
        return 1.0
    if successes > trials:
        return 0.0
    return math.exp(log_beta_cdf(probability, float(successes), float(trials - successes + 1)))


def clopper_pearson(successes: int, trials: int, level: float) -> tuple[float, float]:
    """Exact two-sided confidence interval for the probability of success.

    low: P(X >= s | low) = a/2, high: P(X <= s | high) = a/2, a = 1 - `level`; 0 when s = 0 and 1 when s = n.
    As quantiles: Beta(s, n - s + 1) at a/2 and Beta(s + 1, n - s) at 1 - a/2. s = `successes`, n = `trials`.

    >>> low, high = clopper_pearson(3, 20, 0.95)
    >>> round(low, 12), round(high, 12)
    (0.032070937185, 0.378926826545)

    Reference: C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits", Biometrika 26, 1934.
    """
    tail = 0.5 * (1.0 - level)
    low = 0.0
    high = 1.0
    if successes > 0:
        low = beta_quantile(tail, float(successes), float(trials - successes + 1))
    if successes < trials and tail > 0.0:
        high = beta_quantile_above(math.log(tail), float(successes + 1), float(trials - successes))
    return low, high


def clopper_pearson_upper(successes: int, trials: int, level: float) -> float:
    """Exact one-sided upper confidence limit for the probability of success.

    The p with P(X <= s | p) = 1 - `level`: the quantile of Beta(s + 1, n - s) at `level`; 1 when s = n.

    >>> round(clopper_pearson_upper(0, 100, 0.95), 12)  # 1 - 0.05^(1/100)
    0.029513049607
    >>> round(clopper_pearson_upper(37, 1000, 0.95), 4)
    0.0484

    Reference: as `clopper_pearson`.
    """
    tail = 1.0 - level
    if successes >= trials or tail <= 0.0:
        return 1.0
    return beta_quantile_above(math.log(tail), float(successes + 1), float(trials - successes))
