"""What `dgai-reward` learns from all arms: the spread of the means, the level to beat, and how many arms may beat it.

The printed objective learns alpha and beta by gradient ascent on sum p_i m_i, with estimates in place of the means. On
the arms that lead, m_i + beta U_i is nearly equal, so wide arms have low estimates: the covariance of width and mean
is negative, beta falls to its floor and the rule turns greedy. Here the two numbers are learned from the same rewards
in another way, and the threshold keeps its part:

alpha : the level to beat, min(xi, largest posterior mean): the paper's "dynamic and adaptive threshold". It never
        exceeds the best mean, so a threshold that is set too high removes nothing.
beta  : pulls that a contender can have, T / sum_i I_i, where I_i = sigmoid(2 (z_i + bound)) counts arm i as far as its
        upper bound reaches the level. Arms below the threshold leave their share of the pulls to the others.
"""

from __future__ import annotations

import math

from goodarm.numerics import sigmoid
from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool, Table, read_arm
from goodarm.rules.learners.prior import TIMES, next_round, posterior_mean, posterior_scale
from goodarm.rules.learners.prior import fit as fit_prior
from goodarm.rules.parameters import Learner

SHARPNESS = 2.0
LOOK_AHEAD = 10.0
"""Without a horizon the campaign is taken to last ten times as long as it has so far."""


def start(bar: Bar) -> tuple[float, float, float, float, float]:
    """Before the first fit: prior mean at the threshold, worth one pull; the level is the threshold, beta not known."""
    return bar.threshold, 1.0, 0.0, bar.threshold, 0.0


def rounds_ahead(pool: Pool) -> float:
    """T, or without a horizon ten times the rounds so far."""
    return pool.horizon if pool.horizon < math.inf else LOOK_AHEAD * pool.round


def bound(arm: Arm, pool: Pool, bar: Bar) -> float:
    """sqrt( 2 log(1 + beta / (N + k)) ): standard errors that an arm is given, fewer the more of its share it has had.

    >>> from goodarm.problem import Problem
    >>> from goodarm.testing import arm_after
    >>> pool = Pool(2000.0, 1e6, 0.5, 10.0, 0.001, 0.5, 1000.0, 0.0, 0.0)
    >>> round(bound(arm_after(pulls=90, total=45.0), pool, Problem(threshold=0.5, arms=10).bar), 4)
    2.1899
    """
    share = pool.beta if pool.beta > 0.0 else min(pool.horizon / bar.arms, LOOK_AHEAD)
    return math.sqrt(2.0 * math.log(1.0 + share / (arm.pulls + pool.prior_strength)))


def kept(arm: Arm, pool: Pool, bar: Bar) -> float:
    """I_i = sigmoid(2 ((m_i - level)/s_i + bound)): near 1 while the upper bound reaches the level, near 0 below it."""
    z = (posterior_mean(arm, pool, bar) - pool.alpha) / posterior_scale(arm, pool, bar)
    return sigmoid(SHARPNESS * (z + bound(arm, pool, bar)))


def fit(arms: Table, pool: Pool, bar: Bar) -> Pool:
    """The prior, then the level to beat, then the pulls a contender can have."""
    prior = fit_prior(arms, pool, bar)
    ahead = rounds_ahead(pool)
    best = -math.inf
    for i in range(len(arms)):
        best = max(best, posterior_mean(read_arm(arms, i), prior, bar))
    counting = with_bounds(prior, min(bar.threshold, best), ahead / bar.arms)
    contenders = 0.0
    for i in range(len(arms)):
        contenders += kept(read_arm(arms, i), counting, bar)
    return with_bounds(prior, counting.alpha, ahead / max(contenders, 1.0))


def with_bounds(pool: Pool, alpha: float, beta: float) -> Pool:
    """The same pool with other learned bounds."""
    return Pool(
        pool.round, pool.horizon, pool.prior_mean, pool.prior_strength, pool.prior_variance, alpha, beta,
        pool.past_alpha, pool.past_beta,
    )  # fmt: skip


contenders_learner = Learner(name="contenders", start=start, fit=fit, next_round=next_round, limits=TIMES)
