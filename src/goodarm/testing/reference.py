"""A plain scan in Python: the same rules, every arm evaluated in every round, nothing compiled.

Tests compare the engine with it, arm by arm. It is slow (a few microseconds per arm and round) and meant for reading.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from goodarm.engine.assemble import columns_for, first_fit, start_pool
from goodarm.environments import Instance
from goodarm.policies import Policy
from goodarm.problem import Bar
from goodarm.rules.beliefs import (
    ARM_FIELDS,
    FOR_BAD,
    FOR_GOOD,
    PULLS,
    VERDICT,
    Arm,
    Pool,
    Table,
    is_open,
    read_arm,
    read_arm_with_row,
    write_arm,
)
from goodarm.rules.identification import EvidenceRule, RadiusRule
from goodarm.rules.identification._base import decide_by_evidence, decide_by_radius
from goodarm.rules.parameters import parameters_of, take
from goodarm.rules.sampling import ChoiceRule, IndexRule, LineRule
from goodarm.simulation.specification import Specification
from goodarm.streams import ENVIRONMENT, POLICY, generator, reward_key, run_key
from goodarm.verdict import Criterion


@dataclass(frozen=True)
class Scan:
    """Result of the plain scan; arrays have one entry per arm, `trace` one per round."""

    trace: NDArray[np.int64]
    verdicts: NDArray[np.int64]
    verdict_rounds: NDArray[np.int64]  # 0 while open
    pulls: NDArray[np.int64]
    ties: int  # rounds in which the lowest of several arms with the same index was pulled


def scan(spec: Specification, number: int = 0, instance: Instance | None = None) -> Scan:
    """Play run `number` of a spec: beliefs -> choose -> reward -> evidence -> verdict.

    >>> from goodarm.simulation.specification import specify
    >>> scan(specify("uniform+kt", "kano-1", horizon=13)).trace.tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2]
    """
    # the streams count modulo 2^64, about which numpy would warn
    with np.errstate(over="ignore"):
        return _scan(
            spec,
            number,
            instance or spec.environment.instance(generator(spec.seed, number, ENVIRONMENT)),
        )


def _scan(spec: Specification, number: int, instance: Instance) -> Scan:
    policy, bar, arms = spec.policy, spec.problem.bar, spec.problem.arms
    table = np.zeros((arms, columns_for(policy)))
    decided_at = np.zeros(arms, dtype=np.int64)
    pool, due = start_pool(policy, bar, float(spec.horizon)), first_fit(policy, bar)
    draws, run = generator(spec.seed, number, POLICY), run_key(spec.seed, number)
    trace: list[int] = []
    ties = 0
    wanted = arms if spec.stop_after is None else spec.stop_after
    while len(trace) < spec.horizon and (table[:, VERDICT] == 0.0).any() and (table[:, VERDICT] > 0.0).sum() < wanted:
        pool = pool._replace(round=float(len(trace) + 1))
        if len(trace) < arms:
            a = len(trace)
        else:
            a, tied = choose(policy, table, pool, bar, draws)
            ties += tied
        key = reward_key(run, int(instance.streams[a]), table[a, PULLS])
        reward = spec.environment.reward(a, instance.means, instance.extra, key)
        after = pulled(policy, row_as_arm(table, a), reward, pool, bar)
        if policy.identification.waits and len(trace) < arms:
            after = after._replace(verdict=0.0)
        write_arm(table, a, after._replace(memory=0.0) if policy.identification.memory > 1 else after)
        table[a, ARM_FIELDS:] = after.memory
        trace.append(a)
        if policy.criterion is Criterion.FDR:
            call_by_rank(table, bar)
        decided_at[(table[:, VERDICT] != 0.0) & (decided_at == 0)] = len(trace)
        if len(trace) >= due:
            pool, due = relearned(policy, table, pool, bar)
    return Scan(np.array(trace), table[:, VERDICT].astype(np.int64), decided_at, table[:, PULLS].astype(np.int64), ties)


def row_as_arm(table: Table, i: int) -> Arm:
    """Row `i` as an arm, with the rule's memory if the table has columns for it."""
    return read_arm_with_row(table, i) if table.shape[1] > ARM_FIELDS else read_arm(table, i)


