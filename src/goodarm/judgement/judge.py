"""`goodarm.judge`: which arms of a log clear the bar, which do not, and how much more data is needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goodarm.errors import UnreadableTable
from goodarm.judgement.decide import Decided, decide
from goodarm.judgement.judgement import Arms, Judgement
from goodarm.judgement.log_columns import LogColumns, choose_columns, noun
from goodarm.judgement.question import Question, read_scale
from goodarm.judgement.sources._base import Floats, LogSource, Progress, Sums, silent
from goodarm.judgement.totals import checked
from goodarm.judgement.words import shared_budget, visible
from goodarm.problem import Rewards
from goodarm.verdict import Criterion


def judge(
    data: Any,
    *,
    threshold: float | None = None,
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
    table: str | None = None,
    query: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    memory: str | None = None,
    progress: Progress = silent,
) -> Judgement:
    """Judge a log: verdicts that stay true however often you looked before.

    data      : a path, folder or glob (CSV, Parquet, JSON Lines, .gz, .zst), postgresql://..., spark:TABLE, a table
                (pandas, polars, Arrow, DuckDB relation, Ibis, PySpark), or a dict of columns
    threshold : the bar that a good arm's mean reaches, in the rewards' own units
    arm, reward : columns; found by their names where they are not given. `pulls` and `total` of a table of totals
    rewards   : "bounded", "bounded:LOW,HIGH" or "gaussian:SCALE"
    rule      : an identification rule by totals; with `order`, any
    by        : columns whose values are segments; all segments and arms share delta
    versus, margin : in place of a threshold, is the arm's mean at least that of the arm `versus` plus `margin`?
    order     : a column by which the rewards are folded one by one, as a campaign would have seen them
    nulls     : "error", "drop" or "zero"
    propensity, cap : weight every row by 1/propensity, at most `cap`
    memory    : a limit for DuckDB, such as "1GiB"; what is larger goes through the disk

    >>> clicks = {"arm": ["a", "b"], "pulls": [5000, 5000], "total": [170, 60]}
    >>> found = judge(clicks, threshold=0.02)
    >>> print(found.sentence)
    1 of 2 arms is above 2%, 1 below, 0 can't be told yet
    >>> found.good, found.bad
    (['a'], ['b'])
    """
    question = Question(
        threshold=threshold,
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
        order=order,
        nulls=nulls,
        propensity=propensity,
        cap=cap,
    )
    source = open_source(data, table=table, query=query, separator=separator, encoding=encoding, memory=memory)
    try:
        return judge_source(source, question, progress)
    finally:
        close = getattr(source, "close", None)
        if close is not None:
            close()


def open_source(
    data: Any, *, table: str | None, query: str | None, separator: str | None, encoding: str | None, memory: str | None
) -> LogSource:
    """The source for a place or a table."""
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
    """Columns, sums, checks, verdicts."""
    columns = choose_columns(question, source.names(), source.title)
    sums, said = checked(source, columns, question, source.sums(columns, question, progress))
    rows = int(sums.rows.sum())
    made, notes = _arms(source, question, columns, sums, progress)
    segments = len(set(zip(*sums.segment, strict=True))) if columns.by else 1
    rule = question.identification
    return Judgement(
        source=source.title,
        rows=rows,
        question=question,
        rule=rule.name if question.versus is None else "versus",
        guarantee=rule.guarantee,
        noun=noun(columns.arm),
        arms=made.ranked(),
        notes=(*columns.notes, *said, *notes, shared_budget(made.arm.size, segments, question)),
        by=columns.by,
        table_kind=getattr(source, "kind", None),
    )


def _arms(
    source: LogSource, question: Question, columns: LogColumns, sums: Sums, progress: Progress
) -> tuple[Arms, tuple[str, ...]]:
    """The arms with their verdicts, and what readers must know about them."""
    if columns.propensity is not None:
        return _weighted(question, sums)
    totals = _on_rules_scale(question, sums)
    if question.versus is not None:
        return _against_control(question, sums, totals, source.title)
    if question.order is not None:
        from goodarm.judgement.order import decide_in_order

        found, when, notes = decide_in_order(source, question, columns, sums, totals, progress)
        return replace(_placed(question, sums, found, 1.0), when=when), notes
    found = decide(question, sums.pulls, totals, question.problem(sums.arm.size))
    return _placed(question, sums, found, 1.0), ()


def _on_rules_scale(question: Question, sums: Sums) -> Floats:
    scale = question.scale
    totals = (sums.total - scale.start * sums.pulls) / scale.length
    return np.clip(totals, 0.0, sums.pulls) if scale.bounded else totals


def _against_control(question: Question, sums: Sums, totals: Floats, title: str) -> tuple[Arms, tuple[str, ...]]:
    """Each segment's arms against its own control; means and intervals are those of the difference."""
    from goodarm.judgement.versus import control_of, decide_versus

    is_control = control_of(question, sums, title)
    arms = int((~is_control).sum())
    if arms == 0:
        raise UnreadableTable(f"{title}: there is no arm but the control {question.versus!r}.")
    segment = _segment_numbers(sums)
    parts = []
    for control in np.flatnonzero(is_control):
        which = np.flatnonzero((segment == segment[control]) & ~is_control)
        found = decide_versus(question, sums.pulls[which], totals[which], sums.pulls[control], totals[control], arms)
        own = [(2.0 * each - 1.0) * question.scale.length for each in (found.mean, found.low, found.high)]
        parts.append((which, *own, found.verdict, found.evidence, found.needs))
    which, mean, low, high, verdict, evidence, needs = (np.concatenate(each) for each in zip(*parts, strict=True))
    note = (
        f"mean and interval are those of the difference from {visible(str(question.versus))}; rows needed are rows of "
        "the arm, while the control goes on in proportion"
    )
    keys = tuple(key[which] for key in sums.segment)
    return Arms(keys, sums.arm[which], sums.pulls[which], mean, low, high, verdict, evidence, needs), (note,)


