"""`goodarm.judge`: which arms of a log clear the bar, which do not, and how much more data is needed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from goodarm.arguments import checked_number, percentage, shown
from goodarm.errors import InvalidValue, LogWarning, UnreadableTable
from goodarm.judgement.forecast import rows_to_half
from goodarm.judgement.judgement import Judgement
from goodarm.judgement.log_columns import LogColumns, look_alikes, noun, pairs_noun, pulls_like, unit_like
from goodarm.judgement.question import Question, read_scale
from goodarm.judgement.shares import LATE, shared
from goodarm.judgement.sources._base import LogSource, Progress, Sums, silent
from goodarm.judgement.words import Doubt, conditions, doubts_first, shared_budget
from goodarm.problem import Rewards
from goodarm.question import Bars, BarsGiven
from goodarm.verdict import Criterion


def judge(
    data: Any,
    *,
    threshold: float | str | None = None,
    arm: str | None = None,
    reward: str | None = None,
    delta: float = 0.05,
    where: str | None = None,
    rewards: str | Rewards = "bounded",
    criterion: str | Criterion = "fwer",
    rule: str | None = None,
    by: str | Sequence[str] = (),
    versus: str | None = None,
    margin: float | str = 0.0,
    order: str | None = None,
    nulls: str = "error",
    pulls: str | None = None,
    total: str | None = None,
    propensity: str | None = None,
    cap: float | None = None,
    time: str | None = None,
    max_arms: int | None = None,
    ledger: str | Path | None = None,
    by_appearance: bool = False,
    unit: str | None = None,
    per_unit: str = "mean",
    denominator: str | None = None,
    unit_limit: float | None = None,
    window: str | float | None = None,
    case: str | None = None,
    cases: int | None = None,
    repeats: int | None = None,
    score: str | None = None,
    bars: BarsGiven | Bars | None = None,
    format: str | None = None,
    metric: str | None = None,
    table: str | None = None,
    query: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    memory: str | None = None,
    progress: Progress = silent,
) -> Judgement:
    """Judge a log. The verdicts are valid however often you looked at the data before.

    data      : a path, folder or glob (CSV, Parquet, JSON Lines, .gz, .zst), postgresql://..., spark:TABLE, a table
                (pandas, polars, Arrow, DuckDB relation, Ibis, PySpark), or a dict of columns
    threshold : the bar that a good arm's mean must reach, in the rewards' own units
    arm, reward : columns; by default found by their names. `pulls` and `total` for a table of totals
    rewards   : "bounded", "bounded:LOW,HIGH", "nonnegative", "nonnegative:CAP" or "gaussian:SCALE"
    rule      : an identification rule by totals; with `order`, any
    by        : columns whose values are segments; all segments and arms share delta
    versus, margin : in place of a threshold, is the arm's mean at least that of the arm `versus` plus `margin`?
    bars      : in place of a threshold, several columns with their bars: "correct >= 0.9, slow <= 0.05"; good arms
                clear every bar, and a bad one names the column that fails
    order     : a column that gives the order of the rewards, to process them one by one like a campaign
    nulls     : "error", "drop" or "zero"
    propensity, cap : weight every row by 1/propensity, at most `cap`
    time      : a column with the time of each row; found automatically if only one column holds times
    max_arms, ledger, by_appearance : how arms that appear later share delta, see `goodarm.judgement.shares`. Without
                any of them the set of arms must have been fixed in advance
    unit, per_unit : a column of persons, sessions or machines: all rows of one are one reward, their "mean", whether
                "any" is above 0, their "sum" (`rewards` is then its range), or "ratio": all rewards over all rows, or
                over `denominator`, of which a unit has at most `unit_limit`
    window    : "7d": only a unit's rows from its first one on for that long count, and open units at their worst
    case, cases : a column of test cases, each of which an arm has at most once, and how many the test set has; not
                needed where every arm has all of them. The bar then applies to the share of this set that an arm
                passes, or its mean result; with `versus`, results are compared case by case. `order` is then the column
                that says in which order cases were drawn; not needed where every arm has all of them
    repeats   : with `case`, how often each arm was evaluated on each case; the mean counts
    score     : with `case`, a column of a cheap judge's scores, also in rows without a reward: cases without a label
    format, metric : "promptfoo", "inspect" or "lm-eval": `data` is a result file of that tool, or a folder of them, see
                `goodarm.judgement.sources.results`
    memory    : a limit for DuckDB, such as "1GiB"; what is larger goes through the disk

    >>> clicks = {"arm": ["a", "b"], "pulls": [5000, 5000], "total": [170, 60]}
    >>> found = judge(clicks, threshold=0.02)
    >>> print(found.sentence)
    1 of 2 arms is above 2%, 1 below, 0 undecided
    >>> found.good, found.bad
    (['a'], ['b'])
    """
    if format is not None:
        data, case = _results(data, format, metric), case or "case"
    elif metric is not None:
        raise InvalidValue("`metric` names a score in a result file; say of which tool: `format='promptfoo'`.")
    if case is not None and unit is not None:
        raise InvalidValue("a case is the unit of a fixed test set; give `case` or `unit`, not both.")
    question = Question(
        threshold=percentage(threshold),
        delta=delta,
        arm=arm,
        reward=reward,
        pulls=pulls,
        total=total,
        where=where,
        scale=read_scale(rewards),
        criterion=Criterion(criterion),
        rule=rule,
        by=(by,) if isinstance(by, str) else tuple(by),
        versus=versus,
        margin=checked_number("margin", percentage(margin)),
        order=None if case is not None else order,
        nulls="drop" if score is not None and nulls == "error" else nulls,
        propensity=propensity,
        cap=cap,
        time=time,
        max_arms=max_arms,
        ledger=ledger,
        by_appearance=by_appearance,
        unit=case if case is not None else unit,
        per_unit=per_unit,
        denominator=denominator,
        unit_limit=unit_limit,
        window=window,
        case=case,
        cases=cases,
        repeats=repeats,
        score=score,
        drawn=order if case is not None else None,
        bars=bars if bars is None or isinstance(bars, Bars) else Bars(bars),
    )
    source = open_source(data, table=table, query=query, separator=separator, encoding=encoding, memory=memory)
    try:
        found = judge_source(source, question, progress)
    finally:
        close = getattr(source, "close", None)
        if close is not None:
            close()
    for each in found.warnings:
        warnings.warn(f"{each.removeprefix('WARNING: ')}.", LogWarning, stacklevel=2)
    return found


def _results(place: Any, format: str, metric: str | None) -> dict[str, Any]:
    """Columns of a result file, one row per arm, case and repetition."""
    from goodarm.judgement.sources.results import read_results

    if not isinstance(place, str | Path):
        raise InvalidValue(f"`format={format!r}` reads a file or a folder; got {shown(place)}.")
    return {name: values for name, values in read_results(place, format, metric).items() if name != "repeat"}


def open_source(
    data: Any, *, table: str | None, query: str | None, separator: str | None, encoding: str | None, memory: str | None
) -> LogSource:
    """The source for an address or a table."""
    from goodarm.judgement.sources import frames, postgresql

    if isinstance(data, str) and data.startswith(postgresql.SCHEMES):
        return postgresql.PostgresSource(data, table, query)
    if isinstance(data, str) and data.startswith("spark:"):
        return _spark_table(data.removeprefix("spark:"))
    if isinstance(data, str | Path):
        from goodarm.judgement.sources.duck import FileSource

        return FileSource(data, separator=separator, encoding=encoding, memory=memory)
    return frames.FrameSource(data)


def _spark_table(name: str) -> LogSource:
    from goodarm.judgement.sources.frames import FrameSource

    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise UnreadableTable(f"spark:{name} needs PySpark and a Java. Install it with: pip install pyspark") from None
    source = FrameSource(SparkSession.builder.getOrCreate().table(name))
    source.title = f"spark:{name}"
    return source


def judge_source(source: LogSource, question: Question, progress: Progress) -> Judgement:
    """Sum up the log, check the sums, and decide."""
    read = question.kind.read(source, progress)
    if read.graded:
        question = replace(question, graded=True)
        read = question.kind.read(source, progress)
    columns, sums = read.columns, read.sums[0]
    if columns.pulls is not None:  # found by their names; a table of totals has no squares
        question = replace(question, pulls=columns.pulls, total=columns.total)
    rows = int(sums.rows.sum())
    alike = _look_alikes(sums.arm.tolist(), "arms", "are judged as two arms; if they are one, correct the names")
    if question.case is not None:
        from goodarm.judgement.cells import on_cases

        question, cases = on_cases(source, question, columns, sums)
        alike += _look_alikes(cases, "cases", "count as two cases; if they are one, correct the names")
    judged = question.kind.judged(sums, source.title)
    with shared(question, columns, sums, judged) as shares:
        made, notes = question.kind.arms(source, read, judged, shares, progress)
    forecast = rows_to_half(question, sums, made.verdict, shares)
    segments = len(set(zip(*sums.segment, strict=True))) if columns.by else 1
    return Judgement(
        source=source.title,
        rows=rows,
        question=question,
        rule=question.kind.rule,
        rule_guarantee=question.identification.guarantee,
        noun=pairs_noun(columns.arm, columns.by) if columns.by else noun(columns.arm),
        segment_noun=noun(columns.arm),
        arms=made.ranked(),
        notes=doubts_first(
            (
                *read.notes,
                *_late_arms(source, question, columns, sums),
                *_repeated_units(source, question, columns, rows),
                *_units_in_several_arms(source, question, columns, sums),
                *alike,
                *_one_row_each(source, columns, sums),
                *_growing_units(question, columns, sums),
                *notes,
                shared_budget(made.arm.size, segments, question),
            )
        ),
        conditions=conditions(question, shares.case, made.arm.size, columns.unit),
        case=shares.case,
        forecast=forecast,
        by=columns.by,
        table_kind=getattr(source, "kind", None),
    )


def _units_in_several_arms(source: LogSource, question: Question, columns: LogColumns, sums: Sums) -> tuple[Doubt, ...]:
    """A warning if arms are compared with a control and the same persons, sessions or machines are in several arms.

    The proof of `versus` needs rewards of an arm and of the control that are independent. Where one person's two
    rewards are opposite, the variance of the difference is twice as large as the test assumes.
    """
    if not question.asked.references or question.case is not None or columns.pulls is not None:
        return ()
    column = columns.unit or unit_like(columns, source.names())
    if column is None:
        return ()
    in_all = source.distinct(replace(columns, arm=column), question, column)
    if columns.unit is None:
        in_arms = source.distinct(columns, question, column)
    else:
        in_arms = int(sums.pulls.sum() + (0.0 if sums.pending is None else np.nansum(sums.pending)))
    if in_all < FEWEST or in_arms < SHARED * in_all:
        return ()
    return (
        Doubt(
            f"the same values of {column} are in several arms: {in_arms:,} pairs of about {in_all:,} values and arms. "
            "If these are persons, sessions or machines, a comparison with a control is not certified: their rewards "
            "in the arm and in the control depend on each other. Give every one a single arm",
            condition=f"rewards of the same {column} in an arm and in the control do not depend on each other",
        ),
    )


def _late_arms(source: LogSource, question: Question, columns: LogColumns, sums: Sums) -> tuple[Doubt, ...]:
    """A warning if the arms count as fixed in advance but one of them first appears late in the log."""
    if question.shares_given or sums.first is None or sums.arm.size < 2:
        return ()
    share = source.rows_before(columns, question, float(np.nanmax(sums.first))) / float(sums.rows.sum())
    if share <= LATE:
        return ()
    return (
        Doubt(
            f"not all arms are there from the beginning. By {columns.time}, the last of {sums.arm.size:,} first "
            f"appears after {share:.0%} of the rows. If you looked at the log before that, or if more arms may come, "
            "these verdicts are not certified: give `max_arms=N`, `ledger=FILE` or `by_appearance=True`",
            condition="every look at the log had all of the arms",
        ),
    )


def _look_alikes(names: list[str], what: str, outcome: str) -> tuple[Doubt, ...]:
    """A warning if names differ only in invisible or insignificant characters.

    what, outcome : plural noun for the names, and how two of them count
    """
    pairs = look_alikes(dict.fromkeys(names))
    if not pairs:
        return ()
    (first, second), more = pairs[0], len(pairs) - 1
    others = "" if not more else f", and {more:,} more {'pair' if more == 1 else 'pairs'}"
    return (
        Doubt(
            f"the {what} {first!a} and {second!a} differ only in blanks, case or invisible characters{others}. They "
            f"{outcome}",
            condition=f"{first!a} and {second!a} are different {what}",
        ),
    )


def _one_row_each(source: LogSource, columns: LogColumns, sums: Sums) -> tuple[Doubt, ...]:
    """A warning if every arm has a single row and another column looks like a number of samples."""
    pulls = pulls_like(columns, source.names())
    if pulls is None or sums.arm.size < 2 or (sums.rows != 1.0).any():
        return ()
    return (
        Doubt(
            f"every arm has one row. If {columns.reward} is a total out of {pulls}, give `pulls='{pulls}'` and "
            f"`total='{columns.reward}'`",
            condition=f"each row is one reward and not a total out of {pulls}",
        ),
    )


def _growing_units(question: Question, columns: LogColumns, sums: Sums) -> tuple[Doubt, ...]:
    """A warning if units with several rows and times have no window: later looks would change their rewards."""
    if columns.unit is None or columns.time is None or question.window is not None or question.case is not None:
        return ()
    if sums.rows.sum() < REPEATED * sums.pulls.sum():
        return ()
    return (
        Doubt(
            f"{question.counted} have several rows, and later rows change the reward of a {columns.unit}. If more may "
            "come, give `window='7d'`, or as long as rows count: then verdicts hold at every look",
            condition=f"no more rows of these {question.counted} will come",
        ),
    )


REPEATED, FEWEST = 1.1, 30
"""Minimum rows per value of an unused column within an arm, and minimum number of values, for a warning."""


SHARED = 1.2
"""Minimum number of arms per unit for a warning. DuckDB's estimate of the units has a standard error of 3%."""


def _repeated_units(source: LogSource, question: Question, columns: LogColumns, rows: int) -> tuple[Doubt, ...]:
    """A warning if an unused column seems to hold persons, sessions or machines with several rows each."""
    column = unit_like(columns, source.names()) if columns.unit is None and columns.pulls is None else None
    if column is None:
        return ()
    different = source.distinct(columns, question, column)
    if different < FEWEST or rows < REPEATED * different:
        return ()
    return (
        Doubt(
            f"{column} repeats: within the arms, {rows:,} rows have about {different:,} distinct values. If these "
            "are persons, sessions or machines, their rows resemble each other and the verdicts are not certified: "
            f"give `unit='{column}'`",
            condition=f"rows of the same {column} are independent",
        ),
    )
