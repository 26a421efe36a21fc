"""The loop for estimators that change the belief about every arm with each pull: choose -> reward -> evidence -> model.

No tree helps here, since every index moves in every round; the loop scans. The table of arms is the same as in
`loop.py`, kept column by column, so that the scan and the model's rewrite of means and widths are plain vector loops.

There is no initial phase: before the first reward the model's prior gives every arm a mean and a width, and the
sampling rule chooses from these. An arm may stay without a single pull; a rule that decides by own evidence never
looks at such an arm, a rule that decides by the model looks at every open arm after each pull.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.engine.assemble import first_fit, identification_parts, learner_parts, loop_parameters, start_pool
from goodarm.engine.compile import compiled
from goodarm.engine.loop import at_round
from goodarm.engine.selectors import own_choice
from goodarm.environments import Environment
from goodarm.models import Estimator
from goodarm.models._base import LOG_DET, REGULARISER, first_upkeep, new_table
from goodarm.models.misfit import misfit
from goodarm.policies import Policy
from goodarm.policies.checks import check_model
from goodarm.problem import Bar, Problem
from goodarm.rules.beliefs import (
    POOL_FIELDS,
    VERDICT,
    Arm,
    Pool,
    Row,
    Table,
    read_arm,
    read_pool,
    write_arm,
    write_pool,
)
from goodarm.rules.identification import IdentificationRule, ModelRule, RadiusRule
from goodarm.rules.identification._base import decide_around, keep_nothing
from goodarm.rules.identification.false_discovery import Ledger, empty_ledger, settle
from goodarm.rules.parameters import Formula, take
from goodarm.rules.sampling import ChoiceRule, IndexRule, LineRule, SamplingRule
from goodarm.streams import reward_key
from goodarm.verdict import Criterion

NEXT_UPKEEP = 3


class StructuredState(NamedTuple):
    """Everything that a run needs to go on; as `loop.State`, with the model's belief."""

    arms: Table  # (K, 8) column by column, columns of `Arm`
    decided_at: NDArray[np.int64]  # (K,), round of the verdict, 0 while open
    scores: Row  # (K,): scratch, the index of every arm
    pool: Row  # (9,), a `Pool`
    progress: NDArray[np.int64]  # (4,): round, open arms, round of the next fit, round of the next upkeep
    ledger: Ledger  # e-BH's own; two empty lists otherwise
    settled: NDArray[np.int64]  # scratch for e-BH
    belief: Any  # the estimator's own


class StructuredParts(NamedTuple):
    """The functions that a structured loop is made of."""

    select: Formula
    """(scores, arms, pool, bar, generator, parameters) -> arm"""
    observe: Formula
    """(arm, reward, pool, bar, *parameters) -> evidence"""
    judge: Formula
    """(arms, a, decided_at, ledger, settled, numbers, pool, bar, parameters) -> number of new verdicts"""
    tell: Formula
    """(belief, arms, a, before, reward, bar) -> bool"""
    reward: Formula
    fit: Formula
    next_round: Formula


class StructuredAssembly(NamedTuple):
    """What `Assembly` is for independent arms: a loop and everything it is called with in every run."""

    policy: Policy
    problem: Problem
    estimator: Estimator
    compiled: Callable[..., bool]
    parameters: tuple[Any, ...]

    def start(self, horizon: float) -> StructuredState:
        """The state before the first round of a run."""
        arms, bar = self.problem.arms, modelled(self.problem.bar)
        fdr = self.policy.criterion is Criterion.FDR
        first = first_fit(self.policy, bar)
        fit_due = np.iinfo(np.int64).max if math.isinf(first) else int(first)
        pool, table, belief = np.zeros(POOL_FIELDS), new_table(arms), self.estimator.start(bar)
        write_pool(pool, start_pool(self.policy, bar, horizon))
        upkeep_due = first_upkeep(self.estimator, belief, table, bar)
        return StructuredState(
            arms=table,
            decided_at=np.zeros(arms, dtype=np.int64),
            scores=np.zeros(arms),
            pool=pool,
            progress=np.array([0, arms, fit_due, upkeep_due], dtype=np.int64),
            ledger=empty_ledger(arms if fdr else 0),
            settled=np.zeros(arms if fdr else 0, dtype=np.int64),
            belief=belief,
        )

    def loop(
        self, state: StructuredState, means: Row, extra: Row, streams: NDArray[np.int64], run: np.uint64, bar: Bar,
        parameters: tuple[Any, ...], generator: Any, until: int, trace: NDArray[np.int64],
    ) -> None:  # fmt: skip
        """Play until `until` or until the estimator wants its upkeep, whichever comes first."""
        stop = min(until, int(state.progress[NEXT_UPKEEP]))
        wants = self.compiled(state, means, extra, streams, run, modelled(bar), parameters, generator, stop, trace)
        now = int(state.progress[0])
        if wants or now >= state.progress[NEXT_UPKEEP]:
            state.progress[NEXT_UPKEEP] = self.estimator.upkeep(state.belief, state.arms, now, modelled(bar))

    def misfit(self, arms: Table) -> float:
        """How badly the model fits the arms that were pulled, as a standard score; nan if it is not asked."""
        return misfit(arms, self.problem.bar) if self.estimator.testable else math.nan


