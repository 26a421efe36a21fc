"""`goodarm.judge`: which arms of a log clear the bar, which do not, and how much more data is needed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goodarm.arguments import percentage, shown
from goodarm.engine.totals import evidence_from_totals
from goodarm.errors import InvalidValue, UnreadableTable
from goodarm.judgement.bars import decide_bars, sums_of_all
from goodarm.judgement.by_sums import decide_by_sums
from goodarm.judgement.by_sums import notes as by_sums_notes
from goodarm.judgement.cases import on_cases
from goodarm.judgement.decide import Decided, decide
from goodarm.judgement.forecast import rows_to_half
from goodarm.judgement.judgement import Arms, Judgement
from goodarm.judgement.log_columns import LogColumns, choose_columns, noun, pairs_noun, unit_like
from goodarm.judgement.question import BY_TOTALS, Question, read_scale
from goodarm.judgement.shares import LATE, Shares, shared
from goodarm.judgement.sources._base import Floats, LogSource, Progress, Sums, silent
from goodarm.judgement.totals import FALSE_ALARMS, checked, segment_numbers
from goodarm.judgement.words import conditions, listed, shared_budget, visible
from goodarm.policies.names import identification_rule
from goodarm.problem import Problem, Rewards
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
    margin: float = 0.0,
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
    order     : a column that gives the order of the rewards, to fold them one by one like a campaign
    nulls     : "error", "drop" or "zero"
    propensity, cap : weight every row by 1/propensity, at most `cap`
    time      : a column that says when a row happened; found where one column holds times
    max_arms, ledger, by_appearance : how arms that appear later share delta, see `goodarm.judgement.shares`. Without
                any of them the set of arms must have been fixed in advance
    unit, per_unit : a column of persons, sessions or machines: all rows of one are one reward, their "mean", whether
                "any" is above 0, their "sum" (`rewards` is then its range), or "ratio": all rewards over all rows, or
                over `denominator`, of which a unit has at most `unit_limit`
    window    : "7d": only a unit's rows from its first one on for that long count, and open units at their worst
    case, cases : a column of test cases, each of which an arm has at most once, and how many the test set has; not
                needed where every arm has all of them. The bar is then about the share of this set that an arm passes,
                or its mean result; with `versus`, results are compared case by case. `order` is then the column that
                says in which order cases were drawn; not needed where every arm has all of them
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
        margin=margin,
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
        return judge_source(source, question, progress)
    finally:
        close = getattr(source, "close", None)
        if close is not None:
            close()


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
    """Find columns, compute sums, check them, and decide."""
    if question.bars is not None:
        return _judge_bars(source, question, progress)
    columns = choose_columns(question, source.names(), source.title, source.times())
    filtered = _check_filter(question, columns)
    if question.by_sums and columns.pulls is not None:
        raise UnreadableTable(
            f"{source.title} is a table of totals, and {question.identification.name} needs the rewards themselves. "
            "Give the log, or declare a range: `rewards='bounded:LOW,HIGH'`."
        )
    sums, said = checked(source, columns, question, source.sums(columns, question, progress))
    rows = int(sums.rows.sum())
    if question.case is not None:
        question = on_cases(source, question, columns, sums)
    judged = _judged(question, sums, source.title)
    with shared(question, columns, sums, judged) as shares:
        made, notes = _arms(source, question, columns, sums, judged, shares, progress)
    forecast = rows_to_half(question, sums, made.verdict, shares)
    segments = len(set(zip(*sums.segment, strict=True))) if columns.by else 1
    rule = question.identification
    return Judgement(
        source=source.title,
        rows=rows,
        question=question,
        rule=rule.name if question.versus is None or question.cell_by_cell else "versus",
        guarantee=rule.guarantee,
        noun=pairs_noun(columns.arm, columns.by) if columns.by else noun(columns.arm),
        segment_noun=noun(columns.arm),
        arms=made.ranked(),
        notes=(
            *columns.notes,
            *filtered,
            *said,
            *_late_arms(source, question, columns, sums),
            *_repeated_units(source, question, columns, rows),
            *notes,
            shared_budget(made.arm.size, segments, question),
        ),
        conditions=conditions(question, shares.case, made.arm.size, columns.unit),
        case=shares.case,
        forecast=forecast,
        by=columns.by,
        table_kind=getattr(source, "kind", None),
    )


def _check_filter(question: Question, columns: LogColumns) -> tuple[str, ...]:
    """Refuse a filter by the shown arm if rows are weighted by propensities, and warn about a filter by the reward.

    With propensities, an arm's evidence counts every row in which the arm could be shown, including rows that showed
    another arm. Without these rows the weights are too large on average: with 20 arms and a `where` on one of them, 34
    of 60 logs were judged wrongly at delta = 0.2.
    """
    read = [
        column
        for column in (columns.arm, columns.propensity, columns.reward)
        if column is not None and re.search(rf"(?<!\w){re.escape(column)}(?!\w)", question.where or "", re.IGNORECASE)
    ]
    if read and question.propensity is not None:
        raise InvalidValue(
            f"`where` reads {read[0]}, and with propensities no row may be left out because of the arm that was "
            "shown, its propensity or its reward: an arm is judged by all rows in which it could be shown. Judge "
            "all arms, or filter by what was known before the arm was chosen."
        )
    if columns.reward is None or columns.reward not in read:
        return ()
    return (
        f"WARNING: `where` reads {columns.reward}. Verdicts are certified only if no row was left out because of its "
        "reward",
    )


def _judge_bars(source: LogSource, question: Question, progress: Progress) -> Judgement:
    """The same for several metrics."""
    columns, sums, said = sums_of_all(source, question, progress)
    first = sums[0]
    with shared(question, columns, first, np.ones(first.arm.size, dtype=bool)) as shares:
        made = decide_bars(question, sums, shares.offset)
    segments = len(set(zip(*first.segment, strict=True))) if columns.by else 1
    rule, rows = question.identification, int(first.rows.sum())
    return Judgement(
        source=source.title,
        rows=rows,
        question=question,
        rule=rule.name,
        guarantee=rule.guarantee,
        noun=pairs_noun(columns.arm, columns.by) if columns.by else noun(columns.arm),
        segment_noun=noun(columns.arm),
        arms=made.ranked(),
        notes=(
            *said,
            *_late_arms(source, question, columns, first),
            *_repeated_units(source, question, columns, rows),
            "mean and interval are those of the smallest distance of a metric from its bar, negative where it fails; "
            "rows needed are not estimated with several bars",
            shared_budget(made.arm.size, segments, question),
        ),
        conditions=conditions(question, shares.case, made.arm.size, columns.unit),
        case=shares.case,
        by=columns.by,
        table_kind=getattr(source, "kind", None),
    )


def _judged(question: Question, sums: Sums, title: str) -> NDArray[np.bool_]:
    """Whether each arm gets a verdict: all but the control."""
    if question.versus is None:
        return np.ones(sums.arm.size, dtype=bool)
    from goodarm.judgement.versus import control_of

    is_control = control_of(question, sums, title)
    if is_control.all():
        raise UnreadableTable(f"{title}: there is no arm but the control {question.versus!r}.")
    return ~is_control


def _late_arms(source: LogSource, question: Question, columns: LogColumns, sums: Sums) -> tuple[str, ...]:
    """A warning if the arms count as fixed in advance but one of them first appears late in the log."""
    if question.shares_given or sums.first is None or sums.arm.size < 2:
        return ()
    share = source.rows_before(columns, question, float(np.nanmax(sums.first))) / float(sums.rows.sum())
    if share <= LATE:
        return ()
    return (
        f"WARNING: not all arms are there from the beginning. By {columns.time}, the last of {sums.arm.size:,} first "
        f"appears after {share:.0%} of the rows. If you looked at the log before that, or if more arms may come, these "
        "verdicts are not certified: give `max_arms=N`, `ledger=FILE` or `by_appearance=True`",
    )


REPEATED, FEWEST = 1.1, 30
"""Minimum rows per value of an unused column within an arm, and minimum number of values, for a warning."""


def _repeated_units(source: LogSource, question: Question, columns: LogColumns, rows: int) -> tuple[str, ...]:
    """A warning if an unused column seems to hold persons, sessions or machines with several rows each."""
    column = unit_like(columns, source.names()) if columns.unit is None and columns.pulls is None else None
    if column is None:
        return ()
    different = source.distinct(columns, question, column)
    if different < FEWEST or rows < REPEATED * different:
        return ()
    return (
        f"WARNING: {column} repeats: within the arms, {rows:,} rows have about {different:,} distinct values. If these "
        "are persons, sessions or machines, their rows resemble each other and the verdicts are not certified: give "
        f"`unit='{column}'`",
    )


def _arms(
    source: LogSource,
    question: Question,
    columns: LogColumns,
    sums: Sums,
    judged: NDArray[np.bool_],
    shares: Shares,
    progress: Progress,
) -> tuple[Arms, tuple[str, ...]]:
    """The arms with their verdicts, and notes for readers."""
    if question.cell_by_cell:
        from goodarm.judgement.cells import decide_cells

        return decide_cells(source, question, columns, sums, judged, shares)
    if sums.weight is not None:
        return _weighted(question, columns, sums, shares)
    totals = np.clip(sums.total, 0.0, sums.pulls) if question.scale.bounded else sums.total
    if question.versus is not None:
        return _against_control(question, sums, totals, judged, shares)
    if question.order is not None:
        from goodarm.judgement.order import decide_in_order

        found, when, notes = decide_in_order(source, question, columns, sums, totals, shares, progress)
        return replace(_placed(question, sums, found), when=when), notes
    pending = 0.0 if sums.pending is None else sums.pending
    if sums.logs is not None:
        problem = question.problem(sums.arm.size)
        found = decide_by_sums(question, sums.pulls, totals, sums.logs, problem, shares.offset, pending)
        return _placed(question, sums, found), by_sums_notes(question)
    found = decide(question, sums.pulls, totals, question.problem(sums.arm.size), shares.offset, pending)
    return _placed(question, sums, found), ()


def _against_control(
    question: Question, sums: Sums, totals: Floats, judged: NDArray[np.bool_], shares: Shares
) -> tuple[Arms, tuple[str, ...]]:
    """Judge each segment's arms against its control. Means and intervals are of the difference."""
    from goodarm.judgement.versus import decide_versus

    segment, arms = segment_numbers(sums), int(judged.sum())
    offset = np.zeros(sums.arm.size)
    offset[judged] = shares.offset
    parts = []
    for control in np.flatnonzero(~judged):
        which = np.flatnonzero((segment == segment[control]) & judged)
        found = decide_versus(
            question, sums.pulls[which], totals[which], sums.pulls[control], totals[control], arms, offset[which]
        )
        own = [(2.0 * each - 1.0) * question.scale.length for each in (found.mean, found.low, found.high)]
        parts.append((which, *own, found.verdict, found.evidence, found.needs))
    which, mean, low, high, verdict, evidence, needs = (np.concatenate(each) for each in zip(*parts, strict=True))
    note = (
        f"mean and interval are those of the difference from {visible(str(question.versus))}; rows needed are rows of "
        "the arm, while the control goes on in proportion"
    )
    keys = tuple(key[which] for key in sums.segment)
    return Arms(keys, sums.arm[which], sums.pulls[which], mean, low, high, verdict, evidence, needs), (note,)


