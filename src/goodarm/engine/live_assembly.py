"""What a live step is put together from: the rules wrapped for late rewards, the round around them, native code."""

from __future__ import annotations

from typing import Any, NamedTuple

from goodarm.engine import loop as independent
from goodarm.engine import structured
from goodarm.engine.assemble import Assembly, loop_parameters
from goodarm.engine.live import columns_of, live_identification, live_sampling, worst_case
from goodarm.engine.loop import Kind, Parts
from goodarm.engine.native import as_native_rounds, native
from goodarm.engine.rule_parts import learner_parts, present_pool
from goodarm.engine.selectors import selector_for
from goodarm.engine.told import nothing_changes, replayed_arm, replayed_reward, told_arm, told_pool, told_reward
from goodarm.policies import Policy
from goodarm.problem import Problem
from goodarm.rules.identification import EvidenceRule
from goodarm.rules.parameters import Formula, Learner
from goodarm.rules.sampling import ChoiceRule
from goodarm.verdict import Criterion

MANY = 5000
"""From this many arms on, what looks at all of them is compiled. Below, Python occasionally takes up to a quarter of
a second, at geometrically spaced times; loading compiled code would take most of a second at the first ask."""


MANY_IF_SLOW, FEW = 1000, 50
"""The same where a rule takes long as Python; and so many single calls are made as Python before numba is loaded."""


class LiveParts(NamedTuple):
    """The functions that a live step calls.

    prepare, select, update : of the selector, as in `selectors.Selector`
    decide   : (arm, pool, bar, parameters) -> verdict
    evidence : of a rule by totals, (pulls, total, memory, bar, *parameters) -> (log E+, log E-); None for others
    replay   : the round's parts for a journal; None with a model of the arms, which is replayed step by step
    """

    assembly: Assembly
    prepare: Formula
    select: Formula
    update: Formula
    decide: Formula
    evidence: Formula | None
    replay: Parts | None


def live_parts(policy: Policy, problem: Problem, features: Any) -> LiveParts:
    """Put a policy together for rewards that come from outside."""
    rule = policy.identification
    plain, decide = live_identification(rule)
    by_totals = isinstance(rule, EvidenceRule) and rule.totals is not None
    evidence = as_native_rounds(worst_case(rule)) if by_totals else None
    if policy.estimator is not None:
        assembly, select = _with_model(policy, problem, features, plain, decide)
        return LiveParts(assembly, nothing_changes, select, nothing_changes, decide, evidence, None)
    observe = native(plain, FEW) if slow_as_python(rule.learner) else as_native_rounds(plain)
    sampling, (fit, next_round) = live_sampling(policy.sampling), learner_parts(policy.learner)
    prepare, select, update = selector_for(sampling, False, rows=True)
    replay = Parts(
        prepare=nothing_changes,
        choose=replayed_arm,
        update=nothing_changes,
        reward=replayed_reward,
        as_asked=present_pool,
        observe=plain,
        decide=decide,
        fit=fit,
        next_round=next_round,
    )
    slow = slow_as_python(policy.learner)
    if slow or (problem.arms > MANY and policy.learner):
        fit = native(fit)
    if slow or problem.arms > MANY:
        prepare = native(prepare, 1 if problem.arms <= MANY_IF_SLOW else 0)
    update = native(update, FEW) if slow else update
    parts = Parts(prepare, told_arm, update, told_reward, told_pool, observe, decide, fit, next_round)
    run = independent.rounds(parts, kind_of_live(policy))
    assembly = Assembly(policy, problem, problem.bar, run, loop_parameters(policy), columns=columns_of(rule))
    chosen = native(select) if isinstance(sampling, ChoiceRule) else select
    return LiveParts(assembly, parts.prepare, chosen, update, decide, evidence, replay)


def slow_as_python(learner: Learner | None) -> bool:
    """Do the rules that read what is learned run as native code?"""
    return learner is not None and learner.native


def kind_of_live(policy: Policy) -> Kind:
    """The constants of a live pairing's round."""
    return Kind(policy.criterion is Criterion.FDR, rows=True, outside=True)


def _with_model(
    policy: Policy, problem: Problem, features: Any, observe: Formula, decide: Formula
) -> tuple[Assembly, Formula]:
    assert policy.estimator is not None
    estimator = policy.estimator.bind(features, problem.arms)
    kind = kind_of_live(policy)
    judge = structured.judge_by_rank if kind.fdr else structured.judge_the_pulled(decide, True)
    parts = structured.StructuredParts(
        told_arm, told_reward, told_pool, observe, type(estimator).tell, judge, *learner_parts(policy.learner)
    )
    bar = problem.bar._replace(modelled=1.0)
    run = structured.build(parts, kind)
    columns = columns_of(policy.identification)
    assembly = Assembly(policy, problem, bar, run, loop_parameters(policy), estimator, columns)
    return assembly, native(structured.scan_for(live_sampling(policy.sampling), False, True))
