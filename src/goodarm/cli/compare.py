"""`goodarm compare`: policies side by side on one environment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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
    from goodarm.report.summary import Summary
    from goodarm.simulation.compare import Comparison, Progress, Results


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
    from goodarm.policies import REWARD_POLICIES
    from goodarm.report.summary import summarise
    from goodarm.simulation.compare import DEFAULT_POLICIES, REWARD, Comparison

    names = tuple(policy or (REWARD_POLICIES if goal == REWARD else DEFAULT_POLICIES))
    comparison = Comparison(
        environment, names, horizon, runs, seed, delta, threshold, criterion, goal,
        cores() if workers is None else workers, backend,
    )  # fmt: skip
    _check(comparison, out)
    results = _play(comparison)
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


def _check(comparison: Comparison, out: Path | None) -> None:
    """Everything that can be wrong with the request, before anything is played or written."""
    _ = comparison.specs
    if out is not None:
        from goodarm.report.files import prepare_folder

        prepare_folder(out)


def _play(comparison: Comparison) -> Results:
    from goodarm.simulation.compare import compare as play

    with _progress(comparison) as progress:
        return play(comparison, progress)


@contextmanager
def _progress(comparison: Comparison) -> Iterator[Progress]:
    """A bar for each policy on stderr, only where someone is watching."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    screen = console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TextColumn("runs"),
        TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=screen, disable=not screen.is_terminal, transient=True) as bars:
        tasks = {spec.policy.name: bars.add_task(spec.policy.name, total=comparison.runs) for spec in comparison.specs}
        yield lambda policy, runs: bars.advance(tasks[policy], runs)


def _print(summary: Summary, json: bool) -> None:
    if json:
        from goodarm.report.summary import as_json

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


def _show_rewards(results: Results, out: Path | None, json: bool) -> None:
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


def _write(results: Results, summary: Summary, out: Path, json: bool) -> None:
    """Write the files and print their paths, beside a JSON object on stderr."""
    from goodarm.report.files import write_files

    for path in write_files(results, summary, out):
        typer.echo(f"written: {path}", err=json)


def _say_what_is_left(summary: Summary, out: Path | None) -> None:
    finished = ", ".join(f"{each.runs} of {each.policy}" for each in summary.policies) or "none"
    where = f" They are in {out}." if out is not None and summary.policies else ""
    typer.echo(f"goodarm: interrupted. Finished runs, of {summary.runs} wanted: {finished}.{where}", err=True)
