"""Figure: which share of the arms has a verdict by round t, as asked and with looser wishes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.plan import CampaignPlan, Outlook
from goodarm.report.drawing import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 400
STYLES = ("-", "--", "-.", ":")

Floats = NDArray[np.float64]


class ShareCurve(NamedTuple):
    """Share of the arms decided by each round: mean over the runs, and the runs' lowest and highest."""

    words: str
    mean: Floats
    low: Floats
    high: Floats


class PlanFigure(NamedTuple):
    """Everything that the figure shows."""

    title: str
    setting: str
    rounds: Floats
    lines: list[ShareCurve]
    marks: list[tuple[str, float]]


def info(plan: CampaignPlan) -> PlanFigure:
    """The figure's numbers; without a simulation it has no lines, only the marks."""
    outlooks = [plan.asked, *plan.alternatives] if plan.asked else []
    marks = [("lower bound", plan.lower_bound)]
    if plan.budget is not None:
        marks.append(("budget", float(plan.budget)))
    marks = [(name, where) for name, where in marks if math.isfinite(where)]
    rounds = _rounds(outlooks, [where for _, where in marks], plan.last_round)
    runs = f"{plan.runs} simulated runs, mean, lowest and highest" if plan.runs > 1 else "one simulated run"
    if not outlooks:
        runs = "not simulated: the budget does not pull each arm once"
    return PlanFigure(
        f"{plan.arms:,} arms, threshold {plan.threshold:g}, delta {plan.delta:g}",
        f"{plan.means.split(' (a guess')[0]}\n{plan.policy} ({plan.guarantee}), {runs}",
        rounds,
        [_curve(outlook, plan, rounds) for outlook in outlooks],
        marks,
    )


def draw(info: PlanFigure) -> Figure:
    """The figure; `goodarm.report.verdicts_over_time.save` writes it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for number, line in enumerate(info.lines):
        colour, style = COLOURS[number % len(COLOURS)], STYLES[number % len(STYLES)]
        if number == 0:
            axes.fill_between(info.rounds, line.low, line.high, step="post", color=colour, alpha=0.15, linewidth=0)
        axes.step(
            info.rounds, line.mean, where="post", color=colour, linestyle=style, label=line.words,
            linewidth=2.0 if number == 0 else 1.3,
        )  # fmt: skip
    for name, where in info.marks:
        axes.axvline(where, color="0.4", linewidth=0.9, linestyle=(0, (4, 3)))
        axes.annotate(
            name, (where, 1.0), xycoords=("data", "axes fraction"), xytext=(-3, -4), textcoords="offset points",
            rotation=90, ha="right", va="top", color="0.35", fontsize=8.5,
        )  # fmt: skip
    _dress(axes, info)
    if info.lines:
        figure.legend(loc="outside right center", frameon=False, fontsize=9)
    return figure


def _dress(axes: Axes, info: PlanFigure) -> None:
    axes.set_xscale("log")
    axes.set_xlim(info.rounds[0], info.rounds[-1])
    axes.set_ylim(0.0, 1.03)
    axes.set_xlabel("round")
    axes.set_ylabel("arms with a verdict")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter(lambda share, position: f"{share:.0%}")
    axes.set_title(info.title, loc="left", fontsize=12, fontweight="bold", pad=34)
    setting = axes.annotate(
        info.setting, (0.0, 1.0), xycoords="axes fraction", xytext=(0, 7), textcoords="offset points", color="0.35",
        fontsize=9,
    )  # fmt: skip
    setting.set_in_layout(False)  # a long line may reach below the legend; it must not squeeze the axes
    axes.grid(axis="y", color="0.92", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _rounds(outlooks: list[Outlook], marks: list[float], last_round: int) -> Floats:
    """From a little before the first verdict or mark until a little after the last."""
    given = np.concatenate([np.array(marks), *(rounds for outlook in outlooks for rounds in outlook.decided_at)])
    first, last = (float(given.min()), float(given.max())) if given.size else (1.0, float(last_round))
    start = max(1.0, 0.7 * first)
    return np.unique(np.round(np.geomspace(start, max(1.4 * last, start + 1.0), POINTS)))


def _curve(outlook: Outlook, plan: CampaignPlan, rounds: Floats) -> ShareCurve:
    shares = np.array([np.searchsorted(at, rounds, side="right") / plan.arms for at in outlook.decided_at])
    shown = np.where(rounds <= plan.last_round, 1.0, np.nan)  # nothing was played after the last round
    if all(at.size == plan.arms for at in outlook.decided_at):
        shown = np.ones_like(rounds)
    return ShareCurve(
        outlook.words, shares.mean(axis=0) * shown, shares.min(axis=0) * shown, shares.max(axis=0) * shown
    )
