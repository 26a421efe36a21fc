"""The functions of a threshold step: rounds with told rewards, asks, and bulk verdicts.

The round is that of `loop.py` or `structured.py`. Its arm and reward are told instead of chosen and drawn. A step
handles one arm as Python. The loops at the end of this file handle many arms as compiled code, with the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.engine import loop as independent
from goodarm.engine import structured
from goodarm.engine.assemble import Assembly, loop_parameters
from goodarm.engine.compile import (
    ALWAYS,
    EVERY_ARM,
    EVERY_ARM_OF_SLOW_RULE,
    EVIDENCE,
    FIT_OF_SLOW_RULE,
    SLOW_RULE,
    as_native_rounds,
    compiled,
    just_in_time,
    plain,
)
from goodarm.engine.live.step import ASK, TELL, Account
from goodarm.engine.live.worst_case import (
    PENDING_COLUMN,
    columns_of,
    live_identification,
    live_sampling,
    observe_totals,
    worst_case,
)
from goodarm.engine.loop import FRESH, OPEN, ROUND, Kind, Parts, Tables, good_so_far, nothing_changes
from goodarm.engine.rule_parts import learner_parts, learner_parts_beside_model, present_pool
from goodarm.engine.selectors import selector_for
from goodarm.policies import Policy
from goodarm.problem import Bar, Problem
from goodarm.rules.beliefs import (
    ARM_FIELDS,
    FOR_BAD,
    FOR_GOOD,
    PULLS,
    SUSPENDED,
    TOTAL,
    VERDICT,
    Arm,
    Pool,
    Table,
    at_round,
    is_open,
    read_arm_with_row,
)
from goodarm.rules.identification import EvidenceRule
from goodarm.rules.identification.false_discovery import decide_by_rank
from goodarm.rules.learners.ladder import ladder_learner
from goodarm.rules.parameters import Formula, Learner
from goodarm.rules.sampling import ChoiceRule
from goodarm.verdict import Criterion


class LiveParts(NamedTuple):
    """Functions that a threshold step calls.

    prepare, select, update : functions of the selector, as in `selectors.Selector`
    fit, next_round         : functions of the policy's learner
    decide   : (arm, pool, bar, parameters) -> verdict
    evidence : of a rule by totals, (pulls, total, memory, bar, *parameters) -> (log E+, log E-); None for others
    replay   : the round's parts for a journal; None with a model of the arms, which is replayed step by step
    live     : the round's parts for a told reward, as plain functions; None with a model of the arms
    resting  : the round for a told reward without the selector, while nothing is chosen; None with a model of the arms
    """

    assembly: Assembly
    prepare: Formula
    select: Formula
    update: Formula
    fit: Formula
    next_round: Formula
    decide: Formula
    evidence: Formula | None
    replay: Parts | None
    live: Parts | None
    resting: Assembly | None


def live_parts(policy: Policy, problem: Problem, features: Any) -> LiveParts:
    """Assemble a policy for rewards from outside."""
    rule, learner = policy.identification, policy.learner
    plain_observe, decide = live_identification(rule)
    by_totals = isinstance(rule, EvidenceRule) and rule.totals is not None
    evidence = as_native_rounds(worst_case(rule), EVIDENCE) if isinstance(rule, EvidenceRule) and by_totals else None
    fit, next_round = learner_parts(learner)
    if policy.model is not None:
        assembly, select = _with_model(policy, problem, features, plain_observe, decide)
        return LiveParts(
            assembly, nothing_changes, select, nothing_changes, fit, next_round, decide, evidence, None, None, None
        )
    by_rank = policy.criterion is Criterion.FDR and isinstance(rule, EvidenceRule)
    sampling = live_sampling(policy.sampling)
    prepare, select, update = selector_for(sampling, False, rows=True)
    replay = Parts(
        prepare=nothing_changes,
        choose=replayed_arm_by_rank(worst_case(rule)) if by_rank else replayed_arm,
        update=nothing_changes,
        reward=replayed_reward,
        as_asked=present_pool,
        observe=plain_observe,
        decide=decide,
        fit=fit,
        next_round=next_round,
    )
    # rules that read the result of a native learner need about half a millisecond as Python
    bets_slowly = rule.learner is not None and rule.learner.native
    slow = learner is not None and learner.native
    observe = as_native_rounds(plain_observe, SLOW_RULE if bets_slowly else None)
    if evidence is not None and not bets_slowly:
        observe = observe_totals(evidence)
    prepare = just_in_time(prepare, EVERY_ARM_OF_SLOW_RULE if slow else EVERY_ARM, over=1)
    update = just_in_time(update, SLOW_RULE) if slow else update
    fit = live_fit(learner)
    parts = Parts(prepare, told_arm, update, told_reward, told_pool, observe, decide, fit, next_round)
    run = independent.rounds(parts, kind_of_live(policy))
    assembly = Assembly(policy, problem, problem.bar, run, loop_parameters(policy), columns=columns_of(rule))
    chosen = just_in_time(select) if isinstance(sampling, ChoiceRule) else select
    live = Parts(*map(plain, parts))._replace(observe=plain_observe)
    unseen = independent.rounds(parts._replace(prepare=nothing_changes, update=nothing_changes), kind_of_live(policy))
    resting = replace(assembly, loop=unseen)
    return LiveParts(assembly, prepare, chosen, update, fit, next_round, decide, evidence, replay, live, resting)


def live_fit(learner: Learner | None) -> Formula:
    """`fit` of a learner in a live step: Python for a few arms, if it gives the same bits."""
    fit, _ = learner_parts(learner)
    if learner is None:
        return fit
    # the ladder's fit is slow, and is known to give the same bits as Python and compiled
    patience = EVERY_ARM if not learner.native else FIT_OF_SLOW_RULE if learner is ladder_learner else ALWAYS
    return just_in_time(fit, patience, over=0)


def kind_of_live(policy: Policy) -> Kind:
    """The constants of a live pairing's round."""
    waits = policy.identification.waits
    return Kind(policy.criterion is Criterion.FDR, rows=True, outside=True, waits=waits)


