"""Common part of the live steps against a control and with several bars: a scan over one index per arm.

Verdicts are by totals: pending pulls count at their worst, and rewards may come in any order.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goodarm.engine.live.checks import offsets_of
from goodarm.engine.live.step import Again, Asked, CompiledPlay, Counts
from goodarm.engine.live.worst_case import EXTRA, OFFSET_COLUMN, PENDING_COLUMN, TOLD_BAD, TOLD_GOOD, start_at_offset
from goodarm.errors import InvalidValue
from goodarm.problem import Bar, Problem
from goodarm.rules.beliefs import ARM_FIELDS, MEAN, PULLS, SUSPENDED, TOTAL, VERDICT, WIDTH, Arm, Pool, Table
from goodarm.rules.parameters import Formula

PIECE = 64
"""Pulls of an arm per choice within a block: one, or 1/64 of its previous pulls if that is more."""


class ScanStep(ABC):
    """The parts of a `LiveStep` that do not depend on the question.

    index : each arm's latest index: inf if it was never asked for, -inf if it is decided or suspended
    """

    by_totals, fdr, replayable = True, False, False
    problem: Problem
    index: NDArray[np.float64]
    asks: int = 0
    rounds: int = 0
    stale: bool = False
    """Whether the evidence in the tables is out of date: it lacks the latest asks."""

    @property
    @abstractmethod
    def tables(self) -> Sequence[Table]:
        """The table of arms of each metric; pending pulls, offsets and verdicts are the same in all of them."""

    @abstractmethod
    def choose(self) -> int:
        """The next arm to ask for, -1 if every arm is decided."""

    @abstractmethod
    def _show(self, arm: int) -> None:
        """Recompute the index of a changed arm."""

    @abstractmethod
    def _after(self, told: list[int]) -> list[int]:
        """Give the verdicts that follow from rewards of these arms."""

    @abstractmethod
    def _after_void(self, arm: int) -> list[int]:
        """Give the verdicts that follow from withdrawn pulls of this arm."""

    # Asking

    def ticket(self, arm: int) -> Asked:
        """Information to keep with the next ticket. Evidence by totals does not use it."""
        return Asked(self.asks + 1, 0)

    def ask(self, arm: int, pulls: int = 1) -> None:
        """Record more pending pulls of this arm."""
        self.asks += pulls
        for table in self.tables:
            table[arm, PENDING_COLUMN] += pulls
        self.stale = True
        self._show(arm)

    def choose_block(self, pulls: int) -> Counts:
        """Choose and ask many times; returns the pulls of each arm, fewer in total only if every arm is decided."""
        counts = np.zeros(len(self.index), dtype=np.int64)
        left = pulls
        while left:
            arm = self.choose()
            if arm < 0:
                break
            piece = min(left, max(1, int(self._asked(arm)) // PIECE))
            self.ask(arm, piece)
            counts[arm] += piece
            left -= piece
        return counts

    def ask_block(self, counts: Counts) -> None:
        """Record a pending block that another process chose."""
        for arm in np.flatnonzero(counts).tolist():
            self.ask(arm, int(counts[arm]))

    # Absorbing

    def absorb_block(self, told: ArrayLike, totals: ArrayLike) -> list[int]:
        """Absorb many rewards, given as a count and a sum for each arm (and metric); returns the arms decided."""
        counts, sums = np.asarray(told, dtype=np.float64), np.asarray(totals, dtype=np.float64)
        pending = self.tables[0][:, PENDING_COLUMN]
        over = counts > pending
        if over.any():
            arm = int(np.argmax(over))
            raise InvalidValue(f"arm {arm} has {pending[arm]:g} pending pulls, but {counts[arm]:g} rewards were told.")
        there = np.flatnonzero(counts).tolist()
        for arm in there:
            self._count(arm, float(counts[arm]), np.atleast_1d(sums[arm]).tolist())
        return self._after(there)

    def void(self, arm: int, pulls: int = 1) -> list[int]:
        """Withdraw pulls for a reason unrelated to their rewards; returns the arms decided."""
        if self.tables[0][arm, PENDING_COLUMN] < pulls:
            raise InvalidValue(f"arm {arm} has no pending pull to void.")
        for table in self.tables:
            table[arm, PENDING_COLUMN] -= pulls
        return self._after_void(arm)

    def _absorbed(self, arm: int, sums: Sequence[float]) -> list[int]:
        """Absorb one reward, with one number per metric."""
        if self.tables[0][arm, PENDING_COLUMN] < 1.0:
            raise InvalidValue(f"arm {arm} has no pending pull. Ask for the arm before you tell its reward.")
        self._count(arm, 1.0, sums)
        return self._after([arm])

    def _count(self, arm: int, pulls: float, sums: Sequence[float]) -> None:
        for table, total in zip(self.tables, sums, strict=True):
            row = table[arm]
            row[PENDING_COLUMN] -= pulls
            row[PULLS] += pulls
            row[TOTAL] += total
            row[MEAN], row[WIDTH] = row[TOTAL] / row[PULLS], 1.0 / math.sqrt(row[PULLS])
        self.rounds += int(pulls)
        self.stale = True

    # Suspension and views

    def suspend(self, arm: int) -> None:
        """Do not choose this arm until it is reopened. Its rewards still count; suspending gives no verdict."""
        self._turn(arm, 0.0, SUSPENDED)

    def reopen(self, arm: int) -> None:
        """Choose a suspended arm again."""
        self._turn(arm, SUSPENDED, 0.0)

    def _turn(self, arm: int, before: float, after: float) -> None:
        if self.tables[0][arm, VERDICT] == before:
            self._mark(arm, after)
            self._show(arm)

    def _mark(self, arm: int, verdict: float) -> None:
        for table in self.tables:
            table[arm, VERDICT] = verdict

    def pulls(self) -> NDArray[np.float64]:
        """The number of absorbed rewards of every arm."""
        return self.tables[0][:, PULLS].copy()

    def rest(self) -> None:  # noqa: B027  a question may have something to do here
        """Change nothing: choosing needs little preparation."""

    def replay(self, kinds: ArrayLike, arms: ArrayLike, rewards: ArrayLike) -> None:
        """Not supported: such a journal is replayed entry by entry."""
        raise InvalidValue("a journal of this campaign is replayed step by step.")

    def replay_choices(self, kinds: ArrayLike, arms: ArrayLike, rewards: ArrayLike) -> Again:
        """Not supported for the same reason."""
        raise InvalidValue("a journal of this campaign is replayed step by step.")

    def player(self, draws: tuple[Formula, ...], rounds: int) -> CompiledPlay | None:
        """None: rounds are played by single steps."""
        return None

    def verdict_without(self, arm: int, pulls: int) -> int:
        """Not known."""
        return 0

    def bounds(self, arm: int | None = None) -> dict[str, float]:
        """Empty: bounds in standard errors of one arm don't apply here."""
        return {}

    def _added(
        self, weights: Sequence[float], costs: Sequence[float] | None, before: NDArray[np.float64], later: float = 0.0
    ) -> Table:
        """Rows of arms that join now. The caller appends them to its tables.

        before : offsets of the arms that have a share of the error probability already
        later  : added to the new arms' offsets
        """
        spent = float(np.exp(before).sum()) / self.problem.arms
        rows = np.zeros((len(weights), ARM_FIELDS + EXTRA))
        start_at_offset(rows, offsets_of(self.problem, weights, spent) + later, costs)
        self.index = np.concatenate([self.index, np.full(len(weights), math.inf)])
        return rows

    def _asked(self, arm: int) -> float:
        row = self.tables[0][arm]
        return float(row[PULLS] + row[PENDING_COLUMN])


@cache
def indices(index: Formula) -> Formula:
    """Loop over arms that computes their indices from the evidence of the told rewards."""

    def compute(arms: Table, which: Any, pool: Pool, bar: Bar, values: Any, found: Any) -> None:
        for i in which:
            row = arms[i]
            if row[VERDICT] != 0.0:
                found[i] = -math.inf
            elif row[PULLS] + row[PENDING_COLUMN] == 0.0:
                found[i] = math.inf
            else:
                offset, memory = row[OFFSET_COLUMN], row[ARM_FIELDS:]
                for_good, for_bad = memory[TOLD_GOOD] + offset, memory[TOLD_BAD] + offset
                arm = Arm(row[PULLS], row[TOTAL], row[MEAN], row[WIDTH], for_good, for_bad, memory, 0.0)
                found[i] = index(arm, pool, bar, *values)

    return compute
