"""A problem family from a log's per-arm totals: an empirical-Bayes fit of how the arms' means are spread."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from goodarm.environments import Environment
from goodarm.environments.columns import Source, numbers, read_columns, title
from goodarm.environments.laws import bernoulli_reward
from goodarm.errors import InvalidValue, UnreadableTable
from goodarm.problem import Problem
from goodarm.rules.beliefs import ARM_FIELDS, PULLS, TOTAL
from goodarm.rules.learners.prior import spread_of_means


def family_from_totals(
    pulls: ArrayLike, totals: ArrayLike, threshold: float, *, horizon: int = 1_000_000, name: str = "family"
) -> Environment:
    """As many arms as the log has, their means drawn anew in each run from Beta(a, b) with the log's mean and spread.

    m0 and tau2 by weighted moments (`goodarm.rules.learners.prior.spread_of_means`, without its caution), then
    a = m0 s, b = (1 - m0) s, s = m0 (1 - m0)/tau2 - 1.

    >>> family = family_from_totals([1000, 1000, 1000, 1000], [480, 500, 520, 560], threshold=0.5)
    >>> family.arms, family.reading
    (4, 'means drawn from Beta(205, 193), fitted to the totals of 4 arms')
    """
    n, s = _checked(pulls, totals)
    problem = Problem(threshold=threshold, arms=n.size)
    arms = np.zeros((n.size, ARM_FIELDS))
    arms[:, PULLS], arms[:, TOTAL] = n, s
    mean, _, variance = spread_of_means(arms, problem.bar, caution=0.0)
    if variance <= 0.0:
        raise InvalidValue(
            "all rewards of the log are equal: nothing can be learned about how the means are spread. "
            "Log more rewards, or name an environment."
        )
    strength = mean * (1.0 - mean) / variance - 1.0
    a, b = mean * strength, (1.0 - mean) * strength
    count = n.size
    return Environment(
        name,
        count,
        threshold,
        lambda generator: generator.beta(a, b, count),
        bernoulli_reward,
        horizon=horizon,
        reading=f"means drawn from Beta({a:.3g}, {b:.3g}), fitted to the totals of {count} arms",
    )


def family_from_table(source: Source, threshold: float, *, horizon: int = 1_000_000) -> Environment:
    """The family of a CSV or Parquet file, or a dataframe, with the columns `pulls` and `total`, one row per arm."""
    pulls, totals = read_columns(source, "pulls", "total")
    name = f"family:{Path(source).name}" if isinstance(source, str | Path) else "family"
    try:
        return family_from_totals(
            numbers(source, "pulls", pulls), numbers(source, "total", totals), threshold, horizon=horizon, name=name
        )
    except InvalidValue as error:
        raise UnreadableTable(f"{title(source)}: {error}") from None


def _checked(pulls: ArrayLike, totals: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    n, s = np.asarray(pulls, dtype=np.float64), np.asarray(totals, dtype=np.float64)
    if n.shape != s.shape or n.ndim != 1 or n.size < 2:
        raise InvalidValue(f"a family needs pulls and totals of at least two arms; got shapes {n.shape} and {s.shape}.")
    wrong = ~(np.isfinite(n) & np.isfinite(s)) | (n < 1.0) | (s < 0.0) | (s > n)
    if wrong.any():
        i = int(np.argmax(wrong))
        raise InvalidValue(
            f"arm {i} has {n[i]:g} pulls and a total of {s[i]:g}: "
            "pulls must be at least 1, and the total between 0 and the pulls."
        )
    return n, s
