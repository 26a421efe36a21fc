"""A comparison by collected reward: summary, table, JSON and figure of `goodarm compare --goal reward`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from goodarm.report import drawing
from goodarm.report.drawing import Floats
from goodarm.report.numbers import counted, short
from goodarm.report.text_table import PolicyText
from goodarm.simulation.compare import Comparison
from goodarm.simulation.runs import Estimate, Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
        cells: list[str | Text] = [PolicyText(line.policy)]
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


class RewardCurve(NamedTuple):
    """Share of the best arm's reward: mean over the runs, and the ends of the band."""

    policy: str
    rounds: Floats
    mean: Floats
    low: Floats
    high: Floats


class RewardsOverTime(NamedTuple):
    """Data of the figure."""

    environment: str
    setting: str
    curves: list[RewardCurve]


def info(results: Comparison) -> RewardsOverTime:
    """The figure's numbers, from runs recorded at a few points."""
    spec = results.request.specs[0]
    runs = max(len(each) for each in results.finished)
    of = f"mean of {runs:,} runs; the bands hold the middle 80% of them" if runs > 1 else "one run"
    setting = f"{spec.environment.arms:,} arms, threshold {spec.problem.threshold:g}, seed {spec.seed}\n{of}"
    return RewardsOverTime(spec.environment.name, setting, [_curve(each) for each in results.finished])


def _curve(runs: Runs) -> RewardCurve:
    table = runs.trajectories
    rounds = np.unique(table["round"]).astype(np.float64)
    best = np.repeat([run.means.max() for run in runs.runs], [len(run.trajectory) for run in runs.runs])
    shares = (table["reward"] / (table["round"] * best)).reshape(len(runs), -1)
    return RewardCurve(runs.policy, rounds, *drawing.middle(shares))


def draw(info: RewardsOverTime) -> Figure:
    """The figure; `goodarm.report.drawing.save` writes it."""

    figure, axes = drawing.canvas(4.1, len(info.curves))
    handles = []
    for number, curve in enumerate(info.curves):
        colour, style = drawing.look(number)
        axes.fill_between(curve.rounds, curve.low, curve.high, color=colour, alpha=0.15, linewidth=0)
        marks = drawing.marked(number, len(info.curves), curve.rounds.size)
        handles += axes.plot(curve.rounds, curve.mean, color=colour, linestyle=style, linewidth=1.8, **marks)
    axes.axhline(1.0, color="0.4", linewidth=0.9, linestyle=(0, (1, 2)))
    axes.annotate(
        "always the best arm",
        (1.0, 1.0),
        xycoords=("axes fraction", "data"),
        xytext=(-4, 6),
        textcoords="offset points",
        ha="right",
        color="0.35",
        fontsize=8.5,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5},
    )
    axes.set_xlim(0.0, max(curve.rounds[-1] for curve in info.curves))
    axes.xaxis.set_major_formatter(lambda value, place: drawing.tick(value))
    axes.yaxis.set_major_formatter(lambda value, place: drawing.tick(value, share=True))
    axes.set_xlabel("round")
    axes.set_ylabel("reward so far, share of the best arm's")
    drawing.headed(axes, info.environment, info.setting)
    drawing.plain(axes)
    drawing.legend_below(figure, handles, [curve.policy for curve in info.curves])
    return figure
