"""Fold a log in its order: the round of `loop.py` with arms and rewards read from arrays, batch by batch.

Every row is a pull with an immediate reward, so a bet sees the pool as it was before its own reward. A verdict is
final: later rewards of the arm are counted and change nothing else.

>>> import numpy as np
>>> from goodarm.policies import policy
>>> from goodarm.problem import Problem
>>> log = OrderedLog(policy("uniform", "kt"), Problem(threshold=0.5, arms=2))
>>> log.absorb(np.array([0, 1] * 40), np.array([1.0, 0.0] * 40))
>>> log.verdicts.tolist(), log.decided_at.tolist()
([1, -1], [15, 16])
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.engine import loop as independent
from goodarm.engine.assemble import Assembly, columns_for, loop_parameters
from goodarm.engine.live.worst_case import columns_of, live_identification, start_at_offset
from goodarm.engine.loop import FIT_DUE, NEVER, NO_TRACE, Kind, Parts, nothing_changes
from goodarm.engine.rule_parts import identification_parts, learner_parts, present_pool
from goodarm.policies import Policy
from goodarm.problem import Problem
from goodarm.rules.beliefs import FOR_BAD, FOR_GOOD, VERDICT, Pool, Table
from goodarm.streams import POLICY, generator
from goodarm.verdict import Criterion


class Rows(NamedTuple):
    """Consecutive rows of a log, and the number read so far."""

    arms: NDArray[np.int64]
    rewards: NDArray[np.float64]
    cursor: NDArray[np.int64]


def logged_arm(
    kept: Any, arms: Table, pool: Pool, bar: Any, generator: Any, parameters: Any, fresh: int, source: Rows
) -> int:
    """The next row's arm."""
    source.cursor[0] += 1
    return source.arms[source.cursor[0] - 1]  # type: ignore[no-any-return]  # numpy's integers


def logged_reward(i: int, pulls: float, source: Rows) -> float:
    """The next row's reward."""
    return source.rewards[source.cursor[0] - 1]  # type: ignore[no-any-return]  # numpy's floats


class OrderedLog:
    """Folds the rewards of a log, one after the other, under the identification rule of a policy.

    pool   : a fixed pool for all rows; without it, the pool is learned from the log
    offset : log(K w) of each arm, where its evidence starts; w is its share of delta. Without it all shares are 1/K
    """

    def __init__(
        self,
        policy: Policy,
        problem: Problem,
        pool: Pool | None = None,
        offset: NDArray[np.float64] | None = None,
    ) -> None:
        policy.check(problem.rewards)
        rule = policy.identification
        observe, decide = identification_parts(rule) if offset is None else live_identification(rule)
        fit, next_round = learner_parts(policy.learner)
        parts = Parts(
            nothing_changes, logged_arm, nothing_changes, logged_reward, present_pool, observe, decide, fit, next_round
        )
        fdr, rows = policy.criterion is Criterion.FDR, rule.memory > 1 or offset is not None
        loop = independent.build(parts, Kind(fdr=fdr, rows=rows, outside=True))
        columns = columns_for(policy) if offset is None else columns_of(rule)
        self.assembly = Assembly(policy, problem, problem.bar, loop, loop_parameters(policy), columns=columns)
        self.state = self.assembly.start(math.inf)
        self.offset = np.zeros(problem.arms) if offset is None else offset
        if offset is not None:
            start_at_offset(self.state.arms, offset)
        if pool is not None:
            self.state.pool, self.state.tables.progress[FIT_DUE] = pool, NEVER
        self.generator = generator(0, 0, POLICY)

    def absorb(self, arms: NDArray[np.int64], rewards: NDArray[np.float64]) -> None:
        """Absorb the next rows of the log, compiled: about ten million per second."""
        rows = Rows(
            np.require(arms, np.int64, ["C", "W"]),
            np.require(rewards, np.float64, ["C", "W"]),
            np.zeros(1, dtype=np.int64),
        )
        self.assembly.advance(self.state, rows, self.generator, self.state.round + rows.arms.size, NO_TRACE)

    @property
    def verdicts(self) -> NDArray[np.int8]:
        """1 for good, -1 for bad, 0 for undecided."""
        return self.state.arms[:, VERDICT].astype(np.int8)

    @property
    def decided_at(self) -> NDArray[np.int64]:
        """The row of the verdict, counted from 1; 0 while undecided."""
        return self.state.decided_at

    @property
    def evidence(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """log E+ and log E-, frozen at the verdict."""
        return self.state.arms[:, FOR_GOOD] - self.offset, self.state.arms[:, FOR_BAD] - self.offset
