"""The spread of the arms' means, learned online from all arms: weights on a ladder of gaps to the threshold.

Where `prior` believes in a normal law, this believes in no shape: needles, clusters and long tails are all weights on a
ladder. It guides sampling (`value-ladder`, `settle`) and sizes bets (`learned-bets-ladder`). Wrong weights cost pulls,
never validity.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from goodarm.problem import Bar
from goodarm.rules.beliefs import PULLS, TOTAL, Pool, Row, Table, having_learned
from goodarm.rules.learners.prior import TIMES, next_round
from goodarm.rules.parameters import Learner

SMALLEST, GROWTH, STEPS = 0.01, 1.5, 17
TYPICAL, BREADTH = 0.3, 1.2
SWEEPS = 30
FAINT = 16.0
"""A likelihood e^16 times smaller than the largest counts as 0."""
TINY = 1e-300
LOSING = 2.0
"""After about so many nats of evidence against it, a hope is given up."""


FIXED, SLOPE, DRIFT, WORTH, COST = range(5)
"""Rows of `Ladder.steps`."""


class Ladder(NamedTuple):
    """Means on a ladder below and above the threshold, lowest first, and what all arms say about their weights.

    weights : w, learned; of sum 1
    steps   : (5, 2 STEPS), what does not change, in few arrays since each round hands them on:
              pi, the weights before the first reward; slope and drift: an arm after N pulls with total S has the
              likelihood ratio exp(S slope + N drift) against the threshold; worth, mu_g - xi; cost, 1/kl(mu_g, xi),
              pulls per nat of evidence of an arm whose mean is mu_g
    leaving : (2 STEPS, 2 STEPS), [g, h]: pulls after which an arm of mean mu_h no longer passes for one of mean mu_g
    left    : rounds that were left at the last fit
    """

    weights: Row
    steps: Table
    leaving: Table
    left: float


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
        worth = bar.threshold * np.expm1(slope + drift)
    else:
        slope = 0.5 * slope / bar.sigma
        drift = -slope * bar.threshold - 0.5 * (slope * bar.sigma) ** 2
        worth = slope * bar.sigma**2
    means = bar.threshold + worth
    # kl(mu_h, mu_g) is the mean of the log-likelihood ratio of h against g for an arm of mean mu_h
    gained = means * slope + drift
    apart = np.maximum(gained - np.outer(slope, means) - drift[:, None], TINY)
    steps = np.stack((fixed, slope, drift, worth, 1.0 / np.maximum(gained, TINY)))
    return Ladder(fixed.copy(), steps, LOSING / apart, math.inf)


def likelihoods(pulls: float, total: float, ladder: Ladder) -> Row:
    """L_g = exp(S slope_g + N drift_g) of every step, the largest scaled to 1, the faint ones 0."""
    size = ladder.weights.size
    found = np.empty(size)
    top = -math.inf
    for g in range(size):
        found[g] = total * ladder.steps[SLOPE, g] + pulls * ladder.steps[DRIFT, g]
        top = max(top, found[g])
    for g in range(size):
        # e^x = (e^(x/32))^32 by a Taylor polynomial, to 5e-5 at -16 and 1e-9 at -4: processors do several at once
        x = max(found[g] - top, -FAINT)
        z = x * 0.03125
        e = 1.0 + z * (
            1.0 + z * (1.0 / 2.0 + z * (1.0 / 6.0 + z * (1.0 / 24.0 + z * (1.0 / 120.0 + z * (1.0 / 720.0)))))
        )
        e = e * e
        e = e * e
        e = e * e
        e = e * e
        found[g] = e * e if x > -FAINT else 0.0
    return found


def fit(arms: Table, pool: Pool, bar: Bar, firmness: float = 3.0) -> Pool:
    """Weights by 30 steps of expectation and maximisation over all arms' (N, S), started halfway to the fixed ones.

    w_g is proportional to `firmness` * pi_g + sum over the arms of the posterior probability of step g (Dempster, Laird
    & Rubin 1977). Arms with the same N and S are one group. Likelihoods do not mind that pulls were chosen by what was
    seen before, as moments do.
    """
    ladder = pool.learned
    rows, counts = grouped(arms, ladder)
    fixed = ladder.steps[FIXED]
    weights = 0.5 * (ladder.weights + fixed)
    for _ in range(SWEEPS):
        before = weights
        sums = firmness * fixed
        for j in range(counts.size):
            posterior = before * rows[j]
            sums = sums + posterior * (counts[j] / added_up(posterior))
        weights = sums / added_up(sums)
        if np.abs(weights - before).max() < 1e-4:
            break
    return having_learned(pool, Ladder(weights, ladder.steps, ladder.leaving, pool.horizon - pool.round))


def added_up(numbers: Row) -> float:
    """Their sum, one by one: numpy's own adds in another order as Python than compiled, and rounds otherwise."""
    total = 0.0
    for number in numbers:
        total += number
    return total


def grouped(arms: Table, ladder: Ladder) -> tuple[Table, Row]:
    """Likelihoods (M, 2 STEPS) of the M different (N, S) that pulled arms have, and how many arms have each."""
    order = np.argsort(arms[:, PULLS] + arms[:, TOTAL] / (arms[:, PULLS] + 1.0), kind="mergesort")
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
    rows = np.empty((found, ladder.weights.size))
    for j in range(found):
        rows[j] = likelihoods(arms[firsts[j], PULLS], arms[firsts[j], TOTAL], ladder)
    return rows, counts[:found].copy()


ladder_learner = Learner(
    name="ladder", start=start, fit=fit, next_round=next_round, limits=(("firmness", 0.0, 1e6), *TIMES)
)
