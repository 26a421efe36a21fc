"""Logs of a fixed test set. The question concerns the share of *these* cases that an arm passes.

An arm with a result on every case is decided with certainty, in any order of the rows. With 0/1 results and one row per
arm and case, other arms are decided by `gap-mixture` without replacement, whose proof needs cases drawn at random.

Against a control, and with grades, repetitions or scores, a log is judged cell by cell. The evidence depends on the
order in which an arm's cases were drawn, so a column must contain this order. A case counts when all of its results are
known. An incomplete case holds back all later cases of its arm, as in a campaign.
"""

from __future__ import annotations

import math
from dataclasses import replace
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.errors import InvalidValue, UnreadableTable
from goodarm.judgement.judgement import Arms
from goodarm.judgement.log_columns import LogColumns, find
from goodarm.judgement.options import LogOptions
from goodarm.judgement.shares import Shares
from goodarm.judgement.sources._base import Floats, LogSource, Sums, silent
from goodarm.problem import Cases, GradedCases, Problem, ScoredCases
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification.bet_mixture import ROUNDING, bet_mixture
from goodarm.rules.identification.gap_mixture import CERTAIN
from goodarm.rules.identification.with_scores import DRAWN, first_memory, score_bets, tenth

SEED = 20_261
"""Seed of the hashes that order cases with the same draw time."""
Rows = list[tuple[Any, ...]]


def on_cases(source: LogSource, options: LogOptions, columns: LogColumns, sums: Sums) -> tuple[LogOptions, list[str]]:
    """The question with the size of the test set, checked against the log; and the cases in the log."""
    by_cell = options.cell_by_cell
    if not by_cell:
        _refuse_repeats(source, options, columns, sums)
    by_case = replace(columns, arm=columns.unit or "", unit=columns.arm)
    cases = [name for name in source.sums(by_case, options, silent).arm.tolist() if name is not None]
    seen = len(cases)
    if options.cases is None and options.score is None and (sums.pulls < seen).any():
        fewest = int(np.argmin(sums.pulls))
        raise InvalidValue(
            f"{source.title}: {sums.arm[fewest]!r} has results on {int(sums.pulls[fewest]):,} of the {seen:,} cases in "
            f"the log. Give the size of the test set: `cases={seen}`, if it has no other cases."
        )
    count = seen if options.cases is None else options.cases
    if seen > count:
        raise InvalidValue(
            f"{source.title} has {seen:,} different cases, more than the {count:,} of the test set. Correct the "
            f"number: `cases={seen}`."
        )
    if by_cell or _graded(source, options, columns, sums):
        family: GradedCases = GradedCases(count) if options.score is None else ScoredCases(count)
        return replace(options, cases=count, scale=replace(options.scale, family=family)), cases
    return replace(options, cases=count, scale=replace(options.scale, family=Cases(count))), cases


def _refuse_repeats(source: LogSource, options: LogOptions, columns: LogColumns, sums: Sums) -> None:
    repeated = sums.rows > sums.pulls
    if options.nulls == "drop" and repeated.any():  # rows may be more only because some lack a case or a result
        read_cells(source, options, columns, sums.arm.tolist())
    elif repeated.any():
        arm = int(np.argmax(repeated))
        raise UnreadableTable(
            f"{source.title}: {sums.arm[arm]!r} has {int(sums.rows[arm]):,} rows on {int(sums.pulls[arm]):,} values of "
            f"{columns.unit}. Each case counts once per arm: keep one row per case, or give the number of evaluations: "
            "`repeats=R`."
        )


def _graded(source: LogSource, options: LogOptions, columns: LogColumns, sums: Sums) -> bool:
    """Detect rewards strictly between 0 and 1: `any` counts these as 1, `mean` does not; 0 and 1 agree in both."""
    as_any = source.sums(columns, replace(options, per_unit="any"), silent)
    total = dict(zip(as_any.arm.tolist(), as_any.total.tolist(), strict=True))
    return any(total[arm] != own for arm, own in zip(sums.arm.tolist(), sums.total.tolist(), strict=True))


class Cells(NamedTuple):
    """Results of a log, arms × cases.

    result : mean of a cell's rewards; NaN if some are missing
    place  : rank of its first draw; NaN if it was not drawn, or without such an order
    score  : the judge's score; NaN if there is none
    """

    cases: list[str]
    result: Floats
    place: Floats
    score: Floats


