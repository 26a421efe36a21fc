"""Lack of fit of a model: compares each pulled arm's own mean with the model's.

No single test detects every kind of misfit, so there are four:

1. Do the deviations of all pulled arms add up to more than noise?
2. Is the deviation of any one arm too large?
3. Is it too large for any arm called good?
4. Do neighbours called good together fall short of the model, or neighbours called bad exceed it?

The smallest of the four probabilities, times four, is reported as a standard score. `together` applies the last test to
many runs at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from goodarm.models.features import Floats
from goodarm.numerics import log_normal_cdf, normal_quantile_log
from goodarm.problem import Bar
from goodarm.rules.beliefs import MEAN, PULLS, TOTAL, VERDICT, WIDTH, Table

ALARM = 5.0
"""Standard score above which a warning is given. Chance practically never reaches it."""
QUESTIONS = 4
LARGEST_GROUPS = 32
LARGEST_CHANCE = math.log(0.999)
"""Lower limit of the score of one run."""


def misfit(arms: Table, bar: Bar) -> float:
    """Standard score of the lack of fit, below N(0, 1) under the model; nan if no arm was pulled.

    >>> from goodarm.problem import Problem
    >>> table = np.zeros((200, 8))
    >>> table[:, PULLS], table[:, TOTAL], table[:, MEAN], table[:, WIDTH] = 100.0, 60.0, 0.5, 0.01
    >>> round(misfit(table, Problem(threshold=0.5, arms=200).bar), 1)
    17.6
    """
    if not (arms[:, PULLS] > 0.0).any():
        return math.nan
    return -normal_quantile_log(min(min(chances(arms, bar)) + math.log(QUESTIONS), LARGEST_CHANCE))


def together(runs: Sequence[Floats]) -> float:
    """The standard score of several runs together: a misfit too small to see in one run may be visible in twenty.

    `shortfalls` of each group are added over the runs and divided by the square root of their number (Stouffer); the
    largest of these counts, times the number of groups (Bonferroni). nan if no run has any.

    >>> one = np.full((2, 2, 3), np.nan)
    >>> one[0, 0, :2] = 0.1, 2.0
    >>> round(together([one]), 2), round(together([one] * 20), 2), together([])
    (1.69, 8.87, nan)
    """
    if not runs:
        return math.nan
    stacked = np.stack(runs)
    counts = (~np.isnan(stacked)).sum(axis=0)
    if not counts.any():
        return math.nan
    sums = np.nansum(stacked, axis=0)[counts > 0] / np.sqrt(counts[counts > 0])
    chance = math.log(sums.size) + log_normal_cdf(-float(sums.max()))
    return -normal_quantile_log(min(chance, LARGEST_CHANCE))


def chances(arms: Table, bar: Bar) -> tuple[float, float, float, float]:
    """log p-values of the four tests under the model."""
    seen = arms[arms[:, PULLS] > 0.0]
    good = seen[seen[:, VERDICT] > 0.0]
    return _all_together(seen, bar), _largest(seen, bar), _largest(good, bar), _neighbours(seen, bar)


def _all_together(seen: Table, bar: Bar) -> float:
    """log probability under the model of a sum of squared deviations at least as large as this one.

    Q = sum N_i (S_i/N_i - mean_i)^2 / v_i over the pulled arms has about n - sum N_i width_i^2 degrees of freedom,
    where the second term is the number of fitted parameters; v = mean (1 - mean) for rewards in [0, 1] (at least a
    quarter of its value at the threshold, so that a few rewards of an arm near 0 do not count as a surprise), otherwise
    sigma^2. A term of 0/1 rewards varies by 2 + (1/v_i - 6)/N_i, much more than a chi-square's 2 if successes are few.
    Q is therefore approximated by a multiple of a chi-square with the degrees of freedom that match this variance
    (Satterthwaite), and the score uses its cube root (Wilson & Hilferty). Adaptive pulls slightly bias own means
    towards fewer surprises.
    """
    pulls, total, mean, width = (seen[:, column] for column in (PULLS, TOTAL, MEAN, WIDTH))
    freedom = float(len(seen) - np.minimum(pulls * width**2, 1.0).sum())
    if freedom < 10.0:
        return 0.0
    variance, tails = np.full(len(mean), bar.sigma**2), 0.0
    if bar.bounded > 0.0:
        variance = np.maximum(np.clip(mean, 0.0, 1.0) * (1.0 - np.clip(mean, 0.0, 1.0)), 0.25 * bar.spread**2)
        tails = float((np.maximum(1.0 / variance - 6.0, 0.0) / pulls).sum())
    surprise = float((pulls * (total / pulls - mean) ** 2 / variance).sum())
    spread = (2.0 * freedom + tails) / (9.0 * freedom * freedom)
    score = float(((surprise / freedom) ** (1.0 / 3.0) - (1.0 - spread)) / math.sqrt(spread))
    return log_normal_cdf(-score)


def _largest(some: Table, bar: Bar) -> float:
    """log probability of the largest deviation of any arm, times their number (Bonferroni)."""
    if len(some) == 0:
        return 0.0
    evidence = _evidence(some[:, PULLS], some[:, TOTAL] / some[:, PULLS], some[:, MEAN], bar)
    return min(0.0, math.log(len(some)) - float(evidence.max()))


def _neighbours(seen: Table, bar: Bar) -> float:
    """log probability of the largest shortfall of any group, times the number of groups (Bonferroni)."""
    found = shortfalls(seen, bar)
    groups = int((~np.isnan(found)).sum())
    return min(0.0, math.log(groups) + log_normal_cdf(-float(np.nanmax(found)))) if groups else 0.0


def shortfalls(arms: Table, bar: Bar) -> Floats:
    """Deviations of groups of neighbours, in standard errors, in the direction that makes their verdicts doubtful.

    Groups are the first 1, 2, 4, ... arms called good, and as many called bad, in the order of the model's means, from
    either end. Each is judged by the mean of all its rewards, in which deviations of one sign add up: whether a group
    called good falls short of the model's mean, or a group called bad exceeds it. Luck that led to a verdict, and a
    ridge that shrinks means towards the threshold, have the opposite effect. The score is the likelihood root, +-sqrt(2
    N kl).

    Returns shape (2, 2, 32): good and bad; from the lowest and from the highest mean; 1, 2, 4, ... arms, nan beyond.
    """
    found = np.full((2, 2, LARGEST_GROUPS), math.nan)
    for row, verdict in enumerate((1.0, -1.0)):
        some = arms[(arms[:, PULLS] > 0.0) & (arms[:, VERDICT] == verdict)]
        ordered = some[np.argsort(some[:, MEAN], kind="stable")]
        sizes = 2 ** np.arange(len(some).bit_length())
        for column, group in enumerate((ordered, ordered[::-1])):
            pulls = np.cumsum(group[:, PULLS])[sizes - 1]
            own = np.cumsum(group[:, TOTAL])[sizes - 1] / pulls
            mean = np.cumsum(group[:, PULLS] * group[:, MEAN])[sizes - 1] / pulls
            root = np.sqrt(2.0 * pulls * np.maximum(_divergence(own, mean, bar), 0.0))
            found[row, column, : len(sizes)] = np.sign(verdict * (mean - own)) * root
    return found


def _divergence(own: Floats, mean: Floats, bar: Bar) -> Floats:
    """Relative entropy of a reward with the own mean to one with the model's: (own - mean)^2/(2 sigma^2) if Gaussian.

    In [0, 1], means are clipped where the variance is a quarter of that at the threshold.
    """
    if bar.bounded <= 0.0:
        return np.asarray((own - mean) ** 2 / (2.0 * bar.sigma**2))
    edge = 0.5 * (1.0 - math.sqrt(1.0 - bar.spread**2))
    p, q = np.clip(own, edge, 1.0 - edge), np.clip(mean, edge, 1.0 - edge)
    return np.asarray(p * np.log(p / q) + (1.0 - p) * np.log((1.0 - p) / (1.0 - q)))


def _evidence(pulls: Floats, own: Floats, mean: Floats, bar: Bar) -> Floats:
    """log E against "the arm's mean is the model's", so that E >= 1/p has probability at most p at any time.

    N kl(own, mean) - log(2 sqrt(N)) for rewards in [0, 1], which the mixture of `kt` exceeds (Krichevsky & Trofimov
    1981); otherwise the mixture of normal laws around the model's mean, N/(N + 1) N kl - log(N + 1)/2.
    """
    surprise = pulls * _divergence(own, mean, bar)
    if bar.bounded > 0.0:
        return np.asarray(surprise - np.log(2.0 * np.sqrt(pulls)))
    return np.asarray(pulls / (pulls + 1.0) * surprise - 0.5 * np.log1p(pulls))
