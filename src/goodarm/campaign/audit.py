"""The content of a verdict entry in the journal: the data that the verdict was computed from."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from goodarm.campaign.doubts import doubt, refuted
from goodarm.campaign.fold import Fold
from goodarm.campaign.intervals import fresh_intervals, metrics
from goodarm.campaign.rows import plain
from goodarm.campaign.terms import Terms
from goodarm.campaign.tickets import spell
from goodarm.campaign.words import duration_words
from goodarm.verdict import Guarantee
from goodarm.version import __version__

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
        "evidence": plain(evidence_of(fold, arm, verdict)),
        "needed": plain(needed(fold, arm, verdict)),
        "low": plain(low),
        "high": plain(high),
        "asked": book.asked,
        "told": book.told,
        "pending": book.pending,
        "total": plain(terms.question.shown_total(book.total)),
        "mean": plain(fold.estimate(arm)),
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
