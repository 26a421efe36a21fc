"""`tt-ts`: top-two Thompson sampling on the open arms."""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator

from goodarm.problem import Bar
from goodarm.rules.beliefs import Pool, Row, Table, is_open, read_arm
from goodarm.rules.sampling import thompson
from goodarm.rules.sampling._base import ChoiceRule
from goodarm.rules.sampling.posterior import draw, draw_above_rarely, draw_by_tail, least_exponent

REDRAWS = 100
USUAL = 0.99
"""Share of the leading arm's draws that lie above the level at which the other arms are screened once for all."""


def choose(arms: Table, pool: Pool, bar: Bar, generator: Generator, leader: float = 0.5) -> int:
    """Pull the posterior draw's leader with probability `leader`, else redraw until another arm leads.

    Redraws are capped at 100: of the last one the leader among the other arms is pulled, first or runner-up. A single
    open arm is pulled.
    """
    first, count = thompson.leader(arms, bar, generator)
    if count < 2 or generator.random() < leader:
        return first
    other = thompson.leader(arms, bar, generator)[0]
    if other == first:  # far ahead: most redraws will fail
        other = other_leader(arms, first, bar, generator, REDRAWS - 2)
    return other if other != first else thompson.leader(arms, bar, generator, first)[0]


def other_leader(arms: Table, first: int, bar: Bar, generator: Generator, redraws: int) -> int:
    """The leader of the first joint draw that `first` does not lead, in law exactly; `first` if it leads them all.

    Where the draw of `first` is at least x, its 1% quantile, another arm leads only if its draw exceeds x. The few that
    often do are drawn. Of the rest, each does with probability at most exp(-q) of `least_exponent`: lay pieces of
    length -log(1 - exp(-q)) end to end, and a Poisson process of rate 1 has a point on a piece with probability
    exp(-q). Its first point, one exponential, mostly lies past the end: no arm comes near, and nothing is drawn.
    """
    favourite = read_arm(arms, first)
    level = draw_by_tail(favourite, math.log(USUAL), bar)
    line, near = pieces(arms, first, level, bar)
    crowded = 4 * len(near) > len(arms)
    for _ in range(redraws):
        tail = 1.0 - generator.random()
        point = generator.standard_exponential()
        other = first
        if crowded:
            other = thompson.overtaken(arms, first, draw(favourite, bar, generator), bar, generator)
        elif tail > USUAL:
            best = draw_by_tail(favourite, math.log(tail), bar)
            other = thompson.overtaken(arms, first, best, bar, generator)
        elif len(near) > 0 or point < line[-1]:
            other = overtaken_by_few(arms, first, level, line, near, point, bar, generator)
        if other != first:
            return other
    return first


def pieces(arms: Table, first: int, level: float, bar: Bar) -> tuple[Row, Row]:
    """Ends of the pieces, one per arm, and the arms that often exceed the level; those have no piece."""
    ends, near = np.empty(len(arms)), np.empty(len(arms))
    end, count = 0.0, 0
    for i in range(len(arms)):
        if is_open(arms, i) and i != first:
            q = least_exponent(read_arm(arms, i), level, bar)
            if q > 0.0:
                end -= math.log(-math.expm1(-q))
            else:
                near[count] = i
                count += 1
        ends[i] = end
    return ends, near[:count]


def overtaken_by_few(
    arms: Table, first: int, level: float, line: Row, near: Row, point: float, bar: Bar, generator: Generator
) -> int:
    """The leader where `first` is above the level, and only arms that are near or have a point can be ahead of it."""
    ahead, last = first, -1
    best = draw(read_arm(arms, first), bar, generator)
    while best < level:
        best = draw(read_arm(arms, first), bar, generator)
    for j in near:
        value = draw(read_arm(arms, int(j)), bar, generator)
        if value > best:
            ahead, best = int(j), value
    while point < line[-1]:
        i = int(np.searchsorted(line, point, side="right"))
        if i != last:
            arm = read_arm(arms, i)
            value = draw_above_rarely(arm, level, least_exponent(arm, level, bar), bar, generator)
            if value > best:
                ahead, best = i, value
        point, last = point + generator.standard_exponential(), i
    return ahead


top_two = ChoiceRule(
    name="tt-ts",
    reference="Russo 2016, COLT (top-two Thompson sampling)",
    choose=choose,
    limits=(("leader", 0.0, 1.0),),
)
