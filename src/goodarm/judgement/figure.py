"""Data of a judgement's forest plot."""

from __future__ import annotations

import numpy as np

from goodarm.forest import MOST, Forest, density, drawn, short
from goodarm.judgement.judgement import Judgement
from goodarm.judgement.words import amount, visible


def info(judgement: Judgement) -> Forest:
    """Compute the data: lines for the first arms of each verdict, and a histogram of all means."""
    arms, question = judgement.arms, judgement.question
    first = arms.taken(drawn(arms.verdict))
    names = [" / ".join(map(str, key)) for key in zip(*first.segment, first.arm, strict=True)]
    bar = question.kind.bar
    many = arms.arm.size > MOST
    edges, counts, beyond = density(arms.mean, arms.verdict, bar) if many else (np.zeros(0), {}, 0)
    return Forest(
        judgement.sentence,
        f"{judgement.source}: {judgement.rows:,} rows; {visible(question.kind.described())}, delta {question.delta:g}, "
        f"{judgement.rule} ({judgement.guarantee})",
        bar,
        [short(visible(name)) for name in names],
        first.mean,
        first.low,
        first.high,
        first.verdict,
        judgement.verdict_labels,
        edges,
        counts,
        beyond,
        amount(0.5, question).endswith("%"),
        question.asked.labels.estimate,
        question.asked.labels.signed,
    )
