"""Options that verbs share: one definition, one help text."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from goodarm.arguments import number_as_written
from goodarm.errors import InvalidValue


def whole(text: str | int) -> int:
    """Parse a whole number; 1e6 and 1_000_000 are accepted.

    >>> whole("1e6"), whole("10_000")
    (1000000, 10000)
    """
    try:
        number = float(text)
        return int(number) if "e" in str(text).lower() and number.is_integer() else int(text)
    except (ValueError, OverflowError):
        raise typer.BadParameter(f"{text!r} is not a whole number. Write it like 1000000 or 1e6.") from None


def number(text: str | float) -> float:
    """Parse a number or a percentage. The range is checked later.

    >>> number("0.05"), number("1.5%")
    (0.05, 0.015)
    """
    try:
        return number_as_written("number", text)
    except InvalidValue:
        raise typer.BadParameter(f"{text!r} is not a number. Write it like 0.05 or 5%.") from None


def some_path(text: str | Path) -> Path:
    """A path. Refuses an empty one, the result of an unset shell variable."""
    if not str(text).strip():
        raise typer.BadParameter("the path is empty. Give a path, or leave the option out.")
    return Path(text)


def option(
    help_text: str,
    metavar: str,
    *names: str,
    parser: Callable[[Any], Any] | None = None,
    shown: bool | str = True,
) -> Any:
    """An option with a value. By default it has the name of its argument.

    shown : whether the help shows the default, or the text to show instead
    """
    return typer.Option(*names, metavar=metavar, help=help_text, parser=parser, show_default=shown)


def check_out(out: Path | None, *sources: str | None) -> None:
    """Refuse an unwritable folder or file for verdicts before anything is read."""
    if out is not None:
        from goodarm.judgement.files import check_target

        check_target(out, [Path(source) for source in sources if source is not None])


def cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_ITS_OWN = "the environment's"

EnvironmentName = Annotated[
    str, typer.Argument(metavar="ENVIRONMENT", help="A name of `goodarm environments`, or table:FILE or replay:FILE.")
]
PolicyNames = Annotated[
    list[str] | None,
    option(
        "A policy, such as hdoc or 'ucb(beta=1.5)+kt'. Repeat to compare several.",
        "P",
        "--policy",
        "-p",
        shown="value, hdoc",
    ),
]
Horizon = Annotated[int | None, option("The last round of a run.", "T", parser=whole, shown=_ITS_OWN)]
NumberOfRuns = Annotated[int, typer.Option("--runs", parser=whole, metavar="R", help="Runs of each policy.")]
Seed = Annotated[int, typer.Option(parser=whole, metavar="S", help="Random seed; the same seed gives the same result.")]
Delta = Annotated[float, typer.Option(parser=number, metavar="D", help="Allowed probability of error.")]
Threshold = Annotated[
    float | None, option("The bar that a good arm's mean must reach.", "X", parser=number, shown=_ITS_OWN)
]
ErrorCriterion = Annotated[
    str | None,
    option(
        "What delta bounds: the probability of any wrong verdict, or the false discovery rate.",
        "fwer|fdr",
        "--criterion",
        shown="the policy's, else fwer",
    ),
]
Goal = Annotated[
    str,
    typer.Option(metavar="good-arms|reward", help="What to compare: finding the good arms, or collecting reward."),
]
Workers = Annotated[int | None, option("Number of runs played in parallel.", "W", parser=whole, shown="all cores")]
Backend = Annotated[str, typer.Option(metavar="B", help="Backend for the runs: threading, loky, dask or ray.")]
OutFolder = Annotated[
    Path | None, option("Folder for the rows, the summary and the figure.", "DIR", "--out", parser=some_path)
]
Informed = Annotated[
    bool,
    typer.Option("--informed", help="Also compute the informed limit (seconds). Rewards in [0, 1] only."),
]
StopAfter = Annotated[
    int | None,
    option(
        "End after N good arms; 1 finds one good arm or shows that there is none.",
        "N",
        "--stop-after",
        parser=whole,
        shown="all arms decided",
    ),
]
SeveralBars = Annotated[
    str | None, option("In place of a threshold: metrics with bars, 'correct >= 0.9, slow <= 0.05'.", "B")
]
Costs = Annotated[str | None, option("Cost of a sample. A file of arms may have a column cost instead.", "C|a=1,b=20")]
Budget = Annotated[float | None, option("Maximum total cost of all samples.", "B", parser=number)]
VerdictsOut = Annotated[
    Path | None,
    option(
        "Folder for the table, the forest plot and the page; or one file: .xlsx, .csv, .parquet or .html.",
        "DIR|FILE",
        "--out",
        parser=some_path,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
