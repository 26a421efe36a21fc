"""The exact probability of a wrong verdict on one arm, up to a million pulls: for rules by totals and for radii.

With 0/1 rewards an arm is a point (N, S), pulls and total. A rule by totals calls it good from some S on and bad up to
some S, so that it walks between two boundaries until it meets one. The probability of each position after N pulls
follows from those after N - 1, and what lies beyond a boundary is removed and counted. Nothing is drawn: there are no
false alarms, and an error rate 1% above the permitted one is detected like one twice as large. The same holds for a
radius that reads the time, because an arm that is played alone has been pulled once in every round.

What it can't detect: errors with rewards that are not 0/1, errors after more than `pulls` pulls, and errors of a rule
whose verdict is not monotone in S.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.engine.compile import compiled
from goodarm.problem import Bar, Problem
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification import EvidenceRule, IdentificationRule, RadiusRule
from goodarm.rules.identification._base import decide_by_radius
from goodarm.rules.parameters import Formula

NEGLIGIBLE = 1e-6
"""Share of the permitted error up to which unlikely positions are left out; it is counted as error."""
HORIZON = 1e6
"""Horizon for a radius that depends on it."""


class ExactError(NamedTuple):
    """Probabilities of the two verdicts on an arm whose mean is exactly the threshold, within `pulls` pulls.

    good : probability of a wrong verdict on a bad arm just below the threshold
    bad  : probability of a wrong verdict on this arm, which is good
    """

    good: float
    bad: float

    @property
    def worst(self) -> float:
        return max(self)


def can_be_computed(rule: IdentificationRule) -> bool:
    """Is the verdict on an arm that is played alone a function of pulls and total?"""
    return rule.by_totals or (isinstance(rule, RadiusRule) and rule.learner is None and not rule.by_model)


def exact_error(
    rule: IdentificationRule,
    threshold: float,
    *,
    arms: int = 1,
    delta: float = 0.1,
    pulls: int = 10_000,
    **values: float,
) -> ExactError:
    """The exact error rate of one arm with 0/1 rewards of mean `threshold`; a certified rule's is at most delta/arms.

    >>> from goodarm.rules.identification.beta_mixture import beta_mixture
    >>> exact = exact_error(beta_mixture, 0.5, pulls=200)
    >>> round(exact.good, 4), round(exact.bad, 4)
    (0.074, 0.074)
    """
    bar = Problem(threshold=threshold, arms=arms, delta=delta).bar
    parameters = tuple({**rule.defaults, **values}.values())
    good_from, bad_to = np.empty(pulls + 1, dtype=np.int64), np.empty(pulls + 1, dtype=np.int64)
    _boundaries(rule)(good_from, bad_to, bar, parameters)
    negligible = NEGLIGIBLE * delta / (arms * 2.0 * pulls)
    good, bad, left_out = _walk()(threshold, good_from, bad_to, np.zeros(pulls + 3), np.zeros(pulls + 3), negligible)
    return ExactError(good + left_out, bad + left_out)


def verdicts_at(rule: IdentificationRule, pulls: int, bar: Bar) -> NDArray[np.int64]:
    """The verdict at every total 0 ... `pulls`, shape (pulls + 1,)."""
    verdict, values = _verdict(rule), tuple(rule.defaults.values())
    return np.array([verdict(float(pulls), float(s), bar, values) for s in range(pulls + 1)], dtype=np.int64)


@cache
def _verdict(rule: IdentificationRule) -> Formula:
    """verdict(pulls, total, bar, parameters): 1 good, -1 bad, 0 open."""
    if isinstance(rule, EvidenceRule) and rule.totals is not None:
        totals = rule.totals

        def by_evidence(pulls: float, total: float, bar: Bar, parameters: Any) -> float:
            for_good, for_bad = totals(pulls, total, bar, *parameters)
            if for_good >= bar.budget:
                return 1.0
            return -1.0 if for_bad >= bar.budget else 0.0

        return by_evidence
    if isinstance(rule, RadiusRule):
        radius = rule.radius

        def by_radius(pulls: float, total: float, bar: Bar, parameters: Any) -> float:
            arm = Arm(pulls, total, total / pulls, 1.0 / math.sqrt(pulls), 0.0, 0.0, 0.0, 0.0)
            return decide_by_radius(arm, radius(arm, Pool(pulls, HORIZON), bar, *parameters), bar)

        return by_radius
    raise TypeError(f"the error of {rule.name} can't be computed: it needs more than pulls and total")


@cache
def _boundaries(rule: IdentificationRule) -> Callable[..., None]:
    """Fills, for every number of pulls, the smallest total called good and the largest called bad."""
    verdict = _verdict(rule)

    def loop(good_from: NDArray[np.int64], bad_to: NDArray[np.int64], bar: Any, parameters: Any) -> None:
        good, bad = 1, -1
        good_from[0], bad_to[0] = 1, -1
        for n in range(1, len(good_from)):
            # from one number of pulls to the next a boundary moves by a step or two
            while good <= n and verdict(float(n), float(good), bar, parameters) <= 0.0:
                good += 1
            good = min(good, n + 1)
            while good > 0 and verdict(float(n), float(good - 1), bar, parameters) > 0.0:
                good -= 1
            while bad >= 0 and verdict(float(n), float(bad), bar, parameters) >= 0.0:
                bad -= 1
            while bad < n and verdict(float(n), float(bad + 1), bar, parameters) < 0.0:
                bad += 1
            good_from[n], bad_to[n] = good, bad

    built: Callable[..., None] = compiled(loop)
    return built


@cache
def _walk() -> Callable[..., tuple[float, float, float]]:
    def loop(
        mean: float, good_from: NDArray[np.int64], bad_to: NDArray[np.int64], now: Any, then: Any, negligible: float
    ) -> tuple[float, float, float]:
        good, bad, left_out = 0.0, 0.0, 0.0
        low, high = 0, 0
        now[0] = 1.0
        for n in range(1, len(good_from)):
            # places are kept one to the right, so that place 0 has a neighbour
            then[low] = (1.0 - mean) * now[low]
            for s in range(low + 1, high + 1):
                then[s] = (1.0 - mean) * now[s] + mean * now[s - 1]
            then[high + 1] = mean * now[high]
            high += 1
            while high >= low and high >= good_from[n]:
                good += then[high]
                high -= 1
            while low <= high and low <= bad_to[n]:
                bad += then[low]
                low += 1
            while high > low and then[high] < negligible:
                left_out += then[high]
                high -= 1
            while low < high and then[low] < negligible:
                left_out += then[low]
                low += 1
            if low > high:
                break
            now, then = then, now
        return good, bad, left_out

    built: Callable[..., tuple[float, float, float]] = compiled(loop)
    return built
