"""`goodarm compare`: policies side by side on one environment."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    number,
)
from goodarm.cli._show import INTERRUPTED, console, print_json, say_written
from goodarm.errors import InvalidValue

if TYPE_CHECKING:
    from goodarm.environments import Environment
    from goodarm.report.rewards import RewardSummary
    from goodarm.simulation.compare import Comparison, ComparisonRequest
    from goodarm.simulation.runs import Runs
    from goodarm.simulation.summary import Summary

EXAMPLES = (
    "goodarm compare kano-1 --policy value --policy hdoc --runs 100",
    "goodarm compare table:examples/headlines.csv --threshold 0.02 --horizon 200000 --runs 20 --out results",
    "goodarm compare table:examples/prompts.csv --bars 'correct >= 90%, slow <= 5%' --budget 2000 --runs 20",
)


LogArm = Annotated[str | None, typer.Option("--arm", metavar="COLUMN", help="For replay:LOG: the column of arms.")]
LogReward = Annotated[
    str | None, typer.Option("--reward", metavar="COLUMN", help="For replay:LOG: the column of rewards.")
]
LogLow = Annotated[
    float | None, typer.Option("--low", parser=number, metavar="L", help="For replay:LOG: smallest reward.")
]
LogHigh = Annotated[
    float | None, typer.Option("--high", parser=number, metavar="H", help="For replay:LOG: largest reward.")
]
"""Options of replay:LOG."""


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


class ReplayWarning(UserWarning):
    """Verdicts of a replay refer to the log's averages, not to the underlying arms."""


def replayed(
    environment: str,
    threshold: float | None,
    bars: str | None,
    arm: str | None,
    reward: str | None,
    low: float | None,
    high: float | None,
) -> str | Environment:
    """The environment's name, or the log replayed with these options."""
    given = {"arm": arm, "reward": reward, "low": low, "high": high}
    chosen = {name: value for name, value in given.items() if value is not None}
    if not chosen:
        return environment
    kind, _, path = environment.partition(":")
    if kind != "replay" or (threshold, bars) == (None, None):
        raise InvalidValue(
            f"`{next(iter(chosen))}` requires replay:LOG with a `threshold` or `bars`; got {environment}."
        )
    if bars is not None and reward is not None:
        raise InvalidValue(
            "`reward` names one column, but `bars` name the column of each metric. Leave one of them out."
        )
    from goodarm.environments import replay

    return replay(path, threshold, bars=bars, **chosen)  # type: ignore[arg-type]  # names and numbers, as `given` has them


def warn_of_replay(environment: str, finished: tuple[Runs, ...]) -> None:
    """Print a note if arms were pulled more often than the log has rows for them."""
    if not environment.startswith("replay:") or not finished:
        return
    import numpy as np

    spec = finished[0].spec
    extra = spec.environment.metrics[0].extra
    if extra is None or not np.size(extra):
        return
    rows = np.asarray(extra)[spec.environment.arms : 2 * spec.environment.arms]
    most = np.max([run.pulls for runs in finished for run in runs.runs], axis=0)
    beyond = int((most > rows).sum())
    if beyond:
        warnings.warn(
            f"{beyond} of {rows.size} arms were pulled more often than the log has rows for them: a replay draws with "
            "replacement, so its verdicts refer to the log's averages. To find out which arms are good, use "
            f"goodarm judge {environment.partition(':')[2]} --{spec.question.setting}",
            ReplayWarning,
            stacklevel=2,
        )
