"""`goodarm compare`: policies side by side on one environment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from goodarm.cli._options import (
    Backend,
    Delta,
    EnvironmentName,
    ErrorCriterion,
    Goal,
    Horizon,
    Json,
    NumberOfRuns,
    OutFolder,
    PolicyNames,
    Seed,
    Threshold,
    Workers,
    cores,
)  # fmt: skip
from goodarm.cli._show import INTERRUPTED, console, print_json

if TYPE_CHECKING:
    from goodarm.simulation.compare import Comparison, ComparisonRequest
    from goodarm.simulation.summary import Summary


def compare(
    environment: EnvironmentName,
    policy: PolicyNames = None,
    horizon: Horizon = None,
    runs: NumberOfRuns = 100,
    seed: Seed = 0,
    delta: Delta = 0.05,
    threshold: Threshold = None,
    criterion: ErrorCriterion = None,
    goal: Goal = "good-arms",
    workers: Workers = None,
    backend: Backend = "threading",
    out: OutFolder = None,
    json: Json = False,
) -> None:
    """Play several policies on the same rewards and show what each found, when, and how often it was wrong."""
    from goodarm.simulation.compare import REWARD, ComparisonRequest, play
    from goodarm.simulation.summary import summarise

    request = ComparisonRequest(
        environment, tuple(policy) if policy else None, horizon, runs, seed, delta, threshold, criterion, goal,
        cores() if workers is None else workers, backend,
    )  # fmt: skip
    _check(request, out)
    results = play(request, progress=True)
    if goal == REWARD:
        _show_rewards(results, out, json)
        return
    summary = summarise(results)
    _print(summary, json)
    if out is not None and results.finished:
        _write(results, summary, out, json)
    if results.interrupted:
        _say_what_is_left(summary, out)
        raise typer.Exit(INTERRUPTED)


def _check(request: ComparisonRequest, out: Path | None) -> None:
    """Everything that can be wrong with the request, before anything is played or written."""
    _ = request.specs
    if out is not None:
        from goodarm.report.files import prepare_folder

        prepare_folder(out)


def _print(summary: Summary, json: bool) -> None:
    if json:
        from goodarm.simulation.summary import as_json

        print_json(as_json(summary))
        return
    from goodarm.report.text_table import footnotes, headline, table

    screen = console()
    for line in headline(summary):
        screen.print(line)
    if summary.policies:
        screen.print(table(summary, screen.width))
        for line in footnotes(summary):
            screen.print(line, style="dim")


def _show_rewards(results: Comparison, out: Path | None, json: bool) -> None:
    """Everything after the play where the goal was reward."""
    from goodarm.report import rewards
    from goodarm.report.files import write_rewards

    summary = rewards.summarise(results)
    if json:
        print_json(rewards.as_json(summary))
    else:
        screen = console()
        for line in rewards.headline(summary):
            screen.print(line)
        screen.print(rewards.table(summary))
    if out is not None and results.finished:
        for path in write_rewards(results, summary, out):
            typer.echo(f"written: {path}", err=json)
    if results.interrupted:
        finished = ", ".join(f"{each.runs} of {each.policy}" for each in summary.policies) or "none"
        typer.echo(f"goodarm: interrupted. Finished runs, of {summary.runs} wanted: {finished}.", err=True)
        raise typer.Exit(INTERRUPTED)


def _write(results: Comparison, summary: Summary, out: Path, json: bool) -> None:
    """Write the files and print their paths, beside a JSON object on stderr."""
    from goodarm.report.files import write_files

    for path in write_files(results, summary, out):
        typer.echo(f"written: {path}", err=json)


def _say_what_is_left(summary: Summary, out: Path | None) -> None:
    finished = ", ".join(f"{each.runs} of {each.policy}" for each in summary.policies) or "none"
    where = f" They are in {out}." if out is not None and summary.policies else ""
    typer.echo(f"goodarm: interrupted. Finished runs, of {summary.runs} wanted: {finished}.{where}", err=True)
