"""What a rule must do by itself, whatever it is paired with: checked on beliefs that real runs have passed through."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from goodarm.engine.assemble import start_pool
from goodarm.policies import Policy
from goodarm.problem import Bar, Bounded, Problem
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification import EvidenceRule, RadiusRule
from goodarm.rules.parameters import parameters_of, take
from goodarm.rules.sampling import IndexRule, LineRule
from goodarm.testing.checks import require
from goodarm.testing.reference import index_of, pulled
from goodarm.testing.subject import Subject
from goodarm.verdict import Guarantee

ROUNDING = 1e-9
ROUNDING_OF_TOTALS = 1e-6
"""Evidence by totals is computed afresh from large logarithms; what is rounded does not add up over the rewards."""
NOTHING = Arm(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
PATTERNS = ((1.0,), (0.0,), (0.0, 1.0), (1.0, 1.0, 0.0), (0.0, 0.0, 0.0, 0.0, 1.0), (0.5,), (0.25, 0.75, 1.0))
"""Rewards, repeated: what an arm has seen when a rule is asked."""


def beliefs(subject: Subject, bar: Bar, pulls: int = 60) -> Iterator[tuple[Arm, Pool]]:
    """Arms after 1 ... `pulls` rewards of each pattern, as the policy's own rule keeps them."""
    pool = start_pool(subject.policy, bar, 1000.0)._replace(round=100.0)
    for arm in histories(subject.policy, pool, bar, pulls):
        if arm.pulls > 0.0:
            yield arm, pool


def histories(made: Policy, pool: Pool, bar: Bar, pulls: int) -> Iterator[Arm]:
    """An arm after 0 ... `pulls` rewards of each pattern."""
    yield NOTHING
    for pattern in PATTERNS:
        arm = NOTHING
        for n in range(pulls):
            arm = pulled(made, arm, pattern[n % len(pattern)], pool, bar)._replace(verdict=0.0)
            yield arm


def check_an_index_is_finite_and_does_not_read_the_round(subject: Subject) -> None:
    """An `IndexRule` is evaluated only when its arm is pulled: an index that moves with the round would be stale."""
    if not isinstance(subject.policy.sampling, IndexRule):
        return
    bar = subject.spec.problem.bar
    for arm, pool in beliefs(subject, bar):
        index = index_of(subject.policy, arm, pool, bar)
        later = index_of(subject.policy, arm, pool._replace(round=777.0), bar)
        require(math.isfinite(index), f"the index of {arm} is {index}; it must be a finite number")
        require(index == later, f"the index of {arm} moves with the round, from {index} to {later}; write a LineRule")


def check_a_clock_never_falls(subject: Subject) -> None:
    """A `LineRule`'s clock is finite and does not fall; its slope is finite."""
    rule, own = subject.policy.sampling, subject.policy.setting.sampling
    if not isinstance(rule, LineRule):
        return
    bar = subject.spec.problem.bar
    rounds = [*range(1, 200), *(10.0**j for j in range(3, 15))]
    clocks = [float(rule.clock(float(now), bar, *take(own, parameters_of(rule.clock, 2)))) for now in rounds]
    require(all(map(math.isfinite, clocks)), f"the clock shows {clocks}")
    require(clocks == sorted(clocks), "the clock falls; a LineRule's clock must not")
    for arm, _ in beliefs(subject, bar):
        slope = rule.slope(arm, bar, *take(own, parameters_of(rule.slope, 2)))
        require(math.isfinite(slope), f"the slope of {arm} is {slope}; it must be a finite number")


def check_evidence_is_a_fair_game(subject: Subject) -> None:
    """A certified `EvidenceRule` can't expect to gain where its hypothesis is true, whatever it has seen.

    The expected factor of E+ over one 0/1 reward is at most 1 for every mean up to the threshold, that of E- for every
    mean from the threshold on; and a reward between 0 and 1 gains at most what a 0/1 reward of the same mean would.
    This is exact and needs no luck: a bet that sees its own reward fails it at once. It is asked at thresholds as near
    to 0 and 1 as 1e-15, with each parameter at its default and at both ends of its limits, and, where the pool is
    learned, whatever was learned.
    """
    made = subject.policy
    rule = made.identification
    if not isinstance(rule, EvidenceRule) or rule.guarantee is not Guarantee.CERTIFIED or not rule.valid_for(Bounded()):
        return
    for threshold in thresholds():
        _require_fair_at(made, threshold, pulls=40)
    for values in at_the_ends(rule, made.setting.identification):
        there = replace(made, setting=replace(made.setting, identification=values))
        for threshold in (1e-15, 0.3, 1.0 - 1e-15):
            _require_fair_at(there, threshold, pulls=8)


def thresholds(drawn: int = 3) -> list[float]:
    """A few that are usual, the nearest to 0 and 1 that are asked for, and some drawn in between on a log scale."""
    draws = np.random.default_rng(0).uniform(0.3, 15.0, size=(2, drawn))
    near_0, near_1 = 10.0 ** -draws[0], 1.0 - 10.0 ** -draws[1]
    return [0.003, 0.5, 0.9, 1e-15, 1.0 - 1e-15, *near_0.tolist(), *near_1.tolist()]


