"""Logs of a fixed test set, with at most one row per arm and case.

The question concerns the share of *these* cases that an arm passes. An arm with a result on every case is decided with
certainty. Arms with fewer results are decided by `gap-mixture` without replacement, whose proof needs cases drawn at
random.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from goodarm.errors import InvalidValue, UnreadableTable
from goodarm.judgement.log_columns import LogColumns
from goodarm.judgement.question import Question
from goodarm.judgement.sources._base import LogSource, Sums, silent
from goodarm.problem import Cases, GradedCases, ScoredCases


def on_cases(source: LogSource, question: Question, columns: LogColumns, sums: Sums) -> Question:
    """The same question with the size of the test set, checked against the log."""
    by_cell = question.cell_by_cell
    if not by_cell:
        _refuse_repeats(source, columns, sums)
    by_case = replace(columns, arm=columns.unit or "", unit=columns.arm)
    seen = source.sums(by_case, question, silent).arm.size
    if question.cases is None and question.score is None and (sums.pulls < seen).any():
        fewest = int(np.argmin(sums.pulls))
        raise InvalidValue(
            f"{source.title}: {sums.arm[fewest]!r} has results on {int(sums.pulls[fewest]):,} of the {seen:,} cases in "
            f"the log. Say how many cases the test set has: `cases={seen}`, if it has no more."
        )
    count = seen if question.cases is None else question.cases
    if seen > count:
        raise InvalidValue(
            f"{source.title} has {seen:,} different cases, more than the {count:,} of the test set. Correct the "
            f"number: `cases={seen}`."
        )
    if by_cell or _graded(source, question, columns, sums):
        family: GradedCases = GradedCases(count) if question.score is None else ScoredCases(count)
        return replace(question, cases=count, scale=replace(question.scale, family=family))
    return replace(question, cases=count, scale=replace(question.scale, family=Cases(count)))


def _refuse_repeats(source: LogSource, columns: LogColumns, sums: Sums) -> None:
    repeated = sums.rows > sums.pulls
    if repeated.any():
        arm = int(np.argmax(repeated))
        raise UnreadableTable(
            f"{source.title}: {sums.arm[arm]!r} has {int(sums.rows[arm]):,} rows on {int(sums.pulls[arm]):,} values of "
            f"{columns.unit}. Each case counts once per arm: keep one row of each, or say how often each was "
            "evaluated: `repeats=R`."
        )


def _graded(source: LogSource, question: Question, columns: LogColumns, sums: Sums) -> bool:
    """Detect rewards strictly between 0 and 1: `any` counts these as 1, `mean` does not; 0 and 1 agree in both."""
    as_any = source.sums(columns, replace(question, per_unit="any"), silent)
    total = dict(zip(as_any.arm.tolist(), as_any.total.tolist(), strict=True))
    return any(total[arm] != own for arm, own in zip(sums.arm.tolist(), sums.total.tolist(), strict=True))
