"""`goodarm judge`: verdicts on the arms of a log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated
from warnings import catch_warnings, simplefilter

import typer

from goodarm.cli import _log_options as log
from goodarm.cli._options import Delta, ErrorCriterion, Json, VerdictsOut, check_out, number, option, whole
from goodarm.cli._show import console, in_options, print_json, progress_bar, say_written
from goodarm.errors import LogWarning

if TYPE_CHECKING:
    from goodarm.judgement import Judgement
    from goodarm.judgement.sources._base import Progress


EXAMPLES = (
    "goodarm judge clicks.csv --threshold 0.02 --arm headline --reward clicked",
    "goodarm judge totals.csv --threshold 0.02 --arm arm --pulls shown --total clicks --out judged",
)


Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE", help="A file, folder or glob (CSV, Parquet, JSON Lines), postgresql://..., or spark:TABLE."
    ),
]


def judge(
    source: Source,
    threshold: Annotated[float | None, option("The bar that a good arm's mean must reach.", "X", parser=number)] = None,
    arm: log.Arm = None,
    reward: log.Reward = None,
    delta: Delta = 0.05,
    where: Annotated[str | None, option("Keep only these rows. Never select rows by reward.", "SQL")] = None,
    rewards: Annotated[str, option("bounded[:LOW,HIGH], nonnegative[:CAP], gaussian:SCALE.", "R")] = "bounded",
    criterion: ErrorCriterion = "fwer",
    rule: Annotated[str | None, option("Identification rule; a rule by totals, or any with --order.", "NAME")] = None,
    by: Annotated[list[str] | None, option("Judge each value of this column separately. Repeatable.", "COLUMN")] = None,
    versus: Annotated[str | None, option("Compare with this arm in place of a threshold.", "ARM")] = None,
    margin: Annotated[float, option("With --versus: minimum difference.", "M", parser=number)] = 0.0,
    bars: Annotated[
        str | None, option("In place of a threshold: columns with bars, 'correct >= 0.9, slow <= 0.05'.", "B")
    ] = None,
    order: Annotated[str | None, option("Process the rewards in the order of this column.", "COLUMN")] = None,
    nulls: log.Nulls = "error",
    pulls: Annotated[str | None, option("For a table of totals: the column of counts.", "COLUMN")] = None,
    total: Annotated[str | None, option("For a table of totals: the column of totals.", "COLUMN")] = None,
    propensity: Annotated[str | None, option("Weight rows by 1/propensity; needs --cap.", "COLUMN")] = None,
    cap: Annotated[float | None, option("The largest weight.", "C", parser=number)] = None,
    time: Annotated[str | None, option("Column with the time of each row.", "COLUMN")] = None,
    max_arms: Annotated[
        int | None, option("Maximum number of arms ever judged; each gets delta/N.", "N", parser=whole)
    ] = None,
    ledger: Annotated[
        str | None, option("File that records the shares of delta between looks; created if missing.", "FILE")
    ] = None,
    by_appearance: Annotated[
        bool,
        typer.Option("--by-appearance", help="The k-th arm to appear gets delta/(k (k+1)), for any number of arms."),
    ] = False,
    unit: log.Unit = None,
    per_unit: Annotated[str, option("How the rows of a unit become one reward.", "mean|any|sum|ratio")] = "mean",
    denominator: Annotated[
        str | None, option("With --per-unit ratio: column that rewards are divided by; rows by default.", "COLUMN")
    ] = None,
    unit_limit: Annotated[
        float | None, option("With --per-unit ratio: the largest denominator of a unit.", "D", parser=number)
    ] = None,
    window: Annotated[
        str | None, option("Time after a unit's first row during which rows count, such as 7d.", "TIME")
    ] = None,
    case: log.Case = None,
    cases: log.Cases = None,
    repeats: log.Repeats = None,
    score: Annotated[
        str | None, option("With --case: a judge's scores, including rows without a reward.", "COLUMN")
    ] = None,
    format: log.Format = None,
    metric: log.Metric = None,
    table: Annotated[str | None, option("Table of a database.", "NAME")] = None,
    query: Annotated[str | None, option("Query of a database.", "SQL")] = None,
    separator: Annotated[str | None, option("Separator of CSV files, if not detected.", "CHARACTER")] = None,
    encoding: Annotated[str | None, option("Encoding of CSV files, if not detected.", "NAME")] = None,
    memory: Annotated[
        str | None, option("Memory limit for DuckDB, such as 1GiB; larger data spills to disk.", "SIZE")
    ] = None,
    out: VerdictsOut = None,
    json: Json = False,
) -> None:
    """Judge the arms of a log: which clear the bar, which do not, and how much more data the others need."""
    from goodarm.judgement import judge as ask

    check_out(out, source, ledger)
    with _progress(source) as progress, catch_warnings():
        simplefilter("ignore", LogWarning)  # printed with the verdicts
        found = ask(
            source,
            threshold=threshold,
            arm=arm,
            reward=reward,
            delta=delta,
            where=where,
            rewards=rewards,
            criterion=criterion or "fwer",
            rule=rule,
            by=by or (),
            versus=versus,
            bars=bars,
            margin=margin,
            order=order,
            nulls=nulls,
            pulls=pulls,
            total=total,
            propensity=propensity,
            cap=cap,
            time=time,
            max_arms=max_arms,
            ledger=ledger,
            by_appearance=by_appearance,
            unit=unit,
            per_unit=per_unit,
            denominator=denominator,
            unit_limit=unit_limit,
            window=window,
            case=case,
            cases=cases,
            repeats=repeats,
            score=score,
            format=format,
            metric=metric,
            table=table,
            query=query,
            separator=separator,
            encoding=encoding,
            memory=memory,
            progress=progress,
        )
    _print(found, json)
    if out is not None:
        from goodarm.judgement.files import write

        say_written(write(found, out), stderr=json)


def _print(found: Judgement, json: bool) -> None:
    from goodarm.judgement.words import visible
    from goodarm.report import judged

    if json:
        print_json(found.as_dict())
        for note in found.notes:
            typer.echo(f"goodarm: {in_options(note)}", err=True)
        return
    screen = console()
    screen.print(f"{found.sentence}.", style="bold", soft_wrap=True)
    for warning in found.warnings:
        screen.print(in_options(visible(warning)), style="yellow")
    for line in judged.segment_lines(found):
        screen.print(line, soft_wrap=True)
    screen.print(judged.table(found, width=screen.width))
    for line in (*judged.left_out(found), *judged.notes(found)):
        screen.print(in_options(line), style="dim")


@contextmanager
def _progress(source: str) -> Iterator[Progress]:
    """A progress bar while the log is read."""
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("reading", markup=False), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with progress_bar(*columns) as bars:
        task = bars.add_task(source, total=1.0)
        yield lambda share: bars.update(task, completed=share)
