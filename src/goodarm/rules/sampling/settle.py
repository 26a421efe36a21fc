"""`settle`: as many verdicts as possible, good or bad, under weights learned from all arms."""

from __future__ import annotations

import math

import numpy as np

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.learners.ladder import (
    COST,
    LEAVING,
    STEPS,
    WEIGHTS,
    Ladder,
    ladder_learner,
    likelihoods,
    sharpness,
)
from goodarm.rules.sampling._base import IndexRule
from goodarm.rules.sampling.value import best_hope, best_hope_of_cases

ONE = np.ones(2 * STEPS)
"""Value of each verdict."""


def index(arm: Arm, pool: Pool, bar: Bar, patience: float = 2.0) -> float:
    """The index of `value` with a value of 1 for every verdict: the larger of the two for a good and for a bad arm.

    A model's mean and width are not looked at: what counts is how the arm's own evidence will grow.
    """
    ladder: Ladder = pool.learned
    more = sharpness(arm.pulls, bar)
    posterior = likelihoods(more * arm.pulls, more * arm.total, ladder)
    for h in range(posterior.size):
        posterior[h] *= ladder.table[WEIGHTS, h]
    cost, leaving = ladder.table[COST], ladder.table[LEAVING:]
    if bar.cases < math.inf:
        hope = best_hope_of_cases(
            posterior, ONE, cost, leaving, patience, bar.budget - arm.for_good + 0.5, arm.pulls, bar
        )
        fear = best_hope_of_cases(
            posterior[::-1],
            ONE,
            cost[::-1],
            leaving[::-1, ::-1],
            patience,
            bar.budget - arm.for_bad + 0.5,
            arm.pulls,
            bar,
        )
        return max(hope, fear)
    good = best_hope(posterior, ONE, cost, leaving, patience, bar.budget - arm.for_good + 0.5, ladder.left)
    bad = best_hope(
        posterior[::-1], ONE, cost[::-1], leaving[::-1, ::-1], patience, bar.budget - arm.for_bad + 0.5, ladder.left
    )
    return max(good, bad)


settle = IndexRule(
    name="settle",
    reference="goodarm (docs/learning.md)",
    learner=ladder_learner,
    index=index,
    limits=(("patience", 1e-6, 1e6),),
)
