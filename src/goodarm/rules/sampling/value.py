"""`value`: the largest expected gain per pull of an arm, over all plans that may give up on it."""

from __future__ import annotations

import math

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool, Row, Table
from goodarm.rules.learners.ladder import (
    COST,
    LEAVING,
    WEIGHTS,
    WORTH,
    Ladder,
    draws_needed,
    ladder_learner,
    likelihoods,
    sharpness,
)
from goodarm.rules.learners.prior import boldness_for, worth_per_pull
from goodarm.rules.sampling._base import IndexRule

TOO_LATE = 1e-9
"""What a verdict counts that the rounds left don't allow for: less than any other, and not nothing."""


def index(arm: Arm, pool: Pool, bar: Bar, patience: float = 2.0) -> float:
    """Largest expected gain per pull over plans for the arm: aim at a mean of at least mu_g, and give up in time.

    With p_h the posterior probability of the ladder's mean mu_h, d_h = kl(mu_h, xi) and rem = log(K/delta) - log E+ +
    1/2, hoping for mu_g means: an arm as good as that is pulled until its verdict, rem/d_h pulls for a worth of
    mu_h - xi; a worse one is given up after about c nats of evidence against mu_g, or at the verdict of an arm at mu_g:

    index = max_g sum_{h>=g} p_h (mu_h - xi) / ( sum_{h>=g} p_h rem/d_h + sum_{h<g} p_h min(rem/d_g, c/kl(mu_h, mu_g)) )

    over the mu_g above the threshold whose rem/d_g fits into the rounds that were left at the last fit. This stands in
    for the Gittins index of an arm seen as a job of random length, the largest gain per pull over all stopping times.
    `patience` is c. Where an arm has finitely many cases, likelihoods are sharper and numbers of pulls smaller, by
    `sharpness` and `draws_needed`: an arm with few cases left is cheap to finish. Where a model gives mean and width,
    the index is that of `value-normal`.
    """
    if bar.modelled > 0.0:
        return worth_per_pull(arm.mean, boldness_for(pool.horizon, bar.arms) * arm.width, arm, bar)
    ladder: Ladder = pool.learned
    more = sharpness(arm.pulls, bar)
    posterior = likelihoods(more * arm.pulls, more * arm.total, ladder)
    for h in range(posterior.size):
        posterior[h] *= ladder.table[WEIGHTS, h]
    steps, missing = ladder.table, bar.budget - arm.for_good + 0.5
    if bar.cases < math.inf:
        return best_hope_of_cases(
            posterior, steps[WORTH], steps[COST], steps[LEAVING:], patience, missing, arm.pulls, bar
        )
    return best_hope(posterior, steps[WORTH], steps[COST], steps[LEAVING:], patience, missing, ladder.left)


def best_hope(
    posterior: Row, worth: Row, cost: Row, leaving: Table, patience: float, missing: float, left: float
) -> float:
    """max_g of the gain per pull, as in `index`; the last half of the steps is the side to hope for, every second a g.

    worth, cost, leaving : as in `Ladder`, or mirrored with the posterior; `missing` evidence, rounds that are `left`
    """
    last = posterior.size - 1
    first = 0  # the step that is farthest on the other side and still possible
    while first < last and posterior[first] == 0.0:
        first += 1
    best, gained, pulled = 0.0, 0.0, 0.0
    for g in range(last, last // 2, -1):
        gained += posterior[g] * worth[g]
        pulled += posterior[g] * cost[g]
        if gained > 0.0 and (last - g) % 2 == 0:
            most = missing * cost[g]
            lost = patience * wasted(posterior, leaving[g], most / patience, first, g)
            found = gained / (missing * pulled + lost)
            best = max(best, found if most <= left else TOO_LATE * found)
    return best


def best_hope_of_cases(
    posterior: Row, worth: Row, cost: Row, leaving: Table, patience: float, missing: float, pulls: float, bar: Bar
) -> float:
    """The same where an arm has finitely many cases: all numbers of pulls by `draws_needed`, and all in time."""
    last = posterior.size - 1
    best, gained, pulled = 0.0, 0.0, 0.0
    for g in range(last, last // 2, -1):
        most = draws_needed(pulls, missing * cost[g], bar)
        gained += posterior[g] * worth[g]
        pulled += posterior[g] * most
        if gained > 0.0 and (last - g) % 2 == 0:
            lost = 0.0
            for h in range(g):
                if posterior[h] > 0.0:
                    lost += posterior[h] * min(most, draws_needed(pulls, patience * leaving[g, h], bar))
            best = max(best, gained / (pulled + lost))
    return best


def wasted(posterior: Row, leaving: Row, most: float, first: int, g: int) -> float:
    """sum_{h<g} p_h min(most, leaving_h) as four sums side by side: each addition waits for the one before it."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    h = first
    while h + 4 <= g:
        a += posterior[h] * (leaving[h] if leaving[h] < most else most)
        b += posterior[h + 1] * (leaving[h + 1] if leaving[h + 1] < most else most)
        c += posterior[h + 2] * (leaving[h + 2] if leaving[h + 2] < most else most)
        d += posterior[h + 3] * (leaving[h + 3] if leaving[h + 3] < most else most)
        h += 4
    while h < g:
        a += posterior[h] * (leaving[h] if leaving[h] < most else most)
        h += 1
    return (a + b) + (c + d)


value = IndexRule(
    name="value",
    reference="goodarm (docs/learning.md); Gittins 1979, JRSS B 41(2), for the order of jobs of random length",
    learner=ladder_learner,
    index=index,
    limits=(("patience", 1e-6, 1e6),),
)
