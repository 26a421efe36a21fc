"""What `dgai` learns from all arms: beta, by the gradient of the expected rate of exploit score, and the bets' ladder.

The paper's policy draws arm i with probability p_i = softmax(gamma S_i), S_i = m_i + beta sd0 U_i. For any critic w that
does not depend on beta, and at a fixed coldness gamma,

    d/d(log beta) sum_i p_i w_i = gamma Cov_p(beta sd0 U, w).

With the means as critic, as the paper prints it, this never vanishes above the floor: wide arms have low means, so that
beta falls until nothing is explored. Here w_i is the rate at which pulling arm i is expected to earn exploit score: its
surplus over the threshold, times the evidence that a pull brings, over the evidence that is still missing. A wide arm
may have a large surplus, a narrow one is nearer to its verdict, and the gradient has a zero in between.

Wrong values of beta cost samples, never validity: verdicts rest on bets that are fixed before their rewards are seen.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from goodarm.problem import Bar
from goodarm.rules.beliefs import PULLS, VERDICT, Arm, Pool, Table, having_learned, read_arm
from goodarm.rules.learners import ladder as spread
from goodarm.rules.learners.ladder import COST, WEIGHTS, WORTH, Ladder, likelihoods
from goodarm.rules.learners.prior import boldness_for, worth_per_pull
from goodarm.rules.parameters import Learner

LOWEST, HIGHEST = 0.1, 10.0
"""Limits of the learned beta."""
NEGLIGIBLE = -30.0
"""Logarithm of the relative probability below which an arm is left out of the gradient's sums."""


class Bounds(NamedTuple):
    """The fields of `Ladder`, and the bound for sampling.

    beta     : the bound for sampling, S_i = m_i + beta sd0 U_i
    gradient : the last gradient of log E_p[w] with respect to log beta
    due      : the round from which on the ladder's weights are to be learned anew
    """

    table: Table
    left: float
    cut: float
    scale: float
    beta: float
    gradient: float
    due: float


def start(bar: Bar, beta: float = 0.0) -> Bounds:
    """The ladder before its first fit, and beta: 2 for independent arms and 1 with a model, unless it is given."""
    first = spread.start(bar)
    chosen = beta if beta > 0.0 else 1.0 if bar.modelled > 0.0 else 2.0
    return Bounds(first.table, first.left, first.cut, first.scale, chosen, 0.0, 0.0)


