"""alpha and beta learned online, as printed: gradient ascent on ( past + (T - t) current ) / T, one trajectory.

The current term is the objective of `goodarm.paper.objectives` at the present beliefs, with the estimates in
place of the means. The past term is the sum of the gradients of the rounds so far, each taken at the parameters of its
own round: taking them anew at the present parameters would cost O(t) a step. A step is made every `batch` rounds; its
gradient then stands for all rounds of the batch. Without a horizon the past weighs nothing and a step is current only.
"""

from __future__ import annotations

import math

from goodarm.paper.objectives import identification_objective, reward_objective, sampling_objective
from goodarm.paper.soft_index import COLDNESS, FLOOR, RIDGE, gather
from goodarm.problem import Bar
from goodarm.rules.beliefs import Pool, Table
from goodarm.rules.parameters import Learner


def start(bar: Bar, alpha0: float = 0.0, beta0: float = 0.0) -> tuple[float, float, float, float, float]:
    """alpha_0 = beta_0 = 0 as printed, beta raised to its floor."""
    return bar.threshold, 1.0, 0.0, alpha0, max(beta0, FLOOR)


def next_round(now: float, bar: Bar, batch: float = 1.0) -> float:
    """A step every `batch` rounds."""
    return now + max(batch, 1.0)


def ascended(pool: Pool, gradient_alpha: float, gradient_beta: float, rate: float, batch: float) -> Pool:
    """One step: theta += rate ( past + (T - t) gradient ) / T, past the sum of all gradients so far, this one included.

    >>> pool = Pool(10.0, 100.0, 0.5, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0)
    >>> round(ascended(pool, 2.0, 0.0, rate=0.1, batch=1.0).alpha, 6)
    1.182
    """
    past_alpha = pool.past_alpha + batch * gradient_alpha
    past_beta = pool.past_beta + batch * gradient_beta
    share = 1.0 / pool.horizon
    ahead = 1.0 - pool.round * share
    return Pool(
        pool.round, pool.horizon, pool.prior_mean, pool.prior_strength, pool.prior_variance,
        pool.alpha + rate * (past_alpha * share + ahead * gradient_alpha),
        max(pool.beta + rate * (past_beta * share + ahead * gradient_beta), FLOOR),
        past_alpha, past_beta,
    )  # fmt: skip


def fit_beta(
    arms: Table, pool: Pool, bar: Bar, rate: float = 0.1, eta1: float = 1e-3, eta2: float = 1e-3,
    coldness: float = 0.99, batch: float = 1.0, ridge: float = 1.0, through_gamma: float = 0.0,
) -> Pool:  # fmt: skip
    """Move beta: the sampling objective over the open arms."""
    _, means, widths = gather(arms, bar, ridge, False)
    if len(means) == 0:
        return pool
    _, slope = sampling_objective(means, widths, means, pool.beta, coldness, eta1, eta2, through_gamma)
    return ascended(pool, 0.0, slope, rate, batch)


def fit_both(
    arms: Table, pool: Pool, bar: Bar, rate: float = 0.1, eta1: float = 1e-3, eta2: float = 1e-3,
    sharpness: float = 10.0, coldness: float = 0.99, batch: float = 1.0, ridge: float = 1.0, by_gap: float = 0.0,
    through_gamma: float = 0.0,
) -> Pool:  # fmt: skip
    """Move beta by the sampling objective over the open arms, alpha by the identification objective over all arms.

    The identification objective is the exploit score: an arm that has been called good keeps counting.
    """
    _, means, widths = gather(arms, bar, ridge, True)
    _, slope_alpha = identification_objective(
        means, widths, means, pool.alpha, bar.threshold, sharpness, eta1, eta2, by_gap
    )
    _, means, widths = gather(arms, bar, ridge, False)
    slope_beta = 0.0
    if len(means) > 0:
        _, slope_beta = sampling_objective(means, widths, means, pool.beta, coldness, eta1, eta2, through_gamma)
    return ascended(pool, slope_alpha, slope_beta, rate, batch)


def fit_reward(
    arms: Table, pool: Pool, bar: Bar, rate: float = 0.1, sharpness: float = 10.0, batch: float = 1.0,
    ridge: float = 1.0,
) -> Pool:  # fmt: skip
    """Move alpha and beta by the cumulative reward, p = softmax(S_i I_i)."""
    _, means, widths = gather(arms, bar, ridge, False)
    if len(means) == 0:
        return pool
    _, slope_alpha, slope_beta = reward_objective(means, widths, means, pool.alpha, pool.beta, bar.threshold, sharpness)
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
both_bounds = Learner(
    name="paper's alpha and beta",
    start=start,
    fit=fit_both,
    next_round=next_round,
    limits=(*STEPS, RIDGE, COLDNESS),
    shared=("ridge", "coldness"),
)
reward_bounds = Learner(
    name="paper's alpha and beta for reward",
    start=start,
    fit=fit_reward,
    next_round=next_round,
    limits=(*STEPS, RIDGE),
    shared=("ridge", "sharpness"),
)
