"""`goodarm.judge`: which arms of a log clear the bar, which do not, and how much more data is needed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from goodarm.arguments import plural, shown, warn_of_delta
from goodarm.errors import InvalidValue, LogWarning, UnreadableTable
from goodarm.judgement.forecast import rows_to_half
from goodarm.judgement.judgement import Arms, Judgement
from goodarm.judgement.log_columns import LogColumns, look_alikes, pulls_like, unit_like
from goodarm.judgement.options import LogOptions, read_scale
from goodarm.judgement.shares import LATE, Kept, Shares, shared
from goodarm.judgement.sources._base import LogSource, Progress, Sums, silent
from goodarm.judgement.words import Doubt, shared_budget, visible
from goodarm.problem import Rewards
from goodarm.question import LOG, Bars, BarsGiven, QuestionGiven, asked
from goodarm.verdict import Criterion, Guarantee


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
    window: str | float | timedelta | None = None,
    case: str | None = None,
    cases: int | None = None,
    repeats: int | None = None,
    score: str | None = None,
    bars: BarsGiven | Bars | None = None,
    question: QuestionGiven | None = None,
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
    versus, margin : in place of a threshold: an arm is good if its mean is at least that of the arm `versus` plus
                     `margin`
    bars      : in place of a threshold, several columns with their bars: "correct >= 0.9, slow <= 0.05"; good arms
                clear every bar, and a bad one names the column that fails
    question  : in place of all of these: the question as an object of `goodarm.question`, or its JSON fields
    order     : a column that gives the order of the rewards, to process them one by one like a campaign
    nulls     : "error", "drop" or "zero"
    propensity, cap : weight every row by 1/propensity, at most `cap`
    time      : a column with the time of each row; found automatically if only one column holds times
    max_arms, ledger, by_appearance : how arms that appear later share delta, see `goodarm.judgement.shares`. Without
                any of them the set of arms must have been fixed in advance
    unit, per_unit : a column of persons, sessions or machines, and how to combine all rows of one into a reward:
                     "mean", "any" (1 if one is above 0), "sum" (`rewards` is then its range), or "ratio" (all rewards
                     over all rows, or over `denominator`; `unit_limit` is the most that a unit can have)
    window    : "7d", a timedelta, or a number of seconds: only a unit's rows within that time after its first one
                count. Units whose window is still open are left out; with the criterion "fdr" they count at their
                worst. Numbers in the column `time` are Unix seconds
    case, cases : a column of test cases (each arm has each case at most once), and the size of the test set, which is
                not needed if every arm has all cases. The bar then applies to the share of this set that an arm passes,
                or its mean result; with `versus`, results are compared case by case. `order` is then the column with
                the order in which cases were drawn, which is not needed if every arm has all cases
    repeats   : with `case`, the number of evaluations of each arm on each case; their mean counts
    score     : with `case`, a column of a cheap judge's scores. Cases without a label need a row with a score and no
                reward
    format, metric : "promptfoo", "inspect" or "lm-eval": `data` is a result file of that tool, or a folder of them, see
                `goodarm.judgement.sources.results`
    memory    : a memory limit for DuckDB, such as "1GiB"; larger data spills to disk

    >>> clicks = {"arm": ["a", "b"], "pulls": [5000, 5000], "total": [170, 60]}
    >>> found = judge(clicks, threshold=0.02)
    >>> print(found.sentence)
    1 of 2 arms is above 2%, 1 below, 0 undecided
    >>> found.good, found.bad
    (['a'], ['b'])
    """
    place = data
    if format is not None:
        data, case = _results(data, format, metric), case or "case"
    elif metric is not None:
        raise InvalidValue("`metric` names a score in a result file. Name the tool as well: `format='promptfoo'`.")
    if case is not None and unit is not None:
        raise InvalidValue("a case is the unit of a fixed test set; give `case` or `unit`, not both.")
    options = LogOptions(
        asked(question, LOG, threshold=threshold, control=versus, margin=margin, bars=bars),
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
    )
    warn_of_delta(delta)
    source = open_source(data, table=table, query=query, separator=separator, encoding=encoding, memory=memory)
    try:
        found = judge_source(source, options, progress)
    finally:
        close = getattr(source, "close", None)
        if close is not None:
            close()
    on_disk = isinstance(place, Path) or (isinstance(place, str) and "://" not in place)
    read = [*([place] if on_disk else []), *([ledger] if ledger is not None else [])]
    found = replace(found, inputs=tuple(map(Path, read)))
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


