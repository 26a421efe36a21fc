"""The evidence of an arm: its deciding interval, and the content of a verdict entry in the journal.

The deciding interval has all values that the evidence has not refuted at the arm's share of delta. Pending samples
count at their worst, as in the evidence: as 0 for the lower end and as 1 for the upper end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goodarm.campaign.doubts import doubt, refuted
from goodarm.campaign.fold import Fold
from goodarm.campaign.terms import Terms
from goodarm.campaign.tickets import spell
from goodarm.campaign.words import duration_words
from goodarm.engine.evidence import MetricState, Seen, has_intervals
from goodarm.verdict import Guarantee
from goodarm.version import __version__
from goodarm.wire import jsonable

Floats = NDArray[np.float64]

WAYS = {
    "mean": "the mean",
    "any": "whether any is above 0",
    "sum": "the sum",
    "ratio": "rewards against denominators",
}
"""The reward of a unit in words, followed by "of all rows"."""


def audit(fold: Fold, arm: int) -> dict[str, Any]:
    """The verdict that the rules have just given on an arm, with the data behind it."""
    book, terms = fold.books[arm], fold.terms
    verdict = fold.verdict_by_rules(arm)
    low, high = fresh_intervals(fold, [arm])[arm]
    content: dict[str, Any] = {
        "verdict": verdict,
        "guarantee": str(terms.made.guarantee),
        "evidence": jsonable(evidence_of(fold, arm, verdict)),
        "needed": jsonable(needed(fold, arm, verdict)),
        "low": jsonable(low),
        "high": jsonable(high),
        "asked": book.asked,
        "told": book.told,
        "pending": book.pending,
        "total": jsonable(terms.question.shown_total(book.total)),
        "mean": jsonable(fold.estimate(arm)),
        "missing": book.missing,
        "void": book.void,
        "weight": book.weight,
        "first": None if book.first is None else spell(terms.key, book.first),
        "last": None if book.last is None else spell(terms.key, book.last),
        "policy": terms.made.name,
        "parameters": _parameters(terms),
        "version": __version__,
    }
    content |= terms.question.audited(fold.totals_of)
    states = metrics(fold, arm, terms.question.sign(verdict))
    if states:
        content["metrics"] = [state.as_json() for state in states]
    notes = sentences(fold, arm, verdict)
    return content | ({"notes": notes} if notes else {})


def _parameters(terms: Terms) -> dict[str, Any]:
    """The rules' parameters, without those whose values come from the question."""
    given = asdict(terms.made.setting)
    return {name: dict(values) for name, values in given.items() if values and name not in terms.question.fixes}


def sentences(fold: Fold, arm: int, verdict: str) -> list[str]:
    """Caveats of a verdict: unanswered tickets, and the assumptions of its guarantee."""
    terms, book = fold.terms, fold.books[arm]
    notes = []
    if terms.units is not None:
        window = terms.units.window
        within = "" if window is None else f" within {duration_words(window)} of its ask"
        notes.append(f"one reward per unit: {WAYS[terms.units.per_unit]} of all rows of the unit{within}")
    if refuted(fold):
        notes.append(doubt(fold))
    if terms.unanswered == "zero" and terms.after is not None:
        within = duration_words(terms.after)
        notes.append(
            f"a reward counts if it was told within {within}, otherwise as 0: the mean of all rewards is at least as "
            "good"
            if verdict == "good"
            else f"the verdict applies to rewards told within {within}; later rewards count as 0"
        )
    if book.void:
        notes.append(f"{book.void:,} tickets were void: true only if losing them had nothing to do with their rewards")
    if terms.made.guarantee is Guarantee.CERTIFIED_UNDER_MODEL:
        notes.append("true only if the model of the arms is")
    if terms.rewards.assumption:
        notes.append(f"true only if {terms.rewards.assumption}")
    if terms.rewards.about_bad and terms.question.sign(verdict) < 0:
        notes.append(terms.rewards.about_bad)
    return notes


def evidence_of(fold: Fold, arm: int, verdict: str) -> float:
    """Evidence for the verdict; the larger side while the arm is undecided; NaN for rules without evidence."""
    if not keeps_evidence(fold):
        return math.nan
    row = fold.step.row(arm)
    largest = max(row.for_good, row.for_bad)
    return {1: row.for_good, -1: row.for_bad}.get(fold.terms.question.sign(verdict), largest)


def needed(fold: Fold, arm: int, verdict: str) -> float:
    """Evidence needed on the side that `evidence` reports; NaN for rules without evidence."""
    if not keeps_evidence(fold):
        return math.nan
    row = fold.step.row(arm)
    likelier = row.needed_good if row.for_good >= row.for_bad else row.needed_bad
    return {1: row.needed_good, -1: row.needed_bad}.get(fold.terms.question.sign(verdict), likelier)


def keeps_evidence(fold: Fold) -> bool:
    from goodarm.rules.identification import EvidenceRule

    return isinstance(fold.terms.made.identification, EvidenceRule)


def intervals(fold: Fold, arms: Iterable[int]) -> dict[int, tuple[float, float]]:
    """Lower and upper end of each arm; (nan, nan) for rules whose evidence depends on the order of the rewards."""
    wanted = list(arms)
    if not has_intervals(fold.terms.made):
        return dict.fromkeys(wanted, (math.nan, math.nan))
    kept = fold.intervals
    held = tuple(_references(fold).values())
    seen = {arm: (_seen(fold, arm), *_needed_by_side(fold, arm), *held) for arm in wanted}
    stale = [arm for arm in wanted if arm not in kept or kept[arm][0] != seen[arm]]
    for arm, ends in fresh_intervals(fold, stale).items():
        kept[arm] = (seen[arm], *ends)
    return {arm: kept[arm][1:] for arm in wanted}


def fresh_intervals(fold: Fold, arms: list[int]) -> dict[int, tuple[float, float]]:
    """Compute without the cache, so every process gets the same bits for an arm."""
    terms = fold.terms
    found = dict.fromkeys(arms, (math.nan, math.nan))
    judged = [arm for arm in arms if terms.question.judges(fold.books[arm].entry.id)]
    if not judged or not has_intervals(fold.terms.made):
        return found
    seen, levels, budget = [_seen(fold, arm) for arm in judged], _levels(fold, judged), terms.problem.bar.budget
    # each end uses the evidence that a verdict on its side needs; under fdr that falls as arms are decided
    sides = levels - (budget - np.array([_needed_by_side(fold, arm) for arm in judged])).T
    made, references = terms.made, _references(fold)
    low, high = terms.evidence.intervals(made, terms.problem, seen, references, sides[0])
    if (sides[0] != sides[1]).any():
        _, high = terms.evidence.intervals(made, terms.problem, seen, references, sides[1])
    return found | {arm: (float(low[j]), float(high[j])) for j, arm in enumerate(judged)}


def metrics(fold: Fold, arm: int, verdict: int = 0) -> list[MetricState]:
    """Estimates of each metric of an arm if rewards have several; `verdict` is the new verdict, 0 for none."""
    terms = fold.terms
    return terms.evidence.metrics(terms.made, terms.problem, _seen(fold, arm), fold.books[arm].weight, verdict)


def _levels(fold: Fold, arms: list[int]) -> Floats:
    """Evidence that refutes a value at the arm's share of delta."""
    weights = np.array([fold.books[arm].weight for arm in arms])
    offsets = np.array([fold.step.row(arm).offset for arm in arms])
    return fold.terms.evidence.levels(fold.terms.problem, weights, offsets)


def _needed_by_side(fold: Fold, arm: int) -> tuple[float, float]:
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
