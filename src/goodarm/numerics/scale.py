"""Evidence that rewards scatter more, or have heavier tails, than declared."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FALSE_ALARMS = 1e-4
"""Probability of a warning if the declared scale is true."""
RATIOS = np.array((1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 4.0, 16.0, 256.0))
"""Alternative variances, in units of the declared one."""


def log_scale_evidence(count: ArrayLike, squares: ArrayLike) -> NDArray[np.float64]:
    """log E against "the rewards are sub-Gaussian of the declared scale": E >= 1/a with probability at most a.

    For one reward x with mean mu, E exp(l (x - mu)^2 / (2 scale^2)) <= (1 - l)^(-1/2), 0 <= l < 1, with equality for a
    Gaussian one. So exp(l Q/2) (1 - l)^(n/2) is a supermartingale that starts at 1, n = `count` rewards, Q = `squares`
    = sum (x - mu)^2 / scale^2, and so is its average over l = 1 - 1/ratio; by Ville's inequality it holds at any time,
    under any sampling rule. Squares around an arm's own mean are smaller than around mu, which is conservative.

    >>> log_scale_evidence(10_000.0, [10_000.0, 12_100.0]).round(1).tolist()  # as declared; a deviation of 1.1
    [-3.2, 94.5]

    Reference: Wainwright 2019, High-Dimensional Statistics, Theorem 2.6 (IV); Ville 1939.
    """
    n, q = np.asarray(count, dtype=np.float64)[..., None], np.asarray(squares, dtype=np.float64)[..., None]
    terms: Any = 0.5 * ((1.0 - 1.0 / RATIOS) * q - n * np.log(RATIOS))
    largest = terms.max(axis=-1)
    return np.asarray(largest + np.log(np.exp(terms - largest[..., None]).mean(axis=-1)))


def numbered(alarms: float, count: ArrayLike) -> NDArray[np.float64]:
    """log(1/a) with a = 6 alarms/(pi count)^2: over count = 1, 2, ... these a sum to `alarms`."""
    return np.asarray(math.log(math.pi**2 / (6.0 * alarms)) + 2.0 * np.log(count))


def farthest_reward(
    pulls: NDArray[np.float64], arms: int, rewards: float, alarms: float = FALSE_ALARMS
) -> NDArray[np.float64]:
    """Largest distance of a reward from its arm's own mean S/N, in declared scales; beyond it the declaration is false.

    pulls   : N of each arm, at least 1
    rewards : number of rewards of all arms together
    alarms  : probability that any reward ever lies farther away if the declaration is true

    The i-th reward lies farther than t from its arm's mean mu with probability at most 2 exp(-t^2/2), which is made
    3 alarms/(pi i)^2 in size. S/N lies farther than r from mu, ever, with probability at most a if
    (N r)^2 = (N + 1)(log(N + 1) + 2 log(1/a)) (Robbins 1970); a is 3 alarms/(pi j)^2 for the j-th arm. Both sums are at
    most alarms/2, and both limits grow with the number of rewards and of arms, so looks may be repeated. The
    distance from S/N is at most t + r.

    >>> farthest_reward(np.array([10.0, 1e6]), arms=2, rewards=1e6).round(2).tolist()
    [10.49, 8.81]
    """
    t = np.sqrt(2.0 * (math.log(2.0) + numbered(0.5 * alarms, rewards)))
    r = np.sqrt((pulls + 1.0) * (np.log(pulls + 1.0) + 2.0 * numbered(0.5 * alarms, arms))) / pulls
    return np.asarray(t + r)