def _with_model(
    policy: Policy, problem: Problem, features: Any, observe: Formula, decide: Formula
) -> tuple[Assembly, Formula]:
    assert policy.model is not None
    model = policy.model.bind(features, problem.arms)
    kind = kind_of_live(policy)
    judge = structured.judge_by_rank if kind.fdr else structured.judge_the_pulled(decide, True)
    fit, next_round = learner_parts_beside_model(policy.learner)
    parts = structured.StructuredParts(
        told_arm, told_reward, told_belief, observe, type(model).absorb, judge, fit, next_round
    )
    bar = problem.bar._replace(modelled=1.0)
    run = structured.build(parts, kind)
    columns = columns_of(policy.identification)
    assembly = Assembly(policy, problem, bar, run, loop_parameters(policy), model, columns)
    return assembly, just_in_time(structured.scan_for(live_sampling(policy.sampling), False, True))


# Rounds with arm and reward from outside: a single told reward, or the events of a journal.


class ToldReward(NamedTuple):
    """Source of a single round: the arm, its reward, and the information that its bet may use.

    pool        : as it was when the pull was asked for
    mean, width : mean and width of the arm from the model at the time of asking
    """

    arm: int
    reward: float
    pool: Pool
    mean: float
    width: float


class Events(NamedTuple):
    """Source of a replay: asks and tells in order, and the number read so far."""

    kinds: NDArray[np.int8]
    arms: NDArray[np.int64]
    rewards: NDArray[np.float64]
    cursor: NDArray[np.int64]
    values: tuple[float, ...]
    """Parameters of the evidence."""


def told_arm(
    kept: Any, arms: Table, pool: Pool, bar: Any, generator: Any, parameters: Any, fresh: int, source: ToldReward
) -> int:
    """The arm that was told."""
    return source.arm


def told_reward(i: int, pulls: float, source: ToldReward) -> float:
    """The reward that was told."""
    return source.reward


def told_pool(pool: Pool, source: ToldReward) -> Pool:
    """The pool at the time of asking."""
    return source.pool