def _weighted(question: Question, columns: LogColumns, sums: Sums, shares: Shares) -> tuple[Arms, tuple[str, ...]]:
    """Arms whose mean is a ratio of weighted rewards and weights."""
    from goodarm.judgement.weighted import decide_weighted

    assert sums.weight is not None
    notes: tuple[str, ...] = ()
    problem, rows, most = question.problem(sums.arm.size), sums.pulls, 1.0
    if question.propensity is not None:
        assert sums.around is not None
        notes, rows = _check_propensities(question, columns, sums), sums.around
        most = 1.0 / float(question.cap or 1.0)
    pending = 0.0 if sums.pending is None else sums.pending
    found = decide_weighted(question, rows, sums.total, sums.weight, most, problem, shares.offset, pending)
    return _placed(question, sums, found), notes


def _check_propensities(question: Question, columns: LogColumns, sums: Sums) -> tuple[str, ...]:
    """Refuse propensities that are below 1/cap or impossible; returns notes on the scope of the verdicts.

    On average, the weights 1/p of an arm's rows sum to the number of rows in which it could be shown. A sum larger than
    chance allows means that propensities are too small. A smaller sum means that the arm could not always be shown.
    """
    assert sums.weight is not None
    assert sums.capped is not None
    assert sums.around is not None
    cap, rows = float(question.cap or 1.0), sums.around
    if sums.capped.sum() > 0:
        raise UnreadableTable(
            f"{int(sums.capped.sum()):,} values of {columns.propensity} are below 1/cap = {1.0 / cap:.4g}: their "
            "weights would have to be cut, and a verdict would no longer be about the arm's mean. Give a larger `cap`."
        )
    said = [
        f"the rows of an arm are weighted by 1/{columns.propensity}, at most {cap:g}. Good and bad are about the rows "
        "in which the arm could be shown; the time before it existed is not among them. Rows needed are "
        "rows of the whole log"
    ]
    if cap == 1.0:
        return tuple(said)
    always = Problem(threshold=1.0 / cap, arms=sums.arm.size, delta=FALSE_ALARMS).bar
    weight = np.clip(sums.weight, 0.0, rows)
    more, fewer = evidence_from_totals(identification_rule(BY_TOTALS), rows, weight, always)
    if (more >= always.budget).any():
        worst = int(np.argmax(more))
        raise UnreadableTable(
            f"the propensities in {columns.propensity} can't be true: the weights 1/propensity of arm "
            f"{sums.arm[worst]!r} sum to {sums.weight[worst] * cap:,.0f}, and there are only {rows[worst]:,.0f} rows. "
            "A propensity is the probability with which the arm of the row was shown, known when it was chosen. The "
            "log needs the rows of all arms: none may be left out because of the arm that was shown."
        )
    seldom = np.flatnonzero(fewer >= always.budget)
    if seldom.size:
        could = sums.weight[seldom] * cap / rows[seldom]
        said.append(
            f"by their weights, {seldom.size:,} {'arm' if seldom.size == 1 else 'arms'} could be shown in only a part "
            "of the rows: "
            + listed([f"{sums.arm[i]} in about {each:.0%}" for i, each in zip(seldom, could, strict=True)])
        )
    return tuple(said)


def _placed(question: Question, sums: Sums, found: Decided) -> Arms:
    """Convert verdicts to the units of the log."""
    scale = question.scale
    mean, low, high = (each * scale.length + scale.start for each in (found.mean, found.low, found.high))
    return Arms(sums.segment, sums.arm, sums.pulls, mean, low, high, found.verdict, found.evidence, found.needs)
