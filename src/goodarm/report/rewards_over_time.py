"""Figure: the reward collected by round t as a share of what the best arm pays, one line per policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from goodarm.report import drawing
from goodarm.report.drawing import Floats
from goodarm.simulation.compare import Comparison
from goodarm.simulation.runs import Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    """The figure's numbers; the runs were recorded at a few points."""
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
