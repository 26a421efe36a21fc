"""Live comparison with a threshold: is an arm's mean at least the bar?

The round is that of `loop.py` or `structured.py`. Its arm and reward are told instead of chosen and drawn. Index and
line rules run as plain Python, so a first step does not wait for a compiler. Random rules, models of the arms, blocks
and replays are compiled. If every reward is told before the next ask, a step pulls the same arms, gathers the same
evidence and gives the same verdicts as the simulator, bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goodarm.engine import loop as independent
from goodarm.engine.assemble import State
from goodarm.engine.compile import BLOCK, SIMULATED_ROUNDS, just_in_time
from goodarm.engine.explain import explains_rules
from goodarm.engine.live.assembly import (
    Events,
    ToldReward,
    asking,
    choose_next,
    choosing_again,
    judging,
    kind_of_live,
    live_parts,
    note_ask,
    playing,
    showing,
    suspend_exhausted,
)
from goodarm.engine.live.checks import by_totals, check_live, offsets_of
from goodarm.engine.live.step import (
    ASK,
    TELL,
    Account,
    Again,
    ArmState,
    Asked,
    CompiledPlay,
    Counts,
    Tenths,
    as_plain,
    like,
    packed,
    unpacked,
)
from goodarm.engine.live.worst_case import (
    EXTRA,
    OFFSET,
    OFFSET_COLUMN,
    PENDING_COLUMN,
    TOLD_BAD,
    TOLD_GOOD,
    live_sampling,
    start_at_offset,
    state_of,
    worst_case,
)
from goodarm.engine.loop import FIT_DUE, FRESH, NO_TRACE, OPEN, ROUND, Tables, nothing_changes
from goodarm.engine.rule_parts import Drawn
from goodarm.engine.selectors import memory_for, refuse_nan
from goodarm.errors import InvalidValue
from goodarm.fingerprint import functions_in, package_of
from goodarm.policies import Policy
from goodarm.policies.bounds import bounds_now
from goodarm.problem import Problem
from goodarm.rules.beliefs import (
    ARM_FIELDS,
    FOR_BAD,
    FOR_GOOD,
    MEAN,
    PULLS,
    SUSPENDED,
    TOTAL,
    VERDICT,
    WIDTH,
    Pool,
    at_round,
    read_arm_with_row,
)
from goodarm.rules.identification import EvidenceRule, with_scores
from goodarm.rules.identification.false_discovery import decide_by_rank, empty_ledger, needed_by_rank
from goodarm.rules.parameters import Formula
from goodarm.rules.sampling import ChoiceRule
from goodarm.streams import POLICY, generator
from goodarm.verdict import Criterion

BELIEF = "belief_"
"""Prefix of the names under which the arrays of a model's belief are packed."""
MEMORY_COLUMN = ARM_FIELDS + EXTRA
"""First column of the memory of a rule in the order of asking."""
LARGEST_BELIEF = 32_000_000
"""Maximum size in bytes of a packed belief, enough for a kernel over 1,400 arms."""


