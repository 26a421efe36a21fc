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


def log_below(arm: Arm, bar: Bar) -> float:
    """log P(mean <= threshold) under the posterior."""
    if counts_decide(bar):
        return log_beta_cdf(bar.threshold, 1.0 + arm.total, 1.0 + arm.pulls - arm.total)
    return log_normal_cdf((bar.threshold - arm.mean) / (bar.sigma * arm.width))


def log_above(arm: Arm, bar: Bar) -> float:
    """log P(mean > threshold) under the posterior."""
    if counts_decide(bar):
        return log_beta_sf(bar.threshold, 1.0 + arm.total, 1.0 + arm.pulls - arm.total)
    return log_normal_cdf((arm.mean - bar.threshold) / (bar.sigma * arm.width))


def draw_above(arm: Arm, bar: Bar, generator: Generator) -> float:
    """One draw of the mean given that it exceeds the threshold, by inversion: never a rejection."""
    log_tail = math.log(1.0 - generator.random()) + log_above(arm, bar)
    if counts_decide(bar):
        return beta_quantile_above(log_tail, 1.0 + arm.total, 1.0 + arm.pulls - arm.total)
    return arm.mean - bar.sigma * arm.width * normal_quantile_log(log_tail)
