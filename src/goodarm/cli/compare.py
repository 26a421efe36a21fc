"""`goodarm compare`: policies side by side on one environment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from goodarm.cli._options import (
    Backend,
    Budget,
    Costs,
    Delta,
    EnvironmentName,
    ErrorCriterion,
    Goal,
    Horizon,
    Informed,
    Json,
    NumberOfRuns,
    OutFolder,
    PolicyNames,
    Seed,
    SeveralBars,
    StopAfter,
    Threshold,
    Workers,
    cores,
)
from goodarm.cli._replay import LogArm, LogHigh, LogLow, LogReward, replayed, warn_of_replay
from goodarm.cli._show import INTERRUPTED, console, print_json, say_written

if TYPE_CHECKING:
    from goodarm.report.rewards import RewardSummary
    from goodarm.simulation.compare import Comparison, ComparisonRequest
    from goodarm.simulation.summary import Summary

EXAMPLES = (
    "goodarm compare kano-1 --policy value --policy hdoc --runs 100",
    "goodarm compare table:examples/headlines.csv --threshold 0.02 --horizon 200000 --runs 20 --out results",
    "goodarm compare table:examples/prompts.csv --bars 'correct >= 90%, slow <= 5%' --budget 2000 --runs 20",
)


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
    arm: LogArm = None,
    reward: LogReward = None,
    low: LogLow = None,
    high: LogHigh = None,
    informed: Informed = False,
    stop_after: StopAfter = None,
    bars: SeveralBars = None,
    cost: Costs = None,
    budget: Budget = None,
    out: OutFolder = None,
    json: Json = False,
) -> None:
    """Play several policies on the same rewards, and show the arms found, rounds and wrong verdicts of each."""
    from goodarm.campaign.arm_files import read_costs
    from goodarm.report.files import results_folder
    from goodarm.simulation.compare import REWARD, ComparisonRequest, play

    played = replayed(environment, threshold, bars, arm, reward, low, high)
    request = ComparisonRequest(
        played,
        tuple(policy) if policy else None,
        horizon,
        runs,
        seed,
        delta,
        threshold if played is environment else None,
        criterion,
        goal,
        cores() if workers is None else workers,
        backend,
        informed,
        stop_after,
        bars if played is environment else None,
        None if cost is None else read_costs(cost),
        budget,
    )
    _check(request, out)
    with results_folder(out):
        results = play(request, progress=True)
        warn_of_replay(environment, results.finished)
        if goal == REWARD:
            summary: Summary | RewardSummary = _show_rewards(results, out, json)
        else:
            summary = _show_verdicts(results, out, json)
    if results.interrupted:
        _say_what_is_left(summary, out)
        raise typer.Exit(INTERRUPTED)


def _check(request: ComparisonRequest, out: Path | None) -> None:
    """Check the whole request before anything is played or written."""
    _ = request.specs
    if out is not None:
        from goodarm.report.files import SUMMARY, refuse_other_results
        from goodarm.simulation.summary import about

        refuse_other_results(out, SUMMARY, about(request))


def _show_verdicts(results: Comparison, out: Path | None, json: bool) -> Summary:
    """Output for the goal of finding good arms."""
    from goodarm.report.files import write_files
    from goodarm.simulation.summary import summarise

    summary = summarise(results)
    _print(summary, json)
    if out is not None and results.finished:
        say_written(write_files(results, summary, out), stderr=json)
    return summary


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


def _show_rewards(results: Comparison, out: Path | None, json: bool) -> RewardSummary:
    """Output for the goal of collecting reward."""
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
        say_written(write_rewards(results, summary, out), stderr=json)
    return summary


def _say_what_is_left(summary: Summary | RewardSummary, out: Path | None) -> None:
    finished = ", ".join(f"{each.runs} of {each.policy}" for each in summary.policies) or "none"
    where = f" They are in {out}." if out is not None and summary.policies else ""
    typer.echo(f"goodarm: interrupted. Finished runs, of {summary.runs} wanted: {finished}.{where}", err=True)
