"""`settle`: as many verdicts as possible, good or bad, under weights learned from all arms."""

from __future__ import annotations

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.learners.ladder import Ladder, ladder_learner, likelihoods
from goodarm.rules.sampling._base import IndexRule
from goodarm.rules.sampling.value_ladder import best_hope


def index(arm: Arm, pool: Pool, bar: Bar) -> float:
    """The index of `value-ladder` with a worth of 1 for every verdict: the larger one of hoping for good and for bad.

    A model's mean and width are not looked at: what counts is how the arm's own evidence will grow.
    """
    ladder: Ladder = pool.learned
    posterior = likelihoods(arm.pulls, arm.total, ladder)
    for h in range(posterior.size):
        posterior[h] *= ladder.weights[h]
    good = best_hope(posterior, 1.0, 0.0, bar.budget - arm.for_good + 0.5, ladder)
    bad = best_hope(posterior, -1.0, 0.0, bar.budget - arm.for_bad + 0.5, ladder)
    return max(good, bad)


settle = IndexRule(
    name="settle",
    reference="goodarm (docs/learning.md)",
    learner=ladder_learner,
    index=index,
)
