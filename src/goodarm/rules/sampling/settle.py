"""`settle`: as many verdicts as possible, good or bad, under weights learned from all arms."""

from __future__ import annotations

import math

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool, Row
from goodarm.rules.learners.ladder import LIKELIHOODS, STEPS, Ladder, ladder_learner, likelihoods, sharpness
from goodarm.rules.sampling._base import IndexRule
from goodarm.rules.sampling.value import best_hope_of_cases, exceeds, hope_on

hope_for_good, hope_for_bad = hope_on(1, by_gain=False), hope_on(-1, by_gain=False)


def index(arm: Arm, pool: Pool, bar: Bar, patience: float = 2.0) -> float:
    """The index of `value` with a value of 1 for every verdict: the larger of the two for a good and for a bad arm.

    A model's mean and width are not used: only the growth of the arm's own evidence matters.
    """
    ladder: Ladder = pool.learned
    more = sharpness(arm.pulls, bar)
    chances = likelihoods(more * arm.pulls, more * arm.total, ladder)
    if bar.cases == math.inf:
        return better_hope(chances, ladder, arm, bar, patience)
    missing = bar.budget - arm.for_good + 0.5
    hope = best_hope_of_cases(chances, ladder.table, 1, False, patience, missing, arm.pulls, bar)
    missing = bar.budget - arm.for_bad + 0.5
    return max(hope, best_hope_of_cases(chances, ladder.table, -1, False, patience, missing, arm.pulls, bar))


def index_of_kept(arm: Arm, pool: Pool, bar: Bar, patience: float = 2.0) -> float:
    """The same index from the likelihoods in `arm.memory`; on a fixed test set there are none."""
    return better_hope(arm.memory[LIKELIHOODS:], pool.learned, arm, bar, patience)


def stays_ahead(arm: Arm, pool: Pool, bar: Bar, rival: float, hint: float, patience: float = 2.0) -> float:
    """A hope that makes `index_of_kept` larger than `rival`, as in `value`, tried only for the likelier verdict."""
    ladder: Ladder = pool.learned
    likely_good = arm.total >= bar.threshold * arm.pulls
    for turn in range(0, STEPS + 2, 2):
        g = int(hint) if turn == 0 else 2 * STEPS + 1 - turn if likely_good else turn - 2
        missing = bar.budget - (arm.for_good if g >= STEPS else arm.for_bad) + 0.5
        if g >= 0 and exceeds(rival, g, arm.memory[LIKELIHOODS:], ladder, False, patience, missing):
            return float(g)
    return -1.0


def better_hope(chances: Row, ladder: Ladder, arm: Arm, bar: Bar, patience: float) -> float:
    """The larger of the two hopes, from the arm's likelihoods. The second one counts only if it beats the first."""
    table, left = ladder.table, ladder.left
    good_missing, bad_missing = bar.budget - arm.for_good + 0.5, bar.budget - arm.for_bad + 0.5
    if arm.total >= bar.threshold * arm.pulls:  # the likelier one first, which often rules out the other
        good = hope_for_good(chances, table, patience, good_missing, left, 0.0)
        return hope_for_bad(chances, table, patience, bad_missing, left, good)  # type: ignore[no-any-return]  # a Formula
    bad = hope_for_bad(chances, table, patience, bad_missing, left, 0.0)
    return hope_for_good(chances, table, patience, good_missing, left, bad)  # type: ignore[no-any-return]  # the same


settle = IndexRule(
    name="settle",
    reference="goodarm (docs/learning.md)",
    learner=ladder_learner,
    index=index,
    index_of_kept=index_of_kept,
    stays_ahead=stays_ahead,
    limits=(("patience", 1e-6, 1e6),),
    prefers="quick",
)
