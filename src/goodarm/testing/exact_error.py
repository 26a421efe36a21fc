"""The exact probability of a wrong verdict on one arm, up to a million pulls: for rules by totals and radius rules.

With 0/1 rewards an arm is a point (N, S), pulls and total. A rule by totals calls it good from some S on and bad up to
some S, so the point walks between two boundaries until it meets one. The probability of each position after N pulls
follows from those after N - 1, and the probability beyond a boundary is removed and counted. Nothing is random, so
there are no false alarms, and an error rate 1% above the permitted one is detected as reliably as one twice as large.
The same holds for a radius that depends on the time, because a single arm is pulled once in every round.

It can't detect errors with rewards that are not 0/1, errors after more than `pulls` pulls, and errors of a rule
whose verdict is not monotone in S.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.engine.compile import compiled
from goodarm.engine.totals import evidence_from_totals
from goodarm.problem import Bar, Cases, GradedCases, Problem
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification import EvidenceRule, IdentificationRule, RadiusRule
from goodarm.rules.identification._base import decide_by_radius
from goodarm.rules.identification.gap_mixture import smallest_good
from goodarm.rules.parameters import Formula
from goodarm.testing.checks import require

Floats = NDArray[np.float64]

NEGLIGIBLE = 1e-6
"""Share of the permitted error below which unlikely positions are dropped; their probability counts as error."""
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
    """Whether the verdict on a single arm is a function of pulls and total."""
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
    """Computes, for every number of pulls, the smallest total called good and the largest called bad."""
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
            # positions are shifted by one, so that position 0 has a neighbour
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


# Arms with finitely many cases. An arm has N cases, T of them successes, and draws them in a uniformly random order.
# After n draws with S successes the next one is a success with probability (T - S)/(N - n). Summing over all (n, S)
# gives the probability of each verdict. Verdicts need not be monotone in S.

Draw = Callable[[int, Floats, int, int], Floats]
"""(n, all S, T, N) -> probability that the next draw is a success."""


def without_replacement(drawn: int, successes: Floats, total: int, cases: int) -> Floats:
    """Probability of a success if each case is drawn once."""
    return np.clip((total - successes) / (cases - drawn), 0.0, 1.0)


def evidence_of_cases(rule: EvidenceRule, bar: Bar) -> tuple[Floats, Floats]:
    """log E+ and log E- after n draws with S successes, shapes (N + 1, N + 1); nan where S > n."""
    count = int(bar.cases) + 1
    n, s = np.tril_indices(count)
    found = evidence_from_totals(rule, n.astype(float), s.astype(float), bar)
    for_good, for_bad = np.full((count, count), np.nan), np.full((count, count), np.nan)
    for_good[n, s], for_bad[n, s] = found
    return for_good, for_bad


def verdicts_on_cases(for_good: Floats, for_bad: Floats, bar: Bar) -> Floats:
    """1 good, -1 bad, 0 undecided, for each (n, S)."""
    verdicts = np.where(for_good >= bar.budget, 1.0, np.where(for_bad >= bar.budget, -1.0, 0.0))
    verdicts[0] = 0.0
    return verdicts


def walked(verdicts: Floats, total: int, draw: Draw = without_replacement, weight: int = 1) -> ExactError:
    """Probabilities of both verdicts on an arm with `total` successes that is drawn until its first verdict.

    draw   : another law of the draws, for broken variants
    weight : number of times that each draw counts; 1 except for a broken variant that counts cases twice
    """
    cases = verdicts.shape[0] - 1
    now, places = np.zeros(cases + 1), np.arange(cases + 1, dtype=float)
    now[0], good, bad = 1.0, 0.0, 0.0
    for drawn in range(0, cases - weight + 1, weight):
        up = now * draw(drawn, places, total, cases)
        now -= up
        now[weight:] += up[: cases + 1 - weight]
        verdict = verdicts[drawn + weight]
        good += now[verdict > 0.0].sum()
        bad += now[verdict < 0.0].sum()
        now[verdict != 0.0] = 0.0
    return ExactError(float(good), float(bad))


def exact_error_of_cases(
    rule: EvidenceRule,
    threshold: float,
    cases: int,
    *,
    total: int | None = None,
    arms: int = 1,
    delta: float = 0.05,
    draw: Draw = without_replacement,
    weight: int = 1,
) -> ExactError:
    """Probabilities of both verdicts on an arm. The default total is the largest below the bar: *good* is wrong.

    >>> from goodarm.rules.identification.gap_mixture import gap_mixture
    >>> error = exact_error_of_cases(gap_mixture, 0.8, 100)
    >>> round(error.good, 4), round(error.bad, 4)
    (0.0317, 0.9683)
    """
    bar = Problem(threshold=threshold, arms=arms, delta=delta, rewards=Cases(cases)).bar
    successes = int(smallest_good(threshold, cases)) - 1 if total is None else total
    return walked(verdicts_on_cases(*evidence_of_cases(rule, bar), bar), successes, draw, weight)


def require_exact_error_of_cases(
    rule: EvidenceRule, threshold: float, cases: int, arms: int = 1, delta: float = 0.05
) -> None:
    """Require P(wrong verdict) <= delta/K next to the bar, evidence that is monotone in S, and a verdict on every arm.

    If evidence grows with S, the worst result of a pending draw is 0 for good and 1 for bad.
    """
    bar = Problem(threshold=threshold, arms=arms, delta=delta, rewards=Cases(cases)).bar
    for_good, for_bad = evidence_of_cases(rule, bar)
    for name, evidence, sign in (("E+", for_good, 1.0), ("E-", for_bad, -1.0)):
        steps = sign * np.diff(evidence, axis=1)
        require(not (steps < -1e-6).any(), f"{rule.name}: {name} moves the wrong way when one more reward is a success")
    verdicts, good_from = verdicts_on_cases(for_good, for_bad, bar), int(smallest_good(threshold, cases))
    for total in sorted({min(max(good_from + step, 0), cases) for step in (-3, -2, -1, 0, 1, 2)}):
        error = walked(verdicts, total)
        wrong = error.bad if total >= good_from else error.good
        require(
            wrong <= delta / arms,
            f"{rule.name} gives a wrong verdict on an arm with {total} successes among {cases} cases with probability "
            f"{wrong:.4g} at threshold {threshold:g}; with {arms} arms and delta {delta:g} at most {delta / arms:g} is "
            "allowed. Does its hypothesis account for the remaining cases?",
        )
        require(
            abs(error.good + error.bad - 1.0) < 1e-9,
            f"{rule.name} leaves an arm undecided with probability {1.0 - error.good - error.bad:.4g} although all "
            f"{cases} cases have been drawn.",
        )


GRADES = ((1.0, 1.0, 1.0, 0.0, 0.0, 0.0), (1.0, 0.9, 0.5, 0.3, 0.2, 0.1), (1.0, 0.0, 0.0, 0.0, 0.0, 0.2))
"""Sets of six results whose 720 orders are played one by one."""
JUST = 1e-7
"""Distance of the bar above the mean of the set, so that *good* is wrong."""


def require_fair_over_all_orders(rule: EvidenceRule) -> None:
    """The mean of E over all orders of a set is at most 1 after each draw, as bets without replacement require.

    E+ is played with a bar just above the mean of the set, E- with a bar at the mean. For rules that need the order.
    """
    for grades in GRADES:
        mean, cases = sum(grades) / len(grades), len(grades)
        found = np.zeros((2, cases - 1))
        for order in itertools.permutations(grades):
            for side, threshold in enumerate((mean + JUST, mean)):
                bar = Problem(threshold=threshold, arms=1, rewards=GradedCases(cases)).bar
                found[side] += np.exp(np.minimum(_played(rule, order, bar)[side][:-1], 60.0))
        worst = float(found.max()) / math.factorial(cases)
        require(
            worst <= 1.0 + 1e-4,
            f"{rule.name} is not a fair game on the cases {grades}: its evidence is {worst:.4g} on average over all "
            "orders, but at most 1 is allowed. Does a bet depend on its own result, or ignore earlier draws?",
        )


def _played(rule: EvidenceRule, results: Sequence[float], bar: Bar) -> Floats:
    """log E+ and log E- after each result, shape (2, N)."""
    memory, found = np.zeros(max(rule.memory, 1)), np.zeros((2, len(results)))
    good = bad = total = 0.0
    learned = None if rule.learner is None else rule.learner.start(bar)
    for n, result in enumerate(results):
        arm = Arm(float(n), total, 0.0, 0.0, good, bad, memory, 0.0)
        good, bad, _ = rule.observe(arm, result, Pool(n + 1.0, math.inf, learned), bar, *rule.defaults.values())
        total += result
        found[:, n] = good, bad
    return found
