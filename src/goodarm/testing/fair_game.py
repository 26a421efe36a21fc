"""Check that every bet is fair: the expected factor of the evidence over the next reward, computed exactly.

Evidence is an e-process if and only if it starts at 1 and no bet can expect to gain while its hypothesis is true. This
module checks both for every certified `EvidenceRule`. Nothing is random, so there are no false alarms. The bets are
examined

- with 1 to 1000 arms and delta from 0.3 down to 1e-6, which reveals a head start or a constant that depends on either;
- at thresholds within 1e-15 of 0 and 1, and with every parameter at both ends of its limits;
- after histories of 1 to 1000 rewards, and of up to a million if the rule keeps no memory;
- at evidence between e^-700 and the budget, which reveals a floor, a cap or a last bet that is too large;
- with arbitrary values learned from the other arms;
- for rewards in [0, 1] and, if the rule is valid for them, for Gaussian rewards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goodarm.engine.assemble import start_pool
from goodarm.policies import Policy
from goodarm.problem import Bar, Bounded, Gaussian, Problem
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification import EvidenceRule
from goodarm.testing.checks import require
from goodarm.testing.reference import pulled

ROUNDING = 1e-9
ROUNDING_OF_TOTALS = 1e-6
"""Rounding error allowed for evidence by totals, which is a difference of large logarithms."""
ROUNDING_OF_INTEGRALS = 1e-6
"""Error allowed for an expectation over Gaussian rewards, a sum over `NODES` points."""

NOTHING = Arm(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
PATTERNS = ((1.0,), (0.0,), (0.0, 1.0), (1.0, 1.0, 0.0), (0.0, 0.0, 0.0, 0.0, 1.0), (0.5,), (0.25, 0.75, 1.0))
"""Rewards of an arm, repeated."""
SIZES = ((5, 0.05), (1, 0.3), (100, 0.01), (1000, 0.001), (10, 1e-6))
"""Numbers of arms and deltas. The thresholds are paired with them in turn."""
ARMS, DELTAS = (1, 10, 100, 1000), (0.3, 0.05, 0.001)
"""Every pair of these is examined at one threshold."""
USUAL = (0.5, 0.02)
"""Thresholds at which long histories and unusual evidence are examined."""
SHORT, LONG = 40, 1000
"""Maximum lengths of histories that are built reward by reward."""
JUMPS = (64.0, 1e3, 1e4, 1e5, 1e6)
"""Numbers of rewards of an arm whose rule keeps no memory: its state is only pulls and total."""
EVIDENCE = (-700.0, -50.0, -4.0, -1.0, 1.0)
"""Values of log E at which the next bet is examined, in addition to one just below the budget."""
BETWEEN = (0.0, 1.0, 0.1, 0.5, 0.9)
"""Rewards in [0, 1]; the first two give the chord that the others must not exceed."""
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(24)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
SCALES = ((0.0, 1.0), (1000.0, 0.01), (-3.0, 1e4))
"""Thresholds and scales of Gaussian rewards."""


def require_fair_game(made: Policy) -> None:
    """Raise a `Violation` if any bet of the policy's evidence rule can expect to gain while its hypothesis is true."""
    rule = made.identification
    if not isinstance(rule, EvidenceRule):
        return
    if rule.valid_for(Bounded()):
        _require_fair_when_bounded(made, rule)
    if rule.valid_for(Gaussian(1.0)):
        for (threshold, scale), (arms, delta) in zip(SCALES, SIZES[1:4], strict=True):
            bar = Problem(threshold, arms, delta, Gaussian(scale)).bar
            pool = start(made, bar)
            _require_fair_over(made, histories(made, pool, bar, 4), pool, bar)
            _require_fair_over(made, distant(made, rule, pool, bar), pool, bar)


def _require_fair_when_bounded(made: Policy, rule: EvidenceRule) -> None:
    for number, threshold in enumerate(thresholds()):
        arms, delta = SIZES[number % len(SIZES)]
        _require_fair_in_all_pools(made, Problem(threshold, arms, delta).bar, SHORT)
    for bar in (Problem(0.3, arms, delta).bar for arms in ARMS for delta in DELTAS):
        _require_fair_over(made, histories(made, start(made, bar), bar, 4), start(made, bar), bar)
    for threshold in USUAL:
        bar = Problem(threshold, *SIZES[2]).bar
        pool = start(made, bar)
        _require_fair_over(made, long_histories(made, pool, bar), pool, bar)
        _require_fair_over(made, distant(made, rule, pool, bar), pool, bar)
    for values in at_the_ends(rule, made.setting.identification):
        there = replace(made, setting=replace(made.setting, identification=values))
        for threshold in (1e-15, 0.3, 1.0 - 1e-15):
            _require_fair_in_all_pools(there, Problem(threshold, 5).bar, 8)


