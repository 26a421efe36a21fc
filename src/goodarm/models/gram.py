"""The posterior of a Gaussian process on a finite set of arms, by rank-1 updates of the K x K covariance C.

    pull a, reward y:  c = C[:, a], v = 1/(gamma + c_a),
    m += c v (y - xi - m_a),  C -= v c c',  log det += log(1 + c_a/gamma)

Equal to the paper's m = k'(K + gamma I)^-1 y and U = gamma^-1/2 sqrt(k(x,x) - k'(K + gamma I)^-1 k). C is updated
only after `BLOCK` pulls, by one matrix product. Until then c = C[:, a] - sum_p weight_p p p_a.
Consecutive pulls of the same arm share a column.

**Rounding.** The variance of an arm with N pulls is about gamma/N, the difference of two numbers as large as its prior
variance. With a small gamma and many pulls, rounding errors exceed the difference, and a rule that trusted it would
decide every arm by the sign of its mean. The published width therefore has an allowance: C_ii + e (K + u) + e r K^2 n
in place of C_ii, with e the rounding error of the largest prior variance, r = e/gamma, n pulls in all and u since the
last rebuild. The first term exceeds the rounding error of a variance after a rebuild and u updates. The second covers
the
means: an error of e K in C moves the mean of an arm with N pulls by about r K sqrt(N) of a reward's scale, and the
allowance widens its interval by at least sqrt(r^2 K^2 n), times a factor above 1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.models._base import LOG_DET, REGULARISER, surplus_of
from goodarm.models.features import Floats
from goodarm.models.linear import TINY
from goodarm.problem import Bar
from goodarm.rules.beliefs import MEAN, PULLS, WIDTH, Arm, Table

PENDING, LAST_ARM, UPDATES, RELEARN_DUE, ALLOWANCE, PER_PULL = 2, 3, 4, 5, 6, 7
NUMBERS = 8
BLOCK = 64
PRECISION = float(np.finfo(np.float64).eps)


class GramBelief(NamedTuple):
    """The belief about K arms with a joint Gaussian posterior."""

    covariance: Floats  # (K, K): C, without the pending columns
    prior: Floats  # (K, K): C before the first pull
    offset: Floats  # (K,): mean before the first pull, minus the threshold
    centred: Floats  # (K,): m, minus the threshold
    variance: Floats  # (K,): the diagonal of C with the pending columns
    columns: Floats  # (BLOCK, K): pending columns p
    weights: Floats  # (BLOCK,)
    column: Floats  # (K,): scratch, c
    network: Floats  # the parameters of a network, empty without one
    numbers: Floats


def new_belief(prior: Floats, gamma: float, network: Floats | None = None) -> GramBelief:
    """The belief before the first reward: mean at the threshold, covariance `prior`."""
    count = len(prior)
    numbers = np.zeros(NUMBERS)
    numbers[REGULARISER] = gamma
    numbers[LAST_ARM] = -1.0
    allow(numbers, prior, 0.0)
    return GramBelief(
        covariance=prior.copy(),
        prior=prior.copy(),
        offset=np.zeros(count),
        centred=np.zeros(count),
        variance=np.diag(prior).copy(),
        columns=np.zeros((BLOCK, count)),
        weights=np.zeros(BLOCK),
        column=np.zeros(count),
        network=np.zeros(0) if network is None else network,
        numbers=numbers,
    )


def allow(numbers: Floats, prior: Floats, pulls: float) -> None:
    """Set the allowance for rounding after a rebuild from this many pulls, and its increase per further pull."""
    rounding = PRECISION * float(np.diag(prior).max())
    of_means = rounding / numbers[REGULARISER] * len(prior) ** 2
    numbers[ALLOWANCE] = rounding * (len(prior) + of_means * pulls)
    numbers[PER_PULL] = rounding * (1.0 + of_means)


def fill_column(belief: GramBelief, a: int) -> None:
    """column = C[:, a], pending columns included; two of them at a time."""
    covariance, columns, weights, column = belief.covariance, belief.columns, belief.weights, belief.column
    count, pending = len(column), int(belief.numbers[PENDING])
    row = covariance[a]
    for i in range(count):
        column[i] = row[i]
    p = 0
    while p + 1 < pending:
        first, second = weights[p] * columns[p, a], weights[p + 1] * columns[p + 1, a]
        here, there = columns[p], columns[p + 1]
        for i in range(count):
            column[i] -= here[i] * first + there[i] * second
        p += 2
    if p < pending:
        first = weights[p] * columns[p, a]
        for i in range(count):
            column[i] -= columns[p, i] * first


def absorb(belief: GramBelief, arms: Table, a: int, before: Arm, reward: float, bar: Bar) -> bool:
    """One reward; True when the pending columns are full."""
    centred, variance, columns, weights, column = (
        belief.centred,
        belief.variance,
        belief.columns,
        belief.weights,
        belief.column,
    )
    numbers = belief.numbers
    gamma, pending = numbers[REGULARISER], int(numbers[PENDING])
    again = pending > 0 and numbers[LAST_ARM] == a
    if again:  # C[:, a] is the last column, scaled down
        shrink = 1.0 - weights[pending - 1] * columns[pending - 1, a]
        for i in range(len(column)):
            column[i] = columns[pending - 1, i] * shrink
    else:
        shrink = 1.0
        fill_column(belief, a)
    own = max(column[a], TINY)
    v = 1.0 / (gamma + own)
    spare = numbers[ALLOWANCE]
    step = v * (reward - bar.threshold - centred[a])
    for i in range(len(column)):
        centred[i] += column[i] * step
        variance[i] -= v * column[i] * column[i]
        arms[i, MEAN] = bar.threshold + centred[i]
        arms[i, WIDTH] = math.sqrt((max(variance[i], TINY) + spare) / gamma)
    numbers[LOG_DET] += math.log1p((own + spare) / gamma)
    numbers[UPDATES] += 1.0
    numbers[ALLOWANCE] += numbers[PER_PULL]
    if again:
        weights[pending - 1] += v * shrink * shrink
        return False
    for i in range(len(column)):
        columns[pending, i] = column[i]
    weights[pending] = v
    numbers[PENDING] = pending + 1.0
    numbers[LAST_ARM] = a
    return pending + 1 == len(weights)


def flush(belief: GramBelief) -> None:
    """C -= sum_p weight_p p p', as one product."""
    pending = int(belief.numbers[PENDING])
    rooted = belief.columns[:pending] * np.sqrt(belief.weights[:pending, None])
    np.subtract(belief.covariance, rooted.T @ rooted, out=belief.covariance)
    belief.numbers[PENDING] = 0.0
    belief.numbers[LAST_ARM] = -1.0


