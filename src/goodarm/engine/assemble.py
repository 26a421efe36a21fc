"""Build the compiled loop of a policy on a problem, and its arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from goodarm.engine import loop as independent
from goodarm.engine import structured
from goodarm.engine.loop import NEVER, OPEN, ROUND, UPKEEP_DUE, WANTED, Kind, Parts, Tables, good_so_far
from goodarm.engine.rule_parts import (
    draw_of,
    identification_parts,
    learner_parts,
    learner_parts_beside_model,
    present_pool,
    usual_rewards,
)
from goodarm.engine.selectors import choosing_parameters, in_turn, memory_for, refuse_nan, scans_lines, selector_for
from goodarm.models import Model
from goodarm.models._base import first_upkeep, new_table
from goodarm.models.misfit import misfit
from goodarm.policies import Policy
from goodarm.policies.checks import check_model
from goodarm.problem import Bar, Problem
from goodarm.rules.beliefs import ARM_FIELDS, Nothing, Pool, Row, Table
from goodarm.rules.identification import EvidenceRule, ModelRule
from goodarm.rules.identification.false_discovery import empty_ledger
from goodarm.rules.parameters import Formula, parameters_of, take
from goodarm.verdict import Criterion

Loop = Callable[..., tuple[Pool, bool]]


@dataclass
class State:
    """The state of a run: the tables, the pool, and the model's belief if there is a model."""

    tables: Tables
    pool: Pool
    belief: Any = None

    @property
    def arms(self) -> Table:
        return self.tables.arms

    @property
    def decided_at(self) -> NDArray[np.int64]:
        return self.tables.decided_at

    @property
    def round(self) -> int:
        """Number of rounds played."""
        return int(self.tables.progress[ROUND])

    @property
    def open_arms(self) -> int:
        return int(self.tables.progress[OPEN])

    @property
    def goes_on(self) -> bool:
        """Whether an arm is undecided and more verdicts are wanted."""
        return self.open_arms > 0 and good_so_far(self.arms) < int(self.tables.progress[WANTED])


@dataclass(frozen=True)
class Assembly:
    """A compiled loop and the arguments that all runs share.

    model : the model of the arms with its features; None for independent arms
    columns   : number of columns of the table of arms, at least 8
    scan, few : the selector that the loop was built with, see `selector_for`
    """

    policy: Policy
    problem: Problem
    bar: Bar
    loop: Loop
    parameters: tuple[Any, ...]
    model: Model | None = None
    columns: int = ARM_FIELDS
    scan: bool = False
    few: bool = False

    def start(self, horizon: float, wanted: int = NEVER) -> State:
        """The state before the first round. The run ends after at most `wanted` good verdicts."""
        arms, fdr = self.problem.arms, self.policy.criterion is Criterion.FDR
        due = _whole(first_fit(self.policy, self.bar))
        progress = np.array([0, arms, due, NEVER, 0, wanted], dtype=np.int64)
        belief, table = None, np.zeros((arms, self.columns))
        kept = memory_for(self.policy.sampling, arms, scan=self.scan, few=self.few)
        if self.model is not None:
            belief, table, kept = self.model.start(self.bar), new_table(arms, self.columns), np.zeros(arms)
            progress[UPKEEP_DUE] = first_upkeep(self.model, belief, table, self.bar)
        tables = Tables(
            arms=table,
            decided_at=np.zeros(arms, dtype=np.int64),
            kept=kept,
            progress=progress,
            ledger=empty_ledger(arms if fdr else 0),
            called=np.zeros(arms if fdr else 0, dtype=np.int64),
        )
        return State(tables, start_pool(self.policy, self.bar, horizon), belief)

    def advance(self, state: State, source: Any, generator: Generator, until: int, trace: NDArray[np.int64]) -> None:
        """Play until round `until`, or until every arm is decided. Run the model's upkeep when it is due."""
        progress = state.tables.progress
        if self.model is None:
            state.pool, _ = self.loop(
                state.tables, state.pool, source, self.bar, self.parameters, generator, until, trace
            )
            refuse_nan(state.tables.kept)
            return
        stop = min(until, int(progress[UPKEEP_DUE]))
        state.pool, wants = self.loop(
            (state.tables, state.belief), state.pool, source, self.bar, self.parameters, generator, stop, trace
        )
        refuse_nan(state.tables.kept)
        if wants or progress[ROUND] >= progress[UPKEEP_DUE]:
            progress[UPKEEP_DUE] = self.model.upkeep(state.belief, state.arms, state.round, self.bar)

    def misfit(self, arms: Table) -> float:
        """Misfit of the model on the arms that were pulled, as a standard score; NaN without a model."""
        return misfit(arms, self.problem.bar) if self.model and self.model.testable else math.nan

    def uncompiled(self) -> Assembly:
        """The same loop as plain Python: slow, but without compilation."""
        return replace(self, loop=self.loop.py_func)  # type: ignore[attr-defined]  # numba's dispatcher has it


