"""Evidence, deciding intervals and further pulls of many arms, from their pulls and totals.

For rules by totals only. Each loop over the arms is closed over the rule's own formula. A few arms run as Python and
many as compiled code (`goodarm.engine.compile`). Equal totals are computed once, so a million arms take seconds.
Campaigns' tables of arms and judgements on logs use this module.

>>> import numpy as np
>>> from goodarm.problem import Problem
>>> from goodarm.rules.identification.beta_mixture import beta_mixture
>>> bar = Problem(threshold=0.02, arms=2).bar
>>> pulls, totals = np.array([1000.0, 1000.0]), np.array([50.0, 15.0])
>>> for_good, for_bad = evidence_from_totals(beta_mixture, pulls, totals, bar)
>>> for_good.round(2).tolist(), for_bad.round(2).tolist()
([12.24, -5.8], [-3.47, -0.19])
>>> low, high = interval_from_totals(beta_mixture, pulls, totals, bar, bar.budget)
>>> low.round(4).tolist(), high.round(4).tolist()
([0.0274, 0.0042], [0.0753, 0.0302])
>>> more_pulls_needed(beta_mixture, pulls, totals, bar, bar.budget).tolist()
[0.0, 6810.0]
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goodarm.engine.compile import TOTALS, Patience
from goodarm.errors import UnsoundPairing
from goodarm.numerics import bernoulli_kl
from goodarm.problem import Bar, bar_at, bar_with
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification import EvidenceRule, IdentificationRule, RadiusRule
from goodarm.rules.identification.gap_mixture import smallest_good
from goodarm.rules.parameters import Formula

Floats = NDArray[np.float64]

CHUNK = 1 << 16
"""Number of arms that one thread computes at a time."""
CLOSE = 1e-4
"""Relative precision of an interval's end, as a share of its distance from the mean."""
BASE = 4.0
"""Approximate cost in evidence of a mixture over unknown means. It affects speed only."""
NEVER = 1e15
"""Number of pulls beyond which a verdict counts as never."""

_NO_POOL = Pool(0.0)


def evidence_from_totals(
    rule: IdentificationRule,
    pulls: Floats,
    totals: Floats,
    bar: Bar,
    values: tuple[float, ...] | None = None,
    patience: Patience = TOTALS,
) -> tuple[Floats, Floats]:
    """log E+ and log E- of every arm, shapes (K,); nan for a radius rule, which has no evidence.

    values   : the rule's parameters in the order of `rule.defaults`; its defaults if None
    patience : the number of distinct arms to compute as Python
    """
    return _spread("evidence", rule, pulls, totals, bar, bar.budget, values, patience)


def interval_from_totals(
    rule: IdentificationRule,
    pulls: Floats,
    totals: Floats,
    bar: Bar,
    needed: float | Floats,
    values: tuple[float, ...] | None = None,
    patience: Patience = TOTALS,
) -> tuple[Floats, Floats]:
    """The thresholds that the arm's evidence has not refuted: the ends of the deciding interval, shapes (K,).

    low  : every threshold below it is refuted from above, log E+ >= needed there
    high : every threshold above it is refuted from below

    needed : log(1 / share of delta) of each arm, log(K/delta) when all are equal. At the bar's own threshold the
             interval agrees with the verdict by construction: low >= threshold where log E+ >= needed.
    """
    return _spread("interval", rule, pulls, totals, bar, needed, values, patience)


def more_pulls_needed(
    rule: IdentificationRule,
    pulls: Floats,
    totals: Floats,
    bar: Bar,
    needed: float | Floats,
    values: tuple[float, ...] | None = None,
    patience: Patience = TOTALS,
) -> Floats:
    """Approximate further pulls until a verdict if the arm's mean stays as it is; shape (K,).

    0 if the evidence suffices; inf if the mean equals the threshold; NaN without a pull.
    """
    return _spread("wait", rule, pulls, totals, bar, needed, values, patience)[0]