def write_columns(belief: GramBelief, arms: Table, bar: Bar) -> None:
    """Mean and width of every arm into the table."""
    arms[:, MEAN] = bar.threshold + belief.centred
    variance = np.maximum(belief.variance, TINY) + belief.numbers[ALLOWANCE]
    arms[:, WIDTH] = np.sqrt(variance / belief.numbers[REGULARISER])


def rebuild(belief: GramBelief, arms: Table, bar: Bar) -> float:
    """Recompute the belief from the counts and totals; returns the drift of means and widths.

    With the pulled arms s, B = C0[s, s] + gamma diag(1/N): C = C0 - C0[:, s] B^-1 C0[s, :], and so on.
    """
    gamma = float(belief.numbers[REGULARISER])
    seen: NDArray[np.int64] = np.flatnonzero(arms[:, PULLS] > 0.0)
    pulls = arms[seen, PULLS]
    before = arms[:, MEAN].copy(), arms[:, WIDTH].copy()
    # scaled by sqrt(N/gamma) the matrix is I + something positive: well conditioned for any number of pulls
    scale = np.sqrt(pulls / gamma)
    inner = np.eye(len(seen)) + scale[:, None] * belief.prior[np.ix_(seen, seen)] * scale
    factor = np.linalg.cholesky(inner)
    half = np.linalg.solve(factor, scale[:, None] * belief.prior[seen])
    residual = surplus_of(arms, bar)[seen] / pulls - belief.offset[seen]
    belief.centred[:] = belief.offset + half.T @ np.linalg.solve(factor, scale * residual)
    np.subtract(belief.prior, half.T @ half, out=belief.covariance)
    belief.variance[:] = np.diag(belief.covariance)
    belief.numbers[LOG_DET] = 2.0 * np.log(np.diag(factor)).sum()
    allow(belief.numbers, belief.prior, float(pulls.sum()))
    belief.numbers[PENDING], belief.numbers[LAST_ARM], belief.numbers[UPDATES] = 0.0, -1.0, 0.0
    write_columns(belief, arms, bar)
    return float(max(np.abs(arms[:, MEAN] - before[0]).max(), np.abs(arms[:, WIDTH] - before[1]).max()))
