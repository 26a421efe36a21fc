"""`thompson`: pull the arm that leads in one draw from the posterior."""

from __future__ import annotations

from numpy.random import Generator

from goodarm.beliefs import Pool, Table, is_open, read_arm
from goodarm.problem import Bar
from goodarm.sampling._base import ChoiceRule
from goodarm.sampling.posterior import draw


def leaders(arms: Table, bar: Bar, generator: Generator) -> tuple[int, int]:
    """First and second open arm of one joint posterior draw (second is -1 when only one arm is open)."""
    first, second = -1, -1
    best, next_best = 0.0, 0.0
    for i in range(len(arms)):
        if is_open(arms, i):
            value = draw(read_arm(arms, i), bar, generator)
            if first < 0 or value > best:
                second, next_best = first, best
                first, best = i, value
            elif second < 0 or value > next_best:
                second, next_best = i, value
    return first, second


def choose(arms: Table, pool: Pool, bar: Bar, generator: Generator) -> int:
    """Thompson sampling: draw every open arm's mean from its posterior, pull the largest."""
    return leaders(arms, bar, generator)[0]


thompson = ChoiceRule(
    name="thompson",
    reference="Thompson 1933, Biometrika 25; Agrawal & Goyal 2012",
    choose=choose,
)