def modelled(bar: Bar) -> Bar:
    """The bar under which rules read mean and width as the model's."""
    return bar._replace(modelled=1.0)


def assemble_structured(policy: Policy, environment: Environment, problem: Problem) -> StructuredAssembly:
    """Compile a pairing with an estimator for an environment."""
    if policy.estimator is None:
        raise TypeError(f"{policy.name} has no model of the arms: use goodarm.engine.assemble.assemble")
    policy.check(problem.rewards)
    estimator = policy.estimator.bind(environment.features, problem.arms)
    rule = policy.identification
    check_model(policy.sampling, rule, estimator, policy.setting)  # what features bring may be no longer exact
    fdr = policy.criterion is Criterion.FDR
    everyone = isinstance(rule, ModelRule) and rule.blind
    fit, next_round = learner_parts(policy.learner)
    parts = StructuredParts(
        select=scan_for(policy.sampling, everyone),
        observe=keep_nothing if isinstance(rule, ModelRule) else identification_parts(rule)[0],
        judge=judge_for(rule, fdr),
        tell=type(estimator).tell,
        reward=environment.reward,
        fit=fit,
        next_round=next_round,
    )
    parameters = loop_parameters(policy)
    if isinstance(rule, ModelRule):
        parameters = (*parameters[:2], take(policy.setting.identification, rule.defaults), *parameters[3:])
    return StructuredAssembly(policy, problem, estimator, build(parts), parameters)


def _python_loop(parts: StructuredParts, print_of_rules: str) -> Callable[..., bool]:
    select, observe, judge, tell, reward, fit, next_round = parts

    def loop(
        state: StructuredState, means: Row, extra: Row, streams: NDArray[np.int64], run: np.uint64, bar: Any,
        parameters: Any, generator: Any, until: int, trace: NDArray[np.int64],
    ) -> bool:  # fmt: skip
        print_of_rules  # noqa: B018  a closure variable: numba's disk cache is keyed by it
        arms, decided_at, scores, pool_row, progress, ledger, settled, belief = state
        choosing, observing, deciding, fitting, timing = parameters
        now, open_arms, due = progress[0], progress[1], progress[2]
        pool = read_pool(pool_row, float(now))
        wants = False
        while now < until and open_arms > 0 and not wants:
            now += 1
            pool = at_round(pool, float(now))
            a = select(scores, arms, pool, bar, generator, choosing)
            before = read_arm(arms, a)
            x = reward(a, means, extra, reward_key(run, streams[a], before.pulls))  # type: ignore[arg-type]
            for_good, for_bad, memory = observe(before, x, pool, bar, *observing)
            wants = tell(belief, arms, a, before, x, bar)
            mean, width = arms[a, 2], arms[a, 3]
            arm = Arm(before.pulls + 1.0, before.total + x, mean, width, for_good, for_bad, memory, before.verdict)
            write_arm(arms, a, arm)
            if trace.size > 0:
                trace[now - 1] = a
            open_arms -= judge(arms, a, decided_at, ledger, settled, belief.numbers, pool, bar, deciding)
            if now >= due:
                pool = fit(arms, pool, bar, *fitting)
                due = np.int64(next_round(float(now), bar, *timing))
        write_pool(pool_row, pool)
        progress[0], progress[1], progress[2] = now, open_arms, due
        return wants

    return loop


_loops: dict[StructuredParts, Callable[..., bool]] = {}


def build(parts: StructuredParts) -> Callable[..., bool]:
    """The compiled loop of a pairing; compiled when first called, from the disk cache when nothing has changed."""
    if parts not in _loops:
        _loops[parts] = compiled(lambda mark: _python_loop(parts, mark))
    return _loops[parts]


