"""`goodarm gate`: does everything in this log clear the bar? For CI pipelines."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from goodarm.cli import _log_options as log
from goodarm.cli._options import Delta, Json, number, option, some_path
from goodarm.cli._show import console, print_json

EXAMPLES = (
    "goodarm gate results.json --format promptfoo --threshold 0.8 --markdown summary.md",
    "goodarm gate runs.csv --arm prompt --reward passed --case question --threshold 0.8 --junit gate.xml",
)


def gate(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A log as in goodarm judge, or a result file.")],
    threshold: Annotated[float, option("The bar that every arm must clear.", "X", parser=number)],
    format: log.Format = None,
    metric: log.Metric = None,
    arm: log.Arm = None,
    reward: log.Reward = None,
    case: log.Case = None,
    cases: log.Cases = None,
    repeats: log.Repeats = None,
    unit: log.Unit = None,
    nulls: log.Nulls = "error",
    delta: Delta = 0.05,
    markdown: Annotated[Path | None, option("Write a summary for a pull request.", "FILE", parser=some_path)] = None,
    junit: Annotated[Path | None, option("Write JUnit XML, one test case per arm.", "FILE", parser=some_path)] = None,
    json: Json = False,
) -> None:
    """Exit with 0 if every arm clears the bar, 1 if any is below it, 3 if none is below but some are undecided."""
    from goodarm.judgement import judge
    from goodarm.report import gate as report
    from goodarm.whole_files import explained, refuse_replacing, write_text
    from goodarm.whole_files import whole as complete

    for file in (markdown, junit):
        if file is not None:
            refuse_replacing(file, [Path(source)])
    found = judge(
        source,
        threshold=threshold,
        format=format,
        metric=metric,
        arm=arm,
        reward=reward,
        case=case,
        cases=cases,
        repeats=repeats,
        unit=unit,
        nulls=nulls,
        delta=delta,
    )
    code = report.outcome(found)
    for file, text in ((markdown, report.markdown(found)), (junit, report.junit(found))):
        if file is not None:
            with explained(file.parent):
                complete(file, partial(write_text, text=text), found.inputs)
    if json:
        print_json({"outcome": report.TITLES[code], "exit_code": code, **found.as_dict()})
    else:
        from goodarm.report import judged

        screen = console()
        screen.print(f"{report.TITLES[code]}: {found.sentence}.", style="bold", soft_wrap=True)
        screen.print(judged.table(found, width=screen.width))
    raise typer.Exit(code)
