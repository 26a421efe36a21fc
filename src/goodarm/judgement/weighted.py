"""Arms whose mean is a ratio of two sums: weighted rewards over weights.

Each row brings an arm a pair (a, b) with 0 <= a <= b <= 1, a weighted reward and its weight, and the question is
whether E a / E b reaches the threshold t. With A and B the sums over N rows, and E b at most 1/C in every row given
the past,

    E+ = sum_g w_g exp(g (A - t B)) / (1 + psi_g / C)^N,    psi_g = (1 - t) e^(-g t) + t e^(g (1 - t)) - 1,

over the gaps g and weights w_g of `gap-mixture`; E- over -g.

Proof. exp(g (a - t b)) is convex, so on the triangle of all (a, b) it lies below the plane through its values at the
corners: 1 - b + e^(-g t) (b - a) + e^(g (1 - t)) a. For g > 0 and E a <= t E b the mean of that plane is at most
1 + psi_g E b, and psi_g >= 0, so at most 1 + psi_g / C: each summand is a supermartingale of start w_g. For g < 0 and
E a >= t E b likewise. With C = 1 and b = 1 this is `gap-mixture` itself.

Units: an observation is a person with up to D rows; b is the number of rows and a the sum of their rewards, both
divided by D, and C = 1. The threshold applies to all rewards over all rows. Rows of one person may depend on each other
in any way.

Propensities: b = 1/(p C) in a row in which the arm was shown with probability p >= 1/C, and 0 in all others; a = b x.
Then E b = 1/C in a row in which the arm could be shown and 0 in a row in which it could not: the latter counts
neither for the arm nor against it. So an arm that was not there from the beginning is judged by the rows in which it
could be shown.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goodarm.judgement.decide import Decided, needed
from goodarm.judgement.question import Question
from goodarm.problem import Problem
from goodarm.rules.identification.gap_mixture import GAPS, LOG_WEIGHTS

Floats = NDArray[np.float64]
STEPS = 40
"""Number of bisection steps for an end of an interval and for the rows still needed."""
MOST = 1e6
"""Multiple of the log's rows beyond which an arm counts as never decided."""


def log_evidence(side: float, rows: Floats, total: Floats, weight: Floats, threshold: Floats, most: float) -> Floats:
    """log E+ (side 1) or log E- (side -1) of every arm, shape (K,).

    total, weight : A and B;  most : the largest E b of a row, 1/C

    >>> one = np.ones(1)
    >>> log_evidence(1.0, 1000.0 * one, 35.0 * one, 1000.0 * one, 0.02 * one, 1.0).round(4).tolist()
    [3.3955]
    """
    g = side * GAPS[:, None]
    psi = (1.0 - threshold) * np.expm1(-g * threshold) + threshold * np.expm1(g * (1.0 - threshold))
    terms = LOG_WEIGHTS[:, None] + g * (total - threshold * weight) - rows * np.log1p(psi * most)
    top = terms.max(axis=0)
    return np.asarray(top + np.log(np.exp(terms - top).sum(axis=0)))


def decide_weighted(
    question: Question,
    rows: Floats,
    totals: Floats,
    weights: Floats,
    most: float,
    problem: Problem,
    offset: Floats | float = 0.0,
    pending: Floats | float = 0.0,
) -> Decided:
    """Judge arms by their rows, their weighted rewards and their weights.

    pending : pairs that are still to come: (0, 1) for the evidence that an arm is good, (1, 1) for bad
    """
    threshold = np.full(rows.shape, problem.threshold)
    worst = {side: (rows + pending, totals + (side < 0.0) * pending, weights + pending) for side in (1.0, -1.0)}
    for_good, for_bad = (log_evidence(side, *worst[side], threshold, most) for side in (1.0, -1.0))
    levels = needed(question.criterion, (for_good, for_bad), problem, offset)
    verdict = np.where(for_good >= levels.now[0], 1, np.where(for_bad >= levels.now[1], -1, 0)).astype(np.int8)
    evidence = np.where(verdict == 1, for_good, np.where(verdict == -1, for_bad, np.maximum(for_good, for_bad)))
    mean = np.divide(totals, weights, out=np.full(rows.shape, np.nan), where=weights > 0.0)
    low, high = (
        _end(side, *worst[-side], most, level, problem.threshold)
        for side, level in ((-1.0, levels.now[0]), (1.0, levels.now[1]))
    )
    above = mean >= problem.threshold
    sides, level = np.where(above, 1.0, -1.0), np.where(above, levels.next[0], levels.next[1])
    needs = np.where(verdict == 0, _more(sides, rows, totals, weights, threshold, most, level), 0.0)
    return Decided(mean, low, high, verdict, evidence, np.where(np.isnan(mean), np.nan, needs))


def _end(
    side: float, rows: Floats, totals: Floats, weights: Floats, most: float, level: Floats, threshold: float
) -> Floats:
    """The refuted threshold that is nearest to the mean, below it (side -1) or above (+1); the bar itself is tried."""
    limit = 0.0 if side < 0.0 else 1.0
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(weights > 0.0, totals / weights, 0.5)
    inner, outer = mean.copy(), np.full(rows.shape, limit)
    for step in range(STEPS):
        x = np.full(rows.shape, threshold) if step == 0 else 0.5 * (inner + outer)
        between = side * (x - mean) > 0.0
        refuted = log_evidence(-side, rows, totals, weights, x, most) >= level
        outer = np.where(between & refuted, x, outer)
        inner = np.where(between & ~refuted, x, inner)
    return outer


def _more(
    sides: Floats, rows: Floats, totals: Floats, weights: Floats, threshold: Floats, most: float, level: Floats
) -> Floats:
    """Approximate further rows until a verdict if the log continues as before."""
    few, many = np.ones(rows.shape), np.full(rows.shape, MOST)

    def enough(times: Floats) -> NDArray[np.bool_]:
        both = [
            log_evidence(side, times * rows, times * totals, times * weights, threshold, most) for side in (1.0, -1.0)
        ]
        return np.asarray(np.where(sides > 0.0, both[0], both[1]) >= level)

    never = ~enough(many)
    for _ in range(STEPS):
        middle = np.sqrt(few * many)
        there = enough(middle)
        few, many = np.where(there, few, middle), np.where(there, middle, many)
    return np.where(never, np.inf, np.ceil((many - 1.0) * rows))
