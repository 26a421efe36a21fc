"""`thompson`: pull the arm that leads in one draw from the posterior."""

from __future__ import annotations

from numpy.random import Generator

from goodarm.problem import Bar
from goodarm.rules.beliefs import MEAN, Pool, Table, is_open, read_arm
from goodarm.rules.sampling._base import ChoiceRule
from goodarm.rules.sampling.posterior import draw, draw_above_rarely, least_exponent


def leader(arms: Table, bar: Bar, generator: Generator, without: int = -1) -> tuple[int, int]:
    """The open arm that leads in one joint posterior draw, excluding the arm `without`; and the number of arms in it.

    The arm with the largest mean is drawn first. For most others, a single number shows that they stay below it.
    """
    first, count = -1, 0
    for i in range(len(arms)):
        if is_open(arms, i) and i != without:
            count += 1
            if first < 0 or arms[i, MEAN] > arms[first, MEAN]:
                first = i
    if count < 2:
        return first, count
    return overtaken(arms, first, draw(read_arm(arms, first), bar, generator), bar, generator, without), count


def overtaken(arms: Table, ahead: int, best: float, bar: Bar, generator: Generator, without: int = -1) -> int:
    """The leader of a joint draw in which the arm `ahead` has drawn `best`."""
    first = ahead
    for i in range(len(arms)):
        if is_open(arms, i) and i != first and i != without:
            e = generator.standard_exponential()
            arm = read_arm(arms, i)
            q = least_exponent(arm, best, bar)
            if e >= q:
                value = draw_above_rarely(arm, best, q, bar, generator)
                if value > best:
                    ahead, best = i, value
    return ahead


def choose(arms: Table, pool: Pool, bar: Bar, generator: Generator) -> int:
    """Thompson sampling: draw every open arm's mean from its posterior, and pull the largest."""
    return leader(arms, bar, generator)[0]


thompson = ChoiceRule(
    name="thompson",
    reference="Thompson 1933, Biometrika 25; Agrawal & Goyal 2012",
    choose=choose,
)