def judge_source(source: LogSource, options: LogOptions, progress: Progress) -> Judgement:
    """Sum up the log, check the sums, and give the verdicts."""
    read = options.kind.read(source, progress)
    between = read.sums[0].graded
    if between is not None and (between > 0.0).any() and read.sums[0].logs is None:
        # graded rewards need a second scan, for sums of logarithms
        options = replace(options, graded=True)
        read = options.kind.read(source, progress)
    columns, sums, cases = read.columns, read.sums[0], list[str]()
    if columns.pulls is not None:  # columns found by their names: a table of totals has no squares
        options = replace(options, pulls=columns.pulls, total=columns.total)
    if options.case is not None:
        from goodarm.judgement.cells import on_cases

        options, cases = on_cases(source, options, columns, sums)
    with shared(options, columns, sums, read.judged) as shares:
        made, notes = options.kind.arms(source, read, shares, progress)
        doubts = [*_doubts(source, options, columns, sums, cases), *_contradictions(options, made, shares)]
        certain = not any(isinstance(each, Doubt) for each in (*read.notes, *doubts, *notes))
        made, kept = _with_earlier(options, made, shares, certain=certain)
    segments = len(set(zip(*sums.segment, strict=True))) if columns.by else 1
    budget = shared_budget(made.arm.size, segments, options)
    said = [*read.notes, *doubts, *notes, *kept, budget]
    return Judgement(
        source=source.title,
        rows=int(sums.rows.sum()),
        options=options,
        roles=columns,
        arms=made.taken(made.ranks()),
        notes=tuple(sorted(said, key=lambda note: not isinstance(note, Doubt))),  # people read the first notes
        case=shares.case,
        forecast=rows_to_half(options, sums, made.verdict, shares),
        table_kind=getattr(source, "kind", None),
    )


def _contradictions(options: LogOptions, made: Arms, shares: Shares) -> Iterator[Doubt]:
    """Arms whose verdict is the opposite of an earlier one in the ledger."""
    names = list(zip(*made.segment, made.arm, strict=True))
    for name, now in zip(names, made.verdict.tolist(), strict=True):
        before = shares.earlier.get(name)
        if before is not None and now == -before.verdict:
            arm = visible(" / ".join(map(str, name)))
            words = {sign: options.question.word(sign) for sign in (1, -1)}
            yield Doubt(
                f"{arm} was {words[before.verdict]} at the look of {before.at}, and is {words[now]} now. One of the "
                f"two is wrong. This has probability at most delta {options.delta:g} while the arm's mean stays "
                "the same. If the arm or its rewards changed, judge only the rows since then, with a new ledger",
                condition=f"the mean of {arm} did not change between the looks",
            )


def _with_earlier(options: LogOptions, made: Arms, shares: Shares, *, certain: bool) -> tuple[Arms, tuple[str, ...]]:
    """The arms with the verdicts that the ledger keeps, and a note on them. `Ledger` has the proof.

    certain : whether the log shows no sign against the guarantee; if it does, today's verdicts are not recorded
    """
    if shares.case != "ledger" or options.criterion is not Criterion.FWER:
        return made, ()
    if options.identification.guarantee is not Guarantee.CERTIFIED:
        return made, ()
    names = list(zip(*made.segment, made.arm, strict=True))
    if certain:
        failed = [None] * len(names) if made.failed is None else made.failed.tolist()
        for name, now, metric in zip(names, made.verdict.tolist(), failed, strict=True):
            if now:
                shares.reached[name] = Kept(now, failed=metric)
    since = np.full(len(names), None, dtype=object)
    verdict, needs = made.verdict.copy(), made.needs.copy()
    metrics = None if made.failed is None else made.failed.copy()
    for i, name in enumerate(names):
        before = shares.earlier.get(name)
        if before is None or verdict[i]:
            continue
        verdict[i], needs[i], since[i] = before.verdict, 0.0, before.at
        if metrics is not None:
            metrics[i] = before.failed
    many = sum(each is not None for each in since)
    if not many:
        return made, ()
    note = (
        f"{plural(many, 'verdict')} of earlier looks {'are' if many > 1 else 'is'} kept (since ...). Today's rows "
        "alone leave such an arm undecided. Its verdict stays certified, because delta bounds the probability of a "
        "wrong verdict at any look. The interval is today's"
    )
    return replace(made, verdict=verdict, needs=needs, since=since, failed=metrics), (note,)


