"""Arms whose mean is a ratio of two sums: weighted rewards over weights.

Each row gives an arm a pair (a, b) with 0 <= a <= b <= 1, a weighted reward and its weight. The question is whether E a
/ E b reaches the threshold t. With A and B the sums over N rows, and E b at most 1/C in every row given the past,

    E+ = sum_g w_g exp(g (A - t B)) / (1 + psi_g / C)^N,    psi_g = (1 - t) e^(-g t) + t e^(g (1 - t)) - 1,

over the gaps g and weights w_g of `gap-mixture`; E- over -g.

Proof. exp(g (a - t b)) is convex, so on the triangle of all (a, b) it lies below the plane through its values at the
corners: 1 - b + e^(-g t) (b - a) + e^(g (1 - t)) a. For g > 0 and E a <= t E b the mean of that plane is at most
1 + psi_g E b, and psi_g >= 0, so at most 1 + psi_g / C: each summand is a supermartingale that starts at w_g. For g < 0
and E a >= t E b likewise. With C = 1 and b = 1 this is `gap-mixture` itself.

Units: an observation is a person with up to D rows; b is the number of rows and a the sum of their rewards, both
divided by D, and C = 1. The threshold applies to all rewards over all rows. Rows of one person may depend on each other
in any way.

Propensities: b = 1/(p C) in a row in which the arm was shown with probability p >= 1/C, and 0 in all others; a = b x.
Then E b = 1/C in a row in which the arm could be shown and 0 in a row in which it could not: the latter counts
neither for the arm nor against it. So an arm that was added later is judged by the rows in which it could be shown.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goodarm.engine.totals import evidence_from_totals
from goodarm.errors import UnreadableTable
from goodarm.judgement.decide import Decided, Look, needed, open_units, placed, rows_until
from goodarm.judgement.judgement import Arms
from goodarm.judgement.log_columns import LogColumns
from goodarm.judgement.options import BY_TOTALS, LogOptions
from goodarm.judgement.shares import Shares
from goodarm.judgement.sources._base import Sums
from goodarm.judgement.totals import FALSE_ALARMS
from goodarm.judgement.words import listed
from goodarm.policies.names import identification_rule
from goodarm.problem import Problem
from goodarm.rules.identification.gap_mixture import GAPS, LOG_WEIGHTS

Floats = NDArray[np.float64]
CROWDED = 0.5
"""Average share of the limit on a unit's rows below which a note explains the cost of the limit."""
STEPS = 40
"""Number of bisection steps for an end of an interval."""


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


def decide_weighted(look: Look, rows: Floats, totals: Floats, weights: Floats, most: float) -> Decided:
    """Judge arms by their rows, their weighted rewards and their weights.

    Pending pairs of reward and weight count as (0, 1) in the evidence that an arm is good, as (1, 1) for bad.
    """
    problem, pending = look.problem, look.pending
    threshold = np.full(rows.shape, problem.threshold)
    worst = {side: (rows + pending, totals + (side < 0.0) * pending, weights + pending) for side in (1.0, -1.0)}
    for_good, for_bad = (log_evidence(side, *worst[side], threshold, most) for side in (1.0, -1.0))
    levels = needed(look.options.criterion, (for_good, for_bad), look.problem, look.offset)
    verdict, evidence = levels.decided(for_good, for_bad)
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
    """The refuted threshold nearest to the mean, below it (side -1) or above (+1). The bar itself is tried."""
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

    def enough(times: Floats) -> NDArray[np.bool_]:
        both = [
            log_evidence(side, times * rows, times * totals, times * weights, threshold, most) for side in (1.0, -1.0)
        ]
        return np.asarray(np.where(sides > 0.0, both[0], both[1]) >= level)

    return rows_until(enough, rows)