def told_belief(arm: Arm, pool: Pool, source: ToldReward) -> tuple[Arm, Pool]:
    """The arm with the model's mean and width, and the pool, all at the time of asking.

    Since then the model has also learned from rewards that may depend on this one: those of other arms in the same
    batch. A bet that used them would not be fair.
    """
    asked = Arm(arm.pulls, arm.total, source.mean, source.width, arm.for_good, arm.for_bad, arm.memory, arm.verdict)
    return asked, source.pool


def replayed_arm(
    kept: Any, arms: Table, pool: Pool, bar: Any, generator: Any, parameters: Any, fresh: int, source: Events
) -> int:
    """The next arm that was told. Asks before it in the journal become pending first."""
    c = source.cursor[0]
    while source.kinds[c] != TELL:
        arms[source.arms[c], PENDING_COLUMN] += 1.0
        c += 1
    arms[source.arms[c], PENDING_COLUMN] -= 1.0
    source.cursor[0] = c + 1
    return source.arms[c]  # type: ignore[no-any-return]  # numpy's integers


@cache
def replayed_arm_by_rank(evidence: Formula) -> Formula:
    """Like `replayed_arm` for verdicts by rank, where the evidence must count each ask immediately.

    A verdict on one arm ranks the evidence of all arms at the time of the reward.
    """

    def replayed(
        kept: Any, arms: Table, pool: Pool, bar: Any, generator: Any, parameters: Any, fresh: int, source: Events
    ) -> int:
        c = source.cursor[0]
        while source.kinds[c] != TELL:
            ask_by_rank(evidence, arms, source.arms[c], bar, source.values)
            c += 1
        arms[source.arms[c], PENDING_COLUMN] -= 1.0
        source.cursor[0] = c + 1
        return source.arms[c]  # type: ignore[no-any-return]  # numpy's integers

    return replayed


def ask_by_rank(evidence: Formula, arms: Table, i: int, bar: Any, values: Any) -> None:
    """Add one pending pull of arm i, and count it in the evidence."""
    arms[i, PENDING_COLUMN] += 1.0
    count_pending(evidence, arms, i, bar, values)


def count_pending(evidence: Formula, arms: Table, i: int, bar: Any, values: Any) -> None:
    """Update the evidence of arm i for its pending pulls, unless the arm is decided."""
    if abs(arms[i, VERDICT]) != 1.0:
        arms[i, FOR_GOOD], arms[i, FOR_BAD] = evidence(
            arms[i, PULLS], arms[i, TOTAL], arms[i, ARM_FIELDS:], bar, *values
        )


def replayed_reward(i: int, pulls: float, source: Events) -> float:
    """The reward of the replayed arm."""
    return source.rewards[source.cursor[0] - 1]  # type: ignore[no-any-return]  # the same


# Asking while rewards are pending.


def choose_next(
    prepare: Formula,
    select: Formula,
    modelled: bool,
    tables: Tables,
    pool: Pool,
    bar: Bar,
    generator: Any,
    parameters: Any,
) -> int:
    """The next arm to ask for: each arm once, then the rule's choice; -1 if every arm is decided.

    With a model (`modelled`) the rule chooses from the start, since the model has a mean for arms never pulled.
    """
    arms, kept, progress = tables.arms, tables.kept, tables.progress
    if progress[OPEN] <= 0:
        return -1
    if not modelled:
        count, fresh = len(arms), progress[FRESH]
        if fresh < count:
            while fresh < count and (
                arms[fresh, PULLS] + arms[fresh, PENDING_COLUMN] > 0.0 or not is_open(arms, fresh)
            ):
                fresh += 1
            progress[FRESH] = fresh
            if fresh < count:
                return int(fresh)
            prepare(kept, arms, pool, bar, parameters)
    return int(select(kept, arms, pool, bar, generator, parameters))


