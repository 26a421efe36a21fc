"""Parts of a round from the rules and the environment."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.engine.compile import inlined
from goodarm.numerics.shuffle import shuffled
from goodarm.problem import Bar, Problem
from goodarm.rules.beliefs import Arm, Pool, Row, Table
from goodarm.rules.identification import EvidenceRule, IdentificationRule, ModelRule, RadiusRule
from goodarm.rules.identification._base import decide_by_evidence, decide_by_radius, keep_nothing
from goodarm.rules.parameters import Formula, Learner
from goodarm.streams import reward_key

KEPT_BITS = np.uint64(2)
"""Number of bits of the key of an order of cases: 62."""


class Drawn(NamedTuple):
    """Source of simulated rewards: the arms' means, the environment's other data, streams, and the key."""

    means: Row
    extra: Row
    streams: NDArray[np.int64]
    run: np.uint64


@cache
def drawn(reward: Formula) -> Formula:
    """The simulator's reward. The n-th reward of an arm is the same for every policy."""

    def draw(i: int, pulls: float, source: Drawn) -> float:
        return reward(i, source.means, source.extra, reward_key(source.run, source.streams[i], pulls))  # type: ignore[no-any-return]  # an environment's function has no declared result

    return draw


@cache
def drawn_cases(reward: Formula) -> Formula:
    """The simulator's reward on a fixed test set: an arm draws each case at most once, in its own random order.

    reward : reward(i, means, extra, case), as `goodarm.environments.matrix` has it: one number per case and arm
    """

    def draw(i: int, pulls: float, source: Drawn) -> float:
        count = source.extra.size // source.means.size
        key = int(reward_key(source.run, source.streams[i], 0.0) >> KEPT_BITS)
        return reward(i, source.means, source.extra, shuffled(int(pulls) % count, count, key))  # type: ignore[no-any-return]  # as above

    return draw


def draw_of(problem: Problem, reward: Formula) -> Formula:
    """The simulator's reward on a problem: unlimited, or each case at most once."""
    return drawn(reward) if math.isinf(problem.bar.cases) else drawn_cases(reward)


def present_pool(pool: Pool, source: Any) -> Pool:
    """The pool at the time of asking, which is the present pool if rewards are immediate."""
    return pool


def usual_rewards(bar: Bar) -> bool:
    """Whether rewards lie in [0, 1] and never run out. Rules may have shorter code for them."""
    return bar.bounded > 0.0 and math.isinf(bar.cases)


@cache
def identification_parts(rule: IdentificationRule, usual: bool = False) -> tuple[Formula, Formula]:
    """`observe` and `decide` of a rule that uses the pulled arm only.

    usual : rewards lie in [0, 1] and never run out (`usual_rewards`)
    """
    if isinstance(rule, EvidenceRule):

        def decide_evidence(arm: Arm, pool: Pool, bar: Bar, parameters: Any) -> float:
            return decide_by_evidence(arm, bar)

        return inlined(rule.usual if usual and rule.usual else rule.observe), decide_evidence
    if isinstance(rule, RadiusRule):
        radius = rule.radius

        def decide_radius(arm: Arm, pool: Pool, bar: Bar, parameters: Any) -> float:
            return decide_by_radius(arm, radius(arm, pool, bar, *parameters), bar)

        return keep_nothing, decide_radius
    if isinstance(rule, ModelRule):
        return keep_nothing, keep_nothing
    raise TypeError(f"{rule!r} is neither an EvidenceRule, a RadiusRule nor a ModelRule")


def learner_parts(learner: Learner | None) -> tuple[Formula, Formula]:
    """`fit` and `next_round` of a learner, or no-ops."""
    return (learner.fit, learner.next_round) if learner else (_keep_pool, _never)


@cache
def fit_beside_model(fit: Formula, by_belief: bool = False) -> Formula:
    """(belief, arms, pool, bar, parameters) -> Pool, as the loop with a model calls it.

    by_belief : `fit` reads the model's belief, as its first argument
    """

    def with_belief(belief: Any, arms: Table, pool: Pool, bar: Bar, parameters: Any) -> Pool:
        return fit(belief, arms, pool, bar, *parameters)  # type: ignore[no-any-return]  # a learner's function has no declared result

    def without_belief(belief: Any, arms: Table, pool: Pool, bar: Bar, parameters: Any) -> Pool:
        return fit(arms, pool, bar, *parameters)  # type: ignore[no-any-return]  # as above

    return with_belief if by_belief else without_belief


def learner_parts_beside_model(learner: Learner | None) -> tuple[Formula, Formula]:
    """`fit` and `next_round` of a learner that is used together with a model of the arms."""
    fit, next_round = learner_parts(learner)
    if learner is not None and learner.fit_belief is not None:
        return fit_beside_model(learner.fit_belief, by_belief=True), next_round
    return fit_beside_model(fit), next_round


def _keep_pool(arms: Table, pool: Pool, bar: Bar) -> Pool:
    """Learn nothing."""
    return pool


def _never(now: float, bar: Bar) -> float:
    """No next fit."""
    return 2.0**62