def read_cells(source: LogSource, options: LogOptions, columns: LogColumns, arms: list[str]) -> Cells:
    """The cells of these arms."""
    names = source.names()
    drawn, score = (find(name, names, source.title) if name else None for name in (options.drawn, options.score))
    known = set(arms)
    found = source.cells(columns, options, drawn, score)
    rows = [(arm, case, *rest) for arm, case, *rest in found if arm in known and case is not None]
    cases: list[str] = sorted({row[1] for row in rows})
    number, at = {case: j for j, case in enumerate(cases)}, {arm: i for i, arm in enumerate(arms)}
    shape, times = (len(arms), len(cases)), options.repeats or 1
    told, total = np.zeros(shape, dtype=np.int64), np.zeros(shape)
    place, scores = np.full(shape, np.nan), np.full(shape, np.nan)
    for (arm, case, reward, _, given), rank in zip(rows, _ranks(rows, drawn), strict=True):
        cell = at[arm], number[case]
        if given is not None:
            if not 0.0 <= given <= 1.0:
                raise UnreadableTable(
                    f"{source.title}: the score of {arm!r} on {case!r} must lie in [0, 1]; got {given}."
                )
            scores[cell] = given
        if reward is not None or options.score is not None:  # without a reward, a drawn case still awaits its label
            place[cell] = np.fmin(place[cell], rank)
        if reward is not None:
            told[cell] += 1
            total[cell] += reward
    _refuse_duplicates(source, columns, told, times, arms, cases)
    return Cells(cases, np.where(told == times, total / times, np.nan), place, scores)


def _ranks(rows: Rows, drawn: str | None) -> Floats:
    """Rank of each row in the order of the draws; NaN for rows without a place in it.

    Cases with the same time are in the order of hashes of their names. That order does not depend on results, and it
    stays the same when rows are added. Repeated looks need this: a new random order at each look would give a wrong
    verdict another chance.
    """
    if drawn is None:
        return np.full(len(rows), np.nan)
    if any(row[3] is None and row[2] is not None for row in rows):
        raise UnreadableTable(f"some results have no {drawn}, so their place in the order of draws is unknown.")
    mixed = sorted(range(len(rows)), key=lambda j: _hash(rows[j][0], rows[j][1]))
    ordered = sorted((j for j in mixed if rows[j][3] is not None), key=lambda j: rows[j][3])
    ranks = np.full(len(rows), np.nan)
    ranks[ordered] = np.arange(len(ordered))
    return ranks


def _hash(arm: str, case: str) -> bytes:
    return blake2b(f"{SEED}:{len(arm)}:{arm}:{case}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _refuse_duplicates(
    source: LogSource, columns: LogColumns, told: NDArray[np.int64], times: int, arms: list[str], cases: list[str]
) -> None:
    if (told > times).any():
        arm, case = np.argwhere(told > times)[0]
        once = "once per arm" if times == 1 else f"{times} times per arm"
        raise UnreadableTable(
            f"{source.title}: {arms[arm]!r} has {told[arm, case]} results on {columns.unit} {cases[case]!r}, and each "
            f"case counts {once}. Keep one row per case, or give the number of evaluations: `repeats=R`."
        )


