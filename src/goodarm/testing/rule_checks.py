"""Properties of a single rule in any pairing, checked on beliefs from real runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from goodarm.engine.assemble import start_pool
from goodarm.policies import Policy
from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification import RadiusRule
from goodarm.rules.parameters import parameters_of, take
from goodarm.rules.sampling import IndexRule, LineRule
from goodarm.testing.checks import require
from goodarm.testing.fair_game import NOTHING, PATTERNS, histories, require_fair_game
from goodarm.testing.reference import index_of, pulled
from goodarm.testing.subject import Subject
from goodarm.verdict import Guarantee


def beliefs(subject: Subject, bar: Bar, pulls: int = 60) -> Iterator[tuple[Arm, Pool]]:
    """Arms after 1 ... `pulls` rewards of each pattern, with the numbers that the policy's rule keeps."""
    pool = start_pool(subject.policy, bar, 1000.0)._replace(round=100.0)
    for arm in histories(subject.policy, pool, bar, pulls):
        if arm.pulls > 0.0:
            yield arm, pool


def check_an_index_is_finite_and_does_not_read_the_round(subject: Subject) -> None:
    """An `IndexRule` is evaluated only when its arm is pulled: one that changes with the round would be stale."""
    if not isinstance(subject.policy.sampling, IndexRule):
        return
    bar = subject.spec.problem.bar
    for arm, pool in beliefs(subject, bar):
        index = index_of(subject.policy, arm, pool, bar)
        later = index_of(subject.policy, arm, pool._replace(round=777.0), bar)
        require(math.isfinite(index), f"the index of {arm} is {index}; it must be a finite number")
        require(index == later, f"the index of {arm} changes with the round, from {index} to {later}. Write a LineRule")


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
    """No bet of a certified `EvidenceRule` can expect to gain while its hypothesis is true (`testing.fair_game`)."""
    if subject.policy.identification.guarantee is Guarantee.CERTIFIED:
        require_fair_game(subject.policy)


def check_evidence_by_totals_forgets_the_order(subject: Subject) -> None:
    """If a rule declares `by_totals`, rewards in another order give the same evidence and the same verdict."""
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
                f"{rule.name} declares that it needs only the totals, but the order of {pattern} x 40 changes its "
                f"result: {seen[0]} and {other}",
            )


def after_rewards(made: Policy, rewards: Iterable[float], pool: Pool, bar: Bar) -> Arm:
    """An arm after these rewards, with the verdict on all of them."""
    arm = NOTHING
    for reward in rewards:
        arm = pulled(made, arm._replace(verdict=0.0), float(reward), pool, bar)
    return arm


def check_a_radius_is_a_number(subject: Subject) -> None:
    """A `RadiusRule` never returns NaN; a certified one returns a positive radius that eventually shrinks."""
    rule = subject.policy.identification
    if not isinstance(rule, RadiusRule):
        return
    bar, values = subject.spec.problem.bar, take(subject.policy.setting.identification, rule.defaults)
    for arm, pool in beliefs(subject, bar):
        radius = rule.radius(arm, pool, bar, *values)
        require(not math.isnan(radius), f"the radius of {arm} is NaN")
        require(rule.guarantee is not Guarantee.CERTIFIED or radius > 0.0, f"the radius of {arm} is {radius}")
