"""Figure: share of the good arms found over samples, for the given setting and for looser ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from goodarm.planning import CampaignPlan, Outlook
from goodarm.report import drawing
from goodarm.report.drawing import Floats
from goodarm.report.numbers import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 400


class ShareCurve(NamedTuple):
    """Share found by each number of samples: mean over the campaigns, and the ends of the band."""

    words: str
    mean: Floats
    low: Floats
    high: Floats


class PlanFigure(NamedTuple):
    """Data of the figure; `milestones` are shares and the samples of the median campaign."""

    title: str
    setting: str
    samples: Floats
    curves: list[ShareCurve]
    milestones: list[tuple[float, float]]
    budget: float | None
    kind: str  # word for the arms to find: good, or better than the control
    of_all: bool  # no arm is good: the share of all arms with a verdict is drawn instead


def info(plan: CampaignPlan) -> PlanFigure:
    """The figure's numbers; without a simulation it has no curves."""
    outlooks = (
        [plan.asked, *(each for each in plan.alternatives if each.last_round == plan.last_round)] if plan.asked else []
    )
    of_all = bool(plan.asked) and not any(each.good_arms for outlook in outlooks for each in outlook.finds)
    samples = np.linspace(0.0, _last(outlooks, plan, of_all), POINTS)
    runs = f"{plan.runs} simulated campaigns: mean, and the middle 80% of them" if plan.runs > 1 else "one campaign"
    if not outlooks:
        runs = "not simulated: the budget is too small to pull each arm once"
    reached = plan.asked.milestones if plan.asked else ()
    return PlanFigure(
        f"{plan.arms:,} arms, {plan.planned.words}, delta {plan.delta:g}",
        f"{plan.means.split(' (a guess')[0]}\n{plan.policy} ({plan.guarantee}), {runs}",
        samples,
        [_curve(outlook, plan, samples, of_all) for outlook in outlooks],
        [(each.share, each.samples.median) for each in reached if math.isfinite(each.samples.median)],
        float(plan.budget) if plan.budget is not None and plan.budget <= 1.02 * samples[-1] else None,
        plan.question.good,
        of_all,
    )


def draw(info: PlanFigure) -> Figure:
    """The figure; `goodarm.report.drawing.save` writes it."""

    figure, axes = drawing.canvas(4.6, len(info.curves))
    handles = []
    for number, curve in enumerate(info.curves):
        colour, style = drawing.look(number)
        if number == 0:
            axes.fill_between(info.samples, curve.low, curve.high, color=colour, alpha=0.18, linewidth=0)
        style, width = (style, 2.2) if number == 0 else ("-.", 1.2)
        marks = drawing.marked(number, len(info.curves), POINTS)
        handles += axes.plot(info.samples, curve.mean, color=colour, linestyle=style, linewidth=width, **marks)
    _mark(axes, info)
    _dress(axes, info)
    drawing.legend_below(figure, handles, [curve.words for curve in info.curves])
    return figure


def _mark(axes: Axes, info: PlanFigure) -> None:
    """Mark the milestones (half, 80%, 90%) and the budget."""
    for number, (share, at) in enumerate(info.milestones):
        left = at < 0.7 * info.samples[-1]  # farther right its label would overlap the budget's or the edge
        axes.plot([0.0, at, at], [share, share, 0.0], color="0.55", linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
        axes.annotate(
            f"{share:.0%} by {short(at, 3)}",
            (at, 0.0),
            xytext=(4 if left else -4, 4 + 11 * number),
            textcoords="offset points",
            ha="left" if left else "right",
            fontsize=8.5,
            color="0.25",
        )
    if info.budget is not None:
        axes.axvline(info.budget, color="0.4", linewidth=0.9, linestyle=(0, (4, 3)))
        axes.annotate(
            "budget",
            (info.budget, 0.0),
            xytext=(-3, 4),
            textcoords="offset points",
            rotation=90,
            ha="right",
            va="bottom",
            color="0.35",
            fontsize=8.5,
        )


def _dress(axes: Axes, info: PlanFigure) -> None:
    axes.set_xlim(0.0, info.samples[-1])
    axes.set_ylim(0.0, 1.03)
    axes.set_xlabel("samples")
    axes.set_ylabel("arms with a verdict" if info.of_all else f"{info.kind} arms found")
    axes.xaxis.set_major_formatter(lambda value, place: drawing.tick(value))
    axes.yaxis.set_major_formatter(lambda value, place: drawing.tick(value, share=True))
    drawing.headed(axes, info.title, info.setting)
    drawing.plain(axes)


def _last(outlooks: list[Outlook], plan: CampaignPlan, of_all: bool) -> float:
    """Right end of the axis: slightly after the last find, or the last round played."""
    found = [
        float(rounds[-1])
        for outlook in outlooks
        for rounds in (outlook.decided_at if of_all else [each.rounds for each in outlook.finds])
        if rounds.size
    ]
    if not found:
        return float(plan.last_round)
    return max(found) * 1.03


def _curve(outlook: Outlook, plan: CampaignPlan, samples: Floats, of_all: bool) -> ShareCurve:
    if of_all:
        pairs = [(rounds, plan.arms) for rounds in outlook.decided_at]
    else:
        pairs = [(each.rounds, each.good_arms) for each in outlook.finds if each.good_arms]
    if not pairs:
        return ShareCurve(outlook.words, *(np.zeros_like(samples),) * 3)
    end = math.inf if math.isfinite(outlook.end.high) else outlook.last_round  # nothing was played after it
    shares = np.array([np.searchsorted(rounds, samples, side="right") / count for rounds, count in pairs])
    mean, low, high = (np.where(samples <= end, each, np.nan) for each in drawing.middle(shares))
    return ShareCurve(outlook.words, mean, low, high)
