"""A problem family from a log: an empirical-Bayes fit of the spread of the arms' means and the noise of rewards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from goodarm.environments import Environment
from goodarm.environments.columns import Source, numbers, read_columns, title
from goodarm.environments.laws import bernoulli_reward, beta_reward, gaussian_reward
from goodarm.errors import InvalidValue, UnreadableTable
from goodarm.problem import Bounded, Gaussian, Problem, Rewards, SubGaussian
from goodarm.rules.beliefs import ARM_FIELDS, PULLS, TOTAL
from goodarm.rules.learners.prior import spread_of_means

HORIZON = 1_000_000
"""Default number of rounds of a run on a family."""
ITERATIONS = 50
"""Steps of the fit of the spread."""
LARGEST_CONCENTRATION = 1e6
"""Maximum concentration of the Beta law of rewards."""


def family_from_totals(
    pulls: ArrayLike,
    totals: ArrayLike,
    threshold: float,
    *,
    rewards: Rewards = Bounded(),
    horizon: int = HORIZON,
    name: str = "family",
) -> Environment:
    """As many arms as the log has, their means drawn anew in each run from a law with the log's mean and spread.

    m0 and tau2 by weighted moments (`goodarm.rules.learners.prior.spread_of_means`, without its caution). Means of 0/1
    rewards are drawn from Beta(m0 s, (1 - m0) s), s = m0 (1 - m0)/tau2 - 1; those of Gaussian rewards from N(m0, tau2).

    >>> family = family_from_totals([1000, 1000, 1000, 1000], [480, 500, 520, 560], threshold=0.5)
    >>> family.arms, family.reading
    (4, 'means drawn from Beta(205, 193), fitted to the totals of 4 arms')
    """
    _check_rewards(rewards)
    n, s = _checked(pulls, totals, bounded=isinstance(rewards, Bounded))
    if isinstance(rewards, SubGaussian):
        mean, variance = _spread(n, s / n, rewards.scale**2)
        return _normal_family(mean, variance, n.size, threshold, rewards.scale, horizon, name)
    arms = np.zeros((n.size, ARM_FIELDS))
    arms[:, PULLS], arms[:, TOTAL] = n, s
    mean, _, variance = spread_of_means(arms, Problem(threshold=threshold, arms=n.size).bar, caution=0.0)
    return _beta_family(mean, variance, n.size, threshold, None, horizon, name)


def family_from_rows(
    arms: ArrayLike,
    values: ArrayLike,
    threshold: float,
    *,
    rewards: Rewards = Bounded(),
    horizon: int = HORIZON,
    name: str = "family",
) -> Environment:
    """The family of a log with one row per reward: names of arms, and rewards.

    0/1 rewards and Gaussian ones become `family_from_totals`. Other rewards in [0, 1] keep their variance within an
    arm: they are drawn from Beta laws of one concentration.

    >>> family_from_rows(["a", "a", "b", "b"], [0.2, 0.4, 0.6, 0.9], threshold=0.5).reading[:47]
    'means drawn from Beta(3.28, 2.97), Beta rewards'
    """
    _check_rewards(rewards)
    labels, which = np.unique(np.asarray(arms).astype(str), return_inverse=True)
    x = np.asarray(values, dtype=np.float64)
    n = np.bincount(which, minlength=labels.size).astype(np.float64)
    s = np.bincount(which, weights=x, minlength=labels.size)
    if isinstance(rewards, Bounded):
        wrong = ~((x >= 0.0) & (x <= 1.0))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InvalidValue(
                f"the reward in row {row + 1} is {x[row]:g}, outside [0, 1]. Divide rewards by the largest possible "
                "reward."
            )
    if isinstance(rewards, SubGaussian) or np.isin(x, (0.0, 1.0)).all():
        return family_from_totals(n, s, threshold, rewards=rewards, horizon=horizon, name=name)
    _checked(n, s, bounded=True)
    within = float(((x - (s / n)[which]) ** 2).sum() / max(x.size - labels.size, 1))
    if not within > 0.0:
        raise InvalidValue(
            "no arm of the log has two different rewards: their noise can't be estimated. Log more rewards per arm."
        )
    mean, variance = _spread(n, s / n, within)
    variance = min(variance, 0.5 * mean * (1.0 - mean))
    concentration = min(max((mean * (1.0 - mean) - variance) / within - 1.0, 1e-3), LARGEST_CONCENTRATION)
    return _beta_family(mean, variance, n.size, threshold, concentration, horizon, name)


def family_from_table(
    source: Source,
    threshold: float,
    *,
    arm: str | None = None,
    reward: str | None = None,
    rewards: Rewards = Bounded(),
    horizon: int = HORIZON,
) -> Environment:
    """The family of a CSV or Parquet file, or a dataframe: per-arm totals or one row per reward.

    arm, reward : the columns of a log with one row per reward. Without them the columns `pulls` and `total` are totals,
                  one row per arm; if there are none, `arm` and `reward` are read.
    """
    name = f"family:{Path(source).name}" if isinstance(source, str | Path) else "family"
    try:
        if arm is None and reward is None and (totals := _totals_of(source)):
            n, s = numbers(source, "pulls", totals[0]), numbers(source, "total", totals[1])
            return family_from_totals(n, s, threshold, rewards=rewards, horizon=horizon, name=name)
        column = reward or "reward"
        names, values = read_columns(source, arm or "arm", column)
        x = numbers(source, column, values)
        return family_from_rows(names, x, threshold, rewards=rewards, horizon=horizon, name=name)
    except InvalidValue as error:
        raise UnreadableTable(f"{title(source)}: {error}") from None


def _totals_of(source: Source) -> list[Sequence[Any]] | None:
    """The columns `pulls` and `total`; None if the table has a column of rewards instead."""
    try:
        return read_columns(source, "pulls", "total")
    except UnreadableTable:
        try:
            read_columns(source, "reward")
        except UnreadableTable as error:
            if "needs a header" not in str(error):
                raise
            raise UnreadableTable(
                f"{title(source)}: needs the columns pulls and total, one row per arm, or arm and reward, one row per "
                "reward. If the columns have other names, pass them as `arm` and `reward`."
            ) from None
        return None


def _check_rewards(rewards: Rewards) -> None:
    if type(rewards) is not Bounded and not isinstance(rewards, SubGaussian):
        raise InvalidValue(
            f"a family can't be made from {rewards}, whose noise has no specified law. Use rewards in [0, 1], or "
            "gaussian:SCALE."
        )


def _spread(n: np.ndarray, means: np.ndarray, noise: float) -> tuple[float, float]:
    """Mean m0 and variance tau2 of the arms' means by weighted moments (DerSimonian & Laird), iterated.

    w_i = 1/(tau2 + v_i), v_i = noise/n_i;  m0 = sum w_i m_i/sum w_i;  tau2 = sum w_i^2 ((m_i - m0)^2 - v_i)/sum w_i^2
    """
    error, tau2 = noise / n, float(means.var())
    for _ in range(ITERATIONS):
        w = 1.0 / (tau2 + error)
        mean = float(w @ means / w.sum())
        tau2 = max(float(w**2 @ ((means - mean) ** 2 - error) / (w**2).sum()), 1e-6 * noise)
    return mean, tau2


def _beta_family(
    mean: float,
    variance: float,
    count: int,
    threshold: float,
    concentration: float | None,
    horizon: int,
    name: str,
) -> Environment:
    if not variance > 0.0:
        raise InvalidValue(
            "all rewards of the log are equal: nothing can be learned about the spread of the means. "
            "Log more rewards, or name an environment."
        )
    strength = mean * (1.0 - mean) / variance - 1.0
    a, b = mean * strength, (1.0 - mean) * strength
    words = "" if concentration is None else f", Beta rewards of concentration {concentration:.3g}"
    return Environment(
        name,
        count,
        threshold,
        lambda generator: generator.beta(a, b, count),
        bernoulli_reward if concentration is None else beta_reward,
        horizon=horizon,
        extra=np.array([] if concentration is None else [concentration]),
        reading=f"means drawn from Beta({a:.3g}, {b:.3g}){words}, fitted to the totals of {count} arms",
    )


def _normal_family(
    mean: float, variance: float, count: int, threshold: float, scale: float, horizon: int, name: str
) -> Environment:
    deviation = variance**0.5
    return Environment(
        name,
        count,
        threshold,
        lambda generator: generator.normal(mean, deviation, count),
        gaussian_reward,
        Gaussian(scale),
        horizon,
        extra=np.array([scale]),
        reading=f"means drawn from N({mean:.3g}, {deviation:.3g}²), Gaussian rewards of standard deviation {scale:g}, "
        f"fitted to the totals of {count} arms",
    )


def _checked(pulls: ArrayLike, totals: ArrayLike, *, bounded: bool) -> tuple[np.ndarray, np.ndarray]:
    n, s = np.asarray(pulls, dtype=np.float64), np.asarray(totals, dtype=np.float64)
    if n.shape != s.shape or n.ndim != 1 or n.size < 2:
        raise InvalidValue(f"a family needs pulls and totals of at least two arms; got shapes {n.shape} and {s.shape}.")
    wrong = ~(np.isfinite(n) & np.isfinite(s)) | (n < 1.0)
    if bounded:
        wrong |= (s < 0.0) | (s > n)
    if wrong.any():
        i = int(np.argmax(wrong))
        limits = ", and the total between 0 and the pulls" if bounded else ""
        raise InvalidValue(f"arm {i} has {n[i]:g} pulls and a total of {s[i]:g}: pulls must be at least 1{limits}.")
    return n, s
