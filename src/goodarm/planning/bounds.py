"""Lower bounds for every policy: pulls for a verdict on an arm, and rounds for verdicts on all arms."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from goodarm.numerics import bernoulli_kl
from goodarm.problem import Problem

Floats = NDArray[np.float64]


def pulls_lower_bound(mean: float, problem: Problem) -> float:
    """Pulls of an arm that every policy needs on average if its verdict on the arm is wrong with probability <= delta.

    E[N_i] >= kl(delta, 1 - delta)/d(mu_i, xi): the rewards must distinguish the arm from one on the other side of xi.
    0 for delta >= 1/2, where a coin toss decides equally well; inf for an arm on the threshold.

    >>> round(pulls_lower_bound(0.6, Problem(threshold=0.5, arms=1, delta=0.05)))
    132
    >>> pulls_lower_bound(0.5, Problem(threshold=0.5, arms=1))
    inf

    Reference: E. Kaufmann, O. Cappe and A. Garivier, "On the complexity of best-arm identification in multi-armed
    bandit models", JMLR 17, 2016, Lemma 1.
    """
    if problem.delta >= 0.5:
        return 0.0
    information = problem.rewards.divergence(mean, problem.threshold)
    return bernoulli_kl(problem.delta, 1.0 - problem.delta) / information if information > 0.0 else math.inf


def pulls_lower_bounds(means: Floats, problem: Problem) -> Floats:
    """`pulls_lower_bound` of every arm; equal means are computed once."""
    values, where = np.unique(means, return_inverse=True)
    return np.array([pulls_lower_bound(float(mean), problem) for mean in values])[where]


def campaign_lower_bound(means: Floats, problem: Problem) -> float:
    """Rounds that every policy needs on average until each arm has its verdict: the sum over the arms, at least K.

    >>> round(campaign_lower_bound(np.array([0.6, 0.4]), Problem(threshold=0.5, arms=2, delta=0.05)))
    263
    """
    return max(float(len(means)), float(pulls_lower_bounds(means, problem).sum()))


def decidable(means: Floats, problem: Problem, budget: float) -> int:
    """Maximum number of arms that the budget covers: the cheapest ones, each at its lower bound.

    >>> decidable(np.array([0.9, 0.6, 0.4]), Problem(threshold=0.5, arms=3), budget=150)
    2
    """
    return payable(pulls_lower_bounds(means, problem), budget)


def payable(bounds: Floats, budget: float) -> int:
    """Maximum number of arms that the budget covers if each needs its bound, in samples or in money."""
    return int(np.searchsorted(np.cumsum(np.sort(bounds)), budget, side="right"))
