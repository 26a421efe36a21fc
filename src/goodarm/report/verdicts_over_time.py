"""Figure: good arms found by round t, one line per policy, and wrong verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from goodarm.report import drawing
from goodarm.report.drawing import WRONG, Floats
from goodarm.simulation.compare import Comparison
from goodarm.simulation.runs import Runs
from goodarm.simulation.specification import Specification

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 400


class VerdictCurve(NamedTuple):
    """Verdicts given by each round. Found: mean over the runs, and the ends of the band; wrong: the mean."""

    policy: str
    guarantee: str
    mean: Floats
    low: Floats
    high: Floats
    wrong: Floats


class VerdictsOverTime(NamedTuple):
    """Data of the figure."""

    environment: str
    setting: str
    rounds: Floats
    good_arms: float
    curves: list[VerdictCurve]


def info(results: Comparison) -> VerdictsOverTime:
    """The figure's numbers from the finished runs of one environment."""
    spec = results.request.specs[0]
    first, last = _span(results.finished, spec.horizon)
    rounds = np.unique(np.round(np.geomspace(first, last, POINTS)))
    most = max(results.finished, key=len)
    return VerdictsOverTime(
        environment=spec.environment.name,
        setting=_setting(spec, len(most)),
        rounds=rounds,
        good_arms=float(most.table["good_arms"].mean()),
        curves=[_curve(runs, rounds) for runs in results.finished],
    )


def draw(info: VerdictsOverTime) -> Figure:
    """The figure; `goodarm.report.drawing.save` writes it."""

    figure, axes = drawing.canvas(4.3, len(info.curves) + 1)
    drawing.legend_below(figure, *draw_into(axes, info))
    return figure


def draw_into(axes: Axes, info: VerdictsOverTime) -> tuple[list[object], list[str]]:
    """Draw into these axes; returns handles and labels for the legend."""
    handles: list[object] = []
    labels: list[str] = []
    for number, curve in enumerate(info.curves):
        colour, style = drawing.look(number)
        axes.fill_between(info.rounds, curve.low, curve.high, step="post", color=colour, alpha=0.15, linewidth=0)
        marks = drawing.marked(number, len(info.curves), info.rounds.size)
        handles += axes.step(
            info.rounds, curve.mean, where="post", color=colour, linestyle=style, linewidth=1.8, **marks
        )
        labels.append(f"{curve.policy} ({curve.guarantee})")
    wrong = [curve for curve in info.curves if curve.wrong[-1] > 0.0]
    for curve in wrong:
        (line,) = axes.step(info.rounds, curve.wrong, where="post", color=WRONG, linestyle="--", linewidth=1.4)
        name = f"wrong, {curve.policy}" if len(info.curves) > 1 else "wrong"
        axes.annotate(
            name,
            (info.rounds[-1], curve.wrong[-1]),
            xytext=(-3, 3),
            textcoords="offset points",
            ha="right",
            color=WRONG,
            fontsize=8,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5},
        )
        if curve is wrong[0]:
            handles.append(line)
            labels.append("wrong verdicts")
    _dress(axes, info)
    return handles, labels


def _dress(axes: Axes, info: VerdictsOverTime) -> None:
    """Draw axes, ceiling and labels."""
    top = max(info.good_arms, *(max(float(c.high.max()), float(c.wrong.max())) for c in info.curves))
    words = "all good arms" if info.good_arms == round(info.good_arms) else "all good arms, mean over runs"
    axes.axhline(info.good_arms, color="0.4", linewidth=0.9, linestyle=(0, (1, 2)))
    axes.annotate(
        words,
        (0.0, info.good_arms),
        xycoords=("axes fraction", "data"),
        xytext=(4, 3),
        textcoords="offset points",
        color="0.35",
        fontsize=8.5,
    )
    axes.set_xscale("log")
    axes.set_xlim(info.rounds[0], info.rounds[-1])
    axes.set_ylim(0.0, max(1.0, top) * 1.12)
    drawing.log_axis(axes.xaxis, info.rounds[0], info.rounds[-1])
    axes.set_xlabel("round (log scale)")
    wrong = any(curve.wrong[-1] > 0.0 for curve in info.curves)
    axes.set_ylabel("good arms found; wrong verdicts" if wrong else "good arms found")
    drawing.headed(axes, info.environment, info.setting)
    drawing.plain(axes)


def _setting(spec: Specification, runs: int) -> str:
    of = f"mean of {runs:,} runs; the bands hold the middle 80% of them" if runs > 1 else "one run"
    return (
        f"{spec.environment.arms:,} arms, {spec.question.setting}, delta {spec.problem.delta:g}, seed {spec.seed}\n{of}"
    )


def _span(finished: tuple[Runs, ...], horizon: int) -> tuple[float, float]:
    """The range of rounds to show: from slightly before the first verdict to slightly after the last."""
    rounds = [run.verdict_rounds[run.verdicts != 0] for runs in finished for run in runs.runs]
    given = np.concatenate(rounds) if rounds else np.zeros(0)
    if given.size == 0:
        return 1.0, float(max(horizon, 2))
    first = max(1.0, 0.8 * float(given.min()))
    return first, max(min(float(horizon), 1.5 * float(given.max())), first + 1.0)


def _curve(runs: Runs, rounds: Floats) -> VerdictCurve:
    bar = runs.spec.question.bar
    found, wrong = [], []
    for run in runs.runs:
        good, decided = run.means >= bar, run.verdicts != 0
        right = (run.verdicts > 0) & good
        mistaken = decided & ((run.verdicts > 0) != good)
        found.append(np.searchsorted(np.sort(run.verdict_rounds[right]), rounds, side="right"))
        wrong.append(np.searchsorted(np.sort(run.verdict_rounds[mistaken]), rounds, side="right"))
    mean, low, high = drawing.middle(np.array(found, dtype=np.float64))
    return VerdictCurve(runs.policy, runs.spec.policy.promise, mean, low, high, np.mean(wrong, axis=0))