class ThresholdStep:
    """A `LiveStep` of a policy on a problem with a threshold.

    horizon  : planned number of pulls, inf without a plan
    features : features of the arms, for a model without its own
    weights  : each arm's share of the error probability, 1/K each by default; their sum is at most 1
    costs    : cost of a pull of each arm, 1 each by default

    >>> from goodarm.policies import policy
    >>> from goodarm.problem import Problem
    >>> step = ThresholdStep(policy("value+gap-mixture"), Problem(threshold=0.5, arms=3))
    >>> arm = step.choose()
    >>> step.ask(arm)
    >>> step.absorb(arm, 1.0)
    []
    >>> step.row(arm).pulls, step.row(arm).total, step.choose()
    (1.0, 1.0, 1)
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
        costs: ArrayLike | None = None,
    ) -> None:
        check_live(policy, problem.rewards)
        policy.check(problem.rewards)
        self.policy, self.problem, self.horizon = policy, problem, horizon
        self.by_totals = by_totals(policy, problem.rewards)
        self.fdr = policy.criterion is Criterion.FDR
        self.generator = generator(seed, 0, POLICY)
        self.asks = 0
        self.stale: set[int] = set()
        """Arms whose evidence is out of date: it lacks their latest asks."""
        self.parts = live_parts(policy, problem, features)
        self.assembly = self.parts.assembly
        self.state: State = self.assembly.start(horizon)
        start_at_offset(self.state.arms, offsets_of(problem, weights), costs)
        self.versions: list[Any] = [self.state.pool.learned]
        self._resting = False
        """Whether the selector is out of date; the next choice rebuilds it."""

    # Asking

    @explains_rules
    def choose(self) -> int:
        """The next arm to ask for: each arm once, then the rule's choice; -1 if every arm is decided."""
        self._wake()
        pool, parts = at_round(self.state.pool, float(self.asks + 1)), self.parts
        modelled, choosing = self.assembly.model is not None, self.assembly.parameters[0]
        arm = choose_next(
            parts.prepare, parts.select, modelled, self.state.tables, pool, self.assembly.bar, self.generator, choosing
        )
        return int(arm)

    def ticket(self, arm: int) -> Asked:
        """Information to keep with this arm's next ticket."""
        return self._known(arm)._replace(round=self.asks + 1)

    def _known(self, arm: int) -> Asked:
        """Information that the bet of a pull asked for now may depend on."""
        if self.assembly.model is None:
            return Asked(self.asks, len(self.versions) - 1)
        row = self.state.arms[arm]
        return Asked(self.asks, len(self.versions) - 1, float(row[MEAN]), float(row[WIDTH]))

    @explains_rules
    def ask(self, arm: int, pulls: int = 1) -> None:
        """Record more pending pulls of this arm."""
        self.asks += pulls
        pool = at_round(self.state.pool, float(self.asks))
        update = nothing_changes if self._resting else self.parts.update
        note_ask(update, self.state.tables, arm, pulls, pool, self.assembly.bar, self.assembly.parameters[0])
        self.stale.add(arm)
        if self.fdr:
            self._refresh()

    def choose_block(self, pulls: int) -> Counts:
        """Choose and ask many times; returns the pulls of each arm, fewer in total only if every arm is decided."""
        self._refuse_blocks()
        self._wake()
        state, parts = self.state, self.parts
        counts = np.zeros(len(state.arms), dtype=np.int64)
        pool, choosing = at_round(state.pool, float(self.asks)), self.assembly.parameters[0]
        ask_many = asking(parts.prepare, parts.select, parts.update)
        done = ask_many(state.tables, pool, self.assembly.bar, self.generator, choosing, pulls, counts)
        self._note_block(counts, int(done))
        return counts

    def ask_block(self, counts: Counts) -> None:
        """Record a pending block that another process chose."""
        if isinstance(self.policy.sampling, ChoiceRule):  # choose again to advance the random stream by the same amount
            chosen = self.choose_block(int(counts.sum()))
            self.state.arms[:, PENDING_COLUMN] += counts - chosen  # rules of another version may choose differently
            self._suspend_exhausted()
            return
        asked, tables = np.flatnonzero(counts), self.state.tables
        tables.arms[asked, PENDING_COLUMN] += counts[asked]
        self._suspend_exhausted()
        self._note_block(counts, int(counts.sum()))
        if tables.progress[FRESH] < len(tables.arms):
            self._make_ready()
        else:
            self._show_many(asked, at_round(self.state.pool, float(self.asks)))

    def _note_block(self, counts: Counts, pulls: int) -> None:
        self.asks += pulls
        self.stale.update(np.flatnonzero(counts).tolist())
        if self.fdr:
            self._refresh()

    def _refuse_blocks(self) -> None:
        if not self.by_totals or self.assembly.model is not None:
            raise InvalidValue(
                "blocks need a rule by totals, rewards in [0, 1] and no model of the arms, since their order is lost; "
                f"{self.policy.name} does not meet all of this. Use 'value+gap-mixture', or ask and tell one by one."
            )

    # Absorbing

    @explains_rules
    def absorb(self, arm: int, reward: float, asked: Asked | None = None) -> list[int]:
        """Absorb the reward of a pending pull; returns the arms that it decides."""
        tables = self.state.tables
        arms = tables.arms
        if arms[arm, PENDING_COLUMN] < 1.0:
            raise InvalidValue(f"arm {arm} has no pending pull. Ask for the arm before you tell its reward.")
        if self.fdr:
            self._refresh()
        arms[arm, PENDING_COLUMN] -= 1.0
        before = arms[arm, VERDICT]
        known = asked if asked is not None else self._known(arm)
        pool = Pool(float(known.round), self.horizon, self.versions[known.version])
        source = ToldReward(arm, float(reward), pool, known.mean, known.width)
        assembly = self.parts.resting if self._resting and self.parts.resting is not None else self.assembly
        assembly.advance(self.state, source, self.generator, int(tables.progress[ROUND]) + 1, NO_TRACE)
        self.stale.discard(arm)
        self._new_version()
        if self.fdr:
            return self._decided_now()
        return [arm] if arms[arm, VERDICT] != before else []

    def absorb_block(self, told: ArrayLike, totals: ArrayLike) -> list[int]:
        """Absorb many rewards, given as a count and a sum for each arm; returns the arms that they decide."""
        self._refuse_blocks()
        counts, sums = np.asarray(told, dtype=np.float64), np.asarray(totals, dtype=np.float64)
        arms, progress = self.state.arms, self.state.tables.progress
        if (counts > arms[:, PENDING_COLUMN]).any():
            arm = int(np.argmax(counts > arms[:, PENDING_COLUMN]))
            raise InvalidValue(
                f"arm {arm} has {arms[arm, PENDING_COLUMN]:g} pending pulls, but {counts[arm]:g} rewards were told."
            )
        there = np.flatnonzero(counts)
        arms[there, PENDING_COLUMN] -= counts[there]
        arms[there, PULLS] += counts[there]
        arms[there, TOTAL] += sums[there]
        arms[there, MEAN] = arms[there, TOTAL] / arms[there, PULLS]
        arms[there, WIDTH] = 1.0 / np.sqrt(arms[there, PULLS])
        progress[ROUND] += int(counts.sum())
        decided = self._judge_many(there)
        if progress[ROUND] >= progress[FIT_DUE]:
            self._fit()
        return decided

    @explains_rules
    def void(self, arm: int, pulls: int = 1) -> list[int]:
        """Withdraw pulls for a reason unrelated to their rewards; returns the arms decided."""
        arms, progress = self.state.arms, self.state.tables.progress
        if arms[arm, PENDING_COLUMN] < pulls:
            raise InvalidValue(f"arm {arm} has no pending pull to void.")
        exhausted = self._exhausted(arm)
        arms[arm, PENDING_COLUMN] -= pulls
        if arms[arm, PENDING_COLUMN] + arms[arm, PULLS] == 0.0 and arm < progress[FRESH]:
            progress[FRESH] = arm  # asked for again before the rule chooses
        if exhausted:
            self.reopen(arm)
        return self._judge([arm])

    def replay(self, kinds: ArrayLike, arms: ArrayLike, rewards: ArrayLike) -> None:
        """Replay asks and tells of a journal in order, compiled: a million of them take about a second."""
        parts, events = self.parts.replay, self._events(kinds, arms, rewards)
        assert parts is not None
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
        self._suspend_exhausted()
        self._note_replay(events)
        self.rest()
        self._make_ready()

    def replay_choices(self, kinds: ArrayLike, arms: ArrayLike, rewards: ArrayLike) -> Again:
        """Replay, and compare every choice with the policy's."""
        self._wake()
        events, parts, state, rule = (
            self._events(kinds, arms, rewards),
            self.parts,
            self.state,
            self.policy.identification,
        )
        assert parts.live is not None
        by_rank = worst_case(rule) if self.fdr and isinstance(rule, EvidenceRule) else None
        draws = isinstance(self.policy.sampling, ChoiceRule)
        run = choosing_again(parts.live, parts.select, kind_of_live(self.policy), by_rank, draws)
        before, bar, trace = state.round, self.assembly.bar, NO_TRACE
        state.pool, another = run(
            state.tables, state.pool, events, bar, self.assembly.parameters, self.generator, self.asks, trace
        )
        self._note_replay(events)
        decided = np.flatnonzero(state.decided_at > before)
        last = decided[state.decided_at[decided] == state.round] if events.kinds[-1:] == TELL else decided[:0]
        return Again(int(another), last.tolist(), len(last) < len(decided))

    def _events(self, kinds: ArrayLike, arms: ArrayLike, rewards: ArrayLike) -> Events:
        if self.parts.replay is None or not self.replayable:
            raise InvalidValue(
                f"{self.policy.name} is replayed step by step: its bets depend on the information available at each "
                "ask."
            )
        return Events(
            np.asarray(kinds, dtype=np.int8),
            np.asarray(arms, dtype=np.int64),
            np.asarray(rewards, dtype=np.float64),
            np.zeros(1, dtype=np.int64),
            self.assembly.parameters[1],
        )

    def _note_replay(self, events: Events) -> None:
        self.asks += int((events.kinds != TELL).sum())
        self.stale.update(np.flatnonzero(self.state.arms[:, PENDING_COLUMN]).tolist())
        if self.fdr:
            self._refresh()
        self._new_version()

    @property
    def replayable(self) -> bool:
        """Whether a journal can be replayed without keeping the pool of every ask."""
        bets_on_the_pool = not self.by_totals and self.policy.identification.learner is not None
        return self.assembly.model is None and not bets_on_the_pool

    # Simulation

    def player(self, draws: tuple[Formula, ...], rounds: int) -> CompiledPlay | None:
        """Compiled code that plays rounds with rewards drawn at once; None with a model, or if it is not due yet."""
        parts = self.parts
        if parts.live is None:
            return None
        loop = playing(parts.live, parts.select, kind_of_live(self.policy), draws[0])
        run = just_in_time(loop, SIMULATED_ROUNDS).native(rounds)
        return None if run is None else CompiledPlay(run, self._play)

    def _play(
        self,
        run: Formula,
        sources: tuple[Drawn, ...],
        account: Account,
        wanted: int,
        until: int,
        trace: NDArray[np.int64],
    ) -> bool:
        self._wake()
        state, assembly = self.state, self.assembly
        state.pool, goes_on = run(
            state.tables,
            state.pool,
            sources[0],
            account,
            assembly.bar,
            assembly.parameters,
            self.generator,
            wanted,
            until,
            trace,
        )
        refuse_nan(state.tables.kept)
        self.asks = state.round
        self._new_version()
        return bool(goes_on)

    # New arms and suspension

    def add_arms(self, weights: Sequence[float], tenths: Tenths = (), costs: Sequence[float] | None = None) -> None:
        """Add arms, each with its share of the error probability. The problem keeps its K and delta."""
        if self.assembly.model is not None:
            raise InvalidValue(
                "arms can't be added to a campaign with a model of the arms: the model was built on their features. "
                "Create a separate campaign for them."
            )
        old, state = self.state.tables, self.state
        more = np.zeros((len(weights), old.arms.shape[1]))
        spent = float(np.exp(old.arms[:, OFFSET_COLUMN]).sum()) / self.problem.arms
        start_at_offset(more, offsets_of(self.problem, weights, spent), costs)
        table = np.vstack([old.arms, more])
        count = len(table)
        ledger = empty_ledger(count if self.fdr else 0)
        ledger[:, : old.ledger.shape[1]] = old.ledger
        old.progress[OPEN] += len(weights)
        old.progress[FRESH] = min(int(old.progress[FRESH]), count - len(weights))
        state.tables = Tables(
            table,
            np.concatenate([old.decided_at, np.zeros(len(weights), dtype=np.int64)]),
            memory_for(live_sampling(self.policy.sampling), count),
            old.progress,
            ledger,
            np.zeros(count if self.fdr else 0, dtype=np.int64),
        )
        self._make_ready()

    def suspend(self, arm: int) -> None:
        """Do not choose this arm until it is reopened. Its rewards still count; suspending gives no verdict."""
        if self.state.arms[arm, VERDICT] == 0.0:
            self._mark(arm, SUSPENDED, -1)

    def reopen(self, arm: int) -> None:
        """Choose a suspended arm again."""
        if self.state.arms[arm, VERDICT] == SUSPENDED and not self._exhausted(arm):
            self._mark(arm, 0.0, 1)

    def _exhausted(self, arm: int) -> bool:
        """Whether all cases of the arm have been asked for."""
        row = self.state.arms[arm]
        return bool(row[PULLS] + row[PENDING_COLUMN] >= self.assembly.bar.cases)

    def _suspend_exhausted(self) -> None:
        if self.assembly.bar.cases < math.inf:
            for arm in range(len(self.state.arms)):
                suspend_exhausted(self.state.tables, arm, self.assembly.bar)

    def _mark(self, arm: int, verdict: float, opened: int) -> None:
        tables = self.state.tables
        tables.arms[arm, VERDICT] = verdict
        tables.progress[OPEN] += opened
        if opened > 0 and tables.arms[arm, PULLS] + tables.arms[arm, PENDING_COLUMN] == 0.0:
            tables.progress[FRESH] = min(int(tables.progress[FRESH]), arm)
        self._show(arm)

    # Views

    def row(self, arm: int) -> ArmState:
        """Summary of an arm."""
        if arm in self.stale:
            self._count(arm)
            self.stale.discard(arm)
        row = self.state.arms[arm]
        bar, ledger = self.assembly.bar, self.state.tables.ledger
        good, bad = (needed_by_rank(ledger, side, row[VERDICT], bar) if self.fdr else bar.budget for side in (0, 1))
        return state_of(row, good, bad)

    def pulls(self) -> NDArray[np.float64]:
        """The number of absorbed rewards of every arm."""
        return self.state.arms[:, PULLS].copy()

    def bounds(self, arm: int | None = None) -> dict[str, float]:
        """Current alpha and beta of the policy, and other scalars that it has learned."""
        pool = at_round(self.state.pool, float(max(self.asks, 1)))
        return bounds_now(self.policy, self.state.arms, pool, self.assembly.bar, arm)

    def verdict_without(self, arm: int, pulls: int) -> int:
        """The verdict that the arm would have without this many pending pulls; under fdr only if it is certain.

        Calling it decides nothing.
        """
        row = self.state.arms[arm : arm + 1].copy()
        memory, bar = row[0, ARM_FIELDS:], self.assembly.bar
        _, observing, deciding, *_ = self.assembly.parameters
        if self.parts.evidence is not None and max(memory[TOLD_GOOD], memory[TOLD_BAD]) + memory[OFFSET] < bar.budget:
            return 0  # the told rewards would not suffice even if nothing were pending
        row[0, PENDING_COLUMN] -= pulls
        if self.parts.evidence is not None:
            row[0, FOR_GOOD], row[0, FOR_BAD] = self.parts.evidence(
                row[0, PULLS], row[0, TOTAL], memory, bar, *observing
            )
        return int(self.parts.decide(read_arm_with_row(row, 0), self.state.pool, bar, deciding))

    def _refresh(self) -> None:
        """Update the evidence of every arm with its pending pulls at their worst."""
        for arm in self.stale:
            self._count(arm)
        self.stale.clear()

    # Saved state

    def pack(self) -> bytes | None:
        """The state as bytes; None if the model's belief is too large.

        Derived state is left out: the selector is rebuilt and chooses the same arms. A model's belief is kept in full,
        even the part computed from the features, because another machine's linear algebra may flip signs.
        """
        tables, pool, belief = self.state.tables, self.state.pool, self.state.belief
        if belief is not None and sum(each.nbytes for each in belief) > LARGEST_BELIEF:
            return None
        numbers = {
            "asks": self.asks,
            "stale": sorted(self.stale),
            "round": pool.round,
            "learned": as_plain(pool.learned),
            "versions": [as_plain(version) for version in self.versions],
            "generator": self.generator.bit_generator.state,
        }
        believed = {} if belief is None else belief._asdict()
        return packed(
            numbers,
            arms=tables.arms,
            decided_at=tables.decided_at,
            progress=tables.progress,
            ledger=tables.ledger,
            **{BELIEF + name: values for name, values in believed.items()},
        )

    def unpack(self, body: bytes) -> None:
        """Restore a packed state into a new step."""
        numbers, arrays = unpacked(body)
        example, count, old = self.state.pool.learned, len(arrays["arms"]), self.state.tables
        modelled = self.state.belief is not None
        self.state.tables = Tables(
            np.require(arrays["arms"], requirements=["F" if modelled else "C", "W"]),
            arrays["decided_at"],
            memory_for(live_sampling(self.policy.sampling), count) if count != len(old.arms) else old.kept,
            arrays["progress"],
            arrays["ledger"],
            np.zeros(count if self.fdr else 0, dtype=np.int64),
        )
        self.state.pool = Pool(numbers["round"], self.horizon, like(example, numbers["learned"]))
        self.versions = [like(example, version) for version in numbers["versions"]]
        self.generator.bit_generator.state = numbers["generator"]
        self.asks, self.stale = numbers["asks"], set(numbers["stale"])
        self.rest()
        if modelled:
            self.state.belief = type(self.state.belief)(*(arrays[BELIEF + name] for name in self.state.belief._fields))
        else:
            self._make_ready()

    # Helpers

    def _count(self, arm: int) -> None:
        """Evidence of an undecided arm from its totals."""
        row = self.state.arms[arm]
        if self.parts.evidence is not None and self.by_totals and abs(row[VERDICT]) != 1.0:
            row[FOR_GOOD], row[FOR_BAD] = self.parts.evidence(
                row[PULLS], row[TOTAL], row[ARM_FIELDS:], self.assembly.bar, *self.assembly.parameters[1]
            )

    def _judge(self, arms: list[int]) -> list[int]:
        """Give the verdicts that follow after totals changed for a reason other than a told reward."""
        tables, decided = self.state.tables, []
        if self.fdr:
            self._refresh()
        for arm in arms:
            self._count(arm)
            self.stale.discard(arm)
            if abs(tables.arms[arm, VERDICT]) == 1.0 or not self.by_totals:
                self._show(arm)
                continue
            found = [arm] if self._verdict(arm) else []
            if self.fdr:
                many, opened = decide_by_rank(tables.arms, arm, tables.ledger, tables.called, self.assembly.bar)
                found = tables.called[:many].tolist()
                tables.progress[OPEN] -= opened
            for each in found:
                tables.decided_at[each] = tables.progress[ROUND]
                self._show(each)
            decided += found
            self._show(arm)
        return decided

    def _judge_many(self, arms: Counts) -> list[int]:
        """The same for many arms, compiled."""
        rule, state = self.policy.identification, self.state
        if not (BLOCK.compiles(len(arms)) and isinstance(rule, EvidenceRule) and self.by_totals):
            return self._judge(arms.tolist())
        stale = np.array(sorted(self.stale) if self.fdr else [], dtype=np.int64)
        decided = np.empty(len(state.arms), dtype=np.int64)
        judge = judging(worst_case(rule), self.parts.decide, self.fdr)
        _, observing, deciding, *_ = self.assembly.parameters
        many = judge(state.tables, stale, arms, state.pool, self.assembly.bar, observing, deciding, decided)
        self.stale.difference_update(stale.tolist(), arms.tolist())
        self._show_many(np.union1d(arms, decided[:many]), state.pool)
        found: list[int] = decided[:many].tolist()
        return found

    def _verdict(self, arm: int) -> bool:
        """Give the arm its verdict if its evidence suffices; arms are decided one by one."""
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
        """Update the selector for a changed arm."""
        tables = self.state.tables
        if not self._resting and tables.progress[FRESH] >= len(tables.arms):
            self.parts.update(
                tables.kept,
                arm,
                read_arm_with_row(tables.arms, arm),
                self.state.pool,
                self.assembly.bar,
                self.assembly.parameters[0],
            )

    def _show_many(self, arms: Counts, pool: Pool) -> None:
        if self._resting:
            return
        show = showing(self.parts.update)
        show(self.state.tables, arms, pool, self.assembly.bar, self.assembly.parameters[0])

    @explains_rules
    def _make_ready(self) -> None:
        """Build the selector once every arm has been asked for, unless the step is at rest."""
        tables = self.state.tables
        asked = tables.arms[:, PULLS] + tables.arms[:, PENDING_COLUMN] > 0.0
        tables.progress[FRESH] = len(asked) if asked.all() else int(np.argmin(asked))
        if asked.all() and not self._resting:
            pool = at_round(self.state.pool, float(max(self.asks, 1)))
            self.parts.prepare(tables.kept, tables.arms, pool, self.assembly.bar, self.assembly.parameters[0])

    def rest(self) -> None:
        """Stop preparing for choices; the next choice rebuilds the selector."""
        self._resting = self.assembly.model is None

    def _wake(self) -> None:
        if self._resting:
            self._resting = False
            self._make_ready()

    def _fit(self) -> None:
        progress, bar = self.state.tables.progress, self.assembly.bar
        *_, fitting, timing = self.assembly.parameters
        now = float(progress[ROUND])
        self.state.pool = self.parts.fit(self.state.arms, at_round(self.state.pool, now), bar, *fitting)
        progress[FIT_DUE] = int(self.parts.next_round(now, bar, *timing))
        self._new_version()
        self._make_ready()

    def _new_version(self) -> None:
        """Keep the pool for the tickets issued under it, if a bet depends on it."""
        if self.by_totals or self.policy.identification.learner is None:
            self.versions[-1] = self.state.pool.learned
        elif not _same(self.state.pool.learned, self.versions[-1]):
            self.versions.append(self.state.pool.learned)

    def _decided_now(self) -> list[int]:
        return np.flatnonzero(self.state.decided_at == self.state.round).tolist()


