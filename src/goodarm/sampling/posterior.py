"""Draws from the posterior of an arm's mean, for the rules that sample at random.

Rewards in [0, 1]: Beta(1 + S, 1 + N - S), the posterior under a uniform prior when rewards are 0/1 and the usual
extension when they lie between. Otherwise, and where a model gives mean and width, N(mean, (sigma width)^2), which is
N(m, sigma^2/N) for independent arms.
"""

from __future__ import annotations

import math

from numpy.random import Generator

from goodarm.beliefs import Arm
from goodarm.numerics import beta_quantile_above, log_beta_cdf, log_beta_sf, log_normal_cdf, normal_quantile_log
from goodarm.problem import Bar


def counts_decide(bar: Bar) -> bool:
    """Is the posterior a Beta law of the arm's own counts?"""
    return bar.bounded > 0.0 and bar.modelled == 0.0


def draw(arm: Arm, bar: Bar, generator: Generator) -> float:
    """One draw of the arm's mean."""
    if counts_decide(bar):
        return generator.beta(1.0 + arm.total, 1.0 + arm.pulls - arm.total)
    return arm.mean + bar.sigma * arm.width * generator.standard_normal()


def log_exceeds(arm: Arm, level: float, bar: Bar) -> float:
    """log P(mean > level) under the posterior."""
    if counts_decide(bar):
        return log_beta_sf(level, 1.0 + arm.total, 1.0 + arm.pulls - arm.total)
    return log_normal_cdf((arm.mean - level) / (bar.sigma * arm.width))


def may_exceed(arm: Arm, level: float, e: float, bar: Bar) -> bool:
    """False only where exp(-e) > P(mean > level): a bound of the tail that costs no logarithm and no division.

    Beta: P(mean > x) = P(Binomial(n, x) <= S) <= exp(-n kl(S/n, x)), n = N + 1 and S/n < x, for a whole S; and the
    posterior grows with S, so S may be rounded up. kl(p, x) >= (x - p)^2/(2 v), v the largest u(1-u) from p to x.
    Normal: P <= exp(-z^2/2).

    >>> from goodarm.problem import Problem
    >>> from goodarm.testing import arm_after
    >>> bar, arm = Problem(threshold=0.5, arms=10).bar, arm_after(pulls=99, total=20.0)
    >>> round(-log_exceeds(arm, 0.4, bar), 3), may_exceed(arm, 0.4, 8.3, bar), may_exceed(arm, 0.4, 8.4, bar)
    (11.018, False, True)
    """
    if counts_decide(bar):
        n, s = arm.pulls + 1.0, math.ceil(arm.total)
        short = n * level - s
        if short <= 0.0:
            return True
        if level <= 0.5:
            return 2.0 * e * n * level * (1.0 - level) >= short * short
        if 2.0 * s >= n:
            return 2.0 * e * s * (n - s) >= n * short * short
        return 0.5 * e * n >= short * short
    short, scale = level - arm.mean, bar.sigma * arm.width
    return short <= 0.0 or 2.0 * e * scale * scale >= short * short


def draw_by_tail(arm: Arm, log_tail: float, bar: Bar) -> float:
    """The level that the mean exceeds with probability exp(log_tail)."""
    if counts_decide(bar):
        return beta_quantile_above(log_tail, 1.0 + arm.total, 1.0 + arm.pulls - arm.total)
    return arm.mean - bar.sigma * arm.width * normal_quantile_log(log_tail)


def log_below(arm: Arm, bar: Bar) -> float:
    """log P(mean <= threshold) under the posterior."""
    if counts_decide(bar):
        return log_beta_cdf(bar.threshold, 1.0 + arm.total, 1.0 + arm.pulls - arm.total)
    return log_normal_cdf((bar.threshold - arm.mean) / (bar.sigma * arm.width))


def log_above(arm: Arm, bar: Bar) -> float:
    """log P(mean > threshold) under the posterior."""
    return log_exceeds(arm, bar.threshold, bar)


def draw_above(arm: Arm, bar: Bar, generator: Generator) -> float:
    """One draw of the mean given that it exceeds the threshold, by inversion: never a rejection."""
    return draw_by_tail(arm, math.log(1.0 - generator.random()) + log_above(arm, bar), bar)
