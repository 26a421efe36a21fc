"""From a policy and an environment to a compiled loop with its parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from goodarm.engine.loop import Parts, State, build, new_state
from goodarm.engine.selectors import choosing_parameters, selector_for, tree_for
from goodarm.environments import Environment
from goodarm.policies import Policy
from goodarm.problem import Bar, Problem
from goodarm.rules.beliefs import Arm, Pool, Table
from goodarm.rules.identification import EvidenceRule, IdentificationRule, RadiusRule
from goodarm.rules.identification._base import decide_by_evidence, decide_by_radius, keep_nothing
from goodarm.rules.parameters import Formula, Learner, parameters_of, take
from goodarm.verdict import Criterion


class Assembly(NamedTuple):
    """A compiled loop and everything it is called with that does not change from run to run."""

    policy: Policy
    problem: Problem
    loop: Callable[..., None]
    parameters: tuple[Any, ...]
    scan: bool

    def start(self, horizon: float) -> State:
        """The state before the first round of a run."""
        bar, policy = self.problem.bar, self.policy
        fdr = policy.criterion is Criterion.FDR
        return new_state(
            self.problem.arms,
            tree_for(policy.sampling, self.problem.arms, self.scan),
            start_pool(policy, bar, horizon),
            first_fit(policy, bar),
            fdr,
        )

    def misfit(self, arms: Table) -> float:
        """Independent arms have no model that could fit badly."""
        return math.nan


def assemble(policy: Policy, environment: Environment, problem: Problem, *, scan: bool = False) -> Assembly:
    """Compile a pairing for an environment; `scan` asks for the plain scan over the arms, the trees' reference."""
    policy.check(problem.rewards)
    if policy.estimator is not None:
        raise TypeError(f"{policy.name} has a model of the arms: use goodarm.engine.structured.assemble_structured")
    loop = build(parts_of(policy, environment, scan=scan), policy.criterion is Criterion.FDR)
    return Assembly(policy, problem, loop, loop_parameters(policy), scan)


def parts_of(policy: Policy, environment: Environment, *, scan: bool = False) -> Parts:
    """The plain functions that the loop of a pairing is made of."""
    observe, decide = identification_parts(policy.identification)
    fit, next_round = learner_parts(policy.learner)
    return Parts(
        *selector_for(policy.sampling, scan),
        observe=observe,
        decide=decide,
        reward=environment.reward,
        fit=fit,
        next_round=next_round,
    )


def loop_parameters(policy: Policy) -> tuple[Any, ...]:
    """The parameter tuples in the order in which the loop unpacks them."""
    rule, learner, setting = policy.identification, policy.learner, policy.setting
    deciding = take(setting.identification, rule.defaults)
    evidence = deciding if isinstance(rule, EvidenceRule) else ()
    radius = deciding if isinstance(rule, RadiusRule) else ()
    return (
        choosing_parameters(policy.sampling, policy.setting),
        evidence,
        radius,
        take(setting.learner, parameters_of(learner.fit, 3)) if learner else (),
        take(setting.learner, parameters_of(learner.next_round, 2)) if learner else (),
    )


def start_pool(policy: Policy, bar: Bar, horizon: float) -> Pool:
    """What is believed of all arms before the first reward."""
    learner = policy.learner
    if learner is None:
        return Pool(0.0, horizon, bar.threshold, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    values = take(policy.setting.learner, parameters_of(learner.start, 1))
    prior_mean, strength, variance, alpha, beta = learner.start(bar, *values)
    return Pool(0.0, horizon, prior_mean, strength, variance, alpha, beta, 0.0, 0.0)


def first_fit(policy: Policy, bar: Bar) -> float:
    """The round after which the pool is learned for the first time; inf if never."""
    learner = policy.learner
    if learner is None:
        return math.inf
    first: float = learner.next_round(0.0, bar, *take(policy.setting.learner, parameters_of(learner.next_round, 2)))
    return first


@cache
def identification_parts(rule: IdentificationRule) -> tuple[Formula, Formula]:
    """observe and decide of a rule that looks at the pulled arm."""
    if isinstance(rule, EvidenceRule):

        def decide_evidence(arm: Arm, pool: Pool, bar: Bar, parameters: Any) -> float:
            return decide_by_evidence(arm, bar)

        return rule.observe, decide_evidence
    if isinstance(rule, RadiusRule):
        radius = rule.radius

        def decide_radius(arm: Arm, pool: Pool, bar: Bar, parameters: Any) -> float:
            return decide_by_radius(arm, radius(arm, pool, bar, *parameters), bar)

        return keep_nothing, decide_radius
    raise TypeError(f"{rule!r} is neither an EvidenceRule nor a RadiusRule")


def learner_parts(learner: Learner | None) -> tuple[Formula, Formula]:
    """fit and next_round of what is learned, or of nothing."""
    return (learner.fit, learner.next_round) if learner else (_keep_pool, _never)


def _keep_pool(arms: Table, pool: Pool, bar: Bar) -> Pool:
    """Learn nothing."""
    return pool


def _never(now: float, bar: Bar) -> float:
    """No next fit."""
    return 2.0**62
