"""alpha and beta learned online, as printed: gradient ascent on ( past + (T - t) current ) / T, one trajectory.

The current term is the objective of `goodarm.paper.objectives` at the present beliefs, with the estimates in
place of the means. The past term is the sum of the gradients of the rounds so far, each taken at the parameters of its
own round: recomputing them at the present parameters would cost O(t) per step. A step is made every `batch` rounds, and
           its gradient counts for all rounds of the batch. Without a horizon the past has no weight, and a step uses
           only the current term.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from goodarm.paper.objectives import identification_objective, reward_objective, sampling_objective
from goodarm.paper.soft_index import COLDNESS, FLOOR, RIDGE, gather
from goodarm.problem import Bar
from goodarm.rules.beliefs import Pool, Table, having_learned
from goodarm.rules.parameters import Learner


class Bounds(NamedTuple):
    """The paper's two learned bounds, and the sums of their gradients so far.

    alpha, beta           : the bound for deciding, the bound for sampling
    past_alpha, past_beta : sums of the gradients of all rounds so far
    """

    alpha: float
    beta: float
    past_alpha: float = 0.0
    past_beta: float = 0.0


def start(bar: Bar, alpha0: float = 0.0, beta0: float = 0.0) -> Bounds:
    """alpha_0 = beta_0 = 0 as printed, beta raised to its floor."""
    return Bounds(alpha0, max(beta0, FLOOR), 0.0, 0.0)


def next_round(now: float, bar: Bar, batch: float = 1.0) -> float:
    """A step every `batch` rounds."""
    return now + max(batch, 1.0)


def ascended(pool: Pool, gradient_alpha: float, gradient_beta: float, rate: float, batch: float) -> Pool:
    """One step: theta += rate ( past + (T - t) gradient ) / T, past the sum of all gradients so far, this one included.

    >>> pool = Pool(10.0, 100.0, Bounds(alpha=1.0, beta=1.0))
    >>> round(ascended(pool, 2.0, 0.0, rate=0.1, batch=1.0).learned.alpha, 6)
    1.182
    """
    now = pool.learned
    past_alpha = now.past_alpha + batch * gradient_alpha
    past_beta = now.past_beta + batch * gradient_beta
    share = 1.0 / pool.horizon
    ahead = 1.0 - pool.round * share
    alpha = now.alpha + rate * (past_alpha * share + ahead * gradient_alpha)
    beta = max(now.beta + rate * (past_beta * share + ahead * gradient_beta), FLOOR)
    return having_learned(pool, Bounds(alpha, beta, past_alpha, past_beta))


def fit_beta(
    arms: Table,
    pool: Pool,
    bar: Bar,
    rate: float = 0.1,
    eta1: float = 1e-3,
    eta2: float = 1e-3,
    coldness: float = 0.99,
    batch: float = 1.0,
    ridge: float = 1.0,
    through_gamma: float = 0.0,
) -> Pool:
    """Move beta: the sampling objective over the open arms."""
    _, means, widths = gather(arms, bar, ridge, False)
    if len(means) == 0:
        return pool
    _, slope = sampling_objective(means, widths, means, pool.learned.beta, coldness, eta1, eta2, through_gamma)
    return ascended(pool, 0.0, slope, rate, batch)


def fit_both(
    arms: Table,
    pool: Pool,
    bar: Bar,
    rate: float = 0.1,
    eta1: float = 1e-3,
    eta2: float = 1e-3,
    sharpness: float = 10.0,
    coldness: float = 0.99,
    batch: float = 1.0,
    ridge: float = 1.0,
    by_gap: float = 0.0,
    covering: float = 0.0,
    through_gamma: float = 0.0,
) -> Pool:
    """Move beta by the sampling objective over the open arms, alpha by the identification objective over all arms.

    The identification objective is the exploit score: arms that have been called good continue to count.
    """
    _, means, widths = gather(arms, bar, ridge, True)
    _, slope_alpha = identification_objective(
        means, widths, means, pool.learned.alpha, bar.threshold, sharpness, eta1, eta2, by_gap, covering
    )
    _, means, widths = gather(arms, bar, ridge, False)
    slope_beta = 0.0
    if len(means) > 0:
        _, slope_beta = sampling_objective(means, widths, means, pool.learned.beta, coldness, eta1, eta2, through_gamma)
    return ascended(pool, slope_alpha, slope_beta, rate, batch)


def fit_reward(
    arms: Table,
    pool: Pool,
    bar: Bar,
    rate: float = 0.1,
    sharpness: float = 10.0,
    batch: float = 1.0,
    ridge: float = 1.0,
) -> Pool:
    """Move alpha and beta by the cumulative reward, p = softmax(S_i I_i)."""
    _, means, widths = gather(arms, bar, ridge, False)
    if len(means) == 0:
        return pool
    _, slope_alpha, slope_beta = reward_objective(
        means, widths, means, pool.learned.alpha, pool.learned.beta, bar.threshold, sharpness
    )
    return ascended(pool, slope_alpha, slope_beta, rate, batch)


STEPS = (("batch", 1.0, math.inf), ("rate", 0.0, math.inf))
sampling_bound = Learner(
    name="paper's beta",
    start=start,
    fit=fit_beta,
    next_round=next_round,
    limits=(*STEPS, RIDGE, COLDNESS),
    shared=("ridge", "coldness"),
)
both_bounds = replace(sampling_bound, name="paper's alpha and beta", fit=fit_both)
reward_bounds = replace(
    sampling_bound,
    name="paper's alpha and beta for reward",
    fit=fit_reward,
    limits=(*STEPS, RIDGE),
    shared=("ridge", "sharpness"),
)
