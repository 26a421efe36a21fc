"""Data of a campaign's forest plot."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from goodarm.campaign.rows import ArmRow
from goodarm.campaign.terms import Terms
from goodarm.forest import MOST, Forest, density, drawn, short


def info(sentence: str, terms: Terms, rows: Sequence[ArmRow]) -> Forest:
    """Compute the data: good arms, then bad, then undecided, each by decreasing evidence."""
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
