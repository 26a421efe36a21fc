"""What a rule must do by itself, whatever it is paired with: checked on beliefs that real runs have passed through."""

from __future__ import annotations

import math
from collections.abc import Iterator

from goodarm.engine.assemble import start_pool
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
PATTERNS = ((1.0,), (0.0,), (0.0, 1.0), (1.0, 1.0, 0.0), (0.0, 0.0, 0.0, 0.0, 1.0), (0.5,), (0.25, 0.75, 1.0))
"""Rewards, repeated: what an arm has seen when a rule is asked."""


def beliefs(subject: Subject, bar: Bar, pulls: int = 60) -> Iterator[tuple[Arm, Pool]]:
    """Arms after 1 ... `pulls` rewards of each pattern, as the policy's own rule keeps them."""
    for pattern in PATTERNS:
        arm = Arm(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        pool = start_pool(subject.policy, bar, 1000.0)._replace(round=100.0)
        for n in range(pulls):
            arm = pulled(subject.policy, arm, pattern[n % len(pattern)], pool, bar)._replace(verdict=0.0)
            yield arm, pool


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
    This is exact and needs no luck: a bet that sees its own reward fails it at once.
    """
    rule = subject.policy.identification
    if not isinstance(rule, EvidenceRule) or rule.guarantee is not Guarantee.CERTIFIED or not rule.valid_for(Bounded()):
        return
    for threshold in (0.003, 0.5, 0.9):
        bar = Problem(threshold=threshold, arms=5).bar
        start = Arm(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        for arm, pool in [(start, start_pool(subject.policy, bar, 1000.0)), *beliefs(subject, bar)]:
            for side, means in ((0, (0.0, threshold)), (1, (threshold, 1.0))):
                _require_fair(subject, arm, pool, bar, side, means)


def _require_fair(subject: Subject, arm: Arm, pool: Pool, bar: Bar, side: int, means: tuple[float, float]) -> None:
    def factor(reward: float) -> float:
        after = pulled(subject.policy, arm, reward, pool, bar)
        return math.exp((after.for_good, after.for_bad)[side] - (arm.for_good, arm.for_bad)[side])

    low, high = factor(0.0), factor(1.0)
    for mean in means:
        expected = mean * high + (1.0 - mean) * low
        require(
            expected <= 1.0 + ROUNDING,
            f"evidence for {('good', 'bad')[side]} grows by a factor of {expected:.6g} on average at mean {mean}, "
            f"threshold {bar.threshold}, after {arm}: no test may expect to gain where its hypothesis is true",
        )
    for reward in (0.1, 0.5, 0.9):
        chord = reward * high + (1.0 - reward) * low
        require(
            factor(reward) <= chord + ROUNDING, f"a reward of {reward} gains more than 0/1 rewards of that mean, {arm}"
        )


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