def _spread(
    what: str,
    rule: IdentificationRule,
    pulls: Floats,
    totals: Floats,
    bar: Bar,
    needed: float | Floats,
    values: tuple[float, ...] | None,
    patience: Patience,
) -> tuple[Floats, Floats]:
    """Call a loop on the distinct triples (pulls, total, needed), in threads where there are many."""
    if not (rule.by_totals and isinstance(rule, EvidenceRule | RadiusRule)):
        raise UnsoundPairing(
            f"{rule.name} needs the rewards in their order; totals are not enough. "
            "Use a rule by totals, for example 'beta-mixture' or 'normal-mixture'."
        )
    parameters = tuple(rule.defaults.values()) if values is None else tuple(values)
    n, s, need = np.broadcast_arrays(*(np.asarray(each, dtype=np.float64) for each in (pulls, totals, needed)))
    shape = n.shape
    if isinstance(rule, RadiusRule) and what == "evidence":  # it has none
        return np.full(shape, math.nan), np.full(shape, math.nan)
    n, s, need, where = _distinct(n.ravel(), s.ravel(), need.ravel())
    first, second = np.empty(n.size), np.empty(n.size)
    loop = patience.form(_loop(what, rule), n.size)

    def work(part: slice) -> None:
        loop(n[part], s[part], need[part], bar, parameters, first[part], second[part])

    in_chunks(work, n.size)
    return first[where].reshape(shape), second[where].reshape(shape)


def in_chunks(work: Callable[[slice], None], size: int) -> None:
    """Run the work on chunks of the arrays, in threads if there are several chunks."""
    parts = [slice(start, start + CHUNK) for start in range(0, size, CHUNK)]
    for part in parts[:1]:
        work(part)  # first without threads, to compile it once
    if len(parts) > 1:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(work, parts[1:]))


def _distinct(n: Floats, s: Floats, needed: Floats) -> tuple[Floats, Floats, Floats, NDArray[np.int64]]:
    """The distinct triples, and each arm's index into them."""
    order = np.lexsort((needed, s, n))
    sorted_ = [np.ascontiguousarray(each[order]) for each in (n, s, needed)]
    new = np.ones(n.size, dtype=bool)
    if n.size:
        new[1:] = np.any([each[1:] != each[:-1] for each in sorted_], axis=0)
    where = np.empty(n.size, dtype=np.int64)
    where[order] = np.cumsum(new) - 1
    return sorted_[0][new], sorted_[1][new], sorted_[2][new], where


@cache
def _loop(what: str, rule: IdentificationRule) -> Callable[..., None]:
    """The loop over arms."""
    if isinstance(rule, RadiusRule):
        return {"interval": radius_interval_loop, "wait": radius_wait_loop}[what](rule.radius)
    if what == "interval":
        own = rule.one_side if isinstance(rule, EvidenceRule) else None
        return interval_loop(own or either_side(rule.formula))
    return {"evidence": evidence_loop, "wait": wait_loop}[what](rule.formula)


# Loops over arms. Each is made once per rule around the rule's formula, and runs as Python or compiled.


@cache
def either_side(totals: Formula) -> Formula:
    """log E+ or log E- of a rule that computes both at once."""

    def one_side(side: float, pulls: float, total: float, bar: Bar, *parameters: float) -> float:
        for_good, for_bad = totals(pulls, total, bar, *parameters)
        return float(for_good if side > 0.0 else for_bad)

    return one_side


def own_bar(bar: Bar, needed: float) -> Bar:
    """The problem for an arm with its own share of delta: K/delta becomes exp(needed)."""
    return bar_with(bar, bar.arms * math.exp(-needed), needed)


def evidence_loop(totals: Formula) -> Callable[..., None]:
    def loop(n: Floats, s: Floats, needed: Floats, bar: Any, values: Any, for_good: Floats, for_bad: Floats) -> None:
        for i in range(n.size):
            for_good[i], for_bad[i] = 0.0, 0.0
            if n[i] > 0.0:
                for_good[i], for_bad[i] = totals(n[i], s[i], bar, *values)

    return loop


