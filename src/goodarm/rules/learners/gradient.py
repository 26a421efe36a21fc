"""The learner of `dgai`: beta, by the gradient of the expected rate of exploit score, and the bets' ladder.

The paper draws arm i with probability p_i = softmax(gamma S_i), S_i = m_i + beta sd0 U_i. For any critic w that does
not depend on beta, and at a fixed coldness gamma,

    d/d(log beta) sum_i p_i w_i = gamma Cov_p(beta sd0 U, w).

With the means as critic, as printed, the covariance stays negative: wide arms have low means, and beta falls
until nothing is explored. Here w_i is the rate at which pulling arm i is expected to earn exploit score, the index of
`value`. A wide arm may have a large surplus and a narrow one is nearer to its verdict, so the gradient has a zero in
between. An actor that may choose p freely puts all probability on the largest w_i; this is `value`.

Wrong values of beta cost samples, never validity: verdicts depend only on bets that are fixed before their rewards are
    seen.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from goodarm.problem import Bar
from goodarm.rules.beliefs import PULLS, VERDICT, Arm, Pool, Table, having_learned, read_arm
from goodarm.rules.learners import ladder as spread
from goodarm.rules.learners.ladder import Ladder
from goodarm.rules.parameters import Learner
from goodarm.rules.sampling.value import index as promised

LOWEST, HIGHEST = 0.1, 10.0
"""Limits of the learned beta."""
NEGLIGIBLE = -15.0
"""Logarithm of the relative probability below which an arm is left out of the gradient's sums."""
COUNTED = 0.5
"""Share of an arm's rewards that the critic counts."""
PATIENCE = 2.0
"""Nats of evidence against a hope after which the critic expects an arm to be given up, as in `value`."""
STEPS = 200.0
"""Number of steps of size `rate` in a whole run."""
LOOK_AHEAD = 10.0
"""Without a horizon, the expected length of a run as a multiple of the rounds so far."""


class Bounds(NamedTuple):
    """The fields of `Ladder`, and the bound for sampling.

    beta     : the bound for sampling, S_i = m_i + beta sd0 U_i
    gradient : the last gradient of log E_p[w] with respect to log beta
    refit    : the round after which the ladder's weights are learned again
    stepped  : the round of the last step of beta
    average  : mean of the clipped gradients over the rounds so far, which an epoch of offline learning follows
    """

    table: Table
    left: float
    cut: float
    scale: float
    beta: float
    gradient: float
    refit: float
    stepped: float
    average: float


def start(bar: Bar, beta: float = 0.0) -> Bounds:
    """The ladder before its first fit, and beta: 2 for independent arms and 1 with a model, unless it is given."""
    first = spread.start(bar)
    chosen = beta if beta > 0.0 else 1.0 if bar.modelled > 0.0 else 2.0
    return Bounds(first.table, first.left, first.cut, first.scale, chosen, 0.0, 0.0, 0.0, 0.0)


def critic(arm: Arm, pool: Pool, bar: Bar) -> float:
    """w_i, the arm's expected exploit score per pull: the index of `value` under a wider belief.

    Pulls and total count half, which widens the posterior over the learned ladder by sqrt(2): a critic that considers
    one arm and one verdict undervalues the information from a pull of a wide arm. With a model the expectation is over
    the model's normal belief, E[(mu - xi)+^3] / (missing evidence + 1/2), with the width multiplied by 0.8 + 0.6/(1 +
    20 K/T).
    """
    if bar.modelled > 0.0:
        return promised(arm, pool, bar, PATIENCE)
    n, s = COUNTED * arm.pulls, COUNTED * arm.total
    wider = Arm(n, s, arm.mean, arm.width, arm.for_good, arm.for_bad, arm.memory, arm.verdict)
    return promised(wider, pool, bar, PATIENCE)


def is_sampled(arms: Table, i: int, bar: Bar) -> bool:
    """Whether arm i takes part in the softmax: it is undecided, and its mean has an estimate."""
    return bool(arms[i, VERDICT] == 0.0 and (bar.modelled > 0.0 or arms[i, PULLS] > 0.0))


def coldness_of(arms: Table, bar: Bar, beta: float, level: float) -> tuple[float, float]:
    """(gamma, max_i m_i + beta sd0 U_i): the paper's coldness, at which the softmax puts `level` on plausible arms.

    gamma = log(c |L| / (1 - c)) / max_i S_i, where S_i is the upper bound of arm i minus the best lower bound and L are
    the arms with S_i < 0; an empty L counts as one arm. gamma = 0 if nothing is left to choose.
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
                w = critic(arm, pool, bar)
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
    """Fit the ladder if it is due, then set log beta += step * clip(gradient, -1, 1), with beta in [0.1, 10].

    step = rate * 200 * (rounds since the last step)/T: a whole run can move log beta by at most 200 `rate`. `rate=0`
    keeps beta. The ladder's weights follow the natural gradient of the arms' likelihood: a step of expectation and
    maximisation is such a step. They are learned again whenever the rounds have grown by the factor `growth`.
    """
    old = pool.learned
    table, left, cut, scale, refit = old.table, old.left, old.cut, old.scale, old.refit
    if pool.round >= refit:
        learned = spread.fit(arms, having_learned(pool, Ladder(table, left, cut, scale)), bar, firmness).learned
        table, left, cut, scale = learned.table, learned.left, learned.cut, learned.scale
        refit = growth * pool.round
    now = having_learned(pool, Bounds(table, left, cut, scale, old.beta, old.gradient, refit, old.stepped, old.average))
    slope = gradient_of(arms, now, bar, old.beta, coldness)
    clipped = min(max(slope, -1.0), 1.0)
    elapsed = pool.round - old.stepped
    ahead = pool.horizon if pool.horizon < math.inf else LOOK_AHEAD * pool.round
    beta = min(max(old.beta * math.exp(rate * STEPS * elapsed / ahead * clipped), LOWEST), HIGHEST)
    average = (old.average * old.stepped + clipped * elapsed) / pool.round
    return having_learned(pool, Bounds(table, left, cut, scale, beta, slope, refit, pool.round, average))


def next_round(now: float, bar: Bar, first: float = 1.5, pace: float = 0.03) -> float:
    """First after `first` * K pulls, then after K/4 more or when the rounds have grown by the share `pace`.

    A run of 2000 pulls per arm makes 216 steps, and one of ten pulls per arm makes 39. Each step scans the arms once.
    """
    return math.ceil(max(first * bar.arms, (1.0 + pace) * now, now + 0.25 * bar.arms))


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
    ),
    native=True,
    extends=spread.ladder_learner,
)
