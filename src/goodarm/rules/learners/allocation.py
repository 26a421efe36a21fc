"""The learner of `track-and-stop`: the share of the samples that each arm should get.

If every mean were known, all arms would be decided with the fewest samples by sampling with the shares w that solve

    max_w  min_i  gap_i^2 / (x_i' A(w)^-1 x_i),      A(w) = sum_j w_j x_j x_j',      gap_i = |mean_i - xi|

(Theorem 1 of Ochoa Rivera & Tewari): no undecided arm has less evidence per sample than w allows. For independent arms
A is diagonal and w_i is proportional to 1/gap_i^2. The same holds if each arm is decided by its own rewards.
Track-and-Stop puts the estimates in place of the means, solves again at geometric times, and samples so that the
numbers of samples follow the sum of the shares so far.

Wrong shares cost samples, never validity, because the identification rule decides.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from goodarm.problem import Bar
from goodarm.rules.beliefs import PULLS, Pool, Row, Table, having_learned, is_open, may_be_sampled, read_arm
from goodarm.rules.parameters import Learner

STEPS = 60
"""Multiplicative steps towards the optimal shares; each costs K d^2 operations."""
NEGLIGIBLE = 1e-9
"""Share of the trace that keeps the design matrix invertible if the undecided arms do not span the space."""


class Allocation(NamedTuple):
    """Shares of the samples.

    weights : share of each arm from now on, 0 for arms that are not sampled; shape (K,)
    owed    : sum of the shares of each arm over the rounds until `fitted`; shape (K,)
    fitted  : the round of the last fit, 0 before the first one
    """

    weights: Row
    owed: Row
    fitted: float


def start(bar: Bar) -> Allocation:
    """No shares before the first fit."""
    count = int(bar.arms)
    return Allocation(np.zeros(count), np.zeros(count), 0.0)


def precisions(arms: Table, bar: Bar, tolerance: float) -> Row:
    """1/gap_i^2 of every undecided arm, 0 for the others.

    gap^2 = (|mean - xi| + tolerance)^2 + (sd0 width)^2: an arm whose estimate happens to lie on the threshold must not
    get every sample. The standard error vanishes as samples come in.
    """
    found = np.zeros(len(arms))
    for i in range(len(arms)):
        if is_open(arms, i):
            arm = read_arm(arms, i)
            gap, error = abs(arm.mean - bar.threshold) + tolerance, bar.spread * arm.width
            found[i] = 1.0 / max(gap * gap + error * error, 1e-300)
    return found


def tracked(weights: Row, arms: Table, pool: Pool, bar: Bar) -> Pool:
    """The pool with these shares from now on.

    A share 1/sqrt(t) of the samples is spread evenly over the arms, as Track-and-Stop requires. Before the first fit,
    every arm is owed the samples that it already has.
    """
    old, count, sampled, total = pool.learned, len(arms), 0.0, 0.0
    owed = np.zeros(count)
    for i in range(count):
        total += weights[i]
        if may_be_sampled(arms, i, bar):
            sampled += 1.0
        if old.fitted == 0.0:
            owed[i] = arms[i, PULLS]
        elif i < len(old.owed):
            owed[i] = old.owed[i] + (pool.round - old.fitted) * old.weights[i]
    forced = min(1.0, pool.round**-0.5)
    mixed = np.zeros(count)
    for i in range(count):
        if total > 0.0:
            mixed[i] = (1.0 - forced) * weights[i] / total
        if may_be_sampled(arms, i, bar):
            mixed[i] += forced / sampled
    return having_learned(pool, Allocation(mixed, owed, pool.round))


def fit(arms: Table, pool: Pool, bar: Bar, tolerance: float = 0.0) -> Pool:
    """Shares for arms that are decided by their own rewards, in proportion to 1/gap^2."""
    return tracked(precisions(arms, bar, tolerance), arms, pool, bar)


def fit_linear(belief: Any, arms: Table, pool: Pool, bar: Bar, tolerance: float = 0.0) -> Pool:
    """Shares under a linear model that decides, whose features the belief has as `columns`, shape (d, K)."""
    precision = precisions(arms, bar, tolerance)
    if bar.modelled > 1.0:
        return tracked(optimal_shares(belief.columns, precision), arms, pool, bar)
    return tracked(precision, arms, pool, bar)


def optimal_shares(columns: Table, precision: Row) -> Row:
    """The w that minimises max_i precision_i x_i' A(w)^-1 x_i; it sums to 1.

    The minimum over w and the maximum over p of sum_i p_i precision_i x_i' A(w)^-1 x_i, both by multiplicative steps:
    p_i grows with its term, w_j with the square root of its derivative sum_i p_i precision_i (x_j' A(w)^-1 x_i)^2.
    Returns the best w among all steps, which is within 2% of the optimum on random problems.

    >>> optimal_shares(np.eye(2), np.array([1.0, 3.0])).round(3)
    array([0.25, 0.75])
    """
    dimension, count = columns.shape
    w, p = np.full(count, 1.0 / count), np.zeros(count)
    kept, least = w, math.inf
    for i in range(count):
        p[i] = 1.0 if precision[i] > 0.0 else 0.0
    half = np.zeros((dimension, count))
    for _ in range(STEPS):
        inverse = inverted(information(columns, w))
        terms = np.zeros(count)
        for i in range(count):
            if precision[i] > 0.0:
                for j in range(dimension):
                    total = 0.0
                    for k in range(dimension):
                        total += inverse[j, k] * columns[k, i]
                    half[j, i] = total
                    terms[i] += total * columns[j, i] * precision[i]
        largest = terms.max()
        if not 0.0 < largest < math.inf:
            break
        if largest < least:
            kept, least = w.copy(), largest
        for i in range(count):
            p[i] *= terms[i] / largest
        p /= p.sum()
        # sum_i p_i precision_i (x_j' V^-1 x_i)^2 = x_j' G x_j, G = sum_i p_i precision_i (V^-1 x_i)(V^-1 x_i)'
        gram = information(half, p * precision)
        for i in range(count):
            slope = 0.0
            for j in range(dimension):
                for k in range(dimension):
                    slope += columns[j, i] * gram[j, k] * columns[k, i]
            w[i] *= math.sqrt(max(slope, 0.0))
        w /= w.sum()
    return kept


def information(columns: Table, w: Row) -> Table:
    """A(w) = sum_j w_j x_j x_j'."""
    dimension = len(columns)
    found = np.zeros((dimension, dimension))
    for i in range(len(w)):
        if w[i] > 0.0:
            for j in range(dimension):
                weighted = w[i] * columns[j, i]
                for k in range(j + 1):
                    found[j, k] += weighted * columns[k, i]
    for j in range(dimension):
        for k in range(j):
            found[k, j] = found[j, k]
    return found


def inverted(matrix: Table) -> Table:
    """The inverse of a symmetric positive semidefinite matrix, with a tiny ridge, by Gauss and Jordan's elimination."""
    dimension = len(matrix)
    left, right = np.zeros((dimension, dimension)), np.zeros((dimension, dimension))
    trace = 0.0
    for j in range(dimension):
        trace += matrix[j, j]
    for j in range(dimension):
        left[j] = matrix[j]
        left[j, j] += NEGLIGIBLE * trace + 1e-300
        right[j, j] = 1.0
    for j in range(dimension):
        pivot = 1.0 / left[j, j]
        for m in range(dimension):
            left[j, m] *= pivot
            right[j, m] *= pivot
        for k in range(dimension):
            factor = left[k, j]
            if k != j:
                for m in range(dimension):
                    left[k, m] -= factor * left[j, m]
                    right[k, m] -= factor * right[j, m]
    return right


def next_round(now: float, bar: Bar, growth: float = 1.1) -> float:
    """First after one round per arm, 50 at most with a model; then whenever the rounds have grown by `growth`."""
    if now == 0.0:
        return bar.arms if bar.modelled == 0.0 else min(bar.arms, 50.0)
    return math.ceil(max(growth * now, now + 10.0))


allocation_learner = Learner(
    name="allocation",
    start=start,
    fit=fit,
    next_round=next_round,
    limits=(("tolerance", 0.0, math.inf), ("growth", 1.01, math.inf)),
    fit_belief=fit_linear,
    models=("linear",),
)
