"""The deciding interval of an arm: all values that its evidence has not refuted at its share of delta.

Pending samples count at their worst, as in the evidence: as 0 for the lower end and as 1 for the upper end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from goodarm.campaign.fold import Fold
from goodarm.campaign.terms import Terms
from goodarm.engine.evidence import MetricState, Seen
from goodarm.engine.totals import more_pulls_needed
from goodarm.rules.identification import RadiusRule
from goodarm.rules.parameters import take
from goodarm.verdict import Basis, Guarantee

Floats = NDArray[np.float64]


def intervals(fold: Fold, arms: Iterable[int]) -> dict[int, tuple[float, float]]:
    """Lower and upper end of each arm; (nan, nan) for rules whose evidence depends on the order of the rewards."""
    wanted = list(arms)
    if not has_intervals(fold):
        return dict.fromkeys(wanted, (math.nan, math.nan))
    kept = fold.intervals
    held = tuple(_references(fold).values())
    seen = {arm: (_seen(fold, arm), *_needed(fold, arm), *held) for arm in wanted}
    stale = [arm for arm in wanted if arm not in kept or kept[arm][0] != seen[arm]]
    for arm, ends in fresh_intervals(fold, stale).items():
        kept[arm] = (seen[arm], *ends)
    return {arm: kept[arm][1:] for arm in wanted}


def fresh_intervals(fold: Fold, arms: list[int]) -> dict[int, tuple[float, float]]:
    """Compute without the cache, so every process gets the same bits for an arm."""
    terms = fold.terms
    found = dict.fromkeys(arms, (math.nan, math.nan))
    judged = [arm for arm in arms if terms.question.judges(fold.books[arm].entry.id)]
    if not judged or not has_intervals(fold):
        return found
    seen, levels, budget = [_seen(fold, arm) for arm in judged], _levels(fold, judged), terms.problem.bar.budget
    # each end uses the evidence that a verdict on its side needs; under fdr that falls as arms are decided
    sides = levels - (budget - np.array([_needed(fold, arm) for arm in judged])).T
    made, references = terms.made, _references(fold)
    low, high = terms.evidence.intervals(made, terms.problem, seen, references, sides[0])
    if (sides[0] != sides[1]).any():
        _, high = terms.evidence.intervals(made, terms.problem, seen, references, sides[1])
    return found | {arm: (float(low[j]), float(high[j])) for j, arm in enumerate(judged)}


def metrics(fold: Fold, arm: int, verdict: int = 0) -> list[MetricState]:
    """Estimates of each metric of an arm if rewards have several; `verdict` is the new verdict, 0 for none."""
    terms = fold.terms
    return terms.evidence.metrics(terms.made, terms.problem, _seen(fold, arm), fold.books[arm].weight, verdict)


def more_needed(fold: Fold, arms: Iterable[int]) -> Floats:
    """Approximate further samples of each arm if its mean stays as it is; NaN where unknown."""
    wanted, terms = list(arms), fold.terms
    if not has_intervals(fold) or terms.question.no_forecast:
        return np.full(len(wanted), np.nan)
    seen = [_seen(fold, arm) for arm in wanted]
    pulls, totals, _ = (np.array(column, dtype=np.float64) for column in zip(*seen, strict=True))
    rule = terms.made.identification
    values = take(terms.made.setting.identification, rule.defaults)
    return more_pulls_needed(rule, pulls, totals, terms.problem.bar, _levels(fold, wanted), values)


def has_intervals(fold: Fold) -> bool:
    return decides_by_intervals(fold.terms)


def decides_by_intervals(terms: Terms) -> bool:
    """Whether the evidence is a function of totals, from which an interval can be computed."""
    made = terms.made
    rule = made.identification
    by_totals = rule.by_totals and made.decided_by is Basis.OWN and rule.guarantee is not Guarantee.NONE
    return by_totals and not (isinstance(rule, RadiusRule) and rule.by_model)


def _levels(fold: Fold, arms: list[int]) -> Floats:
    """Evidence that refutes a value at the arm's share of delta."""
    weights = np.array([fold.books[arm].weight for arm in arms])
    offsets = np.array([fold.step.row(arm).offset for arm in arms])
    return fold.terms.evidence.levels(fold.terms.problem, weights, offsets)


def _needed(fold: Fold, arm: int) -> tuple[float, float]:
    """Evidence needed for a good verdict, and for a bad one."""
    row = fold.step.row(arm)
    return row.needed_good, row.needed_bad


def _references(fold: Fold) -> dict[str, Seen]:
    return {arm: _seen(fold, fold.index[arm]) for arm in fold.terms.question.references}


def _seen(fold: Fold, arm: int) -> Seen:
    """Number and sum of the rewards in the evidence; for rules in the order of asking, those absorbed so far."""
    if fold.in_order:
        row = fold.step.row(arm)
        return Seen(row.pulls, row.total)
    book = fold.books[arm]
    return Seen(float(book.told), book.total, book.pending)
