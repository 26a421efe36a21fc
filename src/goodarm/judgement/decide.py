"""From totals to verdicts: the evidence of every arm, the evidence needed, and the deciding interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goodarm.engine.totals import evidence_from_totals, interval_from_totals, more_pulls_needed
from goodarm.judgement.judgement import Arms
from goodarm.judgement.options import LogOptions
from goodarm.judgement.sources._base import Sums
from goodarm.problem import Problem
from goodarm.verdict import Criterion

Floats = NDArray[np.float64]

MOST = 1e6
"""Multiple of an arm's rows beyond which it counts as never decided."""
BISECTIONS = 40
"""Number of bisection steps for the number of further rows."""


@dataclass(frozen=True)
class Decided:
    """Verdicts, one entry per arm. Mean and interval are on the rule's scale, [0, 1] for bounded rewards."""

    mean: Floats
    low: Floats
    high: Floats
    verdict: NDArray[np.int8]  # 1 good, -1 bad, 0 undecided
    evidence: Floats  # for the verdict; for an undecided arm the larger side
    needs: Floats  # approximate further rows until a verdict; 0 once decided


@dataclass(frozen=True)
class Look:
    """A look at a log: the values shared by the verdicts on all of its arms.

    offset  : log(K w), where w is the arm's share of delta; 0 if all shares are equal
    pending : number of missing rewards of each arm, which count at their worst: as 0 in the evidence for good, and as 1
              in the evidence for bad
    """

    options: LogOptions
    problem: Problem
    offset: Floats | float = 0.0
    pending: Floats | float = 0.0


def decide(look: Look, pulls: Floats, totals: Floats) -> Decided:
    """Judge all arms together by their totals."""
    rule, bar, pending = look.options.identification, look.problem.bar, look.pending
    sides = [(pulls + pending, totals), (pulls + pending, totals + pending)]
    for_good, for_bad = (evidence_from_totals(rule, *side, bar)[j] for j, side in enumerate(sides))
    levels = needed(look.options.criterion, (for_good, for_bad), look.problem, look.offset)
    low, high = (interval_from_totals(rule, *sides[j], bar, level)[j] for j, level in enumerate(levels.now))
    verdict, evidence = levels.decided(for_good, for_bad)
    if np.isnan(for_good).all():  # a radius has no evidence; with barely sufficient evidence, high == threshold
        verdict = np.where(low >= bar.threshold, 1, np.where(high < bar.threshold, -1, 0)).astype(np.int8)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = totals / pulls
    needs = np.zeros(pulls.size)
    for above, level in ((True, levels.next[0]), (False, levels.next[1])):
        waiting = (verdict == 0) & ((mean >= bar.threshold) == above)
        needs[waiting] = more_pulls_needed(rule, pulls[waiting], totals[waiting], bar, level[waiting])
    return Decided(mean, low, high, verdict, evidence, needs)


def open_units(options: LogOptions, sums: Sums) -> Floats:
    """Number of units of each arm that count at their worst, since their window is still open; 0 if they are left out.

    Under `fwer` they are left out. Proof. Order all units by their first rows, which is also the order in which their
    windows close. Units are independent of each other, and an arm is chosen for a unit by what other units did before:
    so given all rewards of earlier units, the mean of the next unit's reward is its arm's mean, and the evidence after
    k units, E_k, is a supermartingale in k. A look at time t counts the units with first row + window <= t. That
    depends on first rows alone, never on rewards, and selects the first k(t) units. By Ville's inequality the
    probability that any E_k reaches 1/delta is at most delta. So people may look at any k, even if they choose the time
    of a look by the rewards of open units, which they can see.

    Leaving a unit out because of its rewards so far breaks this, as does closing it early.

    Under `fdr` they count at their worst. e-BH needs E of mean at most 1 at the time of the look, and a person who sees
    open units may look just before bad ones close: k(t) is then not a stopping time. With every open unit at its
    worst, the evidence is at most that of all units that have begun. Their number is a stopping time, since it
    changes only by a unit that begins, before any of its rewards.
    """
    if sums.pending is None or not options.open_at_worst:
        return np.zeros(sums.pulls.size)
    return sums.pending


@dataclass(frozen=True)
class Levels:
    """Evidence needed per arm, for good and for bad: at present, and if one more arm is called."""

    now: tuple[Floats, Floats]
    next: tuple[Floats, Floats]

    def decided(self, for_good: Floats, for_bad: Floats) -> tuple[NDArray[np.int8], Floats]:
        """The verdicts that follow from this evidence, and the evidence for each (undecided: the larger side)."""
        good, bad = self.now
        verdict = np.where(for_good >= good, 1, np.where(for_bad >= bad, -1, 0)).astype(np.int8)
        side = np.where(verdict == 1, for_good, np.where(verdict == -1, for_bad, np.maximum(for_good, for_bad)))
        return verdict, side


def rows_until(enough: Callable[[Floats], NDArray[np.bool_]], rows: Floats) -> Floats:
    """Approximate further rows until `enough`, if the log continues as before; inf if never.

    enough : whether the log of each arm, repeated this many times, has enough evidence
    """
    few, many = np.ones(rows.shape), np.full(rows.shape, MOST)
    never = ~enough(many)
    for _ in range(BISECTIONS):
        middle = np.sqrt(few * many)
        there = enough(middle)
        few, many = np.where(there, few, middle), np.where(there, middle, many)
    return np.where(never, math.inf, np.ceil((many - 1.0) * rows))


def needed(
    criterion: Criterion, evidence: tuple[Floats, Floats], problem: Problem, offset: Floats | float = 0.0
) -> Levels:
    """log(1/(w delta)) for an arm with share w of delta; under `fdr` log(1/(w R delta)) with R arms called (e-BH).

    R is the largest number for which R arms have that much evidence. Proof with shares: at any stopping time a wrong
    verdict on an arm needs w E >= 1/(R delta), so 1{called}/R <= w delta E, of mean at most w delta, and the shares sum
    to at most 1. The intervals at the level of e-BH cover, on average over the arms called, all but a share delta (Xu,
    Wang & Ramdas 2022, e-BY).
    """
    alone = np.broadcast_to(problem.bar.budget - offset, np.shape(evidence[0]))
    if criterion is not Criterion.FDR:
        return Levels((alone, alone), (alone, alone))
    called = [_called(side - alone, 0.0) for side in evidence]
    now = tuple(alone - math.log(max(count, 1)) for count in called)
    following = tuple(alone - math.log(count + 1) for count in called)
    return Levels((now[0], now[1]), (following[0], following[1]))


def _called(evidence: Floats, budget: float) -> int:
    """Number of arms that e-BH calls on one side.

    >>> _called(np.array([3.0, 2.4, 0.1]), budget=3.0)
    2
    """
    ranked = np.sort(evidence)[::-1]
    enough = np.flatnonzero(ranked >= budget - np.log(np.arange(1, ranked.size + 1)))
    return int(enough[-1]) + 1 if enough.size else 0


def placed(options: LogOptions, sums: Sums, found: Decided) -> Arms:
    """Convert verdicts to the units of the log."""
    scale = options.scale
    mean, low, high = (each * scale.length + scale.start for each in (found.mean, found.low, found.high))
    return Arms(sums.segment, sums.arm, sums.pulls, mean, low, high, found.verdict, found.evidence, found.needs)