def rate_of_score(arm: Arm, pool: Pool, bar: Bar) -> float:
    """w_i, the exploit score per round that a pull of the arm brings nearer, in expectation.

    w = E[(mu - xi)+ d(mu, xi)] / (log(K/delta) - log E+ + 1/2), where d(mu, xi) is the evidence that one pull is
    expected to bring. The expectation is over the posterior of the learned ladder. With a model it is over the model's
    normal belief, E[(mu - xi)+^3] up to a constant factor, its width multiplied by 0.8 + 0.6/(1 + 20 K/T).
    """
    if bar.modelled > 0.0:
        return worth_per_pull(arm.mean, boldness_for(pool.horizon, bar.arms) * arm.width, arm, bar)
    steps = pool.learned.table
    chances = likelihoods(arm.pulls, arm.total, Ladder(steps, pool.learned.left, pool.learned.cut, pool.learned.scale))
    size = chances.size
    mass, surplus = 0.0, 0.0
    for g in range(size):
        mass += steps[WEIGHTS, g] * chances[g]
    for g in range(size // 2, size):
        surplus += steps[WEIGHTS, g] * chances[g] * steps[WORTH, g] / steps[COST, g]
    return surplus / (mass * (bar.budget - arm.for_good + 0.5))


def is_sampled(arms: Table, i: int, bar: Bar) -> bool:
    """Does arm i take part in the softmax: is it undecided, and is anything believed of it?"""
    return bool(arms[i, VERDICT] == 0.0 and (bar.modelled > 0.0 or arms[i, PULLS] > 0.0))


def coldness_of(arms: Table, bar: Bar, beta: float, level: float) -> tuple[float, float]:
    """(gamma, max_i m_i + beta sd0 U_i): the paper's coldness, at which the softmax puts `level` on plausible arms.

    gamma = log(c |L| / (1 - c)) / max_i S_i, where S_i is the upper bound of arm i minus the best lower bound and L are
    the arms with S_i < 0; an empty L counts as one arm. gamma = 0 where nothing is left to choose.
    """
    lower, upper, found = -math.inf, -math.inf, 0
    for i in range(len(arms)):
        if is_sampled(arms, i, bar):
            arm = read_arm(arms, i)
            bonus = beta * bar.spread * arm.width
            lower, upper = max(lower, arm.mean - bonus), max(upper, arm.mean + bonus)
            found += 1
    if found < 2 or not upper > lower:
        return 0.0, upper
    outside = 0
    for i in range(len(arms)):
        if is_sampled(arms, i, bar):
            arm = read_arm(arms, i)
            if arm.mean + beta * bar.spread * arm.width < lower:
                outside += 1
    return max(math.log(level * max(outside, 1) / (1.0 - level)) / (upper - lower), 0.0), upper


def gradient_of(arms: Table, pool: Pool, bar: Bar, beta: float, level: float) -> float:
    """gamma Cov_p(beta sd0 U, w) / E_p[w], the gradient of log E_p[w] with respect to log beta at a fixed coldness."""
    gamma, upper = coldness_of(arms, bar, beta, level)
    if gamma <= 0.0:
        return 0.0
    mass, bonuses, rates, products = 0.0, 0.0, 0.0, 0.0
    for i in range(len(arms)):
        if is_sampled(arms, i, bar):
            arm = read_arm(arms, i)
            bonus = beta * bar.spread * arm.width
            exponent = gamma * (arm.mean + bonus - upper)
            if exponent > NEGLIGIBLE:
                p = math.exp(exponent)
                w = rate_of_score(arm, pool, bar)
                mass += p
                bonuses += p * bonus
                rates += p * w
                products += p * bonus * w
    if not rates > 0.0:
        return 0.0
    return gamma * (products / rates - bonuses / mass)


def fit(
    arms: Table,
    pool: Pool,
    bar: Bar,
    rate: float = 0.05,
    coldness: float = 0.99,
    firmness: float = 3.0,
    growth: float = 1.5,
) -> Pool:
    """One step: the ladder where it is due, then log beta += rate * clip(gradient, -1, 1), beta within [0.1, 10].

    The ladder's weights follow the natural gradient of the arms' likelihood: a step of expectation and maximisation is
    one (Sato 2001). They are learned anew each time the rounds have grown by the factor `growth`. `rate=0` keeps beta.
    """
    old = pool.learned
    table, left, cut, scale, due = old.table, old.left, old.cut, old.scale, old.due
    if pool.round >= due:
        learned = spread.fit(arms, having_learned(pool, Ladder(table, left, cut, scale)), bar, firmness).learned
        table, left, cut, scale = learned.table, learned.left, learned.cut, learned.scale
        due = growth * pool.round
    beta, slope = old.beta, 0.0
    now = having_learned(pool, Bounds(table, left, cut, scale, beta, slope, due))
    if rate > 0.0:
        slope = gradient_of(arms, now, bar, beta, coldness)
        beta = min(max(beta * math.exp(rate * min(max(slope, -1.0), 1.0)), LOWEST), HIGHEST)
    return having_learned(now, Bounds(table, left, cut, scale, beta, slope, due))


def next_round(now: float, bar: Bar, first: float = 1.5, pace: float = 0.03, every: float = 0.0) -> float:
    """First after `first` * K pulls, then each time the rounds have grown by the share `pace`."""
    if every > 0.0:
        return math.ceil(max(first * bar.arms, now + every))
    return math.ceil(max(first * bar.arms, (1.0 + pace) * now))


gradient_learner = Learner(
    name="gradient",
    start=start,
    fit=fit,
    next_round=next_round,
    limits=(
        ("beta", 0.0, HIGHEST),
        ("rate", 0.0, 1.0),
        ("coldness", 0.5, 0.999999),
        ("firmness", 0.0, 1e6),
        ("first", 1.0, math.inf),
        ("growth", 1.01, math.inf),
        ("pace", 0.001, 1.0),
        ("every", 0.0, math.inf),
    ),
    native=True,
    extends=spread.ladder_learner,
)