class ScoredStep(ThresholdStep):
    """A threshold step by `score-bets`. The tenth of every case's score is known.

    tenths : tenths of the scores of all cases, arm by arm
    """

    def __init__(self, policy: Policy, problem: Problem, tenths: Sequence[Sequence[int]], **rest: Any) -> None:
        super().__init__(policy, problem, **rest)
        self._remember(0, tenths)

    def absorb(self, arm: int, reward: float, asked: Asked | None = None) -> list[int]:
        """The label of a case; `asked.tenth` is the tenth of its score."""
        assert asked is not None, "the tenth of the case's score comes with its ticket"
        self.state.arms[arm, MEMORY_COLUMN + with_scores.DRAWN] = asked.tenth
        return super().absorb(arm, reward, asked)

    def add_arms(self, weights: Sequence[float], tenths: Tenths = (), costs: Sequence[float] | None = None) -> None:
        first = len(self.state.arms)
        super().add_arms(weights, costs=costs)
        self._remember(first, tenths)

    def player(self, draws: tuple[Formula, ...], rounds: int) -> CompiledPlay | None:
        """None: simulated cases have no scores."""
        return None

    def _remember(self, first: int, tenths: Sequence[Sequence[int]]) -> None:
        for arm, each in enumerate(tenths, first):
            self.state.arms[arm, MEMORY_COLUMN:] = with_scores.first_memory(each)


def _same(one: Any, other: Any) -> bool:
    """Whether two beliefs are equal; beliefs are tuples of numbers and arrays."""
    return one is other or all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def rehearse(policy: Policy, problem: Problem) -> None:
    """Compile the code for blocks and long replays now, if the rules come from outside goodarm.

    Single steps run as Python. Without this check, a rule that can't be compiled would not fail until the journal is
    long. goodarm's own rules are known to compile, and models of the arms are compiled at the first step.
    """
    rules = (policy.sampling.formula, policy.identification.formula)
    if policy.model is not None or all(package_of(each) == "goodarm" for each in functions_in(rules)):
        return
    step = ThresholdStep(policy, Problem(problem.threshold, 2, problem.delta, problem.rewards))
    if step.replayable:
        step.replay([ASK, TELL, ASK, TELL], [0, 0, 1, 1], [0.0, 1.0, 0.0, 0.0])
    parts, state, assembly = step.parts, step.state, step.assembly
    asking(parts.prepare, parts.select, parts.update)(
        state.tables,
        at_round(state.pool, 2.0),
        assembly.bar,
        step.generator,
        assembly.parameters[0],
        1,
        np.zeros(2, dtype=np.int64),
    )
