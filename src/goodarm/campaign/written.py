"""The verdicts of a campaign as files: the same tables, workbook, page and figure that a judgement of a log has."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from goodarm.campaign.results import TO_THE_SECOND
from goodarm.campaign.rows import ArmRow, Shown, Tally, Verdicts
from goodarm.campaign.terms import Terms
from goodarm.campaign.words import headline
from goodarm.engine.evidence import has_intervals
from goodarm.errors import Refused
from goodarm.forest import MOST, Forest, density, drawn, short
from goodarm.judgement.judgement import Arms, MetricColumn
from goodarm.judgement.words import LOOKS, figure_words, visible
from goodarm.judgement.written import Captions, Written
from goodarm.question import Question, amounts
from goodarm.verdict import Guarantee

AT_VERDICT = "The interval of a decided arm is the one at its verdict."
NO_INTERVALS = "There are no intervals: the evidence of this campaign depends on the order of the results."


@dataclass(frozen=True)
class WrittenCampaign(Written):
    """The verdicts of a campaign at one moment, for files. `rows` and `arms` are in the same order."""

    campaign: Shown
    rows: tuple[ArmRow, ...]
    arms: Arms
    rule: str
    rule_guarantee: Guarantee
    conditions: tuple[str, ...]
    notes: tuple[str, ...]
    noun: str = "arms"

    @property
    def question(self) -> Question:
        return self.campaign.terms.question

    @property
    def sentence(self) -> str:
        return f"{self.campaign.name}: {headline(self.campaign.terms, self.campaign.tally)}"

    @property
    def guarantee(self) -> str:
        return self.rows[0].guarantee if self.rows else self.campaign.terms.label(str(self.rule_guarantee))

    @property
    def warnings(self) -> tuple[str, ...]:
        return doubts(self.campaign.tally)

    @cached_property
    def captions(self) -> Captions:
        terms = self.campaign.terms
        clears = self.question.phrases(amounts(terms.rewards)).above
        return Captions(
            clears=clears,
            data=f"campaign {visible(self.campaign.name)}: {self.campaign.tally.told:,} rewards",
            setting=f"{clears}; delta {terms.delta:g}, {terms.criterion}",
            budget=terms.promise,
            looks=f"{LOOKS} {AT_VERDICT}" if has_intervals(terms.made) else NO_INTERVALS,
            counted="samples",
            percent=bool(self.question.shown(terms.rewards)["shares"]),
        )

    def estimate(self, value: float) -> str:
        return figure_words(value, "" if not self.captions.percent else " pp" if self.question.labels.signed else "%")

    def parts(self) -> Iterator[tuple[str, str]]:
        yield from ()

    def columns(self) -> dict[str, Any]:
        """The table as a dict of columns: ids of the arms, then their labels if they have some."""
        found = super().columns()
        labels = found["arm"]
        found["arm"] = [row.arm for row in self.rows]
        named = {} if labels == found["arm"] else {"label": labels}
        return {"arm": found.pop("arm"), **named, **found}

    def forest(self) -> Forest:
        return forest_of(self.sentence, self.campaign.terms, self.rows)


def written(verdicts: Verdicts) -> WrittenCampaign:
    """The verdicts with all information for their files."""
    if verdicts.campaign is None:
        raise Refused("these verdicts have no campaign to describe. Write those that `campaign.verdicts()` returns.")
    campaign, terms = verdicts.campaign, verdicts.campaign.terms
    rows = tuple(row for row in verdicts.arms if terms.question.judges(row.arm))
    ranked = tuple(rows[i] for i in _arms(rows).ranks())
    return WrittenCampaign(
        campaign,
        ranked,
        _arms(ranked),
        terms.made.name,
        terms.made.guarantee,
        tuple(conditions(terms)),
        tuple(notes(campaign.tally)),
    )


def conditions(terms: Terms) -> Iterator[str]:
    """The assumptions of the guarantee that the rewards can't show."""
    if terms.rewards.assumption:
        yield terms.rewards.assumption
    yield f"{terms.question.labels.fixed} fixed before anyone looked at these rewards"
    if terms.cases is not None:
        yield f"the question is about these {terms.cases.count:,} cases"
    elif terms.units is not None:
        yield "each unit is new information about its arm, and all of its rows were told"
    else:
        yield "each reward is new information about its arm, regardless of earlier rewards (docs/live-verdicts.md)"
    yield from terms.question.assumes
    yield "no reward was withheld, and no ticket voided, because of what the reward was"


def notes(tally: Tally) -> Iterator[str]:
    """Notes for readers: doubts, and pending tickets."""
    yield from doubts(tally)
    if tally.pending:
        yield "1 ticket awaits its reward" if tally.pending == 1 else f"{tally.pending:,} tickets await their reward"


def doubts(tally: Tally) -> tuple[str, ...]:
    """Evidence against what was declared about the rewards."""
    return (f"WARNING: {tally.doubt}",) if tally.doubt else ()


def _arms(rows: tuple[ArmRow, ...]) -> Arms:
    pulls, mean, low, high, evidence = (
        np.array([getattr(row, name) for row in rows], dtype=np.float64)
        for name in ("pulls", "mean", "low", "high", "evidence")
    )
    names = [state["metric"] for state in rows[0].metrics] if rows else []
    metrics = [
        MetricColumn(name, *(_column(rows, place, end) for end in ("mean", "low", "high")))
        for place, name in enumerate(names)
    ]
    return Arms(
        (),
        np.array([row.label for row in rows], dtype=object),
        pulls,
        mean,
        low,
        high,
        np.array([row.sign for row in rows], dtype=np.int8),
        evidence,
        np.full(len(rows), np.nan),
        np.array([row.decided_at and f"{row.decided_at[:TO_THE_SECOND]}Z" for row in rows], dtype=object),
        tuple(metrics),
        np.array([row.failed for row in rows], dtype=object) if names else None,
    )


def _column(rows: tuple[ArmRow, ...], place: int, end: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """One end or the mean of a metric; NaN where it is unknown."""
    found = [row.metrics[place].get(end) if row.metrics else None for row in rows]
    return np.array([math.nan if value is None else value for value in found])


def forest_of(sentence: str, terms: Terms, rows: Sequence[ArmRow]) -> Forest:
    """Data of the forest plot: good arms, then bad, then undecided, each by decreasing evidence."""
    question = terms.question
    words = question.shown(terms.rewards)
    judged = [row for row in rows if question.judges(row.arm)]
    judged.sort(key=lambda row: ((1, -1, 0).index(row.sign), 0.0 if math.isnan(row.evidence) else -row.evidence))
    mean, low, high = (np.array([getattr(row, name) for row in judged]) for name in ("mean", "low", "high"))
    verdict = np.array([row.sign for row in judged], np.int8)
    lines = drawn(verdict)
    many = len(judged) > MOST
    edges, counts, beyond = density(mean, verdict, question.bar) if many else (np.zeros(0), {}, 0)
    return Forest(
        sentence,
        f"{sum(row.pulls for row in rows):,} rewards; {terms.policy}, {terms.criterion} at delta {terms.delta:g}",
        question.bar,
        [short(judged[i].label) for i in lines],
        mean[lines],
        low[lines],
        high[lines],
        verdict[lines],
        {1: question.good, -1: question.bad, 0: "undecided"},
        edges,
        counts,
        beyond,
        words["shares"],
        question.labels.estimate,
        question.labels.signed,
    )
