"""Evidence, the interval that decides and the pulls still needed, of many arms at once, from their pulls and totals.

For rules by totals only. The formulas are the rules' own, closed over by compiled loops: a million arms take seconds,
equal totals are computed once, and few arms are computed as plain Python, so that nobody waits for a compiler.
A campaign's table of arms and a judgement on a log come from here.

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

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
from numpy.typing import NDArray

from goodarm.engine.compile import compiled
from goodarm.engine.live import either_side
from goodarm.engine.totals_loops import (
    Floats,
    evidence_loop,
    interval_loop,
    radius_interval_loop,
    radius_wait_loop,
    wait_loop,
)
from goodarm.errors import UnsoundPairing
from goodarm.problem import Bar
from goodarm.rules.identification import EvidenceRule, IdentificationRule, RadiusRule
from goodarm.rules.parameters import Formula

FEW = 2000
"""Up to this many arms, plain Python is quicker than loading a compiled loop."""
CHUNK = 1 << 16


def evidence_from_totals(
    rule: IdentificationRule,
    pulls: Floats,
    totals: Floats,
    bar: Bar,
    values: tuple[float, ...] | None = None,
    few: int | None = None,
) -> tuple[Floats, Floats]:
    """log E+ and log E- of every arm, shapes (K,); nan for a radius rule, which has no evidence.

    values : the rule's parameters in the order of `rule.defaults`; its defaults if None
    few    : up to this many different arms are computed without the compiler; `FEW` if None
    """
    _check(rule)
    if isinstance(rule, RadiusRule):
        nothing = np.full(np.shape(pulls), np.nan)
        return nothing, nothing.copy()
    return _spread("evidence", rule, pulls, totals, bar, bar.budget, values, few)


def interval_from_totals(
    rule: IdentificationRule,
    pulls: Floats,
    totals: Floats,
    bar: Bar,
    needed: float | Floats,
    values: tuple[float, ...] | None = None,
    few: int | None = None,
) -> tuple[Floats, Floats]:
    """The thresholds that the arm's evidence has not refuted: the ends of the interval that decides, shapes (K,).

    low  : every threshold below it is refuted from above, log E+ >= needed there
    high : every threshold above it is refuted from below

    needed : log(1 / share of delta) of each arm, log(K/delta) when all are equal. At the bar's own threshold the
             interval agrees with the verdict by construction: low >= threshold where log E+ >= needed.
    """
    return _spread("interval", rule, pulls, totals, bar, needed, values, few)


def more_pulls_needed(
    rule: IdentificationRule,
    pulls: Floats,
    totals: Floats,
    bar: Bar,
    needed: float | Floats,
    values: tuple[float, ...] | None = None,
) -> Floats:
    """About how many more pulls until a verdict, if the arm goes on with the mean that it has now; shape (K,).

    0 where the evidence is there; inf where the mean is the threshold; nan without a pull.
    """
    return _spread("wait", rule, pulls, totals, bar, needed, values)[0]


def _spread(
    what: str,
    rule: IdentificationRule,
    pulls: Floats,
    totals: Floats,
    bar: Bar,
    needed: float | Floats,
    values: tuple[float, ...] | None,
    few: int | None = None,
) -> tuple[Floats, Floats]:
    """Call a loop on the distinct triples (pulls, total, needed), in threads where there are many."""
    _check(rule)
    parameters = tuple(rule.defaults.values()) if values is None else tuple(values)
    n, s, need = np.broadcast_arrays(*(np.asarray(each, dtype=np.float64) for each in (pulls, totals, needed)))
    shape = n.shape
    n, s, need, where = _distinct(n.ravel(), s.ravel(), need.ravel())
    first, second = np.empty(n.size), np.empty(n.size)
    loop = _loop(what, rule, n.size > (FEW if few is None else few))

    def work(part: slice) -> None:
        loop(n[part], s[part], need[part], bar, parameters, first[part], second[part])

    in_chunks(work, n.size)
    return first[where].reshape(shape), second[where].reshape(shape)


def in_chunks(work: Callable[[slice], None], size: int) -> None:
    """Do the work on parts of arrays of that size, in threads where there are several parts."""
    parts = [slice(start, start + CHUNK) for start in range(0, size, CHUNK)]
    for part in parts[:1]:
        work(part)  # alone, so that it is compiled before threads ask for it
    if len(parts) > 1:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(work, parts[1:]))


def _distinct(n: Floats, s: Floats, needed: Floats) -> tuple[Floats, Floats, Floats, NDArray[np.int64]]:
    """The distinct triples, and which of them each arm has."""
    order = np.lexsort((needed, s, n))
    sorted_ = [np.ascontiguousarray(each[order]) for each in (n, s, needed)]
    new = np.ones(n.size, dtype=bool)
    if n.size:
        new[1:] = np.any([each[1:] != each[:-1] for each in sorted_], axis=0)
    where = np.empty(n.size, dtype=np.int64)
    where[order] = np.cumsum(new) - 1
    return sorted_[0][new], sorted_[1][new], sorted_[2][new], where


def _check(rule: IdentificationRule) -> None:
    if not (rule.by_totals and isinstance(rule, EvidenceRule | RadiusRule)):
        raise UnsoundPairing(
            f"{rule.name} needs the rewards in their order; totals are not enough. "
            "Use a rule by totals, for example 'beta-mixture' or 'normal-mixture'."
        )


@cache
def _loop(what: str, rule: IdentificationRule, fast: bool) -> Callable[..., None]:
    """The loop over arms, as Python or compiled."""
    if isinstance(rule, RadiusRule):
        return _built({"interval": radius_interval_loop, "wait": radius_wait_loop}[what], rule.radius, fast)
    if what == "interval":
        own = rule.one_side if isinstance(rule, EvidenceRule) else None
        return _built(interval_loop, own or either_side(rule.formula), fast)
    return _built({"evidence": evidence_loop, "wait": wait_loop}[what], rule.formula, fast)


def _built(make: Callable[[Formula], Callable[..., None]], formula: Formula, fast: bool) -> Callable[..., None]:
    if not fast:
        return make(formula)
    built: Callable[..., None] = compiled(make(formula))
    return built