@cache
def _end_of(one_side: Formula) -> Formula:
    """The function that finds one end of an arm's interval, built once per rule: numba caches by identity."""

    def height(n: float, s: float, x: float, side: float, bar: Any, values: Any) -> float:
        """Root of the evidence that the mean lies above x (side -1) or below it (side +1); 0 if that is negative."""
        evidence = one_side(-side, n, s, bar_at(bar, x), *values) + BASE
        return math.sqrt(evidence) if evidence > 0.0 else 0.0

    def end(n: float, s: float, side: float, needed: float, bar: Any, values: Any) -> float:
        """The refuted threshold nearest to the mean, on the side below (-1) or above (+1) it.

        Evidence grows like the square of the distance from the mean, so its root, `height`, is nearly linear. Steps
        away from the mean find a threshold that is not refuted (inner) and one that is (outer); where nothing is
        refuted, the end is the limit of the range. Regula falsi on the root then narrows the gap between the two.
        """
        mean, goal = s / n, math.sqrt(needed + BASE)
        limit = (0.0 if side < 0.0 else 1.0) if bar.bounded > 0.0 else side * math.inf
        variance = mean * (1.0 - mean) if bar.bounded > 0.0 else bar.sigma * bar.sigma
        likely = goal * math.sqrt(2.0 * variance / n) + (goal * goal / n if bar.bounded > 0.0 else 0.0)
        inner, h_inner, outer, h_outer = mean, 0.0, mean, 0.0
        if side * (bar.threshold - mean) > 0.0:  # start at the bar, to agree with the verdict
            outer = bar.threshold
            h_outer = height(n, s, outer, side, bar, values)
            if h_outer < goal:
                inner, h_inner = outer, h_outer
        gap = likely - abs(inner - mean) if likely > abs(inner - mean) and h_inner < 0.9 * goal else 0.1 * likely
        while h_outer < goal:
            outer = inner + side * gap
            if bar.bounded > 0.0:  # stay inside the range
                outer = max(outer, 0.25 * inner) if side < 0.0 else min(outer, 1.0 - 0.25 * (1.0 - inner))
            if outer == inner or abs(outer - limit) < CLOSE * abs(mean - limit):
                return float(limit)
            h_outer = height(n, s, outer, side, bar, values)
            if h_outer < goal:
                inner, h_inner, gap = outer, h_outer, 2.0 * gap
        if h_outer == goal:
            return float(outer)
        for step in range(60):
            if abs(outer - inner) <= CLOSE * abs(outer - mean):
                break
            x = 0.5 * (inner + outer)
            if step == 0 and (mean + side * likely - inner) * (mean + side * likely - outer) < 0.0:
                x = mean + side * likely
            elif step % 4 < 3 and math.isfinite(h_outer):
                # alternate slightly to either side of the root estimate: the bracket closes from both sides
                aside = 0.3 * CLOSE * (outer - mean) * (-1.0 if step % 2 else 1.0)
                line = inner + (outer - inner) * (goal - h_inner) / (h_outer - h_inner) + aside
                x = line if (line - inner) * (line - outer) < 0.0 else x
            h = height(n, s, x, side, bar, values)
            if h >= goal:
                outer, h_outer = x, h
            else:
                inner, h_inner = x, h
        return float(outer)

    return end


@cache
def _totals_left(one_side: Formula) -> Formula:
    """The interval of a finite set: smallest and largest total T that the evidence has not refuted, divided by N.

    S successes are known and N - n cases are left, so T lies in [S, S + N - n]; once every case is drawn the interval
    is one point. Bisection over integer totals finds both ends. It starts at the bar's total, so the interval agrees
    with the verdict.
    """

    def totals_left(n: float, s: float, needed: float, bar: Any, values: Any) -> tuple[float, float]:
        cases = bar.cases
        least = smallest_good(bar.threshold, cases)
        below, above = s, s + cases - n  # "T < below" is refuted, "T < above + 1" is not
        x = least
        while below < above:
            if x <= below or x > above:
                x = below + math.ceil(0.5 * (above - below))
            at = bar.threshold if x == least else x / cases
            if one_side(1.0, n, s, bar_at(bar, at), *values) >= needed:
                below = x
            else:
                above = x - 1.0
            x = below
        low = below
        below, above = s, s + cases - n  # "T > above" is refuted, "T > below - 1" is not
        x = least - 1.0
        while below < above:
            if x < below or x >= above:
                x = below + math.floor(0.5 * (above - below))
            at = bar.threshold if x + 1.0 == least else (x + 1.0) / cases
            if one_side(-1.0, n, s, bar_at(bar, at), *values) >= needed:
                above = x
            else:
                below = x + 1.0
            x = above
        return float(low / cases), float(above / cases)

    return totals_left