def first_largest(scores: Row) -> int:
    """Place of the largest number; ties go to the first."""
    best, leader = scores[0], 0
    for i in range(1, len(scores)):
        if scores[i] > best:
            best, leader = scores[i], i
    return leader


@cache
def scan_for(rule: SamplingRule, everyone: bool) -> Formula:
    """How a sampling rule finds its arm among the open ones, or among all of them."""
    if isinstance(rule, IndexRule):
        return _index_scan(rule.index, everyone)
    if isinstance(rule, LineRule):
        return _line_scan(rule.slope, rule.clock)
    if isinstance(rule, ChoiceRule):
        return own_choice(rule.choose)
    raise TypeError(f"{rule!r} is neither an IndexRule, a LineRule nor a ChoiceRule")


def _index_scan(index: Formula, everyone: bool) -> Formula:
    def select(scores: Row, arms: Table, pool: Pool, bar: Bar, generator: Any, parameters: Any) -> int:
        for i in range(len(scores)):
            if everyone or arms[i, VERDICT] == 0.0:
                scores[i] = index(read_arm(arms, i), pool, bar, *parameters[0])
            else:
                scores[i] = -math.inf
        return first_largest(scores)

    return select


def _line_scan(slope: Formula, clock: Formula) -> Formula:
    def select(scores: Row, arms: Table, pool: Pool, bar: Bar, generator: Any, parameters: Any) -> int:
        time = clock(pool.round, bar, *parameters[1])
        for i in range(len(scores)):
            arm = read_arm(arms, i)
            value = arm.mean + time * slope(arm, bar, *parameters[0])
            scores[i] = value if arm.verdict == 0.0 else -math.inf
        return first_largest(scores)

    return select


@cache
def judge_for(rule: IdentificationRule, fdr: bool) -> Formula:
    """Who gets a verdict after a pull, and when."""
    if fdr:
        return _judge_by_rank
    if isinstance(rule, ModelRule):
        return _judge_all_by_factor(rule.factor)
    if isinstance(rule, RadiusRule) and rule.by_model:
        return _judge_all_by_radius(rule.radius)
    return _judge_the_pulled(identification_parts(rule)[1])


def close(arms: Table, i: int, verdict: float, decided_at: Any, pool: Pool) -> int:
    """Give arm i a verdict, if it is one; returns how many were given."""
    if verdict == 0.0:
        return 0
    arms[i, VERDICT] = verdict
    decided_at[i] = np.int64(pool.round)
    return 1


def _judge_by_rank(
    arms: Table, a: int, decided_at: Any, ledger: Ledger, settled: Any, numbers: Row, pool: Pool, bar: Bar, given: Any
) -> int:  # fmt: skip
    found = settle(arms, a, ledger, settled, bar)
    for j in range(found):
        decided_at[settled[j]] = np.int64(pool.round)
    return found


def _judge_the_pulled(decide: Formula) -> Formula:
    def judge(
        arms: Table, a: int, decided_at: Any, ledger: Any, settled: Any, numbers: Row, pool: Pool, bar: Bar, given: Any
    ) -> int:  # fmt: skip
        return close(arms, a, decide(read_arm(arms, a), pool, bar, given), decided_at, pool)

    return judge


def _judge_all_by_factor(factor: Formula) -> Formula:
    def judge(
        arms: Table, a: int, decided_at: Any, ledger: Any, settled: Any, numbers: Row, pool: Pool, bar: Bar, given: Any
    ) -> int:  # fmt: skip
        size = factor(numbers[LOG_DET], numbers[REGULARISER], pool, bar, *given)
        if size == math.inf:
            return 0
        found = 0
        for i in range(len(arms)):
            if arms[i, VERDICT] == 0.0:
                verdict = decide_around(arms[i, 2], size * arms[i, 3], bar)
                if verdict != 0.0:  # a call for every arm would cost twenty times the loop
                    found += close(arms, i, verdict, decided_at, pool)
        return found

    return judge


def _judge_all_by_radius(radius: Formula) -> Formula:
    def judge(
        arms: Table, a: int, decided_at: Any, ledger: Any, settled: Any, numbers: Row, pool: Pool, bar: Bar, given: Any
    ) -> int:  # fmt: skip
        found = 0
        for i in range(len(arms)):
            arm = read_arm(arms, i)
            if arm.verdict == 0.0:
                verdict = decide_around(arm.mean, radius(arm, pool, bar, *given), bar)
                if verdict != 0.0:
                    found += close(arms, i, verdict, decided_at, pool)
        return found

    return judge
