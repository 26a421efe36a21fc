"""Blocks, compiled for many arms, against the same in Python, arm by arm."""

from __future__ import annotations

import numpy as np
import pytest

from goodarm import Problem, policy
from goodarm.engine.live import PENDING_COLUMN
from goodarm.engine.step import Step
from goodarm.engine.step_blocks import absorb_block, ask_block, judge_many, note_block

ARMS = 40


def new_step(name: str, criterion: str = "fwer") -> Step:
    return Step(policy(name, criterion=criterion), Problem(threshold=0.3, arms=ARMS, delta=0.2))


def rewards_of(asked: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Arms from far below the bar to far above it."""
    return rng.binomial(asked, np.linspace(0.05, 0.6, ARMS)).astype(np.float64)


JUDGED = [
    ("value+gap-mixture", "fwer"),
    ("value+gap-mixture", "fdr"),
    ("uniform+beta-mixture", "fwer"),
    ("hdoc+hoeffding", "fwer"),
]


@pytest.mark.parametrize(("name", "criterion"), JUDGED)
def test_many_arms_are_judged_as_one_by_one(name: str, criterion: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Evidence, verdicts, what is open and what is asked for next, bit for bit, with a part still out each time."""
    many, single = new_step(name, criterion), new_step(name, criterion)
    rng, decided = np.random.default_rng(3), 0
    for _ in range(6):
        asked = ask_block(many, 2000)
        assert np.array_equal(ask_block(single, 2000), asked)
        told = asked - asked // 20
        totals = rewards_of(told, rng)
        monkeypatch.setattr("goodarm.engine.step_blocks.FEW", 0)
        found = absorb_block(many, told, totals)
        monkeypatch.setattr("goodarm.engine.step_blocks.FEW", ARMS)
        assert absorb_block(single, told, totals) == found
        decided += len(found)
        assert np.array_equal(many.state.arms, single.state.arms)
        assert many.state.decided_at.tolist() == single.state.decided_at.tolist()
        assert (many.state.open_arms, many.choose()) == (single.state.open_arms, single.choose())
    assert decided >= 5
    assert len(judge_many(many, np.arange(ARMS))) == 0, "nothing changed since"


@pytest.mark.parametrize("name", ["value+gap-mixture", "hdoc+gap-mixture", "thompson+gap-mixture"])
def test_a_block_of_somebody_else_is_as_ones_own(name: str) -> None:
    own, other = new_step(name), new_step(name)
    rng = np.random.default_rng(4)
    for size in (10, 200, 500, 500):
        asked = ask_block(own, size)
        note_block(other, asked)
        assert np.array_equal(own.state.arms[:, PENDING_COLUMN], other.state.arms[:, PENDING_COLUMN])
        totals = rewards_of(asked, rng)
        assert absorb_block(own, asked, totals) == absorb_block(other, asked, totals)
        assert np.array_equal(own.state.arms, other.state.arms)
        assert own.choose() == other.choose()
