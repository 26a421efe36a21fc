"""A log folded reward by reward, as a campaign would have seen it: verdicts with the moment of each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goodarm.engine.ordered_log import OrderedLog
from goodarm.engine.totals import Floats, interval_from_totals, more_pulls_needed
from goodarm.errors import UnreadableTable
from goodarm.judgement.decide import Decided
from goodarm.judgement.log_columns import LogColumns
from goodarm.judgement.question import BY_TOTALS, Question
from goodarm.judgement.sources._base import LogSource, Progress, Sums
from goodarm.policies import policy
from goodarm.policies.names import identification_rule
from goodarm.problem import Problem


def decide_in_order(
    source: LogSource, question: Question, columns: LogColumns, sums: Sums, totals: Floats, progress: Progress
) -> tuple[Decided, NDArray[np.object_], tuple[str, ...]]:
    """Verdicts, the moment of each, and what readers must know about them."""
    problem = question.problem(sums.arm.size)
    made = policy("uniform", question.identification, rewards=question.scale.family, criterion=question.criterion)
    log = OrderedLog(made, problem)
    when = np.full(sums.arm.size, None, dtype=object)
    start, scale = 0, question.scale
    for batch in source.in_order(columns, question, sums, progress):
        if batch.at.size and _is_missing(batch.at[-1]):
            raise UnreadableTable(f"{source.title}: some rows have no {columns.order}, and so no place in the order.")
        log.absorb(batch.arm, (batch.reward - scale.start) / scale.length)
        new = np.flatnonzero(log.decided_at > start)
        when[new] = [_moment(batch.at[row - 1 - start]) for row in log.decided_at[new]]
        start += batch.arm.size
    if start != int(sums.pulls.sum()):
        raise UnreadableTable(
            f"{source.title}: {int(sums.pulls.sum()):,} rows were counted and {start:,} came in order: the log changed "
            "while it was read. Judge it again."
        )
    found = _decided(question, problem, log, sums, totals)
    return found, when, _notes(question, log, when, columns)


def _decided(question: Question, problem: Problem, log: OrderedLog, sums: Sums, totals: Floats) -> Decided:
    rule, bar, verdict = question.identification, problem.bar, log.verdicts
    for_good, for_bad = log.evidence
    evidence = np.where(verdict == 1, for_good, np.where(verdict == -1, for_bad, np.maximum(for_good, for_bad)))
    low, high = np.full(verdict.size, math.nan), np.full(verdict.size, math.nan)
    if rule.by_totals:
        # the interval at the end, limited by what the verdict refuted on the way
        low, high = interval_from_totals(rule, sums.pulls, totals, bar, bar.budget)
        low = np.where(verdict == 1, np.maximum(low, bar.threshold), low)
        high = np.where(verdict == -1, np.minimum(high, bar.threshold), high)
    needs = np.zeros(verdict.size)
    waiting = verdict == 0
    by_totals = rule if rule.by_totals else identification_rule(BY_TOTALS)
    needs[waiting] = more_pulls_needed(by_totals, sums.pulls[waiting], totals[waiting], bar, bar.budget)
    return Decided(totals / sums.pulls, low, high, verdict, evidence, np.where(waiting, np.maximum(needs, 1.0), 0.0))


def _notes(question: Question, log: OrderedLog, when: NDArray[np.object_], columns: LogColumns) -> tuple[str, ...]:
    decided = np.flatnonzero(log.decided_at)
    notes = [f"rewards were folded in the order of {columns.order}, ties in the log's own order; verdicts are final"]
    if decided.size:
        ends = decided[np.argsort(log.decided_at[decided])][[0, -1]]
        first, last = (f"{when[i]} (row {log.decided_at[i]:,})" for i in ends)
        notes.append(f"the first verdict was known at {first}, the last at {last}")
    if not question.identification.by_totals:
        notes.append(
            f"{question.identification.name} has no interval for other thresholds; what open arms need is "
            f"{BY_TOTALS}'s guess. Judge without `order` for intervals"
        )
    return tuple(notes)


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    if isinstance(value, np.datetime64):
        return bool(np.isnat(value))
    return isinstance(value, float | np.floating) and math.isnan(value)


def _moment(value: Any) -> Any:
    """A time to the second, or the number that it is.

    >>> _moment(np.datetime64("2026-05-03T10:00:00.5")), _moment(np.int64(7))
    ('2026-05-03 10:00:00', 7)
    """
    if isinstance(value, np.datetime64):
        return str(np.datetime_as_string(value, unit="s")).replace("T", " ")
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int | float | str) else str(value)
