"""`remaining`: how many more pulls each arm of a campaign that is under way will take."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.random import default_rng
from numpy.typing import ArrayLike, NDArray

from goodarm.arguments import check_real, shown
from goodarm.errors import InvalidValue
from goodarm.problem import Bounded, Gaussian, GradedCases, Problem, Rewards
from goodarm.rules.beliefs import ARM_FIELDS, PULLS, TOTAL, Pool
from goodarm.rules.learners.prior import fit, start
from goodarm.simulation.stop import Stop

Floats = NDArray[np.float64]

FINE = 2.0**-10
"""The answer is found to this fraction of a pull."""
LOW, HIGH = 0.1, 0.9
CELLS = 100_000
"""Draws times arms that are computed together: little memory, and short waits for an interruption."""


class Remaining(NamedTuple):
    """More pulls until the verdict, one entry per arm, given what was seen of this arm and of the others.

    median, low, high : quantiles 0.5, 0.1, 0.9; `limit` where the verdict lies beyond it
    expected          : mean of min(pulls, limit). Without a limit it would be infinite for every arm, since a mean may
                        lie arbitrarily near to the threshold
    beyond            : probability that the arm is still open after `limit` more pulls
    good              : probability that the arm is good
    """

    median: Floats
    low: Floats
    high: Floats
    expected: Floats
    beyond: Floats
    good: Floats
    limit: float


def remaining(
    pulls: ArrayLike,
    totals: ArrayLike,
    *,
    threshold: float,
    delta: float = 0.05,
    prior: tuple[float, float] | None = None,
    limit: float = 1e6,
    draws: int = 200,
    seed: int = 0,
    scale: float | None = None,
    cases: int | None = None,
    stop: Stop | None = None,
) -> Remaining:
    """Expected further pulls per arm, from pulls and sum of rewards so far, decided as by `value`.

    Each arm's mean mu is drawn from its posterior Beta(A + S, B + N - S), with (A, B) learned from all arms if not
    given. For a mean mu the verdict comes at the smallest n with
        n kl(m_n, xi) - log(1 + 2 n kl(m_n, xi))/2 >= log(K/delta),  m_n = (S + (n - N) mu)/n:
    evidence grows by its drift, less what the bets pay for not knowing the mean. That is 4% to 12% less than simulated
    runs of `value` take (tests/test_plan.py); rules with slower evidence, like `hoeffding`, need more.

    prior : (A, B)
    limit : how far to look, in further pulls of one arm
    draws : of each arm's mean
    scale : rewards are in [0, 1] if it is None; otherwise Gaussian of that scale: kl is (m - xi)^2/(2 scale^2), and the
            prior a normal one, (mean, deviation)
    cases : number of cases N of a fixed test set, each drawn at most once per arm. Then mu is the mean of the set: the
            passes among the cases left are drawn from their posterior. A mean of n of N cases varies less by a factor
            1 - n/N, so the drift grows to n kl(m_n, xi)/(1 - n/N). An arm never takes more than its N - n cases left
    stop  : a token by which another thread can interrupt the computation

    An arm far from the threshold needs no more pulls, one near to it some hundreds, one that may lie on it thousands:

    >>> left = remaining([100, 100, 100], [90, 60, 50], threshold=0.5, prior=(1, 1))
    >>> left.median.round(-2).tolist()
    [0.0, 200.0, 3100.0]
    >>> remaining([100, 100, 94], [90, 60, 47], threshold=0.5, prior=(1, 1), cases=100).high.tolist()
    [0.0, 0.0, 6.0]
    """
    n, s = _checked(pulls, totals, limit, draws, scale is None)
    rewards = _rewards(scale, cases, n)
    problem = Problem(threshold=threshold, arms=n.size, delta=delta, rewards=rewards)
    likely = _means_in_range if scale is None else _normal_means
    mu = likely(n, s, problem, prior, draws, seed)
    still = np.full(n.size, limit) if cases is None else np.minimum(cases - n, limit)
    ahead = mu
    if cases is not None:
        passes = default_rng((seed, 1)).binomial((cases - n).astype(np.int64), mu)
        mu, ahead = (s + passes) / cases, passes / np.maximum(cases - n, 1.0)
    left = np.empty_like(mu)
    for first in range(0, n.size, step := max(CELLS // len(mu), 1)):
        part = slice(first, first + step)
        left[:, part] = _pulls_left(mu[:, part], ahead[:, part], n[part], s[part], problem, still[part])
        if stop is not None:
            stop.check()
    low, median, high = np.quantile(left, [LOW, 0.5, HIGH], axis=0)
    return Remaining(
        median, low, high, left.mean(axis=0), (left >= limit).mean(axis=0), (mu >= threshold).mean(axis=0), limit
    )


def _rewards(scale: float | None, cases: int | None, n: Floats) -> Rewards:
    if cases is None:
        return Bounded() if scale is None else Gaussian(scale)
    if scale is not None:
        raise InvalidValue(f"on a fixed test set rewards lie in [0, 1]; leave out scale={scale!r}.")
    rewards = GradedCases(cases)
    if (n > cases).any() or (n % 1.0).any():
        raise InvalidValue(f"pulls must be whole numbers of at most {cases:,} cases per arm; got {shown(n.tolist())}.")
    return rewards


def _means_in_range(
    n: Floats, s: Floats, problem: Problem, prior: tuple[float, float] | None, draws: int, seed: int
) -> Floats:
    """Draws of each arm's mean, rewards in [0, 1]; shape (draws, K)."""
    a, b = prior if prior is not None else _learned_prior(n, s, problem)
    if not (0.0 < a < math.inf and 0.0 < b < math.inf):
        raise InvalidValue(f"prior must be two positive numbers, the parameters of a Beta distribution; got {(a, b)}.")
    return default_rng(seed).beta(a + s, b + n - s, size=(draws, n.size))


