"""`value`: the largest expected gain per pull of an arm, over all plans that may abandon it."""

from __future__ import annotations

import math

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool, Row, Table
from goodarm.rules.learners.ladder import (
    COST,
    LEAVING,
    LIKELIHOODS,
    STEPS,
    TINY,
    WEIGHTS,
    WORTH,
    Ladder,
    draws_needed,
    ladder_learner,
    likelihoods,
    sharpness,
)
from goodarm.rules.learners.prior import boldness_for, worth_per_pull
from goodarm.rules.parameters import Formula
from goodarm.rules.sampling._base import IndexRule

SLACK = 1.0 + 1e-12
"""Margin above the rounding errors of all sums, so that a skipped hope can't have been the largest."""
NEAREST = 7
"""Number of steps next to the threshold, on its other side, that enter a bound on wasted pulls."""
TOO_LATE = 1e-9
"""Weight of a verdict that can't be reached before the horizon: smaller than any other, but positive."""


def hope_on(side: int, by_gain: bool) -> Formula:
    """max_g of the gain per pull, as in `index`; every second step of one side is a g.

    side    : 1 to hope for means above the threshold, -1 for means below it
    by_gain : whether a verdict gains |mu_g - xi|; if not, it gains 1
    """
    last = 2 * STEPS - 1 if side > 0 else 0

    def best_hope(chances: Row, table: Table, patience: float, missing: float, left: float, best: float) -> float:
        """The hope from an arm's likelihoods and the ladder's table, for `missing` evidence and `left` rounds.

        best : the largest index found elsewhere, 0 if none; the larger of both is returned

        The posterior is chances * weights, unscaled. The pulls wasted on worse arms, sum_{h<g} p_h min(rem/d_g,
        c/kl(mu_h, mu_g)), are computed as four parallel sums, because each addition waits for the one before it. A hope
        is skipped
        if it could not win even if only the arms in `doubt` were worse: those next to the threshold on its other side,
            all taken to be as far away as the farthest of them, since kl(mu_h, mu_g) falls towards g.
        """
        farthest, doubt = STEPS - NEAREST if side > 0 else STEPS + NEAREST - 1, 0.0
        for step in range(NEAREST):
            h = farthest + side * step
            doubt += chances[h] * table[WEIGHTS, h]
        first = 2 * STEPS - 1 - last  # the step that is farthest on the other side and still possible
        while first != last and chances[first] * table[WEIGHTS, first] == 0.0:
            first += side
        gained, pulled = 0.0, 0.0
        for step in range(STEPS):
            g = last - side * step
            chance = chances[g] * table[WEIGHTS, g]
            gained += chance * table[WORTH, g] if by_gain else chance
            pulled += chance * table[COST, g]
            if step % 2 == 1:
                continue
            row, needed = LEAVING + g, missing * table[COST, g]
            counts = 1.0 if needed <= left else TOO_LATE
            most = needed / patience
            wasted = patience * doubt * (table[row, farthest] if table[row, farthest] < most else most)
            if counts * gained * SLACK > best * (missing * pulled + wasted):
                a, b, c, d = 0.0, 0.0, 0.0, 0.0
                h = first
                while (g - h) * side >= 4:
                    i, j, k = h + side, h + 2 * side, h + 3 * side
                    a += chances[h] * table[WEIGHTS, h] * (table[row, h] if table[row, h] < most else most)
                    b += chances[i] * table[WEIGHTS, i] * (table[row, i] if table[row, i] < most else most)
                    c += chances[j] * table[WEIGHTS, j] * (table[row, j] if table[row, j] < most else most)
                    d += chances[k] * table[WEIGHTS, k] * (table[row, k] if table[row, k] < most else most)
                    h += 4 * side
                while (g - h) * side > 0:
                    a += chances[h] * table[WEIGHTS, h] * (table[row, h] if table[row, h] < most else most)
                    h += side
                found = gained / (missing * pulled + patience * ((a + b) + (c + d)))
                best = max(best, counts * found)
        return best

    return best_hope


best_hope = hope_on(1, by_gain=True)


def index(arm: Arm, pool: Pool, bar: Bar, patience: float = 2.0) -> float:
    """Largest expected gain per pull over plans that aim at a mean of at least mu_g and give up in time.

    With p_h the posterior probability of the ladder's mean mu_h, d_h = kl(mu_h, xi) and rem = log(K/delta) - log E+ +
    1/2, hoping for mu_g means the following. An arm at least that good is pulled until its verdict, rem/d_h pulls for a
    gain of mu_h - xi. A worse one is given up after about c nats of evidence against mu_g, or at the time of the
    verdict on an arm at mu_g:

    index = max_g sum_{h>=g} p_h (mu_h - xi) / ( sum_{h>=g} p_h rem/d_h + sum_{h<g} p_h min(rem/d_g, c/kl(mu_h, mu_g)) )

    over the mu_g above the threshold whose rem/d_g is at most the number of rounds left at the last fit. This
    approximates the Gittins index of an arm regarded as a job of random length, the largest gain per pull over all
    stopping times. `patience` is c. If an arm has finitely many cases, likelihoods are sharper and numbers of pulls
    smaller (`sharpness`, `draws_needed`): an arm with few cases left is cheap to finish. If a model gives mean and
    width, the index is that of `value-normal`.
    """
    if bar.modelled > 0.0:
        return index_of_model(arm, pool, bar, patience)
    ladder: Ladder = pool.learned
    more, missing = sharpness(arm.pulls, bar), bar.budget - arm.for_good + 0.5
    chances = likelihoods(more * arm.pulls, more * arm.total, ladder)
    if bar.cases < math.inf:
        return best_hope_of_cases(chances, ladder.table, 1, True, patience, missing, arm.pulls, bar)
    return best_hope(chances, ladder.table, patience, missing, ladder.left, 0.0)  # type: ignore[no-any-return]  # a Formula


