"""Evidence that rewards scatter more than was declared of them."""

import math

FALSE_ALARMS = 1e-4
"""Probability of a warning where the declared scale is true."""
RATIOS = (1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 4.0, 16.0, 256.0)
"""Variances, in units of the declared one, that evidence is gathered for."""


def log_scale_evidence(count: float, squares: float) -> float:
    """log E against "the rewards are sub-Gaussian of the declared scale": E >= 1/a with probability at most a.

    For one reward x with mean mu, E exp(l (x - mu)^2 / (2 scale^2)) <= (1 - l)^(-1/2), 0 <= l < 1, with equality for a
    Gaussian one. So exp(l Q/2) (1 - l)^(n/2) is a supermartingale of start 1, n = `count` rewards, Q = `squares` =
    sum (x - mu)^2 / scale^2, and so is its average over l = 1 - 1/ratio; by Ville's inequality it holds at any time,
    under any sampling rule. Squares around an arm's own mean are smaller than around mu, which is cautious.

    >>> round(log_scale_evidence(10_000.0, 10_000.0), 1)  # as declared
    -3.2
    >>> round(log_scale_evidence(10_000.0, 12_100.0), 1)  # a standard deviation of 1.1
    94.5

    Reference: Wainwright 2019, High-Dimensional Statistics, Theorem 2.6 (IV); Ville 1939.
    """
    largest = -math.inf
    for ratio in RATIOS:
        largest = max(largest, 0.5 * ((1.0 - 1.0 / ratio) * squares - count * math.log(ratio)))
    total = 0.0
    for ratio in RATIOS:
        total += math.exp(0.5 * ((1.0 - 1.0 / ratio) * squares - count * math.log(ratio)) - largest)
    return largest + math.log(total / len(RATIOS))
