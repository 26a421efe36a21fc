"""Judge a log reward by reward, in the order in which a campaign would have seen them: verdicts with their times."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goodarm.engine.ordered_log import OrderedLog
from goodarm.engine.totals import Floats, interval_from_totals, more_pulls_needed
from goodarm.errors import UnreadableTable
from goodarm.judgement.decide import Decided
from goodarm.judgement.log_columns import LogColumns
from goodarm.judgement.options import BY_TOTALS, LogOptions
from goodarm.judgement.shares import Shares
from goodarm.judgement.sources._base import Batch, LogSource, Progress, Sums
from goodarm.judgement.words import Doubt
from goodarm.policies import policy
from goodarm.policies.names import identification_rule
from goodarm.problem import NonNegative, Problem

SEED = 20_260
"""Seed of the random order of rows with the same time."""


def decide_in_order(
    source: LogSource,
    options: LogOptions,
    columns: LogColumns,
    sums: Sums,
    totals: Floats,
    shares: Shares,
    progress: Progress,
) -> tuple[Decided, NDArray[np.object_], tuple[str, ...]]:
    """Verdicts with their times, and notes for readers."""
    problem = options.problem(sums.arm.size)
    made = policy("uniform", options.identification, rewards=options.scale.family, criterion=options.criterion)
    offset = shares.offset
    if (
        offset == offset[0]
    ).all():  # equal shares amount to a smaller delta, for which the compiled loops already exist
        problem, offset = replace(problem, delta=problem.delta * math.exp(offset[0])), 0.0 * offset
    log = OrderedLog(made, problem, offset=offset if offset.any() else None)
    when = np.full(sums.arm.size, None, dtype=object)
    start, ties, scale, chance = 0, 0, options.scale, np.random.default_rng(SEED)
    for batch in whole_ties(source.in_order(columns, options, sums, progress)):
        if batch.at.size and _is_missing(batch.at[-1]):
            raise UnreadableTable(
                f"{source.title}: some rows have no {columns.order}, so their place in the order is unknown."
            )
        batch, tied = shuffled_ties(batch, chance)
        ties += tied
        log.absorb(batch.arm, (batch.reward - scale.start) / scale.length)
        new = np.flatnonzero(log.decided_at > start)
        when[new] = [_moment(batch.at[row - 1 - start]) for row in log.decided_at[new]]
        start += batch.arm.size
    if start != int(sums.pulls.sum()):
        raise UnreadableTable(
            f"{source.title}: {int(sums.pulls.sum()):,} rows were counted, but {start:,} were read in order: the log "
            "changed in the meantime. Judge it again."
        )
    found, contradicted = _decided(options, problem, log, sums, totals)
    return found, when, _notes(options, log, when, columns, ties, contradicted)


def whole_ties(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Regroup the rows into batches that never end between two rows of the same time."""
    waiting: list[Batch] = []
    for batch in batches:
        if not batch.arm.size:
            continue
        same = batch.at == batch.at[-1]
        cut = int(same.size - np.argmin(same[::-1])) if not same.all() else 0
        if cut == 0 and waiting and (waiting[-1].at[-1:] == batch.at[:1]).all():
            waiting.append(batch)
            continue
        yield from _joined([*waiting, Batch(batch.arm[:cut], batch.reward[:cut], batch.at[:cut])])
        waiting = [Batch(batch.arm[cut:], batch.reward[cut:], batch.at[cut:])]
    yield from _joined(waiting)


def _joined(batches: list[Batch]) -> Iterator[Batch]:
    batches = [batch for batch in batches if batch.arm.size]
    if batches:
        yield Batch(*(np.concatenate(each) for each in zip(*batches, strict=True))) if len(batches) > 1 else batches[0]


