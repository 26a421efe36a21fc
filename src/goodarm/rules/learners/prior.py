"""The spread of the arms' means, learned online from all arms: a normal prior N(m0, tau2) on a mean.

It guides sampling (`value`) and sizes bets (`learned-bets`). A wrong prior costs pulls, never validity.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from goodarm.numerics import cubed_surplus
from goodarm.problem import Bar
from goodarm.rules.beliefs import PULLS, TOTAL, Arm, Pool, Table, having_learned
from goodarm.rules.parameters import Learner

SWEEPS = 20


class Prior(NamedTuple):
    """Belief about the spread of the means.

    prior_mean     : m0, mean of the arms' means
    prior_strength : k, the number of pulls that the prior counts as
    prior_variance : tau2, variance of the arms' means; 0 before the first fit
    boldness       : factor by which the posterior is widened for sampling
    """

    prior_mean: float
    prior_strength: float
    prior_variance: float
    boldness: float


def posterior(arm: Arm, pool: Pool, bar: Bar) -> tuple[float, float]:
    """Mean (S + k m0)/(N + k) and width 1/sqrt(N + k) of an arm under the prior; the model's if there is a model.

    >>> from goodarm.problem import Problem
    >>> from goodarm.testing import arm_after
    >>> pool = Pool(0.0, math.inf, Prior(0.5, 25.0, 0.01, 0.9))
    >>> posterior(arm_after(pulls=75, total=50.0), pool, Problem(threshold=0.5, arms=10).bar)
    (0.625, 0.1)
    """
    if bar.modelled > 0.0:
        return arm.mean, arm.width
    weight = 1.0 / (arm.pulls + pool.learned.prior_strength)
    return (arm.total + pool.learned.prior_strength * pool.learned.prior_mean) * weight, math.sqrt(weight)


def posterior_mean(arm: Arm, pool: Pool, bar: Bar) -> float:
    """p = (S + k m0)/(N + k); the model's mean if there is a model."""
    if bar.modelled > 0.0:
        return arm.mean
    prior: Prior = pool.learned
    return (arm.total + prior.prior_strength * prior.prior_mean) / (arm.pulls + prior.prior_strength)


def posterior_scale(arm: Arm, pool: Pool, bar: Bar) -> float:
    """s = sd0/sqrt(N + k), with sd0 the standard deviation of a reward at the threshold; sd0 width with a model."""
    if bar.modelled > 0.0:
        return bar.spread * arm.width
    return bar.spread / math.sqrt(arm.pulls + pool.learned.prior_strength)


def worth_per_pull(mean: float, width: float, arm: Arm, bar: Bar) -> float:
    """E[((mu - xi)+ / sd0)^3] / (missing evidence + 1/2) for a belief N(mean, (sd0 width)^2) about mu."""
    z = (mean - bar.threshold) / (width * bar.spread)
    return width * width * width / (bar.budget - arm.for_good + 0.5) * cubed_surplus(z)


def start(bar: Bar) -> Prior:
    """Before the first fit: prior mean at the threshold with the weight of one pull; sampling is slightly cautious."""
    return Prior(bar.threshold, 1.0, 0.0, 0.9)


def boldness_for(horizon: float, arms: float) -> float:
    """0.8 + 0.6/(1 + 20 K/T): the factor by which the posterior is widened for sampling, from 0.8 to 1.4.

    With ten pulls per arm there is no time to return to an arm that began badly; with a hundred, there is.

    >>> round(boldness_for(100_000.0, 10_000.0), 3), boldness_for(math.inf, 10.0)
    (1.0, 1.4)
    """
    return 0.8 + 0.6 / (1.0 + 20.0 * arms / horizon)


def reward_variance(mean: float, bar: Bar) -> float:
    """Variance of one reward: m(1-m) for rewards in [0, 1], sigma^2 otherwise."""
    return mean * (1.0 - mean) if bar.bounded > 0.0 else bar.sigma * bar.sigma


def fit(arms: Table, pool: Pool, bar: Bar, caution: float = 1.0) -> Pool:
    """The spread of the means by `spread_of_means`; if it gives no estimate, the belief is unchanged."""
    mean, strength, variance = spread_of_means(arms, bar, caution)
    if variance <= 0.0:
        return pool
    return having_learned(pool, Prior(mean, strength, variance, boldness_for(pool.horizon, bar.arms)))


def spread_of_means(arms: Table, bar: Bar, caution: float) -> tuple[float, float, float]:
    """(m0, k, tau2) by weighted moments (DerSimonian & Laird 1986), with the spread increased by one standard error.

    Iterate w_i = 1/(tau2 + v_i), v_i = m0(1-m0)/N_i; m0 = sum w m / sum w;
    tau2 = sum w^2 ((m - m0)^2 - v) / sum w^2, kept within [1e-6, 0.5] m0(1-m0).
    Then tau2 += caution * sqrt(2 sum w^4 (tau2 + v)^2) / sum w^2, because a spread that is too small would narrow the
    prior too early. The prior always counts as at least one pull.
    """
    total, pulled = 0.0, 0.0
    for i in range(len(arms)):
        total += arms[i, TOTAL]
        pulled += arms[i, PULLS]
    mean = total / pulled
    variance = reward_variance(mean, bar)
    # a pool of constant rewards (all 0 or all 1) says nothing about the spread
    if variance <= 0.0:
        return mean, 1.0, 0.0
    tau2 = 0.05 * variance
    error = 0.0
    for _ in range(SWEEPS):
        before = tau2
        weights, weighted = 0.0, 0.0
        for i in range(len(arms)):
            if arms[i, PULLS] > 0.0:
                w = 1.0 / (tau2 + variance / arms[i, PULLS])
                weights += w
                weighted += w * arms[i, TOTAL] / arms[i, PULLS]
        mean = weighted / weights
        variance = max(reward_variance(mean, bar), 1e-12)
        squares, excess = 0.0, 0.0
        for i in range(len(arms)):
            if arms[i, PULLS] > 0.0:
                v = variance / arms[i, PULLS]
                w2 = 1.0 / ((tau2 + v) * (tau2 + v))
                deviation = arms[i, TOTAL] / arms[i, PULLS] - mean
                squares += w2
                excess += w2 * (deviation * deviation - v)
        tau2 = min(max(excess / squares, 1e-6 * variance), 0.5 * variance)
        # the sum of w^4 (tau2 + v)^2 is the sum of w^2, since w = 1/(tau2 + v)
        error = math.sqrt(2.0 / squares)
        if abs(tau2 - before) <= 1e-6 * tau2:
            break
    tau2 += caution * error
    strength = variance / tau2 - 1.0 if bar.bounded > 0.0 else variance / tau2
    return mean, max(strength, 1.0), tau2


def next_round(now: float, bar: Bar, first: float = 1.5, growth: float = 1.5) -> float:
    """First after `first` * K pulls, then every factor `growth`."""
    return math.ceil(max(first * bar.arms, growth * now))


TIMES = (("first", 1.0, math.inf), ("growth", 1.01, math.inf))
prior_learner = Learner(
    name="prior", start=start, fit=fit, next_round=next_round, limits=(("caution", 0.0, math.inf), *TIMES)
)