def suspend_exhausted(tables: Tables, i: int, bar: Bar) -> None:
    """Exclude an arm whose cases are all asked for, until one of them is void."""
    arms = tables.arms
    if arms[i, VERDICT] == 0.0 and arms[i, PULLS] + arms[i, PENDING_COLUMN] >= bar.cases:
        arms[i, VERDICT] = SUSPENDED
        tables.progress[OPEN] -= 1


def note_ask(update: Formula, tables: Tables, i: int, pulls: int, pool: Pool, bar: Bar, parameters: Any) -> None:
    """Add pending pulls of arm i. The selector sees them as if they had returned the arm's mean."""
    tables.arms[i, PENDING_COLUMN] += pulls
    suspend_exhausted(tables, i, bar)
    if tables.progress[FRESH] >= len(tables.arms):
        update(tables.kept, i, read_arm_with_row(tables.arms, i), pool, bar, parameters)


# Bulk operations, compiled.


@cache
def asking(prepare: Formula, select: Formula, update: Formula) -> Callable[..., int]:
    """Many asks in a row."""
    ready, chosen, changed = (plain(function) for function in (prepare, select, update))

    def ask_many(tables: Tables, pool: Pool, bar: Any, generator: Any, parameters: Any, pulls: int, counts: Any) -> int:
        for done in range(pulls):
            pool = at_round(pool, pool.round + 1.0)
            i = choose_next(ready, chosen, False, tables, pool, bar, generator, parameters)
            if i < 0:
                return done
            note_ask(changed, tables, i, 1, pool, bar, parameters)
            counts[i] += 1
        return pulls

    run: Callable[..., int] = compiled(ask_many)
    return run


@cache
def choosing_again(
    parts: Parts, select: Formula, kind: Kind, evidence: Formula | None, draws: bool
) -> Callable[..., tuple[Pool, int]]:
    """Asks and tells of a journal, repeating every choice: compiled, with the same bits as single steps.

    evidence : where verdicts are given by rank, so that the evidence must count each ask at once; None elsewhere
    draws    : whether choosing draws random numbers, even for a reward without a ticket

    The compiled function returns the pool and the place of the first ask for another arm than the chosen one, -1 if
    there is none.
    """
    ready, chosen, changed = parts.prepare, plain(select), parts.update
    absorb = independent.rounds(parts, kind)
    count = nothing_changes if evidence is None else count_pending
    counted = nothing_changes if evidence is None else evidence

    def again(
        tables: Tables, pool: Pool, events: Events, bar: Any, parameters: Any, generator: Any, asks: int, trace: Any
    ) -> tuple[Pool, int]:
        first, arms = -1, tables.arms
        for c in range(len(events.kinds)):
            i = events.arms[c]
            if events.kinds[c] == TELL:
                arms[i, PENDING_COLUMN] -= 1.0
                asked = Pool(float(asks), pool.horizon, pool.learned)
                source = ToldReward(i, events.rewards[c], asked, 0.0, 0.0)
                pool, _ = absorb(tables, pool, source, bar, parameters, generator, tables.progress[ROUND] + 1, trace)
                continue
            asks += 1
            present = at_round(pool, float(asks))
            if draws or events.kinds[c] == ASK:
                arm = choose_next(ready, chosen, False, tables, present, bar, generator, parameters[0])
                if arm != i and first < 0 and events.kinds[c] == ASK:
                    first = c
            note_ask(changed, tables, i, 1, present, bar, parameters[0])
            count(counted, arms, i, bar, events.values)
        return pool, first

    run: Callable[..., tuple[Pool, int]] = compiled(again)
    return run


