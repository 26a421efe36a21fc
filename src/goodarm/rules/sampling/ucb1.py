"""`ucb1`: the classical upper confidence bound for collecting rewards."""

from __future__ import annotations

import math

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm
from goodarm.rules.sampling._base import LineRule


def slope(arm: Arm, bar: Bar) -> float:
    """UCB1: mean + sqrt( 8 sigma^2 log t / N ), which is sqrt( 2 log t / N ) for rewards in [0, 1]."""
    return arm.width


def clock(now: float, bar: Bar) -> float:
    """sqrt(8 sigma^2 log t).

    >>> from goodarm.problem import Problem
    >>> round(clock(1000.0, Problem(threshold=0.5, arms=10).bar), 4)
    3.7169
    """
    return bar.sigma * math.sqrt(8.0 * math.log(now))


ucb1 = LineRule(
    name="ucb1",
    reference="Auer, Cesa-Bianchi & Fischer 2002, Machine Learning 47",
    slope=slope,
    clock=clock,
)
