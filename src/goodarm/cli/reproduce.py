"""`goodarm reproduce`: measure the paper's table and figures again and compare them with the printed ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goodarm.cli._options import Json, Seed, Workers, cores, some_path, whole
from goodarm.cli._show import INTERRUPTED, console, print_json, progress_bar, say_written

if TYPE_CHECKING:
    from goodarm.paper.report import Reproduction
    from goodarm.paper.reproduction import Progress

EXAMPLES = ("goodarm reproduce --quick --out demo", "goodarm reproduce --only movielens --only table1 --runs 3")

Quick = Annotated[bool, typer.Option("--quick", help="Fewer repetitions, shorter horizons, one problem with features.")]
Only = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="NAME",
        help="A dataset (synth-small, synth-large, movielens, open-bandit, open-bandit-sample, caption-651; linear, "
        "bumps, network: arms with features), or one of table1, figure1, figure2, figure3, figure4, price, structured, "
        "sweep. Repeat for several.",
    ),
]
Runs = Annotated[
    int | None, typer.Option("--runs", parser=whole, metavar="R", show_default="10", help="Repetitions of each policy.")
]
Out = Annotated[
    Path,
    typer.Option(
        "--out",
        parser=some_path,
        metavar="DIR",
        help="Folder for the report; an interrupted one is continued.",
    ),
]


def reproduce(
    quick: Quick = False,
    only: Only = None,
    runs: Runs = None,
    seed: Seed = 0,
    workers: Workers = None,
    out: Out = Path("reproduction"),
    json: Json = False,
) -> None:
    """Measure the paper's Table 1 and Figures 1 to 4 and write a report. An interrupted run can be continued."""
    from goodarm.paper.report import summarise
    from goodarm.paper.report_files import write_reproduction
    from goodarm.paper.reproduction import reproduce as play
    from goodarm.paper.scope import Request
    from goodarm.report.files import results_folder

    request = Request(quick, tuple(only or ()), runs, seed, cores() if workers is None else workers)
    request.check()
    try:
        with results_folder(out / "finished"), _progress() as progress:  # leaves no folder if nothing is finished
            finished = play(request, out, progress)
    except KeyboardInterrupt:
        kept = f"Finished parts are in {out / 'finished'}; the same command continues from there."
        typer.echo(f"goodarm: interrupted. {kept if out.exists() else 'Nothing was finished yet.'}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    found = summarise(finished)
    _print(found, json)
    say_written(write_reproduction(found, out), stderr=json)


@contextmanager
def _progress() -> Iterator[Progress]:
    """A progress bar of runs."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    with progress_bar(*columns) as bars:
        task = bars.add_task("", total=None)
        yield lambda done, total, what: bars.update(task, completed=done, total=total, description=what)


def _print(found: Reproduction, json: bool) -> None:
    if json:
        from goodarm.paper.report import as_json

        print_json(as_json(found))
        return
    from goodarm.paper.report_text import findings, notes, replication_table

    screen = console()
    screen.print(*notes(found), sep="\n", style="dim")
    for on in found.datasets:
        if on.lines:
            screen.print(replication_table(on))
    for line in findings(found):
        screen.print(line)
