"""`goodarm plan`: how many pulls will it take?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goodarm.cli._options import Delta, Json, Seed, Workers, cores, whole
from goodarm.cli._show import console, print_json

if TYPE_CHECKING:
    from goodarm.plan import CampaignPlan, Outlook
    from goodarm.plan.ahead import Progress
    from goodarm.simulation.runs import Estimate

Bar = Annotated[float, typer.Option(metavar="X", help="The bar that a good arm's mean reaches; rewards are in [0, 1].")]
Arms = Annotated[int | None, typer.Option(parser=whole, metavar="K", help="Number of arms; not needed with --means.")]
Gap = Annotated[
    float | None, typer.Option(metavar="G", help="Every mean lies this far from the threshold, half above.")
]
Means = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Means from the columns arm and mean of a CSV or Parquet file.")
]
Prior = Annotated[str | None, typer.Option(metavar="P", help="Means drawn from beta:A,B or uniform:LOW,HIGH.")]
OnePolicy = Annotated[str, typer.Option("--policy", "-p", metavar="P", help="A policy, like value or 'hdoc+kt'.")]
Budget = Annotated[int | None, typer.Option(parser=whole, metavar="T", help="Rounds that can be paid for.")]
Simulated = Annotated[
    int | None,
    typer.Option(
        "--runs", parser=whole, metavar="R", show_default="a few seconds' worth", help="Simulated runs of each setting."
    ),
]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder for plan.json, plan.svg and plan.png.")]


def plan(
    threshold: Bar,
    arms: Arms = None,
    delta: Delta = 0.05,
    gap: Gap = None,
    means: Means = None,
    prior: Prior = None,
    policy: OnePolicy = "value",
    budget: Budget = None,
    runs: Simulated = None,
    seed: Seed = 0,
    workers: Workers = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """How many pulls an arm and a campaign will take, and what a looser wish would buy."""
    from goodarm.plan import plan as make_plan

    if out is not None:
        from goodarm.report.files import prepare_folder

        prepare_folder(out)
    with _progress() as progress:
        made = make_plan(
            threshold=threshold, arms=arms, delta=delta, gap=gap, means=means, prior=prior, policy=policy,
            budget=budget, runs=runs, seed=seed, workers=cores() if workers is None else workers, progress=progress,
        )  # fmt: skip
    if json:
        print_json(as_json(made))
    else:
        _print(made)
    if out is not None:
        _write(made, out)


@contextmanager
def _progress() -> Iterator[Progress]:
    """A bar on stderr, only where someone is watching."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    screen = console(stderr=True)
    columns = (TextColumn("simulating"), BarColumn(), MofNCompleteColumn(), TextColumn("runs"), TimeRemainingColumn())
    with Progress(*columns, console=screen, disable=not screen.is_terminal, transient=True) as bars:
        task = bars.add_task("", total=None)
        yield lambda ended, in_all: bars.update(task, completed=ended, total=in_all)


def as_json(made: CampaignPlan) -> dict[str, Any]:
    """Everything but the single verdicts."""
    shown = {each.name: getattr(made, each.name) for each in fields(made)}
    shown["pulls_per_arm"] = _estimate(made.pulls_per_arm)
    shown["asked"] = _outlook(made.asked) if made.asked else None
    shown["alternatives"] = [_outlook(each) for each in made.alternatives]
    return shown


def _outlook(outlook: Outlook) -> dict[str, Any]:
    shown = {each.name: getattr(outlook, each.name) for each in fields(outlook) if each.name != "decided_at"}
    return shown | {name: _estimate(shown[name]) for name in ("rounds", "decided", "found")}


def _estimate(value: Estimate | None) -> dict[str, Any] | None:
    return None if value is None else value._asdict()


def _print(made: CampaignPlan) -> None:
    from goodarm.report.plan_text import headline, table

    screen = console()
    for line in headline(made):
        screen.print(line)
    if made.asked is not None:
        screen.print(table(made))
    for note in made.notes:
        screen.print(note)


def _write(made: CampaignPlan, out: Path) -> None:
    """The paths go to stderr, so that stdout stays the text or the JSON object."""
    from goodarm.report import plan_figure
    from goodarm.report.drawing import save
    from goodarm.report.files import explained, write_text
    from goodarm.report.files import whole as write_whole
    from goodarm.report.numbers import json_text

    figure = plan_figure.draw(plan_figure.info(made))
    writers: dict[str, Callable[[Path], None]] = {
        "plan.json": lambda path: write_text(path, json_text(as_json(made)) + "\n"),
        "plan.svg": lambda path: save(figure, path),
        "plan.png": lambda path: save(figure, path),
    }
    with explained(out):
        for name, write in writers.items():
            typer.echo(f"written: {write_whole(out / name, write)}", err=True)
