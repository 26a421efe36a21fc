"""Options that verbs share: one definition, one help text."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from goodarm.arguments import percentage


def whole(text: str | int) -> int:
    """A whole number, also as 1e6 or 1_000_000.

    >>> whole("1e6"), whole("10_000")
    (1000000, 10000)
    """
    try:
        number = float(text)
        return int(number) if "e" in str(text).lower() and number.is_integer() else int(text)
    except (ValueError, OverflowError):
        raise typer.BadParameter(f"{text!r} is not a whole number. Write it like 1000000 or 1e6.") from None


def number(text: str | float) -> float:
    """Parse a number or a percentage. Its range is checked later, where it is known.

    >>> number("0.05"), number("1.5%")
    (0.05, 0.015)
    """
    try:
        return float(percentage(text))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number. Write it like 0.05 or 5%.") from None


def some_path(text: str | Path) -> Path:
    """A path; an empty one, as from an unset variable of the shell, is refused."""
    if not str(text).strip():
        raise typer.BadParameter("the path is empty. Give a name, or leave the option out.")
    return Path(text)


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_ITS_OWN = "the environment's"

EnvironmentName = Annotated[
    str, typer.Argument(metavar="ENVIRONMENT", help="A name of `goodarm environments`, or table:FILE or replay:FILE.")
]
PolicyNames = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        "-p",
        metavar="P",
        show_default="value, hdoc",
        help="A policy, like hdoc or 'ucb(beta=1.5)+kt'. Repeat to compare several.",
    ),
]
Horizon = Annotated[
    int | None, typer.Option(parser=whole, metavar="T", show_default=_ITS_OWN, help="The last round of a run.")
]
NumberOfRuns = Annotated[int, typer.Option("--runs", parser=whole, metavar="R", help="Runs of each policy.")]
Seed = Annotated[int, typer.Option(parser=whole, metavar="S", help="Same seed, same result.")]
Delta = Annotated[float, typer.Option(parser=number, metavar="D", help="Allowed probability of error.")]
Threshold = Annotated[
    float | None,
    typer.Option(parser=number, metavar="X", show_default=_ITS_OWN, help="The bar that a good arm's mean must reach."),
]
ErrorCriterion = Annotated[
    str | None,
    typer.Option(
        "--criterion",
        metavar="fwer|fdr",
        show_default="the policy's, else fwer",
        help="What delta bounds: the probability of any wrong verdict, or the false discovery rate.",
    ),
]
Goal = Annotated[
    str,
    typer.Option(metavar="good-arms|reward", help="What is compared: finding the good arms, or collecting reward."),
]
Workers = Annotated[
    int | None,
    typer.Option(parser=whole, metavar="W", show_default="all cores", help="Number of runs played in parallel."),
]
Backend = Annotated[str, typer.Option(metavar="B", help="Where runs are played: threading, loky, dask or ray.")]
OutFolder = Annotated[
    Path | None,
    typer.Option("--out", parser=some_path, metavar="DIR", help="Folder for the rows, the summary and the figure."),
]
Informed = Annotated[
    bool,
    typer.Option("--informed", help="Also compute the informed limit (seconds). Rewards in [0, 1] only."),
]
StopAfter = Annotated[
    int | None,
    typer.Option(
        "--stop-after",
        parser=whole,
        metavar="N",
        show_default="all arms decided",
        help="End after N good arms; 1: one good arm, or none.",
    ),
]
SeveralBars = Annotated[
    str | None,
    typer.Option(metavar="B", help="In place of a threshold: metrics with bars, 'correct >= 0.9, slow <= 0.05'."),
]
Costs = Annotated[
    str | None,
    typer.Option(metavar="C|a=1,b=20", help="Cost of a sample; or give the arms' file a column cost."),
]
Budget = Annotated[float | None, typer.Option(parser=number, metavar="B", help="Maximum total cost of all samples.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
