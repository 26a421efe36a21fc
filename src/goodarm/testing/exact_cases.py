"""The exact probability of a wrong verdict on an arm with finitely many cases, for rules by totals.

An arm has N cases, T of them successes, and draws them in a uniformly random order. After n draws with S successes the
next one is a success with probability (T - S)/(N - n). Summing over all (n, S) gives the probability of each verdict.
Nothing is drawn at random, so any error above the allowed one is detected. Verdicts need not be monotone in S.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from goodarm.engine.totals import evidence_from_totals
from goodarm.problem import Bar, Cases, GradedCases, Problem
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification import EvidenceRule
from goodarm.rules.identification.gap_mixture import smallest_good
from goodarm.testing.checks import require
from goodarm.testing.exact_error import ExactError

Floats = NDArray[np.float64]
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
    weight : how often each draw is counted; 1 unless a broken variant counts cases twice
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
    """Require P(wrong verdict) <= delta/K next to the bar, evidence monotone in S, and a verdict on every arm.

    If evidence grows with S, the worst reward of a pending draw is 0 for good and 1 for bad.
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
            "allowed. Does its hypothesis take into account what is left of the set?",
        )
        require(
            abs(error.good + error.bad - 1.0) < 1e-9,
            f"{rule.name} leaves an arm undecided with probability {1.0 - error.good - error.bad:.4g} although all "
            f"{cases} cases are drawn.",
        )


GRADES = ((1.0, 1.0, 1.0, 0.0, 0.0, 0.0), (1.0, 0.9, 0.5, 0.3, 0.2, 0.1), (1.0, 0.0, 0.0, 0.0, 0.0, 0.2))
"""Sets of six results whose 720 orders are played one by one."""
JUST = 1e-7
"""Distance of the bar above the mean of the set, so that *good* is wrong."""


def require_fair_over_all_orders(rule: EvidenceRule) -> None:
    """Require that the mean of E over all orders of a set is at most 1 after each draw, as for any fair bet without
    replacement.

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
            f"{rule.name} is no fair game on the cases {grades}: its evidence is {worst:.4g} on average "
            "over all orders, and at most 1 is allowed. Does a bet depend on its own result, or forget what was drawn?",
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
