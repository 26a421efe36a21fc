"""`murphy`: Murphy sampling, Thompson sampling given that some arm is good."""

from __future__ import annotations

import math

from numpy.random import Generator

from goodarm.problem import Bar
from goodarm.rules.beliefs import Pool, Table, is_open, read_arm
from goodarm.rules.sampling._base import ChoiceRule
from goodarm.rules.sampling.posterior import draw, draw_above, log_above, log_below

TRIES = 4


def leader_above(arms: Table, bar: Bar, generator: Generator) -> int:
    """The leader of one joint draw if it exceeds the threshold, else -1."""
    best, leader = bar.threshold, -1
    for i in range(len(arms)):
        if is_open(arms, i):
            value = draw(read_arm(arms, i), bar, generator)
            if value > best:
                best, leader = value, i
    return leader


def first_above(arms: Table, bar: Bar, generator: Generator) -> int:
    """The lowest arm that exceeds the threshold in a joint draw, given that one does; exact, in one pass.

    P(arm j is the first) is proportional to w_j = prod_{i<j} F_i (1 - F_j), F_i = P(mean_i <= xi). Arm j replaces the
    choice so far with probability w_j/(w_1 + ... + w_j). Computed in logarithms, because w_j underflows far from the
    threshold.
    """
    chosen, below, weights = -1, 0.0, -math.inf
    for i in range(len(arms)):
        if is_open(arms, i):
            arm = read_arm(arms, i)
            weight = below + log_above(arm, bar)
            high, low = max(weight, weights), min(weight, weights)
            weights = high + math.log1p(math.exp(low - high)) if chosen >= 0 else weight
            if chosen < 0 or math.log(1.0 - generator.random()) <= weight - weights:
                chosen = i
            below += log_below(arm, bar)
    return chosen


def choose(arms: Table, pool: Pool, bar: Bar, generator: Generator) -> int:
    """Murphy sampling: draw the means from the posterior given that some mean exceeds xi, and pull the largest.

    It first tries a few plain joint draws: one that exceeds xi has exactly the conditional law. If none does, it draws
        from the conditional law directly: first the first arm above xi, then this arm's value by inversion, then the
        arms after it freely. The arms before it lie below xi and can't lead. Both ways give the same law, so their
        mixture does too, without unbounded rejection.
    """
    for _ in range(TRIES):
        leader = leader_above(arms, bar, generator)
        if leader >= 0:
            return leader
    leader = first_above(arms, bar, generator)
    best = draw_above(read_arm(arms, leader), bar, generator)
    for i in range(leader + 1, len(arms)):
        if is_open(arms, i):
            value = draw(read_arm(arms, i), bar, generator)
            if value > best:
                best, leader = value, i
    return leader


murphy = ChoiceRule(
    name="murphy",
    reference="Kaufmann, Koolen & Garivier 2018, NeurIPS",
    choose=choose,
)