REPEATED, FEWEST = 1.1, 30
"""Minimum rows per value of an unused column within an arm, and minimum number of values, for a warning."""
SHARED = 1.2
"""Minimum number of arms per unit for a warning. DuckDB's estimate of the units has a standard error of 3%."""


def _doubts(
    source: LogSource, options: LogOptions, columns: LogColumns, sums: Sums, cases: list[str]
) -> Iterator[Doubt]:
    """Signs in the log that the conditions of the guarantee may not hold.

    cases : names of the cases of a fixed test set
    """
    rows, arms = int(sums.rows.sum()), sums.arm.size

    # The set of arms counts as fixed in advance, but one of them first appears late
    if not options.shares_given and sums.first is not None and arms > 1:
        share = source.rows_before(columns, options, float(np.nanmax(sums.first))) / rows
        if share > LATE:
            yield Doubt(
                f"not all arms exist from the beginning. By {columns.time}, the last of {arms:,} first appears "
                f"after {share:.0%} of the rows. If you looked at the log before that, or if more arms may come, these "
                "verdicts are not certified: give `max_arms=N`, `ledger=FILE` or `by_appearance=True`",
                condition="every look at the log had all of the arms",
            )

    # An unused column seems to identify persons, sessions or machines that have several rows
    unit, in_arms = columns.unit, 0
    if columns.pulls is None and columns.unit is None:
        unit = unit_like(columns, source.names())
        in_arms = 0 if unit is None else source.distinct(columns, options, unit)
        if in_arms >= FEWEST and rows >= REPEATED * in_arms:
            yield Doubt(
                f"{unit} repeats: within the arms, {rows:,} rows have about {in_arms:,} distinct values. If these are "
                "persons, sessions or machines, their rows resemble each other and the verdicts are not certified: "
                f"give `unit='{unit}'`",
                condition=f"rows of the same {unit} are independent",
            )

    # The same persons, sessions or machines occur in the control and in other arms. The proof of `versus` needs
    # independent rewards: if one person's two rewards are opposite, the variance of the difference is twice as large as
    # the test assumes.
    if unit is not None and options.kind.differences and options.case is None:
        in_all = source.distinct(replace(columns, arm=unit), options, unit)
        if columns.unit is not None:
            in_arms = int(sums.pulls.sum() + (0.0 if sums.pending is None else np.nansum(sums.pending)))
        if in_all >= FEWEST and in_arms >= SHARED * in_all:
            yield Doubt(
                f"the same values of {unit} are in several arms: {in_arms:,} pairs of about {in_all:,} values and "
                "arms. If these are persons, sessions or machines, a comparison with a control is not certified: "
                "their rewards in the arm and in the control depend on each other. Assign each of them to a single arm",
                condition=f"rewards of the same {unit} in an arm and in the control do not depend on each other",
            )

    # Names that differ only in case, spacing or invisible characters
    for names, what, outcome in (
        (sums.arm.tolist(), "arms", "are judged as two arms. If they are the same arm, correct the names"),
        (cases, "cases", "count as two cases. If they are the same case, correct the names"),
    ):
        if pairs := look_alikes(dict.fromkeys(names)):
            (first, second), more = pairs[0], len(pairs) - 1
            others = "" if not more else f", and {more:,} more {'pair does' if more == 1 else 'pairs do'}, too"
            yield Doubt(
                f"the {what} {first!a} and {second!a} differ only in blanks, case or invisible characters{others}. "
                f"They {outcome}",
                condition=f"{first!a} and {second!a} are different {what}",
            )

    # Every arm has a single row, and another column looks like a number of samples
    if columns.pulls is None and arms > 1 and (sums.rows == 1.0).all():
        pulls = pulls_like(columns, source.names())
        if pulls is not None:
            yield Doubt(
                f"every arm has one row. If {columns.reward} is a total out of {pulls}, give `pulls='{pulls}'` and "
                f"`total='{columns.reward}'`",
                condition=f"each row is one reward and not a total out of {pulls}",
            )

    # Units with several rows and times have no window: later looks would change their rewards
    growing = columns.unit is not None and columns.time is not None
    if growing and options.window is None and options.case is None and rows >= REPEATED * sums.pulls.sum():
        yield Doubt(
            f"{options.counted} have several rows, and later rows change the reward of a {columns.unit}. If more rows "
            "may come, set the time during which the rows of a "
            f"{columns.unit} count, such as `window='7d'`. Verdicts then hold at every look",
            condition=f"no more rows of these {options.counted} will come",
        )
