"""One step at a time: `choose` an arm, note that it was asked for, `absorb` its reward. The engine of live campaigns.

The round is that of `loop.py` (or `structured.py`), with arm and reward told instead of chosen and drawn. For index and
line rules it runs as plain Python, so that a first step waits for no compiler; random rules, models of the arms, blocks
and replays are compiled. Told one by one, a step pulls the same arms, gathers the same evidence and gives the same
verdicts as the simulator, bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from goodarm.engine import loop as independent
from goodarm.engine.asking import choose_next, note_ask
from goodarm.engine.assemble import State
from goodarm.engine.explain import explains_rules
from goodarm.engine.live import OFFSET_COLUMN, PENDING_COLUMN, live_sampling, start_at_offset
from goodarm.engine.live_assembly import MANY, kind_of_live, live_parts, slow_as_python
from goodarm.engine.live_checks import by_totals, check_live, offsets_of
from goodarm.engine.loop import FIT_DUE, FRESH, NO_TRACE, OPEN, ROUND, Tables
from goodarm.engine.native import native
from goodarm.engine.rule_parts import learner_parts
from goodarm.engine.selectors import tree_for
from goodarm.engine.told import (
    ASK,
    TELL,
    Events,
    ToldReward,
)
from goodarm.errors import InvalidValue
from goodarm.policies import Policy
from goodarm.problem import Problem
from goodarm.rules.beliefs import (
    ARM_FIELDS,
    CLOSED,
    FOR_BAD,
    FOR_GOOD,
    PULLS,
    TOTAL,
    VERDICT,
    Pool,
    at_round,
    read_arm_with_row,
)
from goodarm.rules.identification.false_discovery import empty_ledger, settle
from goodarm.streams import POLICY, generator
from goodarm.verdict import Criterion


class Step:
    """A policy on a problem, one ask and one told reward at a time.

    Where `by_totals` is false, the rewards of an arm must be absorbed in the order in which they were asked for.

    horizon  : pulls that the campaign is planned for, inf without a plan
    features : of the arms, for a model that brings none of its own
    weights  : each arm's share of the error probability, 1/K each if not given; their sum is at most 1

    >>> from goodarm.policies import policy
    >>> from goodarm.problem import Problem
    >>> step = Step(policy("value+gap-mixture"), Problem(threshold=0.5, arms=3))
    >>> arm = step.choose()
    >>> step.ask(arm)
    >>> step.absorb(arm, 1.0)
    []
    >>> step.state.arms[arm, :2].tolist(), step.choose()
    ([1.0, 1.0], 1)
    """

    def __init__(
        self,
        policy: Policy,
        problem: Problem,
        *,
        horizon: float = math.inf,
        features: Any = None,
        seed: int = 0,
        weights: ArrayLike | None = None,
    ) -> None:
        check_live(policy, problem.rewards)
        policy.check(problem.rewards)
        self.policy, self.problem, self.horizon = policy, problem, horizon
        self.by_totals = by_totals(policy, problem.rewards)
        self.fdr = policy.criterion is Criterion.FDR
        self.generator = generator(seed, 0, POLICY)
        self.asks = 0
        self.stale: set[int] = set()
        """Arms whose shown evidence does not know of their latest asks yet."""
        self.parts = live_parts(policy, problem, features)
        self.assembly = self.parts.assembly
        self.state: State = self.assembly.start(horizon)
        start_at_offset(self.state.arms, offsets_of(problem, weights))
        self.versions: list[Any] = [self.state.pool.learned]

    # Asking

    @explains_rules
    def choose(self) -> int:
        """The arm to ask for next: each arm once, then as the rule says; -1 where no arm is open."""
        pool, parts = at_round(self.state.pool, float(self.asks + 1)), self.parts
        modelled, choosing = self.assembly.estimator is not None, self.assembly.parameters[0]
        arm = choose_next(
            parts.prepare, parts.select, modelled, self.state.tables, pool, self.assembly.bar, self.generator, choosing
        )
        return int(arm)

    def ticket(self) -> tuple[int, int]:
        """What to keep with the ticket that is asked for next: its round, and which version of the pool it saw."""
        return self.asks + 1, len(self.versions) - 1

    @explains_rules
    def ask(self, arm: int) -> None:
        """One more pull of this arm is under way."""
        self.asks += 1
        pool = at_round(self.state.pool, float(self.asks))
        note_ask(self.parts.update, self.state.tables, arm, pool, self.assembly.bar, self.assembly.parameters[0])
        self.stale.add(arm)
        if self.fdr:
            self.refresh()

    # Absorbing

    @explains_rules
    def absorb(self, arm: int, reward: float, asked: tuple[int, int] | None = None) -> list[int]:
        """The reward of a pull that was asked for; returns the arms that have their verdict now.

        asked : what `ticket` returned when the pull was asked for; without it, the pull was the latest one
        """
        arms = self.state.arms
        if arms[arm, PENDING_COLUMN] < 1.0:
            raise InvalidValue(f"arm {arm} has no pull under way: ask for it before its reward is told.")
        if self.fdr:
            self.refresh()
        arms[arm, PENDING_COLUMN] -= 1.0
        before = arms[arm, VERDICT]
        asked_round, version = asked if asked is not None else (self.asks, -1)
        pool = Pool(float(asked_round), self.horizon, self.versions[version])
        source = ToldReward(arm, float(reward), pool)
        self.assembly.advance(self.state, source, self.generator, self.state.round + 1, NO_TRACE)
        self.stale.discard(arm)
        self._new_version()
        if self.fdr:
            return self._decided_now()
        return [arm] if arms[arm, VERDICT] != before else []

    @explains_rules
    def void(self, arm: int) -> list[int]:
        """A pull that was asked for will never be answered, for a reason that has nothing to do with its reward."""
        arms, progress = self.state.arms, self.state.tables.progress
        if arms[arm, PENDING_COLUMN] < 1.0:
            raise InvalidValue(f"arm {arm} has no pull under way that could be declared void.")
        arms[arm, PENDING_COLUMN] -= 1.0
        if arms[arm, PENDING_COLUMN] + arms[arm, PULLS] == 0.0 and arm < progress[FRESH]:
            progress[FRESH] = arm  # asked for again before the rule chooses
        return self._judge([arm])

    def replay(self, kinds: ArrayLike, arms: ArrayLike, rewards: ArrayLike) -> None:
        """Asks and tells of a journal in their order, compiled: a million of them in about a second.

        kinds : `ASK` or `TELL`, one per event; rewards of asks are not looked at
        """
        parts = self.parts.replay
        if parts is None or not self.replayable:
            raise InvalidValue(
                f"{self.policy.name} is replayed step by step: its bets depend on what was known at each ask."
            )
        events = Events(
            np.asarray(kinds, dtype=np.int8),
            np.asarray(arms, dtype=np.int64),
            np.asarray(rewards, dtype=np.float64),
            np.zeros(1, dtype=np.int64),
        )
        told = int((events.kinds == TELL).sum())
        if told:
            run = independent.build(parts, kind_of_live(self.policy))
            state, bar = self.state, self.assembly.bar
            state.pool, _ = run(
                state.tables,
                state.pool,
                events,
                bar,
                self.assembly.parameters,
                self.generator,
                state.round + told,
                NO_TRACE,
            )
        waiting = events.arms[events.cursor[0] :]
        np.add.at(self.state.arms[:, PENDING_COLUMN], waiting, 1.0)
        self.asks += int((events.kinds == ASK).sum())
        self.stale.update(np.flatnonzero(self.state.arms[:, PENDING_COLUMN]).tolist())
        self._new_version()
        self._make_ready()

    @property
    def replayable(self) -> bool:
        """Can a journal be replayed without keeping the pool of every ask?"""
        bets_on_the_pool = not self.by_totals and self.policy.identification.learner is not None
        return self.assembly.estimator is None and not bets_on_the_pool

    # Arms that come, go, and are looked at

    def add_arms(self, weights: Sequence[float]) -> None:
        """More arms, each with its share of the error probability; K and delta of the problem stay what they were."""
        if self.assembly.estimator is not None:
            raise InvalidValue(
                "arms can't be added to a campaign with a model of the arms: the model was built on their features. "
                "Create a separate campaign for them."
            )
        old, state = self.state.tables, self.state
        more = np.zeros((len(weights), old.arms.shape[1]))
        spent = float(np.exp(old.arms[:, OFFSET_COLUMN]).sum()) / self.problem.arms
        start_at_offset(more, offsets_of(self.problem, weights, spent))
        table = np.vstack([old.arms, more])
        count = len(table)
        ledger = empty_ledger(count if self.fdr else 0)
        ledger[:, : old.ledger.shape[1]] = old.ledger
        old.progress[OPEN] += len(weights)
        old.progress[FRESH] = min(int(old.progress[FRESH]), count - len(weights))
        state.tables = Tables(
            table,
            np.concatenate([old.decided_at, np.zeros(len(weights), dtype=np.int64)]),
            tree_for(live_sampling(self.policy.sampling), count, False),
            old.progress,
            ledger,
            np.zeros(count if self.fdr else 0, dtype=np.int64),
        )
        self._make_ready()

    def close(self, arm: int) -> None:
        """Never choose this arm until it is opened again; no verdict is implied, and rewards under way still count."""
        if self.state.arms[arm, VERDICT] == 0.0:
            self._mark(arm, CLOSED, -1)

    def reopen(self, arm: int) -> None:
        """Choose it again."""
        if self.state.arms[arm, VERDICT] == CLOSED:
            self._mark(arm, 0.0, 1)

    def _mark(self, arm: int, verdict: float, opened: int) -> None:
        tables = self.state.tables
        tables.arms[arm, VERDICT] = verdict
        tables.progress[OPEN] += opened
        if opened > 0 and tables.arms[arm, PULLS] + tables.arms[arm, PENDING_COLUMN] == 0.0:
            tables.progress[FRESH] = min(int(tables.progress[FRESH]), arm)
        self._show(arm)

    def refresh(self) -> None:
        """Let the shown evidence of every arm count its pending pulls at their worst."""
        for arm in self.stale:
            self._count(arm)
        self.stale.clear()

    # Small parts

    def _count(self, arm: int) -> None:
        """Evidence of an open arm from its totals."""
        row = self.state.arms[arm]
        if self.parts.evidence is not None and self.by_totals and abs(row[VERDICT]) != 1.0:
            row[FOR_GOOD], row[FOR_BAD] = self.parts.evidence(
                row[PULLS], row[TOTAL], row[ARM_FIELDS:], self.assembly.bar, *self.assembly.parameters[1]
            )

    def _judge(self, arms: list[int]) -> list[int]:
        """Verdicts that follow from totals that were changed other than by a told reward."""
        tables, decided = self.state.tables, []
        if self.fdr:
            self.refresh()
        for arm in arms:
            self._count(arm)
            self.stale.discard(arm)
            if abs(tables.arms[arm, VERDICT]) == 1.0 or not self.by_totals:
                self._show(arm)
                continue
            found = [arm] if self._verdict(arm) else []
            if self.fdr:
                found = tables.settled[
                    : settle(tables.arms, arm, tables.ledger, tables.settled, self.assembly.bar)
                ].tolist()
                tables.progress[OPEN] -= len(found)
            for each in found:
                tables.decided_at[each] = tables.progress[ROUND]
                self._show(each)
            decided += found
            self._show(arm)
        return decided

    def _verdict(self, arm: int) -> bool:
        """Give the arm its verdict, one by one, if it has earned it."""
        tables = self.state.tables
        if self.fdr:
            return False
        verdict = self.parts.decide(
            read_arm_with_row(tables.arms, arm), self.state.pool, self.assembly.bar, self.assembly.parameters[2]
        )
        if verdict == 0.0:
            return False
        tables.progress[OPEN] -= int(tables.arms[arm, VERDICT] == 0.0)
        tables.arms[arm, VERDICT] = verdict
        return True

    def _show(self, arm: int) -> None:
        """Let the selector see an arm that has changed."""
        tables = self.state.tables
        if tables.progress[FRESH] >= len(tables.arms):
            self.parts.update(
                tables.kept,
                arm,
                read_arm_with_row(tables.arms, arm),
                self.state.pool,
                self.assembly.bar,
                self.assembly.parameters[0],
            )

    @explains_rules
    def _make_ready(self) -> None:
        """The selector from scratch, once every arm was asked for."""
        tables = self.state.tables
        asked = tables.arms[:, PULLS] + tables.arms[:, PENDING_COLUMN] > 0.0
        tables.progress[FRESH] = len(asked) if asked.all() else int(np.argmin(asked))
        if asked.all():
            pool = at_round(self.state.pool, float(max(self.asks, 1)))
            self.parts.prepare(tables.kept, tables.arms, pool, self.assembly.bar, self.assembly.parameters[0])

    def _fit(self) -> None:
        fit, next_round = learner_parts(self.policy.learner)
        progress, bar = self.state.tables.progress, self.assembly.bar
        *_, fitting, timing = self.assembly.parameters
        now = float(progress[ROUND])
        run = native(fit) if len(self.state.arms) > MANY or slow_as_python(self.policy.learner) else fit
        self.state.pool = run(self.state.arms, at_round(self.state.pool, now), bar, *fitting)
        progress[FIT_DUE] = int(next_round(now, bar, *timing))
        self._new_version()
        self._make_ready()

    def _new_version(self) -> None:
        """Keep what the pool was for tickets that were asked for under it, where a bet depends on it."""
        if self.by_totals or self.policy.identification.learner is None:
            self.versions[-1] = self.state.pool.learned
        elif not _same(self.state.pool.learned, self.versions[-1]):
            self.versions.append(self.state.pool.learned)

    def _decided_now(self) -> list[int]:
        return np.flatnonzero(self.state.decided_at == self.state.round).tolist()


def _same(one: Any, other: Any) -> bool:
    """Has nothing been learned since? Beliefs are tuples of numbers and arrays."""
    return one is other or all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
