"""`tt-ts`: top-two Thompson sampling on the open arms."""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator

from goodarm.beliefs import Pool, Row, Table, is_open, read_arm
from goodarm.problem import Bar
from goodarm.sampling import thompson
from goodarm.sampling._base import ChoiceRule
from goodarm.sampling.posterior import (
    draw,
    draw_above_rarely,
    least_exponent,
)

REDRAWS = 100
PLAIN = 8
"""Redraws that are made one by one; where all fail, most of the others will, and are made by `other_leader`."""

USUAL = 2.5
"""Standard errors below its mean down to which the draws of the leading arm share one line of pieces."""


def choose(arms: Table, pool: Pool, bar: Bar, generator: Generator, leader: float = 0.5) -> int:
    """Pull the posterior draw's leader with probability `leader`, else redraw until another arm leads.

    Redraws are capped at 100: of the last one the leader among the other arms is pulled, first or runner-up. A single
    open arm is pulled.
    """
    first, count = thompson.leader(arms, bar, generator)
    if count < 2 or generator.random() < leader:
        return first
    for _ in range(PLAIN):
        other = thompson.leader(arms, bar, generator)[0]
        if other != first:
            return other
    other = other_leader(arms, first, bar, generator, REDRAWS - 1 - PLAIN)
    return other if other != first else thompson.leader(arms, bar, generator, first)[0]


def other_leader(arms: Table, first: int, bar: Bar, generator: Generator, redraws: int) -> int:
    """The leader of the first joint draw that `first` does not lead, in law exactly; `first` if it leads them all.

    Where the draw of `first` is at least x, another arm leads only if its draw exceeds x. The few that often do are
    drawn. Of the rest, each does with probability at most exp(-q) of `least_exponent`: lay pieces of length
    -log(1 - exp(-q)) end to end, and a Poisson process of rate 1 has a point on a piece with probability exp(-q). Its
    first point, one exponential, mostly lies past the end: no arm comes near.
    """
    favourite = read_arm(arms, first)
    level = favourite.mean - USUAL * math.sqrt(favourite.mean * (1.0 - favourite.mean)) * favourite.width
    line, near = pieces(arms, first, level, bar)
    worth_it = 4 * len(near) < len(arms)
    for _ in range(redraws):
        best = draw(favourite, bar, generator)
        if worth_it and best >= level:
            other = overtaken_by_few(arms, first, best, level, line, near, bar, generator)
        else:
            other = thompson.overtaken(arms, first, best, bar, generator)
        if other != first:
            return other
    return first


def pieces(arms: Table, first: int, level: float, bar: Bar) -> tuple[Row, Row]:
    """Ends of the pieces, one an arm, and the arms that often exceed the level; those have no piece."""
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
    arms: Table, first: int, best: float, level: float, line: Row, near: Row, bar: Bar, generator: Generator
) -> int:
    """The leader where only arms that are near, or have a point on their piece, can be ahead of `first`."""
    ahead, last = first, -1
    for j in near:
        value = draw(read_arm(arms, int(j)), bar, generator)
        if value > best:
            ahead, best = int(j), value
    point = generator.standard_exponential()
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
)