def interval_loop(one_side: Formula) -> Callable[..., None]:
    end, totals_left = _end_of(one_side), _totals_left(one_side)

    def loop(n: Floats, s: Floats, needed: Floats, bar: Any, values: Any, low: Floats, high: Floats) -> None:
        for i in range(n.size):
            low[i] = 0.0 if bar.bounded > 0.0 else -math.inf
            high[i] = 1.0 if bar.bounded > 0.0 else math.inf
            if n[i] > 0.0 and bar.cases < math.inf:
                low[i], high[i] = totals_left(n[i], s[i], needed[i], bar, values)
            elif n[i] > 0.0:
                low[i] = end(n[i], s[i], -1.0, needed[i], bar, values)
                high[i] = end(n[i], s[i], 1.0, needed[i], bar, values)

    return loop


def wait_loop(totals: Formula) -> Callable[..., None]:
    return _waiting_loop(_wait_of(_missing_evidence(totals)))


def radius_wait_loop(radius: Formula) -> Callable[..., None]:
    return _waiting_loop(_wait_of(_missing_radius(radius)))


@cache
def _missing_evidence(totals: Formula) -> Formula:
    def missing(n: float, s: float, needed: float, bar: Any, values: Any) -> float:
        for_good, for_bad = totals(n, s, bar, *values)
        return float(needed - max(for_good, for_bad))

    return missing


@cache
def _missing_radius(radius: Formula) -> Formula:
    def missing(n: float, s: float, needed: float, bar: Any, values: Any) -> float:
        own = own_bar(bar, needed)
        return float(radius(arm_of(n, s), _NO_POOL, own, *values) - abs(s / n - bar.threshold))

    return missing


@cache
def _wait_of(missing: Formula) -> Formula:
    """Pulls until the evidence suffices if the mean stays as it is, to within 1%.

    The missing evidence falls almost linearly with the pulls: regula falsi with occasional bisection.
    """

    def wait(n: float, s: float, needed: float, bar: Any, values: Any) -> float:
        mean = s / n
        few, short = n, missing(n, s, needed, bar, values)
        if short <= 0.0:
            return 0.0
        rate = (mean - bar.threshold) ** 2 / (2.0 * bar.sigma * bar.sigma)  # maximum evidence per pull
        if bar.bounded > 0.0:
            rate = bernoulli_kl(mean, bar.threshold)
        many = min(n + (short + 1.0) / rate if rate > 0.0 else math.inf, bar.cases)
        if many > NEVER:
            return math.inf
        beyond = missing(many, many * mean, needed, bar, values)
        while beyond > 0.0:
            few, short, many = many, beyond, min(2.0 * many, bar.cases)
            if many > NEVER:
                return math.inf
            beyond = missing(many, many * mean, needed, bar, values)
        for step in range(60):
            if many - few <= 1e-2 * (many - n) or many - few < 0.5:
                break
            share = 0.5 if step % 3 == 2 else short / (short - beyond) + 0.003
            middle = few + (many - few) * min(max(share, 0.01), 0.99)
            found = missing(middle, middle * mean, needed, bar, values)
            if found > 0.0:
                few, short = middle, found
            else:
                many, beyond = middle, found
        return float(math.ceil(many - n))

    return wait


def _waiting_loop(wait: Formula) -> Callable[..., None]:
    def loop(n: Floats, s: Floats, needed: Floats, bar: Any, values: Any, more: Floats, nothing: Floats) -> None:
        for i in range(n.size):
            nothing[i] = 0.0
            more[i] = wait(n[i], s[i], needed[i], bar, values) if n[i] > 0.0 else math.nan

    return loop


def radius_interval_loop(radius: Formula) -> Callable[..., None]:
    def loop(n: Floats, s: Floats, needed: Floats, bar: Any, values: Any, low: Floats, high: Floats) -> None:
        for i in range(n.size):
            low[i] = 0.0 if bar.bounded > 0.0 else -math.inf
            high[i] = 1.0 if bar.bounded > 0.0 else math.inf
            if n[i] > 0.0:
                half = radius(arm_of(n[i], s[i]), _NO_POOL, own_bar(bar, needed[i]), *values)
                low[i] = max(low[i], s[i] / n[i] - half)
                high[i] = min(high[i], s[i] / n[i] + half)

    return loop


def arm_of(pulls: float, total: float) -> Arm:
    """An arm with known totals only."""
    return Arm(pulls, total, total / pulls, 1.0 / math.sqrt(pulls), 0.0, 0.0, 0.0, 0.0)
