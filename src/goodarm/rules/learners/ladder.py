"""The spread of the arms' means, learned online from all arms: weights on a ladder of gaps to the threshold.

`prior` assumes a normal distribution. This learner assumes no shape: weights on a ladder can represent outliers,
clusters and long tails. It guides sampling (`value`, `settle`) and sizes bets and stakes (`learned-bets`). Wrong
weights cost pulls, never validity.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.problem import Bar
from goodarm.rules.beliefs import PULLS, TOTAL, Pool, Row, Table, having_learned
from goodarm.rules.learners.prior import TIMES, next_round
from goodarm.rules.parameters import Learner

SMALLEST, GROWTH, STEPS = 0.01, 1.5, 17
TYPICAL, BREADTH = 0.3, 1.2
SWEEPS = 30
FAINT = 30.0
"""A likelihood e^30 times smaller than the largest counts as 0."""
WIDE = 32
"""Number of steps whose likelihoods are computed together, a multiple of the width of vector instructions."""
TINY = 1e-300
SPARSE = 1.0 / 3.0
"""Maximum of p0 (1 + log 1/p0), approximately the share of arms that ever look certifiable, for late stakes."""

WEIGHTS, FIXED, SLOPE, DRIFT, WORTH, COST, PURSE, LEAVING = range(8)
"""Rows of `Ladder.table`; from `LEAVING` on there are 2 STEPS."""


LIKELIHOODS = 5
"""Place in `arm.memory` of an arm's likelihoods, for rules that keep them (`EvidenceRule.keeps_likelihoods`)."""


class Ladder(NamedTuple):
    """Means on a ladder below and above the threshold, lowest first, and their weights, learned from all arms.

    table : one column per step, in a single array because each round passes it on
            WEIGHTS : w, learned; of sum 1
            FIXED   : pi, the weights before the first reward
            SLOPE, DRIFT : an arm after N pulls with total S has the likelihood ratio exp(S slope + N drift) against the
                      threshold
            WORTH   : |mu_g - xi|
            COST    : 1/kl(mu_g, xi), pulls per nat of evidence of an arm whose mean is mu_g
            PURSE   : in its first column, the share of the error budget that is not staked on any arm; stakes are taken
                      from it and refunds returned to it
            LEAVING + g : 1/kl(mu_h, mu_g), pulls of an arm of mean mu_h per nat of evidence that its mean is not mu_g;
                      0 if mu_h lies at least as far beyond the threshold as mu_g
    left  : number of rounds left at the last fit
    cut   : the first step whose arms can be certified in time; -1 before the first fit
    scale : stake per probability of being such an arm, in units of 1/K; 0 if every arm gets the same
    """

    table: Table
    left: float
    cut: float
    scale: float


def start(bar: Bar) -> Ladder:
    """Before the first fit: the fixed weights, half of them on each side, proportional to exp(-|log(g/0.3)|/1.2).

    Rewards in [0, 1]: logit mu_g = logit xi ± g for g = 0.01, 0.015, ..., 6.6. Others: mu_g = xi ± g sigma/2.
    """
    gaps = SMALLEST * GROWTH ** np.arange(STEPS)
    side = np.exp(-np.abs(np.log(gaps / TYPICAL)) / BREADTH)
    fixed = np.concatenate((side[::-1], side)) / (2.0 * side.sum())
    slope = np.concatenate((-gaps[::-1], gaps))
    if bar.bounded > 0.0:
        drift = -np.log1p(bar.threshold * np.expm1(slope))
        beyond = bar.threshold * np.expm1(slope + drift)
    else:
        slope = 0.5 * slope / bar.sigma
        drift = -slope * bar.threshold - 0.5 * (slope * bar.sigma) ** 2
        beyond = slope * bar.sigma**2
    means = bar.threshold + beyond
    gained = means * slope + drift
    cost = 1.0 / np.maximum(gained, TINY)
    # kl(mu_h, mu_g) is the mean of the log-likelihood ratio of h against g for an arm of mean mu_h
    apart = np.maximum(gained - np.outer(slope, means) - drift[:, None], TINY)
    nearer = np.where(np.arange(2 * STEPS)[:, None] >= STEPS, np.tri(2 * STEPS, k=-1), np.tri(2 * STEPS, k=-1).T)
    table = np.vstack((fixed, fixed, slope, drift, np.abs(beyond), cost, np.ones(2 * STEPS), nearer / apart))
    return Ladder(table, math.inf, -1.0, 0.0)


