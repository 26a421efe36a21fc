"""Draws from the posterior of an arm's mean, for the rules that sample at random.

Rewards in [0, 1]: Beta(1 + S, 1 + N - S), the posterior under a uniform prior when rewards are 0/1 and the usual
extension when they lie between. Otherwise, and where a model gives mean and width, N(mean, (sigma width)^2), which is
N(m, sigma^2/N) for independent arms.
"""

from __future__ import annotations

import math

from numpy.random import Generator

from goodarm.numerics import (
    beta_quantile_above,
    log_beta_cdf,
    log_beta_kernel,
    log_beta_sf,
    log_normal_cdf,
    normal_quantile_log,
)
from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm


def counts_decide(bar: Bar) -> bool:
    """Whether the posterior is a Beta law of the arm's own counts."""
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


WORTH_A_BOUND = 1.0
"""An arm that exceeds a level with probability exp(-1) or more is drawn directly."""


def least_exponent(arm: Arm, level: float, bar: Bar) -> float:
    """A q with P(mean > level) <= exp(-q) that needs no logarithm; 0 if it would be below 1, or is unknown.

    It saves most draws: an exponential variable below q shows that the arm stays below the level; above q,
                         `draw_above_rarely` continues. Only for Beta: P(mean > x) = P(Binomial(n, x) <= S) <= exp(-n
                         kl(S/n, x)), n = N + 1
    and S/n < x, for a whole S; and the posterior grows with S, so S may be rounded up. kl(p, x) >= (x - p)^2/(2 v), v
    the largest u(1-u) from p to x.

    >>> from goodarm.problem import Problem
    >>> from goodarm.testing import arm_after
    >>> bar, arm = Problem(threshold=0.5, arms=10).bar, arm_after(pulls=99, total=20.0)
    >>> round(-log_exceeds(arm, 0.4, bar), 3), round(least_exponent(arm, 0.4, bar), 3)
    (11.018, 8.333)
    """
    n, s = arm.pulls + 1.0, math.ceil(arm.total)
    short = n * level - s
    if short <= 0.0 or level >= 1.0 or not counts_decide(bar):
        return 0.0
    if level <= 0.5:
        q = short * short / (2.0 * n * level * (1.0 - level))
    elif 2.0 * s >= n:
        q = n * short * short / (2.0 * s * (n - s))
    else:
        q = 2.0 * short * short / n
    return q if q >= WORTH_A_BOUND else 0.0


def draw_above_rarely(arm: Arm, level: float, q: float, bar: Bar, generator: Generator) -> float:
    """A draw if it exceeds `level`, else a number below it, given an event of probability exp(-q) (`least_exponent`).

    Both together have exactly the law of a draw above the level. The log-odds of the mean have a log-concave density
    g, which past its top lies under its tangent: g(s) <= g(s0) exp(-r (s - s0)), s0 the log-odds of the level. The
    tangent's mass M = g(s0)/r gives the probability of drawing from it, and g over the tangent the probability of
    keeping the draw (Devroye 1986, Non-Uniform Random Variate Generation, VII.2). A tail is inverted only where M >
    exp(-q).
    """
    if q == 0.0:
        return draw(arm, bar, generator)
    a, b = 1.0 + arm.total, 1.0 + arm.pulls - arm.total
    rate = b * level - a * (1.0 - level)
    chance = log_beta_kernel(level, 1.0 - level, a, b) - math.log(rate) + q if rate > 0.0 else math.inf
    if chance > 0.0:
        return draw_by_tail(arm, -q - generator.standard_exponential(), bar)
    if generator.standard_exponential() < -chance:
        return -math.inf
    step = generator.standard_exponential()
    odds = level / (1.0 - level) * math.exp(step / rate)
    x = odds / (1.0 + odds)
    under = a * math.log(x / level) + b * math.log((1.0 - x) / (1.0 - level)) + step
    return x if generator.standard_exponential() >= -under else -math.inf


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
