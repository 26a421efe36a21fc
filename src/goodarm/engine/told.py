"""Rounds whose arm and reward come from outside: a single told reward, or the events of a journal."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.engine.live import PENDING_COLUMN
from goodarm.rules.beliefs import Pool, Table

ASK, TELL = 0, 1
"""Kinds of events of a replay."""


class ToldReward(NamedTuple):
    """What a step is made of: the arm, its reward, and the pool as it was when the pull was asked for."""

    arm: int
    reward: float
    pool: Pool


class Events(NamedTuple):
    """What a replay is made of: asks and tells in their order, and how far it has got."""

    kinds: NDArray[np.int8]
    arms: NDArray[np.int64]
    rewards: NDArray[np.float64]
    cursor: NDArray[np.int64]


def told_arm(
    kept: Any, arms: Table, pool: Pool, bar: Any, generator: Any, parameters: Any, fresh: int, source: ToldReward
) -> int:
    """The arm that was told."""
    return source.arm


def told_reward(i: int, pulls: float, source: ToldReward) -> float:
    """The reward that was told."""
    return source.reward


def told_pool(pool: Pool, source: ToldReward) -> Pool:
    """The pool as of asking."""
    return source.pool


def replayed_arm(
    kept: Any, arms: Table, pool: Pool, bar: Any, generator: Any, parameters: Any, fresh: int, source: Events
) -> int:
    """The next arm that was told; what was asked for before it is pending by now."""
    c = source.cursor[0]
    while source.kinds[c] == ASK:
        arms[source.arms[c], PENDING_COLUMN] += 1.0
        c += 1
    arms[source.arms[c], PENDING_COLUMN] -= 1.0
    source.cursor[0] = c + 1
    return source.arms[c]  # type: ignore[no-any-return]  # numpy's integers


def replayed_reward(i: int, pulls: float, source: Events) -> float:
    """The reward that belongs to it."""
    return source.rewards[source.cursor[0] - 1]  # type: ignore[no-any-return]  # the same


def nothing_changes(*arguments: Any) -> None:
    """While a journal or a log is replayed nothing is chosen: a selector is made ready at its end, if at all."""
