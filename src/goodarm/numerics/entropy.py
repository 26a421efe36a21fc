"""Relative entropies, without the cancellation of the textbook formula near equality."""

import math


def deviance(value: float, reference: float, difference: float) -> float:
    """Half the Poisson deviance of `value` from `reference`.

    D(u, m) = u log(u/m) - (u - m) >= 0, with u = `value` >= 0, m = `reference` >= 0.
    `difference` is u - m: the caller often has it more accurately than the subtraction gives.
    Near u = m the two terms cancel. With v = (u - m)/(u + m), log(u/m) = 2 artanh(v) and 2uv = (u - m)(1 + v), so D =
    (u - m) v + 2u (v^3/3 + v^5/5 + ...), without cancellation.

    >>> round(deviance(3.0, 2.0, 1.0), 12)
    0.216395324324
    >>> round(deviance(1.0 + 1e-9, 1.0, 1e-9) * 1e18, 9)  # u * log(u) - 1e-9 gives 83.2
    0.5

    Reference: C. Loader, "Fast and accurate computation of binomial probabilities", 2000 (the saddle-point form).
    """
    if value <= 0.0:
        return reference
    if reference <= 0.0:
        return math.inf
    v = difference / (value + reference)
    if abs(v) >= 0.1:
        ratio = value / reference
        if 1e-300 < ratio < 1e300:
            return value * math.log(ratio) - difference
        return value * (math.log(value) - math.log(reference)) - difference
    square = v * v
    power = 2.0 * value * v * square
    total = difference * v
    odd = 3.0
    while odd < 40.0:
        term = power / odd
        total += term
        if abs(term) <= 1e-17 * total:
            break
        power *= square
        odd += 2.0
    return total


def bernoulli_kl(p: float, q: float) -> float:
    """Relative entropy of a Bernoulli(p) variable to a Bernoulli(q) one.

    kl(p, q) = p log(p/q) + (1 - p) log((1 - p)/(1 - q)), 0 log 0 = 0; inf when q is 0 or 1 and p is not q.
    `p` and `q` lie in [0, 1]. Summed as D(p, q) + D(1 - p, 1 - q): both parts are >= 0, so the sum keeps its digits
    even for nearly equal p and q.

    >>> round(bernoulli_kl(0.55, 0.5), 12)
    0.005008366846
    >>> bernoulli_kl(0.0, 0.0), bernoulli_kl(0.2, 1.0)
    (0.0, inf)
    >>> round(bernoulli_kl(0.5 + 1e-9, 0.5) * 1e18, 9)  # about 2 (p - q)^2 1e18, for p as it is rounded
    1.999999887

    Reference: S. Kullback and R. A. Leibler, "On information and sufficiency", Ann. Math. Stat. 22, 1951.
    """
    if p == q:
        return 0.0
    difference = p - q
    return deviance(p, q, difference) + deviance(1.0 - p, 1.0 - q, -difference)