def index_of_kept(arm: Arm, pool: Pool, bar: Bar, patience: float = 2.0) -> float:
    """The same index from the likelihoods in `arm.memory`; on a fixed test set there are none."""
    ladder: Ladder = pool.learned
    missing = bar.budget - arm.for_good + 0.5
    return best_hope(arm.memory[LIKELIHOODS:], ladder.table, patience, missing, ladder.left, 0.0)  # type: ignore[no-any-return]  # a Formula


def stays_ahead(arm: Arm, pool: Pool, bar: Bar, rival: float, hint: float, patience: float = 2.0) -> float:
    """A hope that makes `index_of_kept` larger than `rival`, trying the previous one first; -1 if none was found."""
    ladder: Ladder = pool.learned
    missing = bar.budget - arm.for_good + 0.5
    for turn in range(0, STEPS + 2, 2):
        g = int(hint) if turn == 0 else 2 * STEPS + 1 - turn
        if g >= STEPS and exceeds(rival, g, arm.memory[LIKELIHOODS:], ladder, True, patience, missing):
            return float(g)
    return -1.0


def exceeds(rival: float, g: int, chances: Row, ladder: Ladder, by_gain: bool, patience: float, missing: float) -> bool:
    """Whether the hope for mu_g is larger than `rival`, for any order of rounding (`SLACK`).

    This evaluates one hope, not all of them like `hope_on`. The sums have a fixed length and no branches: `LEAVING` is
    0 from mu_g on. All terms are positive, so a sum in another order differs by less than the slack.
    """
    table = ladder.table
    needed, row = missing * table[COST, g], LEAVING + g
    most = needed / patience
    first, last = (g, 2 * STEPS) if g >= STEPS else (0, g + 1)
    gained, pulled, wasted = 0.0, 0.0, 0.0
    for h in range(2 * STEPS):
        chance = chances[h] * table[WEIGHTS, h]
        wasted += chance * (table[row, h] if table[row, h] < most else most)
        hoped = chance if first <= h < last else 0.0
        gained += hoped * table[WORTH, h] if by_gain else hoped
        pulled += hoped * table[COST, h]
    counts = 1.0 if needed <= ladder.left else TOO_LATE
    return missing > 0.0 and rival > TINY and counts * gained > SLACK * rival * (missing * pulled + patience * wasted)


def index_of_model(arm: Arm, pool: Pool, bar: Bar, patience: float = 2.0) -> float:
    """The index if a model gives mean and width: that of `value-normal`."""
    return worth_per_pull(arm.mean, boldness_for(pool.horizon, bar.arms) * arm.width, arm, bar)


def best_hope_of_cases(
    chances: Row, table: Table, side: int, by_gain: bool, patience: float, missing: float, pulls: float, bar: Bar
) -> float:
    """The best hope with finitely many cases: `draws_needed` gives all numbers of pulls, and all are in time."""
    best, gained, pulled = 0.0, 0.0, 0.0
    last = 2 * STEPS - 1 if side > 0 else 0
    for step in range(STEPS):
        g = last - side * step
        chance = chances[g] * table[WEIGHTS, g]
        most = draws_needed(pulls, missing * table[COST, g], bar)
        gained += chance * table[WORTH, g] if by_gain else chance
        pulled += chance * most
        if step % 2 == 0 and gained > 0.0:
            lost = 0.0
            for worse in range(2 * STEPS - 1 - step):
                h = 2 * STEPS - 1 - last + side * worse
                chance = chances[h] * table[WEIGHTS, h]
                if chance > 0.0:
                    lost += chance * min(most, draws_needed(pulls, patience * table[LEAVING + g, h], bar))
            best = max(best, gained / (pulled + lost))
    return best


value = IndexRule(
    name="value",
    reference="goodarm (docs/learning.md); Gittins 1979, JRSS B 41(2), for the order of jobs of random length",
    learner=ladder_learner,
    index=index,
    index_of_kept=index_of_kept,
    stays_ahead=stays_ahead,
    index_of_model=index_of_model,
    limits=(("patience", 1e-6, 1e6),),
    prefers="good",
)