def at_the_ends(rule: EvidenceRule, values: Mapping[str, float]) -> list[dict[str, float]]:
    """The rule's parameters with each one in turn at either end of its limits; an open end is taken as 1e8."""
    return [{**values, name: min(max(end, -1e8), 1e8)} for name, low, high in rule.limits for end in (low, high)]


def pools(made: Policy, bar: Bar) -> list[Pool]:
    """What may be believed of all arms: at the start, and where something is learned, anything."""
    start = start_pool(made, bar, 1000.0)._replace(round=100.0)
    if made.learner is None:
        return [start]
    draws = np.random.default_rng(1)
    return [start] + [start._replace(learned=_anything(start.learned, draws)) for _ in range(4)]


def _anything(learned: Any, draws: np.random.Generator) -> Any:
    """The same names with other numbers."""
    laws: dict[str, Callable[[], float]] = {
        "prior_mean": lambda: draws.beta(0.3, 0.3),
        "prior_strength": lambda: 10.0 ** draws.uniform(0.0, 5.0),
        "prior_variance": lambda: 10.0 ** draws.uniform(-9.0, -1.0),
    }
    numbers = {
        name: float(laws[name]() if name in laws else draws.normal(0.0, 3.0))
        for name, value in learned._asdict().items()
        if np.ndim(value) == 0
    }
    return learned._replace(**numbers)


def _require_fair_at(made: Policy, threshold: float, pulls: int) -> None:
    bar = Problem(threshold=threshold, arms=5).bar
    believed = pools(made, bar)
    for pool in believed:
        for arm in histories(made, pool, bar, pulls // len(believed)):
            for side, means in ((0, (0.0, threshold)), (1, (threshold, 1.0))):
                _require_fair(made, arm, pool, bar, side, means)


def _require_fair(made: Policy, arm: Arm, pool: Pool, bar: Bar, side: int, means: tuple[float, float]) -> None:
    def factor(reward: float) -> float:
        after = pulled(made, arm, reward, pool, bar)
        return math.exp((after.for_good, after.for_bad)[side] - (arm.for_good, arm.for_bad)[side])

    low, high = factor(0.0), factor(1.0)
    rounding = ROUNDING_OF_TOTALS if made.identification.by_totals else ROUNDING
    for mean in means:
        expected = mean * high + (1.0 - mean) * low
        require(
            expected <= 1.0 + rounding,
            f"evidence for {('good', 'bad')[side]} grows by a factor of {expected:.6g} on average at mean {mean}, "
            f"threshold {bar.threshold}, after {arm}, with {dict(made.setting.identification)}: no test may expect to "
            "gain where its hypothesis is true",
        )
    for reward in (0.1, 0.5, 0.9):
        chord = reward * high + (1.0 - reward) * low
        require(
            factor(reward) <= chord * (1.0 + rounding) + rounding,
            f"a reward of {reward} gains more than 0/1 rewards of that mean, {arm}",
        )


def check_evidence_by_totals_forgets_the_order(subject: Subject) -> None:
    """Where a rule says `by_totals`, rewards in another order leave the same evidence, and the same verdict."""
    made = subject.policy
    rule = made.identification
    if not rule.by_totals:
        return
    bar, draws = subject.spec.problem.bar, np.random.default_rng(2)
    pool = start_pool(made, bar, 1000.0)._replace(round=100.0)
    for pattern in PATTERNS:
        rewards = np.array([pattern[n % len(pattern)] for n in range(40)])
        seen = [after_rewards(made, order, pool, bar) for order in (rewards, rewards[::-1], draws.permutation(rewards))]
        for other in seen[1:]:
            same = all(
                math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) for a, b in zip(seen[0][4:6], other[4:6], strict=True)
            )
            require(
                same and seen[0].verdict == other.verdict,
                f"{rule.name} says that it needs only the totals, and the order of {pattern} x 40 changes what it "
                f"finds: {seen[0]} and {other}",
            )


def after_rewards(made: Policy, rewards: Iterable[float], pool: Pool, bar: Bar) -> Arm:
    """An arm after these rewards, with the verdict on all of them."""
    arm = NOTHING
    for reward in rewards:
        arm = pulled(made, arm._replace(verdict=0.0), float(reward), pool, bar)
    return arm


def check_a_radius_is_a_number(subject: Subject) -> None:
    """A `RadiusRule` never returns NaN; a certified one returns a positive radius that shrinks in the end."""
    rule = subject.policy.identification
    if not isinstance(rule, RadiusRule):
        return
    bar, values = subject.spec.problem.bar, take(subject.policy.setting.identification, rule.defaults)
    for arm, pool in beliefs(subject, bar):
        radius = rule.radius(arm, pool, bar, *values)
        require(not math.isnan(radius), f"the radius of {arm} is NaN")
        require(rule.guarantee is not Guarantee.CERTIFIED or radius > 0.0, f"the radius of {arm} is {radius}")