def _require_fair_in_all_pools(made: Policy, bar: Bar, pulls: int) -> None:
    believed = pools(made, bar)
    for pool in believed:
        _require_fair_over(made, histories(made, pool, bar, max(1, pulls // len(believed))), pool, bar)


def _require_fair_over(made: Policy, arms: Iterable[Arm], pool: Pool, bar: Bar) -> None:
    for arm in arms:
        if bar.bounded > 0.0:
            require_fair_bet(made, arm, pool, bar)
        else:
            require_fair_gaussian_bet(made, arm, pool, bar)


def start(made: Policy, bar: Bar) -> Pool:
    """The pool before anything has been learned, in the middle of a run."""
    return start_pool(made, bar, 1000.0)._replace(round=100.0)


def thresholds(drawn: int = 3) -> list[float]:
    """Usual thresholds, those nearest to 0 and 1, and some drawn between them on a log scale."""
    draws = np.random.default_rng(0).uniform(0.3, 15.0, size=(2, drawn))
    near_0, near_1 = 10.0 ** -draws[0], 1.0 - 10.0 ** -draws[1]
    return [0.003, 0.5, 0.9, 1e-15, 1.0 - 1e-15, *near_0.tolist(), *near_1.tolist()]


def at_the_ends(rule: EvidenceRule, values: Mapping[str, float]) -> list[dict[str, float]]:
    """The rule's parameters with each one in turn at either end of its limits; an infinite end becomes 1e8."""
    return [{**values, name: min(max(end, -1e8), 1e8)} for name, low, high in rule.limits for end in (low, high)]


def pools(made: Policy, bar: Bar) -> list[Pool]:
    """The pool at the start and, if the policy has a learner, pools with arbitrary learned numbers."""
    first = start(made, bar)
    if made.learner is None:
        return [first]
    draws = np.random.default_rng(1)
    return [first] + [first._replace(learned=_anything(first.learned, draws)) for _ in range(4)]


def _anything(learned: Any, draws: np.random.Generator) -> Any:
    """The same fields with random numbers."""
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


def histories(made: Policy, pool: Pool, bar: Bar, pulls: int) -> Iterator[Arm]:
    """An arm after 0 ... `pulls` rewards of each pattern."""
    yield NOTHING
    for pattern in PATTERNS:
        arm = NOTHING
        for n in range(pulls):
            arm = _after(made, arm, as_reward(pattern[n % len(pattern)], bar), pool, bar)
            yield arm


def as_reward(number: float, bar: Bar) -> float:
    """A number in [0, 1] as a reward: the number itself, or without bounds up to two scales from the threshold."""
    return number if bar.bounded > 0.0 else bar.threshold + (4.0 * number - 2.0) * bar.sigma


def long_histories(made: Policy, pool: Pool, bar: Bar) -> Iterator[Arm]:
    """An arm after 24 ... 1000 rewards, 0/1 or evenly spread, with a mean near the threshold; long ones are sparser."""
    for mean in (0.8 * bar.threshold, 1.3 * bar.threshold):
        arm, due = NOTHING, 24.0
        for n in range(1, LONG + 1):
            arm = _after(made, arm, float(math.floor(n * mean) - math.floor((n - 1) * mean)), pool, bar)
            if n >= due:
                yield arm
                due *= 1.15


def distant(made: Policy, rule: EvidenceRule, pool: Pool, bar: Bar) -> Iterator[Arm]:
    """States that no short history reaches: evidence far below 1 or near the budget, and up to a million rewards."""
    reached = [arm for arm in histories(made, pool, bar, 6) if arm.pulls == 6.0][:4]
    if adds_up(made, reached, pool, bar):
        for arm in reached:
            for evidence in (*EVIDENCE, bar.budget - 2.0, bar.budget - 0.1):
                yield arm._replace(for_good=evidence, for_bad=evidence)
    if rule.memory <= 1 and all(arm.memory == 0.0 for arm in reached):
        yield from _jumps(made, rule, bar)


def adds_up(made: Policy, reached: list[Arm], pool: Pool, bar: Bar) -> bool:
    """Whether the rule adds to the evidence in the table, instead of computing it from the totals or its memory."""
    first, other = (
        _after(made, reached[-1]._replace(for_good=evidence, for_bad=evidence), bar.threshold, pool, bar)
        for evidence in (-1.0, -2.0)
    )
    return first.for_good != other.for_good and first.for_bad != other.for_bad


def _jumps(made: Policy, rule: EvidenceRule, bar: Bar) -> Iterator[Arm]:
    """Arms with many rewards, their means between 30 standard errors below the threshold and 30 above."""
    values = tuple(made.setting.identification.get(name, value) for name, value in rule.defaults.items())
    for pulls in JUMPS:
        for score in (-30.0, -8.0, -2.0, 0.0, 2.0, 8.0, 30.0):
            total = pulls * bar.threshold + score * bar.spread * math.sqrt(pulls)
            total = float(min(max(round(total), 0), pulls)) if bar.bounded > 0.0 else total
            for_good, for_bad = rule.totals(pulls, total, bar, *values) if rule.totals else (0.0, 0.0)
            yield Arm(pulls, total, total / pulls, 1.0 / math.sqrt(pulls), for_good, for_bad, 0.0, 0.0)


def _after(made: Policy, arm: Arm, reward: float, pool: Pool, bar: Bar) -> Arm:
    return pulled(made, arm, reward, pool, bar)._replace(verdict=0.0)


def factors(made: Policy, arm: Arm, rewards: Iterable[float], pool: Pool, bar: Bar) -> NDArray[np.float64]:
    """The factor by which each reward would multiply E+ (row 0) and E- (row 1), shape (2, number of rewards)."""
    after = [pulled(made, arm, float(reward), pool, bar) for reward in rewards]
    grown = [[each.for_good - arm.for_good for each in after], [each.for_bad - arm.for_bad for each in after]]
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(grown))


def require_fair_bet(made: Policy, arm: Arm, pool: Pool, bar: Bar) -> None:
    """Require that the next bet on rewards in [0, 1] is fair.

    The expected factor of E+ over a 0/1 reward is linear in its mean, so checking the means 0 and xi suffices for all
    means up to xi; for E-, xi and 1. A reward between 0 and 1 must not gain more than 0/1 rewards of its mean.
    """
    rounding = ROUNDING_OF_TOTALS if made.identification.by_totals else ROUNDING
    xi = bar.threshold
    for side, (low, high, *between) in enumerate(factors(made, arm, BETWEEN, pool, bar).tolist()):
        for mean in ((0.0, xi), (xi, 1.0))[side]:
            _require_no_gain(made, side, mean * high + (1.0 - mean) * low, rounding, mean, arm, bar)
        for reward, factor in zip(BETWEEN[2:], between, strict=True):
            chord = reward * high + (1.0 - reward) * low
            require(
                factor <= chord * (1.0 + rounding) + rounding,
                f"a reward of {reward} gains more than 0/1 rewards of that mean, {arm}",
            )


def require_fair_gaussian_bet(made: Policy, arm: Arm, pool: Pool, bar: Bar) -> None:
    """Require that the next bet is fair on Gaussian rewards, and on rewards one scale above or below their mean."""
    points = np.concatenate([NODES, [-1.0, 1.0]])
    for distance, sides in ((0.0, (0, 1)), (-0.5, (0,)), (0.5, (1,))):
        mean = bar.threshold + distance * bar.sigma
        grown = factors(made, arm, mean + bar.sigma * points, pool, bar)
        for side in sides:
            for expected in (float(WEIGHTS @ grown[side, :-2]), float(grown[side, -2:].mean())):
                _require_no_gain(made, side, expected, ROUNDING_OF_INTEGRALS, mean, arm, bar)


def _require_no_gain(
    made: Policy, side: int, expected: float, rounding: float, mean: float, arm: Arm, bar: Bar
) -> None:
    require(
        expected <= 1.0 + rounding,
        f"evidence for {('good', 'bad')[side]} grows by a factor of {expected:.6g} on average at mean {mean}, "
        f"threshold {bar.threshold}, {bar.arms:g} arms, delta {bar.delta:g}, after {arm}, with "
        f"{dict(made.setting.identification)}: no test may expect to gain while its hypothesis is true",
    )