def choose(policy: Policy, table: Table, pool: Pool, bar: Bar, draws: Generator) -> tuple[int, bool]:
    """The arm that the rule chooses, and whether another open arm had the same index."""
    rule = policy.sampling
    if isinstance(rule, ChoiceRule):
        return int(rule.choose(table, pool, bar, draws, *take(policy.setting.sampling, rule.defaults))), False
    indices = {i: index_of(policy, row_as_arm(table, i), pool, bar) for i in range(len(table)) if is_open(table, i)}
    best = max(indices.values())
    leaders = [i for i, index in indices.items() if index == best]
    return min(leaders), len(leaders) > 1


def index_of(policy: Policy, arm: Arm, pool: Pool, bar: Bar) -> float:
    """The index of one arm."""
    rule, own = policy.sampling, policy.setting.sampling
    if isinstance(rule, IndexRule):
        return float(rule.index(arm, pool, bar, *take(own, rule.defaults)))
    if isinstance(rule, LineRule):
        slope = rule.slope(arm, bar, *take(own, parameters_of(rule.slope, 2)))
        return float(arm.mean + rule.clock(pool.round, bar, *take(own, parameters_of(rule.clock, 2))) * slope)
    raise TypeError(f"{rule.name} has no index")


def pulled(policy: Policy, before: Arm, reward: float, pool: Pool, bar: Bar) -> Arm:
    """The arm after one more reward, with its verdict unless verdicts are given by rank."""
    rule = policy.identification
    values = take(policy.setting.identification, rule.defaults)
    for_good, for_bad, memory = 0.0, 0.0, 0.0
    if isinstance(rule, EvidenceRule):
        if rule.memory > 1:
            # the rule writes into the arm's row: here a copy, so that the earlier arm is unchanged
            row = np.array(before.memory) if np.ndim(before.memory) else np.zeros(rule.memory)
            before = before._replace(memory=row)
        for_good, for_bad, memory = rule.observe(before, reward, pool, bar, *values)
        memory = before.memory if rule.memory > 1 else memory
    pulls, total = before.pulls + 1.0, before.total + reward
    after = Arm(pulls, total, total / pulls, 1.0 / math.sqrt(pulls), for_good, for_bad, memory, 0.0)
    if policy.criterion is Criterion.FDR:
        return after
    if isinstance(rule, RadiusRule):
        return after._replace(verdict=decide_by_radius(after, rule.radius(after, pool, bar, *values), bar))
    return after._replace(verdict=decide_by_evidence(after, bar))


def call_by_rank(table: Table, bar: Bar) -> None:
    """e-BH from its definition: the largest j such that the j-th largest evidence reaches log(K / ((g + j) delta))."""
    for column, verdict in ((FOR_GOOD, 1.0), (FOR_BAD, -1.0)):
        called = int((table[:, VERDICT] == verdict).sum())
        candidates = sorted((i for i in range(len(table)) if is_open(table, i)), key=lambda i: -table[i, column])
        reached = [
            j for j, i in enumerate(candidates, 1) if table[i, column] >= bar.budget - math.log(float(called + j))
        ]
        for i in candidates[: max(reached, default=0)]:
            table[i, VERDICT] = verdict


def relearned(policy: Policy, table: Table, pool: Pool, bar: Bar) -> tuple[Pool, float]:
    """The newly learned beliefs, and the round after which the learner is called next."""
    learner, own = policy.learner, policy.setting.learner
    if learner is None:
        return pool, math.inf
    following = float(learner.next_round(pool.round, bar, *take(own, parameters_of(learner.next_round, 2))))
    return learner.fit(table, pool, bar, *take(own, parameters_of(learner.fit, 3))), following