@cache
def playing(parts: Parts, select: Formula, kind: Kind, draw: Formula) -> Formula:
    """Rounds of a simulated campaign: choose, pay, ask, and absorb the reward at once. The same bits as single steps.

    The selector need not see the pending pull, since nothing is chosen before its reward is absorbed.

    The function returns the pool and whether the run goes on.
    """
    ready, chosen, fdr = parts.prepare, plain(select), kind.fdr
    absorb = independent.rounds(parts, kind)

    def play(
        tables: Tables,
        pool: Pool,
        source: Any,
        account: Account,
        bar: Any,
        parameters: Any,
        generator: Any,
        wanted: int,
        until: int,
        trace: Any,
    ) -> tuple[Pool, bool]:
        arms, progress, none = tables.arms, tables.progress, trace[:0]
        good = good_so_far(arms)
        while progress[ROUND] < until:
            now = progress[ROUND] + 1
            present = at_round(pool, float(now))
            i = -1
            if good < wanted:
                i = choose_next(ready, chosen, False, tables, present, bar, generator, parameters[0])
            if i < 0 or account.spent[0] + account.prices[i] > account.budget[0]:
                return pool, False
            account.spent[0] += account.prices[i]
            arms[i, PENDING_COLUMN] += 1.0
            suspend_exhausted(tables, i, bar)
            arms[i, PENDING_COLUMN] -= 1.0
            before = arms[i, VERDICT]
            x = draw(i, arms[i, PULLS], source)
            account.sums[0, i] += x
            told = ToldReward(i, x, Pool(float(now), pool.horizon, pool.learned), 0.0, 0.0)
            pool, _ = absorb(tables, pool, told, bar, parameters, generator, now, none)
            if trace.size > 0:
                trace[now - 1] = i
            if fdr:
                for j in range(len(arms)):
                    if tables.decided_at[j] == now:
                        account.rounds_at[j], account.spent_at[j] = now, account.spent[0]
                        good += 1 if arms[j, VERDICT] > 0.0 else 0
            elif arms[i, VERDICT] != before:
                account.rounds_at[i], account.spent_at[i] = now, account.spent[0]
                good += 1 if arms[i, VERDICT] > 0.0 else 0
        return pool, True

    return play


@cache
def showing(update: Formula) -> Callable[..., None]:
    """Update the selector for many changed arms."""
    changed = plain(update)

    def show_many(tables: Tables, which: Any, pool: Pool, bar: Any, choosing: Any) -> None:
        if tables.progress[FRESH] >= len(tables.arms):
            for i in which:
                changed(tables.kept, i, read_arm_with_row(tables.arms, i), pool, bar, choosing)

    run: Callable[..., None] = compiled(show_many)
    return run


@cache
def judging(evidence: Formula, decide: Formula, fdr: bool) -> Callable[..., int]:
    """Evidence and verdicts of many arms whose totals changed; the bulk form of `ThresholdStep._judge`."""
    decided_by = _decided_by_rank if fdr else _decided_alone(decide)

    def judge_many(
        tables: Tables, stale: Any, which: Any, pool: Pool, bar: Any, observing: Any, deciding: Any, decided: Any
    ) -> int:
        many = 0
        for i in stale:
            count_pending(evidence, tables.arms, i, bar, observing)
        for i in which:
            if abs(tables.arms[i, VERDICT]) != 1.0:
                count_pending(evidence, tables.arms, i, bar, observing)
                many += decided_by(tables, i, pool, bar, deciding, decided[many:])
        return many

    run: Callable[..., int] = compiled(judge_many)
    return run


def _decided_by_rank(tables: Tables, i: int, pool: Pool, bar: Any, deciding: Any, decided: Any) -> int:
    """Write into `decided` the arms that e-BH decides after arm i's new evidence; returns their number."""
    found, opened = decide_by_rank(tables.arms, i, tables.ledger, tables.called, bar)
    tables.progress[OPEN] -= opened
    for j in range(found):
        decided[j] = tables.called[j]
        tables.decided_at[tables.called[j]] = tables.progress[ROUND]
    return found


def _decided_alone(decide: Formula) -> Formula:
    """The same for arms that are decided one by one."""

    def decided_alone(tables: Tables, i: int, pool: Pool, bar: Any, deciding: Any, decided: Any) -> int:
        arms, progress = tables.arms, tables.progress
        verdict = decide(read_arm_with_row(arms, i), pool, bar, deciding)
        if verdict == 0.0:
            return 0
        progress[OPEN] -= 1 if arms[i, VERDICT] == 0.0 else 0
        arms[i, VERDICT] = verdict
        tables.decided_at[i] = progress[ROUND]
        decided[0] = i
        return 1

    return decided_alone