def decide_cells(
    source: LogSource,
    options: LogOptions,
    columns: LogColumns,
    sums: Sums,
    judged: NDArray[np.bool_],
    shares: Shares,
) -> tuple[Arms, tuple[str, ...]]:
    """Verdicts on the arms of a log, and notes for readers."""
    arms = sums.arm.tolist()
    cells, count = read_cells(source, options, columns, arms), options.cases or 0
    results, which = options.kind.of_cells(cells.result, arms), np.flatnonzero(judged)
    problem = options.problem(which.size)
    pulls = (~np.isnan(results)).sum(axis=1).astype(float)
    whole = pulls == count
    if not whole[which].all() and options.drawn is None:
        short = which[int(np.argmin(whole[which]))]
        raise InvalidValue(
            f"{source.title}: {arms[short]!r} lacks results on some of the {count:,} cases. Its evidence depends on "
            "the order in which its cases were drawn. Name the column with that order: `order=COLUMN`."
        )
    verdict, evidence, held = np.zeros(which.size, dtype=np.int8), np.zeros(which.size), np.zeros(which.size)
    for j, arm in enumerate(which):
        if whole[arm]:
            verdict[j] = 1 if np.sum(results[arm]) >= (problem.threshold - ROUNDING) * count else -1
            evidence[j] = CERTAIN
        else:
            order = _in_order(cells.place[arm], results[arm])
            held[j] = pulls[arm] - order.size
            tenths = _tenths(source, options, cells, arms[arm], int(arm)) if options.score else None
            verdict[j], evidence[j] = _fold(results[arm, order], order, tenths, problem, float(shares.offset[j]))
    total = np.nansum(results, axis=1)
    mean = np.divide(total, pulls, out=np.full(pulls.size, np.nan), where=pulls > 0)[which]
    mean = options.kind.cell_means(mean)
    low, high = (np.where(whole[which], mean, np.nan) for _ in range(2))
    needs = np.where(verdict == 0, count - pulls[which], 0.0)
    made = Arms((), sums.arm[which], pulls[which], mean, low, high, verdict, evidence, needs)
    notes = options.kind.cell_notes(cells.result, arms)
    return made, _notes(options, notes, int(whole[which].sum()), which.size, held[verdict == 0])


def _in_order(place: Floats, results: Floats) -> NDArray[np.int64]:
    """The arm's cases in the order of its draws, up to the first without a result."""
    drawn = np.flatnonzero(~np.isnan(place))
    ordered = drawn[np.argsort(place[drawn])]
    missing = np.flatnonzero(np.isnan(results[ordered]))
    return ordered[: missing[0]] if missing.size else ordered


def _tenths(source: LogSource, options: LogOptions, cells: Cells, name: str, arm: int) -> NDArray[np.int64]:
    """The tenths of the scores of all cases of an arm."""
    missing = np.flatnonzero(np.isnan(cells.score[arm]))
    if missing.size or len(cells.cases) != options.cases:
        where = f"on {cells.cases[missing[0]]!r}" if missing.size else "on some cases of the test set"
        raise UnreadableTable(
            f"{source.title}: {name!r} has no score {where}. Every case needs a score. Give cases without a label a "
            "row without a reward."
        )
    return np.array([tenth(score) for score in cells.score[arm]])


def _fold(
    results: Floats, order: NDArray[np.int64], tenths: NDArray[np.int64] | None, problem: Problem, offset: float
) -> tuple[int, float]:
    """Verdict and evidence of an arm from its results in the order of the draws, frozen at the verdict.

    offset : log(K w), with w the arm's share of delta
    """
    rule, bar = (bet_mixture, problem.bar) if tenths is None else (score_bets, problem.bar)
    memory = np.zeros(rule.memory) if tenths is None else first_memory(tenths)
    good = bad = offset
    total, pool = 0.0, Pool(1.0, math.inf, None)
    for n, result in enumerate(results.tolist()):
        if tenths is not None:
            memory[DRAWN] = tenths[order[n]]
        arm = Arm(float(n), total, 0.0, 0.0, good, bad, memory, 0.0)
        good, bad, _ = rule.observe(arm, result, pool, bar)
        total += result
        if max(good, bad) >= bar.budget:
            return (1, good - offset) if good >= bar.budget else (-1, bad - offset)
    return 0, max(good, bad) - offset


def _notes(options: LogOptions, of_kind: tuple[str, ...], whole: int, arms: int, held: Floats) -> tuple[str, ...]:
    """Notes for readers.

    held : complete cases of each undecided arm that do not count because an earlier case is incomplete
    """
    notes = [f"{whole:,} of {arms:,} arms have a result on every case and are decided with certainty", *of_kind]
    if held.any():
        waiting, many = int(held.sum()), int(np.count_nonzero(held))
        cases = "1 complete case" if waiting == 1 else f"{waiting:,} complete cases"
        notes.append(
            "an incomplete case holds back all later cases of its arm, because the evidence counts cases in the order "
            f"of the draws: {cases} of {many:,} undecided {'arm' if many == 1 else 'arms'} can't count yet"
        )
    if whole < arms:
        notes.append(f"cases count in the order of {options.drawn}. Arms that lack cases have no interval")
    return tuple(notes)
