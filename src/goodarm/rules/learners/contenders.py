"""The learner of `dgai-reward`: the spread of the means, the level to beat, and the number of arms that may beat it.

The printed objective learns alpha and beta by gradient ascent on sum p_i m_i, with estimates in place of the means. On
the arms that lead, m_i + beta U_i is nearly equal, so wide arms have low estimates: the covariance of width and mean
is negative, beta falls to its floor and the rule turns greedy. Here the two numbers are learned from the same rewards
in another way, and the threshold keeps its role:

level : the level to beat, min(xi, largest posterior mean): the paper's "dynamic and adaptive threshold". It never
        exceeds the best mean, so a threshold that is too high removes no arm.
share : pulls available to each contender, T / sum_i I_i, where I_i = sigmoid(2 (z_i + bound)) counts arm i to the
        extent that its upper bound reaches the level. Arms below the threshold leave their share of the pulls to the
        others.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from goodarm.numerics import sigmoid
from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool, Table, having_learned, read_arm
from goodarm.rules.learners.prior import TIMES, next_round, posterior_mean, posterior_scale, spread_of_means
from goodarm.rules.parameters import Learner

SHARPNESS = 2.0
LOOK_AHEAD = 10.0
"""Without a horizon, the expected length of a campaign as a multiple of the rounds so far."""


class Contenders(NamedTuple):
    """The spread of the means as in `prior.Prior`, the level to beat, and the pulls available to each contender."""

    prior_mean: float
    prior_strength: float
    prior_variance: float
    level: float
    share: float


def start(bar: Bar) -> Contenders:
    """Before the first fit: prior mean at the threshold with the weight of one pull; the level is the threshold."""
    return Contenders(bar.threshold, 1.0, 0.0, bar.threshold, 0.0)


def rounds_ahead(pool: Pool) -> float:
    """The horizon T, or ten times the rounds so far without a horizon."""
    return pool.horizon if pool.horizon < math.inf else LOOK_AHEAD * pool.round


def bound(arm: Arm, pool: Pool, bar: Bar) -> float:
    """sqrt( 2 log(1 + share / (N + k)) ): standard errors added to an arm's mean; fewer as it uses up its share.

    >>> from goodarm.problem import Problem
    >>> from goodarm.testing import arm_after
    >>> pool = Pool(2000.0, 1e6, Contenders(0.5, 10.0, 0.001, level=0.5, share=1000.0))
    >>> round(bound(arm_after(pulls=90, total=45.0), pool, Problem(threshold=0.5, arms=10).bar), 4)
    2.1899
    """
    share = pool.learned.share if pool.learned.share > 0.0 else min(pool.horizon / bar.arms, LOOK_AHEAD)
    return math.sqrt(2.0 * math.log(1.0 + share / (arm.pulls + pool.learned.prior_strength)))


def kept(arm: Arm, pool: Pool, bar: Bar) -> float:
    """I_i = sigmoid(2 ((m_i - level)/s_i + bound)): near 1 while the upper bound reaches the level, near 0 below it."""
    z = (posterior_mean(arm, pool, bar) - pool.learned.level) / posterior_scale(arm, pool, bar)
    return sigmoid(SHARPNESS * (z + bound(arm, pool, bar)))


def fit(arms: Table, pool: Pool, bar: Bar) -> Pool:
    """Fit the prior, then the level to beat, then the pulls available to each contender."""
    mean, strength, variance = spread_of_means(arms, bar, 1.0)
    if variance <= 0.0:
        old = pool.learned
        mean, strength, variance = old.prior_mean, old.prior_strength, old.prior_variance
    ahead = rounds_ahead(pool)
    prior = having_learned(pool, Contenders(mean, strength, variance, bar.threshold, ahead / bar.arms))
    best = -math.inf
    for i in range(len(arms)):
        best = max(best, posterior_mean(read_arm(arms, i), prior, bar))
    level = min(bar.threshold, best)
    counting = having_learned(pool, Contenders(mean, strength, variance, level, ahead / bar.arms))
    contenders = 0.0
    for i in range(len(arms)):
        contenders += kept(read_arm(arms, i), counting, bar)
    return having_learned(pool, Contenders(mean, strength, variance, level, ahead / max(contenders, 1.0)))


contenders_learner = Learner(name="contenders", start=start, fit=fit, next_round=next_round, limits=TIMES)
