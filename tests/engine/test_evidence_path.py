"""The evidence of an arm over time: that of the live step, and unknown where totals do not show it."""

from __future__ import annotations

import numpy as np
import pytest

from goodarm.engine.evidence import Seen, Setup, evidence_for
from goodarm.problem import Bounded, Gaussian, Rewards
from goodarm.question import Bars, Control, Question, Threshold

REWARDS = (1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0)
ARMS, DELTA, WEIGHT = ("a", "b"), 0.1, 0.25


@pytest.mark.parametrize(("rewards", "by_totals"), [(Bounded(), True), (Gaussian(0.5), False)])
def test_a_path_has_the_evidence_of_the_live_step(rewards: Rewards, by_totals: bool) -> None:
    found = evidence_for(Threshold(0.3), rewards)
    policy, problem = found.policy("uniform+gap-mixture", rewards, None), Threshold(0.3).problem(2, DELTA, rewards)
    step = found.step(Setup(policy, problem, ARMS, weights=(WEIGHT, 1.0 - WEIGHT)))
    points, rows = [], []
    for told, reward in enumerate(REWARDS, start=1):
        step.ask(0)
        step.absorb(0, reward)
        points.append(Seen(float(told), sum(REWARDS[:told])))
        rows.append(step.row(0))
    path = found.path(policy, problem, points, WEIGHT)
    assert path.for_good == pytest.approx([row.for_good for row in rows])
    assert path.for_bad == pytest.approx([row.for_bad for row in rows])
    assert np.all(path.low < path.high)
    pending = found.path(policy, problem, [points[-1]._replace(pending=2.0)], WEIGHT)
    assert (pending.high[0] > path.high[-1] and pending.low[0] < path.low[-1]) == by_totals


@pytest.mark.parametrize("question", [Control("a"), Bars("correct >= 0.9, slow <= 0.05")])
def test_a_path_is_unknown_where_other_totals_count(question: Question) -> None:
    found = evidence_for(question)
    policy, problem = found.policy("value", Bounded(), None), question.problem(1, DELTA, Bounded())
    path = found.path(policy, problem, [Seen(1.0, 1.0), Seen(2.0, 1.0)], WEIGHT)
    assert np.isnan(path).all()
    assert np.shape(path) == (4, 2)