def decide_ratios(options: LogOptions, columns: LogColumns, sums: Sums, shares: Shares) -> tuple[Arms, tuple[str, ...]]:
    """Arms whose mean is a ratio of weighted rewards and weights."""
    assert sums.weight is not None
    notes: tuple[str, ...] = ()
    rows, most = sums.pulls, 1.0
    if options.propensity is not None:
        assert sums.around is not None
        notes, rows = _check_propensities(options, columns, sums), sums.around
        most = 1.0 / float(options.cap or 1.0)
    else:
        notes = _power(options, columns, sums)
    look = Look(options, options.problem(sums.arm.size), shares.offset, open_units(options, sums))
    found = decide_weighted(look, rows, sums.total, sums.weight, most)
    return placed(options, sums, found), notes


def _power(options: LogOptions, columns: LogColumns, sums: Sums) -> tuple[str, ...]:
    """A note on units that are far smaller than the limit D, with r rows on average.

    A unit adds at most g r/D (mean - t) of evidence at a cost of g^2 t (1 - t)/2, since E b is bounded by 1: the best g
    gives (r/D)^2 times the evidence of units with D rows.
    """
    assert sums.weight is not None
    units, limit = float(sums.pulls.sum()), float(options.unit_limit or 1.0)
    share = float(sums.weight.sum()) / units if units else 0.0
    if not 0.0 < share < CROWDED:
        return ()
    what = "rows" if options.denominator is None else columns.denominator
    return (
        f"a {columns.unit} has {share * limit:.2g} {what} on average and may have {limit:g}. The same evidence needs "
        f"about {share**-2:,.0f} times as many {options.counted} as if each had {limit:g}. Lower `unit_limit` if no "
        f"{columns.unit} can have that many, or judge the mean over {options.counted}: `per_unit='mean'`",
    )


def _check_propensities(options: LogOptions, columns: LogColumns, sums: Sums) -> tuple[str, ...]:
    """Refuse propensities that are below 1/cap or impossible; returns notes on the scope of the verdicts.

    On average, the weights 1/p of an arm's rows sum to the number of rows in which it could be shown. A sum larger than
    chance allows means that propensities are too small. A smaller sum means that the arm could not always be shown.
    """
    assert sums.weight is not None
    assert sums.capped is not None
    assert sums.around is not None
    cap, rows = float(options.cap or 1.0), sums.around
    if sums.capped.sum() > 0:
        raise UnreadableTable(
            f"{int(sums.capped.sum()):,} values of {columns.propensity} are below 1/cap = {1.0 / cap:.4g}: their "
            "weights would have to be cut, and verdicts would no longer apply to the arm's mean. Give a larger `cap`."
        )
    said = [
        f"the rows of an arm are weighted by 1/{columns.propensity}, at most {cap:g}. Good and bad refer to the rows "
        "in which the arm could be shown; the time before it existed does not count. Rows needed are rows of the whole "
        "log"
    ]
    if cap == 1.0:
        return tuple(said)
    always = Problem(threshold=1.0 / cap, arms=sums.arm.size, delta=FALSE_ALARMS).bar
    weight = np.clip(sums.weight, 0.0, rows)
    more, fewer = evidence_from_totals(identification_rule(BY_TOTALS), rows, weight, always)
    if (more >= always.budget).any():
        worst = int(np.argmax(more))
        raise UnreadableTable(
            f"the propensities in {columns.propensity} can't be true: the weights 1/propensity of arm "
            f"{sums.arm[worst]!r} sum to {sums.weight[worst] * cap:,.0f}, but there are only {rows[worst]:,.0f} rows. "
            "A propensity is the probability with which the arm of the row was shown, known when it was chosen. The "
            "log must have the rows of all arms. No row may be left out because of the arm that was shown."
        )
    seldom = np.flatnonzero(fewer >= always.budget)
    if seldom.size:
        could = sums.weight[seldom] * cap / rows[seldom]
        said.append(
            f"by their weights, {seldom.size:,} {'arm' if seldom.size == 1 else 'arms'} could be shown in only some of "
            "the rows: " + listed([f"{sums.arm[i]} in about {each:.0%}" for i, each in zip(seldom, could, strict=True)])
        )
    return tuple(said)
