"""A comparison by collected reward: summary, table and JSON of `goodarm compare --goal reward`."""

from __future__ import annotations

from typing import Any, NamedTuple

from rich import box
from rich.table import Table

from goodarm.report.numbers import counted, short
from goodarm.simulation.compare import Comparison
from goodarm.simulation.runs import Estimate


class RewardRow(NamedTuple):
    """One policy over its finished runs."""

    policy: str
    runs: int
    reward: Estimate
    regret: Estimate
    rounds_per_second: float


class RewardSummary(NamedTuple):
    """A whole comparison; `best` is T times the largest mean, averaged over the runs: no policy expects more."""

    environment: str
    reading: str
    threshold: float
    horizon: int
    runs: int
    seed: int
    best: float
    compared: list[str]
    policies: list[RewardRow]
    interrupted: bool


def summarise(results: Comparison) -> RewardSummary:
    """Summarise the finished runs."""
    spec = results.request.specs[0]
    most = max(results.finished, key=len, default=None)
    best = sum(spec.horizon * float(run.means.max()) for run in most.runs) / len(most) if most else float("nan")
    return RewardSummary(
        environment=spec.environment.name,
        reading=spec.environment.reading,
        threshold=spec.problem.threshold,
        horizon=spec.horizon,
        runs=results.request.runs,
        seed=spec.seed,
        best=best,
        compared=[each.policy.name for each in results.request.specs],
        policies=[
            RewardRow(runs.policy, len(runs), runs.reward, runs.regret, runs.rounds_per_second)
            for runs in results.finished
        ],
        interrupted=results.interrupted,
    )


def as_json(summary: RewardSummary) -> dict[str, Any]:
    """The object that `goodarm compare --goal reward --json` prints."""
    head = {key: value for key, value in summary._asdict().items() if key not in ("policies", "interrupted")}
    lines = [
        {
            "policy": line.policy,
            "runs": line.runs,
            "reward": _interval(line.reward),
            "regret": _interval(line.regret),
            "rounds_per_second": line.rounds_per_second,
        }
        for line in summary.policies
    ]
    return {"goal": "reward", **head, "policies": lines}


def table(summary: RewardSummary) -> Table:
    """One row per policy: cumulative reward and regret with their 95% intervals."""
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    drawn.add_column("policy", overflow="fold")
    for heading in ("reward", "± 95%", "regret", "± 95%", "rounds/s"):
        drawn.add_column(heading, justify="right", no_wrap=True)
    for line in summary.policies:
        cells = [line.policy]
        for value in (line.reward, line.regret):
            cells += [short(value.mean), short((value.high - value.low) / 2.0, digits=2)]
        drawn.add_row(*cells, short(line.rounds_per_second, digits=3))
    return drawn


def headline(summary: RewardSummary) -> list[str]:
    """The heading above the table."""
    return [
        f"{summary.environment}: {summary.reading}; threshold {summary.threshold:g}",
        f"{counted(summary.runs, 'run')} of {counted(summary.horizon, 'round')}; seed {summary.seed}; goal: reward; "
        f"always pulling the best arm gives {short(summary.best)}",
    ]


def _interval(value: Estimate) -> dict[str, float]:
    return {"mean": value.mean, "low": value.low, "high": value.high}