def _normal_means(
    n: Floats, s: Floats, problem: Problem, prior: tuple[float, float] | None, draws: int, seed: int
) -> Floats:
    """The same for Gaussian rewards."""
    variance = problem.rewards.sigma() ** 2
    centre, deviation = prior if prior is not None else _learned_normal(n, s, problem)
    if not (math.isfinite(centre) and 0.0 < deviation < math.inf):
        raise InvalidValue(f"prior must be a mean and a positive deviation; got {(centre, deviation)}.")
    known = 1.0 / deviation**2 + n / variance
    mean = (centre / deviation**2 + s / variance) / known
    return default_rng(seed).normal(mean, 1.0 / np.sqrt(known), size=(draws, n.size))


def _learned_normal(n: Floats, s: Floats, problem: Problem) -> tuple[float, float]:
    """Mean and deviation of the arms' means, by moments of those seen so far; before that, the bar and the scale."""
    scale, seen = problem.rewards.sigma(), n > 0.0
    if seen.sum() < 2:
        return problem.threshold, scale
    means = s[seen] / n[seen]
    scatter = float(means.var(ddof=1) - np.mean(scale**2 / n[seen]))
    return float(means.mean()), max(math.sqrt(max(scatter, 0.0)), 0.1 * scale / math.sqrt(float(n[seen].mean())))


def _checked(pulls: ArrayLike, totals: ArrayLike, limit: float, draws: int, bounded: bool) -> tuple[Floats, Floats]:
    check_real(limit=limit, draws=draws)
    try:
        n, s = np.asarray(pulls, dtype=np.float64), np.asarray(totals, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidValue(
            f"pulls and totals must be lists of one number per arm; got {shown(pulls)} and {shown(totals)}."
        ) from None
    if n.ndim != 1 or n.size == 0 or n.shape != s.shape:
        raise InvalidValue(f"pulls and totals must be lists of one number per arm; got shapes {n.shape} and {s.shape}.")
    if not bounded and not (np.isfinite(n) & (n >= 0.0) & np.isfinite(s)).all():
        raise InvalidValue(f"pulls must be numbers of at least 0, and totals numbers; got {shown(n)} and {shown(s)}.")
    wrong = ~((n >= 0.0) & (s >= 0.0) & (s <= n) & np.isfinite(n)) if bounded else np.zeros(n.size, dtype=bool)
    if wrong.any():
        i = int(np.argmax(wrong))
        raise InvalidValue(f"the total of an arm must lie between 0 and its pulls; arm {i} has {s[i]:g} of {n[i]:g}.")
    if not (limit >= 1.0 and draws >= 1):
        raise InvalidValue(f"limit and draws must be at least 1; got {limit} and {draws}.")
    return n, s


def _learned_prior(n: Floats, s: Floats, problem: Problem) -> tuple[float, float]:
    """The Beta prior that the arms seen so far suggest, as `value` learns it."""
    bar = problem.bar
    learned = start(bar)
    if n.sum() > 0.0:
        arms = np.zeros((n.size, ARM_FIELDS))
        arms[:, PULLS], arms[:, TOTAL] = n, s
        learned = fit(arms, Pool(float(n.sum()), math.inf, learned), bar).learned
    strength, mean = learned.prior_strength, learned.prior_mean
    return strength * mean, strength * (1.0 - mean)


def _pulls_left(mu: Floats, ahead: Floats, n: Floats, s: Floats, problem: Problem, limit: Floats) -> Floats:
    """Smallest further number of pulls with enough evidence, by bisection; 0 where it is there already.

    ahead : mean of the rewards to come; mu itself, unless cases are drawn without replacement
    limit : per arm
    """
    needed = math.log(problem.arms / problem.delta)
    seen = np.where(n > 0.0, s / np.maximum(n, 1.0), problem.threshold)
    decided = _evidence(seen, n, problem) >= needed
    low, high = np.zeros_like(mu), np.broadcast_to(limit, mu.shape)
    for _ in range(math.ceil(math.log2(max(float(limit.max()), 1.0) / FINE))):
        middle = 0.5 * (low + high)
        count = np.maximum(n + middle, 1e-300)
        mean = (s + middle * ahead) / count
        same_side = (mean >= problem.threshold) == (mu >= problem.threshold)
        enough = same_side & (_evidence(mean, count, problem) >= needed)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.where(decided, 0.0, np.ceil(high))


def _evidence(mean: Floats, count: Floats, problem: Problem) -> Floats:
    """n kl(m, xi) - log(1 + 2 n kl(m, xi))/2: about the evidence of bets that must learn how far m lies from xi."""
    xi, scale = problem.threshold, problem.rewards.sigma()
    bounded = isinstance(problem.rewards, Bounded)
    drift = count * (kl(mean, xi) if bounded else (mean - xi) ** 2 / (2.0 * scale**2))
    if isinstance(problem.rewards, GradedCases):
        drift = drift / np.maximum(1.0 - count / problem.rewards.count, 1e-300)
    return drift - 0.5 * np.log1p(2.0 * drift)


def kl(mean: Floats, xi: float) -> Floats:
    """Relative entropy of 0/1 rewards of these means against means of xi."""
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(mean > 0.0, mean * np.log(mean / xi), 0.0)
        down = np.where(mean < 1.0, (1.0 - mean) * np.log((1.0 - mean) / (1.0 - xi)), 0.0)
    found: Floats = np.maximum(up + down, 0.0)
    return found