def likelihoods(pulls: float, total: float, ladder: Ladder) -> Row:
    """L_g = exp(S slope_g + N drift_g) of every step, scaled to a maximum of 1, with negligible ones set to 0."""
    found = np.empty(2 * STEPS)
    write_likelihoods(found, pulls, total, ladder)
    return found


def write_likelihoods(row: Row, pulls: float, total: float, ladder: Ladder) -> None:
    """Write the likelihoods into a row of 2 STEPS numbers.

    The number of steps computed together does not depend on the arm, so that vector instructions compute eight at once.
    The last two steps are negligible for most arms, and are then not computed: log L_g is concave in g, so both are
    negligible if the second to last is and log L_g falls there.
    """
    steps = ladder.table
    for g in range(2 * STEPS):
        row[g] = total * steps[SLOPE, g] + pulls * steps[DRIFT, g]
    a, b, c, d = row[0], row[1], row[2], row[3]
    for g in range(4, WIDE, 4):  # four at a time: a processor waits for one comparison before the next
        a = max(a, row[g])
        b = max(b, row[g + 1])
        c = max(c, row[g + 2])
        d = max(d, row[g + 3])
    top = max(max(max(a, b), max(c, d)), max(row[WIDE], row[WIDE + 1]))
    for g in range(WIDE):
        row[g] = likelihood(row[g] - top)
    if row[WIDE] - top <= -FAINT and row[WIDE + 1] < row[WIDE]:
        row[WIDE], row[WIDE + 1] = 0.0, 0.0
    else:
        row[WIDE], row[WIDE + 1] = likelihood(row[WIDE] - top), likelihood(row[WIDE + 1] - top)


def likelihood(log: float) -> float:
    """e^x for x <= 0, by e^x = (e^(x/64))^64 and a Taylor polynomial: to 1e-4 at -30 and 1e-9 at -4, 0 beyond -30."""
    x = max(log, -FAINT)
    z = x * 0.015625
    e = 1.0 + z * (1.0 + z * (1.0 / 2.0 + z * (1.0 / 6.0 + z * (1.0 / 24.0 + z * (1.0 / 120.0 + z * (1.0 / 720.0))))))
    e = e * e
    e = e * e
    e = e * e
    e = e * e
    e = e * e
    return e * e if x > -FAINT else 0.0


def sharpness(pulls: float, bar: Bar) -> float:
    """N/(N - n): how much more informative n draws are about the mean of only N cases; 1 if rewards never run out.

    The mean of n draws without replacement has the variance of n N/(N - n) draws with replacement. So an arm's
    likelihoods are about those of `sharpness` times its pulls and total.
    """
    if bar.cases == math.inf:
        return 1.0
    return bar.cases / max(bar.cases - pulls, 0.5)


def draws_needed(pulls: float, endless: float, bar: Bar) -> float:
    """Number of draws that are as informative as `endless` further draws from an unlimited supply.

    n draws count as e = n N/(N - n); e + `endless` are reached after r^2 m/(N^2 + r m) more, r = N - n, m = `endless`:
    never more than r.
    """
    if bar.cases == math.inf:
        return endless
    left = max(bar.cases - pulls, 0.5)
    return left * left * endless / (bar.cases * bar.cases + left * endless)


def fit(arms: Table, pool: Pool, bar: Bar, firmness: float = 3.0) -> Pool:
    """Weights by 30 steps of expectation and maximisation over all arms' (N, S), starting halfway to the fixed weights.

    w_g is proportional to `firmness` * pi_g + sum over the arms of the posterior probability of step g (Dempster, Laird
    & Rubin 1977). Arms with the same N and S are one group. Unlike moments, likelihoods are not biased by adaptive
    choices of the pulls.
    """
    ladder = pool.learned
    rows, counts = grouped(arms, ladder, bar)
    table = ladder.table.copy()
    weights, sums = table[WEIGHTS], np.empty(table.shape[1])
    for g in range(sums.size):
        weights[g] = 0.5 * (ladder.table[WEIGHTS, g] + ladder.table[FIXED, g])
    for _ in range(SWEEPS):
        for g in range(sums.size):
            sums[g] = firmness * ladder.table[FIXED, g]
        if one_sweep(rows, counts, weights, sums) < 1e-4:
            break
    cut, scale = late_stakes(table, pool.horizon, bar)
    return having_learned(pool, Ladder(table, pool.horizon - pool.round, cut, scale))


