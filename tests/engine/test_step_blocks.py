"""Blocks, compiled for many arms, against the same in Python, arm by arm."""

from __future__ import annotations

import numpy as np
import pytest

from goodarm import Problem, policy
from goodarm.engine.compile import ALWAYS, Patience
from goodarm.engine.live.threshold import ThresholdStep
from goodarm.engine.live.worst_case import PENDING_COLUMN

ARMS = 40


def new_step(name: str, criterion: str = "fwer") -> ThresholdStep:
    return ThresholdStep(policy(name, criterion=criterion), Problem(threshold=0.3, arms=ARMS, delta=0.2))


def rewards_of(asked: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Arms from far below the bar to far above it."""
    return rng.binomial(asked, np.linspace(0.05, 0.6, ARMS)).astype(np.float64)


JUDGED = [
    ("value+gap-mixture", "fwer"),
    ("value+gap-mixture", "fdr"),
    ("uniform+beta-mixture", "fwer"),
    ("hdoc+hoeffding", "fwer"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "criterion"), JUDGED)
def test_many_arms_are_judged_as_one_by_one(name: str, criterion: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Evidence, verdicts, what is open and what is asked for next, bit for bit, with a part still out each time."""
    many, single = new_step(name, criterion), new_step(name, criterion)
    rng, decided = np.random.default_rng(3), 0
    for _ in range(6):
        asked = many.choose_block(2000)
        assert np.array_equal(single.choose_block(2000), asked)
        told = asked - asked // 20
        totals = rewards_of(told, rng)
        monkeypatch.setattr("goodarm.engine.live.threshold.BLOCK", ALWAYS)
        found = many.absorb_block(told, totals)
        monkeypatch.setattr("goodarm.engine.live.threshold.BLOCK", Patience(ARMS))
        assert single.absorb_block(told, totals) == found
        decided += len(found)
        assert np.array_equal(many.state.arms, single.state.arms)
        assert many.state.decided_at.tolist() == single.state.decided_at.tolist()
        assert (many.state.open_arms, many.choose()) == (single.state.open_arms, single.choose())
    assert decided >= 5
    assert len(many._judge_many(np.arange(ARMS))) == 0, "nothing changed since"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["value+gap-mixture", "hdoc+gap-mixture", "thompson+gap-mixture"])
def test_a_block_of_somebody_else_is_as_ones_own(name: str) -> None:
    own, other = new_step(name), new_step(name)
    rng = np.random.default_rng(4)
    for size in (10, 200, 500, 500):
        asked = own.choose_block(size)
        other.ask_block(asked)
        assert np.array_equal(own.state.arms[:, PENDING_COLUMN], other.state.arms[:, PENDING_COLUMN])
        totals = rewards_of(asked, rng)
        assert own.absorb_block(asked, totals) == other.absorb_block(asked, totals)
        assert np.array_equal(own.state.arms, other.state.arms)
        assert own.choose() == other.choose()
