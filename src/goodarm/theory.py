"""Reference values for runs: lower bounds for any algorithm, HDoC's upper bound, and an oracle's score."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from goodarm.errors import InvalidValue
from goodarm.informed import informed_limit as informed_limit
from goodarm.numerics import bernoulli_kl

Divergence = Callable[[float, float], float]
Means = Sequence[float] | npt.NDArray[np.float64]


def lower_bound(
    means: Means, threshold: float, delta: float, good: int, divergence: Divergence = bernoulli_kl
) -> float:
    """Rounds that every (lambda, delta)-PAC algorithm needs on average until its lambda-th good verdict.

    E[tau_lambda] >= (sum_{i <= lambda} 1/d(mu_i, xi)) log(1/(2 delta)) - m/d(mu_lambda, xi)          (Theorem 1)

    Args:
        means: mu, the means of the K arms in any order; mu_1 >= mu_2 >= ... in the formula.
        threshold: xi. An arm is good when its mean is at least xi; m of them are.
        delta: error probability, in (0, 1/2).
        good: lambda, the number of good arms to find, 1 to m.
        divergence: d(mean, threshold). Default: Bernoulli; (mu - xi)^2/(2 scale^2) for Gaussian rewards.

    Returns:
        The right side. It may be negative and then gives no information (the theorem is for delta -> 0). It is inf if
        the lambda-th arm lies on the threshold, since no number of pulls distinguishes it from a bad one.

    >>> round(lower_bound([0.9, 0.6, 0.4], threshold=0.5, delta=0.005, good=1), 6)
    7.078032
    >>> gaussian = lambda mean, threshold: (mean - threshold) ** 2 / (2.0 * 1.2**2)
    >>> round(lower_bound([1.8, 1.6, 0.5], threshold=1.2, delta=0.001, good=1, divergence=gaussian), 6)
    33.716865

    Reference: H. Kano, J. Honda, K. Sakamaki, K. Matsuura, A. Nakamura and M. Sugiyama, "Good arm identification via
    bandit feedback", Machine Learning 108, 2019, Theorem 1; Tsai, Tsai and Lin, "Differentiable Good Arm
    Identification", Theorem 1.
    """
    mu = _descending(means, threshold, divergence)
    if not 0.0 < delta < 0.5:
        raise InvalidValue(f"delta must lie in (0, 1/2), where log(1/(2 delta)) is positive; got {delta}.")
    m = _count_good(mu, threshold, good)
    divergences = [divergence(float(mean), threshold) for mean in mu[:good]]
    if divergences[-1] <= 0.0:
        return math.inf
    return sum(1.0 / d for d in divergences) * math.log(1.0 / (2.0 * delta)) - m / divergences[-1]


def hdoc_upper_bound(means: Means, threshold: float, delta: float, good: int | None = None) -> float:
    """Growth of the rounds HDoC needs on average, up to an unspecified constant factor.

    With `good` = lambda (Corollary 1):
        E[tau_lambda] = O((lambda log(1/delta) + (K - lambda) log log(1/delta) + K log(K/Delta))/Delta^2)
    without:
        E[tau_stop] = O((K log(1/delta) + K log(K/Delta))/Delta^2)
    Delta = min(min_i |mu_i - xi|, min_i (mu_i - mu_{i+1})/2), mu_1 >= mu_2 >= ... >= mu_K.

    Args:
        means: mu, the means of the K arms in any order, of rewards in [0, 1].
        threshold: xi.
        delta: error probability, in (0, 1).
        good: lambda, the number of good arms to find; None: until every arm has its verdict.

    Returns:
        The expression inside O(). It is useful for comparing problems, not for counting rounds. It is inf if two means
        are equal or one equals the threshold, since Delta is then 0. If only means are equal, this is a weakness of the
        bound, not of HDoC. log log(1/delta) counts as 0 for delta >= 1/e, where it would be negative.

    >>> round(hdoc_upper_bound([0.8, 0.6, 0.2], threshold=0.4, delta=0.05, good=1), 4)
    1539.3702
    >>> round(hdoc_upper_bound([0.8, 0.6, 0.2], threshold=0.4, delta=0.05), 4)
    1919.0789

    Reference: as `lower_bound`; Kano et al. 2019, Theorem 2, and Corollary 1 in Tsai, Tsai and Lin.
    """
    mu = _descending(means, threshold, bernoulli_kl)
    if not 0.0 < delta < 1.0:
        raise InvalidValue(f"delta, the error probability, must lie in (0, 1); got {delta}.")
    count = len(mu)
    smallest = float(np.min(np.abs(mu - threshold)))  # Delta
    if count > 1:
        smallest = min(smallest, float(np.min(mu[:-1] - mu[1:])) / 2.0)
    if good is not None:
        _count_good(mu, threshold, good)
    if smallest <= 0.0:
        return math.inf
    certainty = math.log(1.0 / delta)
    sampling = count * math.log(count / smallest)
    if good is None:
        return (count * certainty + sampling) / smallest**2
    return (good * certainty + (count - good) * max(math.log(certainty), 0.0) + sampling) / smallest**2


def apt_error_bound(
    means: Means, threshold: float, horizon: float, *, precision: float = 0.0, sigma: float = 0.5
) -> float:
    """Upper bound on the probability that APT misjudges any arm after T pulls.

    P(any arm with |mu_i - xi| > eps on the wrong side) <= exp(-T/(64 R^2 H) + 2 log((log T + 1) K)),
    H = sum_i (|mu_i - xi| + eps)^-2. The bound exceeds 1, and is useless, until T is a large multiple of H.

    Args:
        means: mu, the means of the K arms in any order.
        threshold: xi.
        horizon: T, the total number of pulls, at least 2K.
        precision: eps; arms closer to the threshold than this may be judged either way.
        sigma: R, the rewards' sub-Gaussian scale; 1/2 for rewards in [0, 1].

    >>> round(apt_error_bound([0.9, 0.6, 0.2], threshold=0.4, horizon=100_000), 6)
    0.0
    >>> apt_error_bound([0.5, 0.6], threshold=0.5, horizon=1000)  # an arm on the threshold: H is infinite
    250.13037420907938

    Reference: A. Locatelli, M. Gutzeit and A. Carpentier, "An optimal algorithm for the thresholding bandit problem",
    ICML 2016, Theorem 2.
    """
    mu = _descending(means, threshold, _unbounded)
    if horizon < 2 * len(mu):
        raise InvalidValue(f"horizon must be at least twice the number of arms, {2 * len(mu)}; got {horizon:g}.")
    if precision < 0.0 or sigma <= 0.0:
        raise InvalidValue(f"precision must be 0 or larger and sigma positive; got {precision:g} and {sigma:g}.")
    with np.errstate(divide="ignore"):
        complexity = float(np.sum((np.abs(mu - threshold) + precision) ** -2.0))  # H
    return math.exp(-horizon / (64.0 * sigma**2 * complexity) + 2.0 * math.log((math.log(horizon) + 1.0) * len(mu)))


def apt_regret_bound(means: Means, horizon: float, *, sigma: float = 0.5) -> float:
    """Upper bound on the regret of APT in T rounds if its threshold is the largest mean.

    inf_{d >= 1} sum_{k: mu_k < mu*} 4 R^2 log(T) d/(mu* - mu_k) + (mu* - mu_k)(1 + K/T^(2d - 2))

    The paper quotes it to show the value of a threshold for collecting rewards: the closer xi is to mu*, the smaller
        the regret. The infimum has a closed form: with a = sum_k 4 R^2 log(T)/(mu* - mu_k) and
    b = K sum_k (mu* - mu_k), the sum is a d + b T^(2 - 2d) + const, smallest at T^(2d - 2) = 2 b log(T)/a, or at d = 1.

    Args:
        means: mu, the means of the K arms in any order.
        horizon: T, rounds, at least 2K.
        sigma: R, the rewards' sub-Gaussian scale; 1/2 for rewards in [0, 1].

    >>> round(apt_regret_bound([0.9, 0.6, 0.2], horizon=10_000), 2)
    47.79

    Reference: Locatelli, Gutzeit and Carpentier 2016, as quoted by Tsai, Tsai and Lin, "Differentiable Good Arm
    Identification", section "GAI with Cumulative Reward Maximization".
    """
    mu = _descending(means, 0.0, _unbounded)
    if horizon < 2 * len(mu):
        raise InvalidValue(f"horizon must be at least twice the number of arms, {2 * len(mu)}; got {horizon:g}.")
    if sigma <= 0.0:
        raise InvalidValue(f"sigma must be positive; got {sigma:g}.")
    gaps = (mu[0] - mu)[mu < mu[0]]
    if gaps.size == 0:
        return 0.0
    log = math.log(horizon)
    a = float(np.sum(4.0 * sigma**2 * log / gaps))
    b = len(mu) * float(np.sum(gaps))
    power = max(2.0 * b * log / a, 1.0)  # T^(2d - 2)
    return a * (1.0 + math.log(power) / (2.0 * log)) + float(np.sum(gaps)) + b / power


def _unbounded(mean: float, threshold: float) -> float:
    """Marker for rewards that need not lie in [0, 1]; only its identity matters."""
    return (mean - threshold) ** 2


def exploit_ceiling(means: Means, threshold: float, horizon: float) -> float:
    """Largest exploit score: every good arm called good before the first round, and nothing else.

    T sum_i max(mu_i - xi, 0), with mu = `means`, xi = `threshold`, T = `horizon`.

    >>> round(exploit_ceiling([0.9, 0.6, 0.2], threshold=0.5, horizon=1000), 9)
    500.0

    Reference: the exploit score of Tsai, Tsai and Lin, "Differentiable Good Arm Identification", Experiments.
    """
    return float(horizon * np.sum(np.maximum(np.asarray(means, dtype=np.float64) - threshold, 0.0)))


def oracle_limit(
    means: Means, threshold: float, delta: float, horizon: float, divergence: Divergence = bernoulli_kl
) -> float:
    """Exploit score of an oracle that knows the means but must still collect the evidence for each verdict.

    Arm i costs c_i = log(K/delta)/d(mu_i, xi) pulls. Good arms are pulled in the order of (mu_i - xi)/c_i, largest
    first (Smith's rule: gain per pull), and arm i gets its verdict after C_i, the total cost of the arms up to it:
    score = sum_i (mu_i - xi) max(T - C_i, 0).

    Args:
        means: mu, the means of the K arms in any order.
        threshold: xi.
        delta: error probability, in (0, 1).
        horizon: T, rounds.
        divergence: d(mean, threshold). Default: Bernoulli; (mu - xi)^2/(2 scale^2) for Gaussian rewards.

    Returns:
        The score. It is a reference value, not a proven bound: a lucky run may decide an arm after fewer than c_i
        pulls.

    >>> round(oracle_limit([0.9, 0.6, 0.2], threshold=0.5, delta=0.05, horizon=1000), 4)
    474.1041

    Reference: W. E. Smith, "Various optimizers for single-stage production", Nav. Res. Logist. Q. 3, 1956.
    """
    mu = _descending(means, threshold, divergence)
    if not 0.0 < delta < 1.0:
        raise InvalidValue(f"delta, the error probability, must lie in (0, 1); got {delta}.")
    gaps = (mu - threshold)[mu > threshold]
    divergences = np.array([divergence(float(mean), threshold) for mean in mu[mu > threshold]], dtype=np.float64)
    # (mu_i - xi)/c_i without its common factor, so that an arm with cost 0 (d = inf) is not a special case.
    order = np.argsort(-gaps * divergences, kind="stable")
    with np.errstate(divide="ignore"):  # a gap so small that d underflows to 0 costs inf
        finished = np.cumsum(math.log(len(mu) / delta) / divergences[order])
    return float(np.sum(gaps[order] * np.maximum(horizon - finished, 0.0)))


def _descending(means: Means, threshold: float, divergence: Divergence) -> npt.NDArray[np.float64]:
    """The means as an array, largest first, checked."""
    given = np.asarray(means, dtype=np.float64)
    if given.ndim != 1 or given.size == 0:
        raise InvalidValue(
            f"means must be a non-empty list of numbers, one per arm; got an array of shape {given.shape}."
        )
    mu = np.sort(given)[::-1]
    if not (np.all(np.isfinite(mu)) and math.isfinite(threshold)):
        raise InvalidValue("means and threshold must be finite numbers.")
    if divergence is bernoulli_kl and not (mu[-1] >= 0.0 and mu[0] <= 1.0 and 0.0 <= threshold <= 1.0):
        raise InvalidValue(
            f"means and threshold must lie in [0, 1] for rewards in [0, 1]; got means from {mu[-1]} to {mu[0]} and "
            f"threshold {threshold}. Rescale them, or pass the divergence of the reward family, such as "
            "divergence=lambda mean, threshold: (mean - threshold) ** 2 / (2 * scale**2) for Gaussian rewards."
        )
    return mu


def _count_good(mu: npt.NDArray[np.float64], threshold: float, good: int) -> int:
    """The number of good arms m. Refuses `good` unless 1 <= good <= m."""
    m = int(np.sum(mu >= threshold))
    if not 1 <= good <= m:
        raise InvalidValue(
            f"good, the number of good arms to find, must lie between 1 and the {m} arms whose mean reaches the "
            f"threshold {threshold}; got {good}."
        )
    return m
