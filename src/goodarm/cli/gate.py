"""`goodarm gate`: does everything in this log clear the bar? For CI pipelines."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from goodarm.cli._options import Delta, Json, number, some_path, whole
from goodarm.cli._show import console, print_json

EXAMPLES = (
    "goodarm gate results.json --format promptfoo --threshold 0.8 --markdown summary.md",
    "goodarm gate runs.csv --arm prompt --reward passed --case question --threshold 0.8 --junit gate.xml",
)


def _option(help_text: str, metavar: str) -> object:
    return typer.Option(metavar=metavar, help=help_text, show_default=False)


def _file(help_text: str) -> object:
    return typer.Option(parser=some_path, metavar="FILE", help=help_text, show_default=False)


def gate(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A log as in goodarm judge, or a result file.")],
    threshold: Annotated[float, typer.Option(parser=number, metavar="X", help="The bar that every arm must clear.")],
    format: Annotated[str | None, _option("Result file of promptfoo, inspect or lm-eval.", "TOOL")] = None,
    metric: Annotated[str | None, _option("The score that counts in a result file.", "NAME")] = None,
    arm: Annotated[str | None, _option("Column of the arms' names.", "COLUMN")] = None,
    reward: Annotated[str | None, _option("Column of the rewards.", "COLUMN")] = None,
    case: Annotated[str | None, _option("Column of the test cases of a fixed test set.", "COLUMN")] = None,
    cases: Annotated[
        int | None,
        typer.Option(parser=whole, metavar="N", help="Number of cases of the test set.", show_default=False),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(parser=whole, metavar="R", help="Evaluations of each case; the mean counts.", show_default=False),
    ] = None,
    unit: Annotated[str | None, _option("Column of users, sessions or machines with several rows.", "COLUMN")] = None,
    nulls: Annotated[str, typer.Option(metavar="error|drop|zero", help="What a missing reward means.")] = "error",
    delta: Delta = 0.05,
    markdown: Annotated[Path | None, _file("Write a summary for a pull request.")] = None,
    junit: Annotated[Path | None, _file("Write JUnit XML, one test case per arm.")] = None,
    json: Json = False,
) -> None:
    """Exit with 0 if every arm clears the bar, 1 if one is below it, 3 if some are undecided and none is below."""
    from goodarm.judgement import judge
    from goodarm.report import gate as report
    from goodarm.whole_files import explained, write_text
    from goodarm.whole_files import whole as complete

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
                complete(file, partial(write_text, text=text))
    if json:
        print_json({"outcome": report.TITLES[code], "exit_code": code, **found.as_dict()})
    else:
        from goodarm.report import judged

        screen = console()
        screen.print(f"{report.TITLES[code]}: {found.sentence}.", style="bold", soft_wrap=True)
        screen.print(judged.table(found, width=screen.width))
    raise typer.Exit(code)
