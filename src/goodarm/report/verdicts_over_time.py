"""Figure: how many arms are called good by round t, one line a policy, with a band over the runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.simulation.compare import Results
from goodarm.simulation.runs import Runs
from goodarm.simulation.specification import Specification

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 400

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe & Ito's palette, which colour-blind people can tell apart, without its yellow, too pale for a line."""

STYLES = ("-", "--", ":", "-.")
"""Once the colours are used up, they come again in another style."""


class Line(NamedTuple):
    """Good verdicts given by each round: mean over the runs, and one standard deviation to each side."""

    policy: str
    guarantee: str
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


class VerdictsOverTime(NamedTuple):
    """Everything that the figure shows."""

    environment: str
    setting: str
    rounds: NDArray[np.float64]
    good_arms: float
    lines: list[Line]


def info(results: Results) -> VerdictsOverTime:
    """The figure's numbers from finished runs."""
    spec = results.comparison.specs[0]
    first, last = _span(results.finished, spec.horizon)
    rounds = np.unique(np.round(np.geomspace(first, last, POINTS)))
    most = max(results.finished, key=len)
    threshold = spec.problem.threshold
    return VerdictsOverTime(
        environment=spec.environment.name,
        setting=_setting(spec, len(most)),
        rounds=rounds,
        good_arms=float(np.mean([(run.means >= threshold).sum() for run in most.runs])),
        lines=[_line(runs, rounds) for runs in results.finished],
    )


def draw(info: VerdictsOverTime) -> Figure:
    """The figure; `save` writes it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for number, line in enumerate(info.lines):
        colour = COLOURS[number % len(COLOURS)]
        style = STYLES[number // len(COLOURS) % len(STYLES)]
        label = f"{line.policy} ({line.guarantee})"
        axes.fill_between(info.rounds, line.low, line.high, step="post", color=colour, alpha=0.15, linewidth=0)
        axes.step(info.rounds, line.mean, where="post", color=colour, linestyle=style, label=label, linewidth=1.8)
    _dress(axes, info)
    figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write SVG or PNG, by the path's suffix; the same figure gives the same bytes."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "goodarm"}):
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else {"Software": None})


def _dress(axes: Axes, info: VerdictsOverTime) -> None:
    """Axes, ceiling, words."""
    top = max(info.good_arms, *(float(line.high.max()) for line in info.lines))
    axes.axhline(info.good_arms, color="0.4", linewidth=0.9, linestyle=(0, (4, 3)))
    axes.annotate(
        "all good arms", (0.0, info.good_arms), xycoords=("axes fraction", "data"), xytext=(4, 3),
        textcoords="offset points", color="0.35", fontsize=8.5,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
    )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlim(info.rounds[0], info.rounds[-1])
    axes.set_ylim(0.0, max(1.0, top) * 1.1)
    axes.set_xlabel("round")
    axes.set_ylabel("arms called good")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_title(info.environment, loc="left", fontsize=12, fontweight="bold", pad=20)
    axes.annotate(
        info.setting, (0.0, 1.0), xycoords="axes fraction", xytext=(0, 7), textcoords="offset points", color="0.35",
        fontsize=9,
    )  # fmt: skip
    axes.grid(axis="y", color="0.92", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _setting(spec: Specification, runs: int) -> str:
    of = f"over {runs:,} runs" if runs > 1 else "of one run"
    return (
        f"{spec.environment.arms:,} arms, threshold {spec.problem.threshold:g}, delta {spec.problem.delta:g}, "
        f"seed {spec.seed}; mean and standard deviation {of}"
    )


def _span(finished: tuple[Runs, ...], horizon: int) -> tuple[float, float]:
    """The rounds worth looking at: a little before the first verdict until a little after the last."""
    rounds = [run.verdict_rounds[run.verdicts != 0] for runs in finished for run in runs.runs]
    given = np.concatenate(rounds) if rounds else np.zeros(0)
    if given.size == 0:
        return 1.0, float(max(horizon, 2))
    first = max(1.0, 0.8 * float(given.min()))
    return first, max(min(float(horizon), 1.5 * float(given.max())), first + 1.0)


def _line(runs: Runs, rounds: NDArray[np.float64]) -> Line:
    counts = np.array(
        [np.searchsorted(np.sort(run.verdict_rounds[run.verdicts == 1]), rounds, side="right") for run in runs.runs]
    )
    mean, spread = counts.mean(axis=0), counts.std(axis=0)
    low, high = np.maximum(mean - spread, counts.min(axis=0)), np.minimum(mean + spread, counts.max(axis=0))
    return Line(runs.policy, runs.spec.policy.promise, mean, low, high)