def one_sweep(rows: Table, counts: Row, weights: Row, sums: Row) -> float:
    """Replace `weights` with `sums` plus the arms' posteriors, scaled to sum 1; returns the largest change."""
    size = weights.size
    for j in range(len(rows)):
        chance = 0.0
        for g in range(size):
            chance += weights[g] * rows[j, g]
        share = counts[j] / chance
        for g in range(size):
            sums[g] += share * weights[g] * rows[j, g]
    total = 0.0
    for g in range(size):
        total += sums[g]
    change = 0.0
    for g in range(size):
        weight = sums[g] / total
        change = max(change, abs(weight - weights[g]))
        weights[g] = weight
    return change


def late_stakes(table: Table, horizon: float, bar: Bar) -> tuple[float, float]:
    """`cut`, down to which all arms can be certified in half of the horizon, and `scale` = 1/(p0 kappa).

    p0 = sum of w_g from `cut` on, kappa = 1 + log(T/K)/2: all accounts together are about as large as the purse,
    because P(mu >= cut) sometimes also rises to 1 for arms below the cut. 0 if such arms are not rare.
    """
    pulls, chance = 0.0, 0.0
    size = table.shape[1]
    cut = size
    for g in range(size - 1, size // 2 - 1, -1):
        pulls += bar.arms * table[WEIGHTS, g] * bar.budget * table[COST, g]
        if pulls > 0.5 * horizon:
            break
        cut = g
        chance += table[WEIGHTS, g]
    if chance <= 0.0 or chance * (1.0 - math.log(chance)) > SPARSE:
        return float(cut), 0.0
    return float(cut), 1.0 / (chance * (1.0 + 0.5 * math.log(max(horizon / bar.arms, 1.0))))


def grouped(arms: Table, ladder: Ladder, bar: Bar) -> tuple[Table, Row]:
    """Likelihoods (M, 2 STEPS) of the M distinct (N, S) among the pulled arms, and the number of arms with each.

    Plain loops: numba needs seconds to compile numpy's sorting and slicing, and a fraction of a second for these.
    """
    order = sorted_by_totals(arms)
    firsts = np.empty(order.size, dtype=np.int64)
    counts = np.zeros(order.size)
    found = 0
    for i in order:
        if arms[i, PULLS] > 0.0:
            known = firsts[found - 1] if found > 0 else -1
            if known >= 0 and arms[known, PULLS] == arms[i, PULLS] and arms[known, TOTAL] == arms[i, TOTAL]:
                counts[found - 1] += 1.0
            else:
                firsts[found] = i
                counts[found] = 1.0
                found += 1
    rows, members = np.empty((found, ladder.table.shape[1])), np.empty(found)
    for j in range(found):
        members[j] = counts[j]
        pulls, more = arms[firsts[j], PULLS], sharpness(arms[firsts[j], PULLS], bar)
        write_likelihoods(rows[j], more * pulls, more * arms[firsts[j], TOTAL], ladder)
    return rows, members


def sorted_by_totals(arms: Table) -> NDArray[np.int64]:
    """The arms in the order of N + S/(N + 1), ties in the order of the table, by merging runs of 1, 2, 4, ... arms."""
    size = len(arms)
    keys, order, merged = np.empty(size), np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    for i in range(size):
        keys[i] = arms[i, PULLS] + arms[i, TOTAL] / (arms[i, PULLS] + 1.0)
        order[i] = i
    width = 1
    while width < size:
        for start_of_pair in range(0, size, 2 * width):
            left, middle = start_of_pair, min(start_of_pair + width, size)
            right, end = middle, min(start_of_pair + 2 * width, size)
            for k in range(start_of_pair, end):
                from_left = left < middle and (right >= end or keys[order[left]] <= keys[order[right]])
                if from_left:
                    merged[k] = order[left]
                    left += 1
                else:
                    merged[k] = order[right]
                    right += 1
        order, merged = merged, order
        width *= 2
    return order


ladder_learner = Learner(
    name="ladder", start=start, fit=fit, next_round=next_round, limits=(("firmness", 0.0, 1e6), *TIMES), native=True
)