def _whole(due: float) -> int:
    return NEVER if math.isinf(due) else int(due)


def assemble(
    policy: Policy, problem: Problem, reward: Formula, features: Row | None = None, *, scan: bool = False
) -> Assembly:
    """Compile a pairing for rewards drawn by `reward(i, means, extra, key)`; `key` is the number of a case, if any.

    features : features of the arms, for a model without its own
    scan     : scan all arms in every round instead of using a tree; the reference for the trees
    """
    policy.check(problem.rewards)
    draw = draw_of(problem, reward)
    if policy.model is not None:
        return _with_model(policy, problem, draw, features)
    loop = independent.build(parts_of(policy, draw, problem.bar, scan=scan), kind_of(policy))
    # a purse needs immediate rewards and a verdict per arm from its own rewards, so it excludes verdicts by rank
    bar = problem.bar._replace(purse=0.0 if policy.criterion is Criterion.FDR else 1.0)
    few = scans_lines(policy.sampling, problem.arms)
    parameters, columns = loop_parameters(policy), columns_for(policy)
    return Assembly(policy, problem, bar, loop, parameters, columns=columns, scan=scan, few=few)


def _with_model(policy: Policy, problem: Problem, draw: Formula, features: Row | None) -> Assembly:
    assert policy.model is not None
    model = policy.model.bind(features, problem.arms)
    # the numbers computed from the features may no longer be exact
    check_model(policy.sampling, policy.identification, model, policy.setting)
    fit, next_round = learner_parts_beside_model(policy.learner)
    parts = structured.parts_for(policy, type(model).absorb, draw, fit, next_round, usual_rewards(problem.bar))
    loop = structured.build(parts, kind_of(policy))
    bar = problem.bar._replace(modelled=2.0 if isinstance(policy.identification, ModelRule) else 1.0)
    return Assembly(policy, problem, bar, loop, loop_parameters(policy), model, columns_for(policy))


def kind_of(policy: Policy) -> Kind:
    """The constants of a pairing's loop."""
    rule = policy.identification
    return Kind(fdr=policy.criterion is Criterion.FDR, rows=rule.memory > 1, waits=rule.waits)


def columns_for(policy: Policy) -> int:
    """Floats per arm: 8, one cache line, unless the identification rule needs several numbers of memory."""
    memory = policy.identification.memory
    return ARM_FIELDS + (memory if memory > 1 else 0)


def parts_of(policy: Policy, draw: Formula, bar: Bar, *, scan: bool = False) -> Parts:
    """The plain functions that make up the rounds of a simulated pairing."""
    observe, decide = identification_parts(policy.identification, usual_rewards(bar))
    fit, next_round = learner_parts(policy.learner)
    rule = policy.identification
    kept = isinstance(rule, EvidenceRule) and rule.keeps_likelihoods and math.isinf(bar.cases)
    few = scans_lines(policy.sampling, int(bar.arms))
    prepare, select, update = selector_for(policy.sampling, scan, rows=rule.memory > 1, kept=kept, few=few)
    return Parts(prepare, in_turn(select), update, draw, present_pool, observe, decide, fit, next_round)


def loop_parameters(policy: Policy) -> tuple[Any, ...]:
    """The parameter tuples in the order in which the loop unpacks them."""
    rule, learner, setting = policy.identification, policy.learner, policy.setting
    values = take(setting.identification, rule.defaults)
    return (
        choosing_parameters(policy.sampling, setting),
        values if isinstance(rule, EvidenceRule) else (),
        () if isinstance(rule, EvidenceRule) else values,
        take(setting.learner, parameters_of(learner.fit, 3)) if learner else (),
        take(setting.learner, parameters_of(learner.next_round, 2)) if learner else (),
    )


def start_pool(policy: Policy, bar: Bar, horizon: float) -> Pool:
    """The pool before the first reward."""
    learner = policy.learner
    if learner is None:
        return Pool(0.0, horizon, Nothing())
    return Pool(0.0, horizon, learner.start(bar, *take(policy.setting.learner, parameters_of(learner.start, 1))))


def first_fit(policy: Policy, bar: Bar) -> float:
    """The round of the learner's first fit; inf if there is none."""
    learner = policy.learner
    if learner is None:
        return math.inf
    first: float = learner.next_round(0.0, bar, *take(policy.setting.learner, parameters_of(learner.next_round, 2)))
    return first
