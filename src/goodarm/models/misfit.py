"""Does the model fit? Each pulled arm's own mean is compared with what the model makes of all arms."""

from __future__ import annotations

import math

import numpy as np

from goodarm.problem import Bar
from goodarm.rules.beliefs import MEAN, PULLS, TOTAL, WIDTH, Table

ALARM = 5.0
"""Standard scores above this make a warning: never by chance, and passed early where features explain only part."""


def misfit(arms: Table, bar: Bar) -> float:
    """Standard score of the lack of fit, about N(0, 1) or less under the model; nan with too few pulled arms.

    Q = sum N_i (S_i/N_i - mean_i)^2 / v_i over the pulled arms has about n - sum N_i width_i^2 degrees of freedom, the
    second term being what the model spent on fitting; v = mean (1 - mean) for rewards in [0, 1] (at least a quarter of
    its value at the threshold, so that a few rewards of an arm near 0 do not count as a surprise), otherwise sigma^2.
    A term of 0/1 rewards varies by 2 + (1/v_i - 6)/N_i, much more than a chi-square's 2 where successes are few: Q is
    taken for a multiple of a chi-square with as many degrees of freedom as give this variance (Satterthwaite), and the
    score is its cube root (Wilson & Hilferty). Adaptive pulls bias own means a little towards fewer surprises.

    >>> from goodarm.problem import Problem
    >>> table = np.zeros((200, 8))
    >>> table[:, PULLS], table[:, TOTAL], table[:, MEAN], table[:, WIDTH] = 100.0, 60.0, 0.5, 0.01
    >>> round(misfit(table, Problem(threshold=0.5, arms=200).bar), 1)
    17.7
    """
    seen = arms[:, PULLS] > 0.0
    pulls, total, mean, width = (arms[seen, column] for column in (PULLS, TOTAL, MEAN, WIDTH))
    freedom = float(seen.sum() - np.minimum(pulls * width**2, 1.0).sum())
    if freedom < 10.0:
        return math.nan
    variance, tails = np.full(len(mean), bar.sigma**2), 0.0
    if bar.bounded > 0.0:
        variance = np.maximum(np.clip(mean, 0.0, 1.0) * (1.0 - np.clip(mean, 0.0, 1.0)), 0.25 * bar.spread**2)
        tails = float((np.maximum(1.0 / variance - 6.0, 0.0) / pulls).sum())
    surprise = float((pulls * (total / pulls - mean) ** 2 / variance).sum())
    spread = (2.0 * freedom + tails) / (9.0 * freedom * freedom)
    return float(((surprise / freedom) ** (1.0 / 3.0) - (1.0 - spread)) / math.sqrt(spread))