def shuffled_ties(batch: Batch, chance: np.random.Generator) -> tuple[Batch, int]:
    """The batch with tied rows (of the same time) in a random order, and the number of such rows.

    A log's order of tied rows may depend on their rewards. For example, an export may be sorted by click within a day,
    and a bet on the next row would then know its reward. Tied rows are therefore sorted by arm and reward, which erases
    the log's order, and then shuffled. With the same generator the same rows give the same verdicts, from every source
    and in batches of any size. Given the arms in a tie, the rewards of an arm are exchangeable, so in a random order
    each bet meets a reward with the arm's mean. This assumes that the arms in a tie did not depend on the rewards in
    it.
    """
    draws = chance.random(batch.at.size)
    new = np.ones(batch.at.size, dtype=bool)
    new[1:] = batch.at[1:] != batch.at[:-1]
    tie = np.cumsum(new)
    tied = int(np.sum(np.bincount(tie)[tie] > 1))
    if not tied:
        return batch, 0
    plain = np.lexsort((batch.reward, batch.arm, tie))
    order = plain[np.lexsort((draws, tie))]  # `plain` keeps the order of ties
    return Batch(batch.arm[order], batch.reward[order], batch.at[order]), tied


def _decided(options: LogOptions, problem: Problem, log: OrderedLog, sums: Sums, totals: Floats) -> tuple[Decided, int]:
    """The verdicts, and the number of arms whose later rewards contradict them."""
    rule, bar, verdict = options.identification, problem.bar, log.verdicts
    for_good, for_bad = log.evidence
    evidence = np.where(verdict == 1, for_good, np.where(verdict == -1, for_bad, np.maximum(for_good, for_bad)))
    low, high = np.full(verdict.size, math.nan), np.full(verdict.size, math.nan)
    needed = bar.budget - log.offset
    if rule.by_totals:
        # the final interval, without the values that the verdict has refuted
        low, high = interval_from_totals(rule, sums.pulls, totals, bar, needed)
        low = np.where(verdict == 1, np.maximum(low, bar.threshold), low)
        high = np.where(verdict == -1, np.minimum(high, bar.threshold), high)
    contradicted = low > high  # no mean agrees with all of the rewards, so there is no interval
    low, high = np.where(contradicted, math.nan, low), np.where(contradicted, math.nan, high)
    needs = np.zeros(verdict.size)
    waiting = verdict == 0
    by_totals = rule if rule.by_totals else identification_rule(BY_TOTALS)
    needs[waiting] = math.inf  # no rule by totals can estimate this for rewards without a range
    if not isinstance(problem.rewards, NonNegative):
        needs[waiting] = more_pulls_needed(by_totals, sums.pulls[waiting], totals[waiting], bar, needed[waiting])
    needs = np.where(waiting, np.maximum(needs, 1.0), 0.0)
    with np.errstate(invalid="ignore"):  # arms without a reward have no mean
        means = totals / sums.pulls
    return Decided(means, low, high, verdict, evidence, needs), int(contradicted.sum())


def _notes(
    options: LogOptions,
    log: OrderedLog,
    when: NDArray[np.object_],
    columns: LogColumns,
    ties: int,
    contradicted: int,
) -> tuple[str, ...]:
    decided = np.flatnonzero(log.decided_at)
    notes = [f"rewards were processed in the order of {columns.order}; verdicts are final"]
    if ties:
        notes.append(
            f"{ties:,} rows have the same {columns.order} as another: they were processed in a random order with a "
            "fixed seed. This is valid if the choice of arms did not depend on rewards of the same time"
        )
    if contradicted:
        notes.append(
            Doubt(
                f"for {contradicted:,} arms the rewards after the verdict contradict it, so no interval is shown: "
                "their means may have changed",
                condition="no arm's mean has changed",
            )
        )
    if decided.size:
        ends = decided[np.argsort(log.decided_at[decided])][[0, -1]]
        first, last = (f"{when[i]} (row {log.decided_at[i]:,})" for i in ends)
        notes.append(f"the first verdict was known at {first}, the last at {last}")
    if not options.identification.by_totals:
        notes.append(
            f"{options.identification.name} has no interval for other thresholds. The rows that undecided arms need "
            f"are estimated with {BY_TOTALS}. Judge without `order` for intervals"
        )
    return tuple(notes)


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    if isinstance(value, np.datetime64):
        return bool(np.isnat(value))
    return isinstance(value, float | np.floating) and math.isnan(value)


def _moment(value: Any) -> Any:
    """A time to the second, or the plain number.

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