def _weighted(question: Question, sums: Sums) -> tuple[Arms, tuple[str, ...]]:
    """Inverse-propensity rewards, cut at the cap: every row of a segment is a reward of each of its arms, mostly 0."""
    cap = float(question.cap or 1.0)
    everything = _per_segment(sums, sums.pulls)
    problem = replace(question.problem(sums.arm.size), threshold=question.bar / cap)
    found = decide(question, everything, np.clip(sums.total / cap, 0.0, everything), problem)
    capped = int(np.nansum(sums.capped)) if sums.capped is not None else 0
    share = capped / max(float(sums.rows.sum()), 1.0)
    note = (
        f"every row counts for every arm, as reward/propensity where the arm was shown and 0 elsewhere; the cap of "
        f"{cap:g} cut {capped:,} weights ({share:.2%}). A cut can only lower a mean: good holds for the mean without "
        "the cap too, bad is about the mean with it. Rows needed are rows of the whole log."
    )
    return _placed(question, sums, found, cap), (note,)


def _per_segment(sums: Sums, values: Floats) -> Floats:
    """The sum of the values over the arm's segment."""
    which = _segment_numbers(sums)
    together: Floats = np.zeros(which.size)
    np.add.at(together, which, values)
    return np.asarray(together[which])


def _segment_numbers(sums: Sums) -> NDArray[np.int64]:
    """The number of each arm's segment."""
    if not sums.segment:
        return np.zeros(sums.arm.size, dtype=np.int64)
    keys = list(zip(*sums.segment, strict=True))
    numbers = {key: j for j, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys], dtype=np.int64)


def _placed(question: Question, sums: Sums, found: Decided, factor: float) -> Arms:
    """Verdicts in the units of the log."""
    scale = question.scale

    def own(values: Floats) -> Floats:
        return np.minimum(values * factor, math.inf if not scale.bounded else 1.0) * scale.length + scale.start

    mean = found.mean * factor * scale.length + scale.start
    return Arms(
        sums.segment,
        sums.arm,
        sums.pulls,
        mean,
        own(found.low),
        own(found.high),
        found.verdict,
        found.evidence,
        found.needs,
    )
