"""`settle`: as many verdicts as possible, good or bad, under weights learned from all arms."""

from __future__ import annotations

import math

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool, Row, Table
from goodarm.rules.learners.ladder import LIKELIHOODS, Ladder, ladder_learner, likelihoods, sharpness
from goodarm.rules.sampling._base import IndexRule
from goodarm.rules.sampling.value import best_hope, best_hope_of_cases

def index(arm: Arm, pool: Pool, bar: Bar, patience: float = 2.0) -> float:
    """The index of `value` with a value of 1 for every verdict: the larger of the two for a good and for a bad arm.

    A model's mean and width are not looked at: what counts is how the arm's own evidence will grow.
    """
    ladder: Ladder = pool.learned
    more = sharpness(arm.pulls, bar)
    chances = likelihoods(more * arm.pulls, more * arm.total, ladder)
    if bar.cases == math.inf:
        return better_hope(chances, 0, ladder.table, arm, bar, patience, ladder.left)
    missing = bar.budget - arm.for_good + 0.5
    hope = best_hope_of_cases(chances, ladder.table, 1, False, patience, missing, arm.pulls, bar)
    missing = bar.budget - arm.for_bad + 0.5
    return max(hope, best_hope_of_cases(chances, ladder.table, -1, False, patience, missing, arm.pulls, bar))


def index_of_kept(arm: Arm, pool: Pool, bar: Bar, patience: float = 2.0) -> float:
    """The same index where `arm.memory` has the arm's likelihoods."""
    return better_hope(arm.memory, LIKELIHOODS, pool.learned.table, arm, bar, patience, pool.learned.left)


def better_hope(chances: Row, place: int, table: Table, arm: Arm, bar: Bar, patience: float, left: float) -> float:
    """The larger of the two hopes, from the arm's likelihoods in `chances` from `place` on."""
    best = 0.0
    for side in (1, -1):
        missing = bar.budget - (arm.for_good if side > 0 else arm.for_bad) + 0.5
        best = max(best, best_hope(chances, place, table, side, False, patience, missing, left))
    return best


settle = IndexRule(
    name="settle",
    reference="goodarm (docs/learning.md)",
    learner=ladder_learner,
    index=index,
    index_of_kept=index_of_kept,
    limits=(("patience", 1e-6, 1e6),),
)
