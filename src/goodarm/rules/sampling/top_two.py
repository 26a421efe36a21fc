"""`tt-ts` and `tt-ts-printed`: top-two Thompson sampling on the open arms, and the rule printed in one paper."""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator

from goodarm.numerics import log_normal_cdf
from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool, Row, Table, is_open, read_arm
from goodarm.rules.sampling import thompson
from goodarm.rules.sampling._base import ChoiceRule
from goodarm.rules.sampling.posterior import counts_decide, draw, draw_above_rarely, draw_by_tail, least_exponent

REDRAWS = 100
USUAL = 0.99
"""Share of the leading arm's draws above the level at which the other arms are screened."""


def choose(arms: Table, pool: Pool, bar: Bar, generator: Generator, leader: float = 0.5) -> int:
    """Pull the posterior draw's leader with probability `leader`, else redraw until another arm leads.

    There are at most 100 redraws. After the last one, the leader among the other arms is pulled. A single open arm is
    pulled directly.
    """
    first, count = thompson.leader(arms, bar, generator)
    if count < 2 or generator.random() < leader:
        return first
    other = thompson.leader(arms, bar, generator)[0]
    if other == first:  # far ahead: most redraws will fail
        other = other_leader(arms, first, bar, generator, REDRAWS - 2)
    return other if other != first else thompson.leader(arms, bar, generator, first)[0]


def other_leader(arms: Table, first: int, bar: Bar, generator: Generator, redraws: int) -> int:
    """The leader of the first joint draw that `first` does not lead, exact in law; `first` if it leads them all.

    If the draw of `first` is at least x, its 1% quantile, another arm leads only if its draw exceeds x. The few arms
    that often do are drawn. Each of the others does with probability at most exp(-q) (`least_exponent`): lay pieces of
    length -log(1 - exp(-q)) end to end, and a Poisson process of rate 1 has a point on a piece with probability
    exp(-q). Its first point, an exponential variable, usually lies past the end: then no arm comes near, and nothing is
    drawn.
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
    """The leader if `first` is above the level, so that only arms that are near it or have a point can lead."""
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


POINTS = 24
"""Number of levels in the sum for the probability of being the best arm."""
REACH = 4.0
"""Standard deviations above and below a mean beyond which a posterior counts as 0."""


def choose_printed(arms: Table, pool: Pool, bar: Bar, generator: Generator) -> int:
    """The arm that is second most likely to be the best one, as printed by Tsai et al., without random draws.

    P_i = integral of f_i(x) prod_{j != i} F_j(x) dx with normal posteriors of the open arms' means, by the midpoint
    rule at 24 levels between the largest of all lower ends and the largest of all upper ends. The arm with the second
    largest P is pulled. A single open arm is pulled.
    """
    low, high = -math.inf, -math.inf
    for i in range(len(arms)):
        if is_open(arms, i):
            mean, sd = normal_posterior(read_arm(arms, i), bar)
            low, high = max(low, mean - REACH * sd), max(high, mean + REACH * sd)
    step = (high - low) / POINTS
    together = np.zeros(POINTS)
    for i in range(len(arms)):
        if is_open(arms, i):
            mean, sd = normal_posterior(read_arm(arms, i), bar)
            if mean + REACH * sd > low:
                for g in range(POINTS):
                    together[g] += log_normal_cdf((low + (g + 0.5) * step - mean) / sd)
    first, second, largest, runner_up = -1, -1, -1.0, -1.0
    for i in range(len(arms)):
        if is_open(arms, i):
            mean, sd = normal_posterior(read_arm(arms, i), bar)
            chance = 0.0
            if mean + REACH * sd > low:
                for g in range(POINTS):
                    z = (low + (g + 0.5) * step - mean) / sd
                    chance += math.exp(together[g] - log_normal_cdf(z) - 0.5 * z * z) / sd
            if chance > largest:
                first, second, largest, runner_up = i, first, chance, largest
            elif chance == largest:  # among equal arms the last is left out, so ties go to the lowest number
                if runner_up < largest:
                    second, runner_up = first, largest
                first = i
            elif chance > runner_up:
                second, runner_up = i, chance
    return first if second < 0 else second


def normal_posterior(arm: Arm, bar: Bar) -> tuple[float, float]:
    """Mean and standard deviation of the posterior that `tt-ts` draws from.

    >>> from goodarm.problem import Problem
    >>> from goodarm.testing import arm_after
    >>> mean, sd = normal_posterior(arm_after(pulls=98, total=49.0), Problem(threshold=0.5, arms=10).bar)
    >>> mean, round(sd, 4)
    (0.5, 0.0498)
    """
    if counts_decide(bar):
        mean = (1.0 + arm.total) / (2.0 + arm.pulls)
        return mean, math.sqrt(mean * (1.0 - mean) / (3.0 + arm.pulls))
    return arm.mean, bar.sigma * arm.width


top_two_printed = ChoiceRule(
    name="tt-ts-printed",
    reference="Tsai, Tsai & Lin, Differentiable Good Arm Identification, section 'Sampling Bound'",
    choose=choose_printed,
)
