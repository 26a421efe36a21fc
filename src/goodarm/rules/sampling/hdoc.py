"""`hdoc`: the hybrid algorithm for the dilemma of confidence."""

from __future__ import annotations

import math

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm
from goodarm.rules.sampling._base import LineRule


def slope(arm: Arm, bar: Bar) -> float:
    """UCB1's index, mean + sqrt( 2 sigma^2 log t / N ): sqrt( log t / (2N) ) for rewards in [0, 1]."""
    return arm.width


def clock(now: float, bar: Bar) -> float:
    """sqrt(2 sigma^2 log t), the factor of 1/sqrt(N) at round t.

    >>> from goodarm.problem import Problem
    >>> round(clock(1000.0, Problem(threshold=0.5, arms=10).bar), 4)
    1.8585
    """
    return bar.sigma * math.sqrt(2.0 * math.log(now))


hdoc = LineRule(
    name="hdoc",
    reference="Kano et al. 2019, Machine Learning 108, Algorithm 1",
    slope=slope,
    clock=clock,
)
