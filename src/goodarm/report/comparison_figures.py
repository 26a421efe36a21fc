"""Figures of a comparison: verdicts over time, score over the horizon, a sweep, and bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from goodarm.errors import InvalidValue, MissingExtra, UnknownName
from goodarm.report import drawing, verdicts_over_time
from goodarm.report.learned_bounds import LearnedBounds, draw_bound, draw_learning
from goodarm.scores import score_over_rounds
from goodarm.simulation.compare import Comparison, ComparisonRequest
from goodarm.simulation.runs import Estimate, Runs, estimate
from goodarm.simulation.tables import PER_RUN

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = ("verdicts", "score", "sweep", "learning", "bound")
POINTS = 200
MOST_TICKS = 10
PANELS = 6
"""Maximum number of environments drawn side by side."""


def draw(results: Comparison, kind: str, over: str, number: str, arm: int | None = None) -> Figure:
    """The figure of this kind."""
    if find_spec("matplotlib") is None:
        raise MissingExtra("plot()", "report")
    if kind not in KINDS:
        raise UnknownName("kind of plot", kind, KINDS)
    if not results.finished:
        raise InvalidValue("no run is finished, so there is nothing to draw.")
    if kind == "sweep":
        return _sweep(results, over, number)
    if kind in ("learning", "bound"):
        return _bounds(results, kind, arm)
    panel = {"verdicts": _verdicts, "score": _score}[kind]
    return _panels([each for each in results.alone() if each.finished], panel)


def draw_runs(runs: Runs, kind: str, arm: int | None = None) -> Figure:
    """The figure of one policy's runs."""
    environment = runs.spec.environment
    request = ComparisonRequest(
        environment, (runs.spec.policy,), runs.spec.horizon, len(runs), runs.spec.seed, runs.spec.problem.delta
    )
    return draw(Comparison(request, (runs,), (environment.name,)), kind, "setting", "exploit_score", arm)


def learned_bounds(runs: Runs, arm: int | None) -> LearnedBounds:
    """Both figures of a policy's learned bounds, for a notebook."""
    if find_spec("matplotlib") is None:
        raise MissingExtra("look()", "report")
    return LearnedBounds(runs, arm)


def _bounds(results: Comparison, kind: str, arm: int | None) -> Figure:
    """Bounds of the policies on one environment, or of one arm under the first policy."""
    if len(set(results.settings)) > 1:
        raise InvalidValue(f"plot({kind!r}) draws one environment; this comparison has {len(set(results.settings))}.")
    return draw_learning(list(results.finished)) if kind == "learning" else draw_bound(results.finished[0], arm)


def _panels(alone: list[Comparison], panel: Callable[[Axes, Comparison], Any]) -> Figure:
    """One panel per environment, with one legend for all."""
    from matplotlib.figure import Figure

    if len(alone) > PANELS:
        raise InvalidValue(
            f"{len(alone)} environments are too many to draw side by side. Draw a sweep (kind='sweep') or fewer "
            "environments."
        )
    columns = min(2, len(alone))
    rows = math.ceil(len(alone) / columns)
    policies = max(len(each.finished) for each in alone)
    size = (8.0 if columns == 1 else 11.0, 4.1 * rows + drawing.below(policies + 1))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    legend: dict[str, Any] = {}
    for axes, each in zip(grid, alone, strict=False):
        handles, labels = panel(axes, each)
        legend.update(zip(labels, handles, strict=True))
    for axes in grid[len(alone) :]:
        axes.set_axis_off()
    drawing.legend_below(figure, list(legend.values()), list(legend))
    return figure


def _verdicts(axes: Axes, each: Comparison) -> tuple[list[Any], list[str]]:
    shown = verdicts_over_time.info(each)
    return verdicts_over_time.draw_into(axes, shown._replace(environment=_title(each, shown.environment)))


def _score(axes: Axes, each: Comparison) -> tuple[list[Any], list[str]]:
    """Exploit score collected by round t, mean and middle 80% of the runs, beside its ceiling."""
    spec = each.request.specs[0]
    grid = np.linspace(0.0, spec.horizon, POINTS)
    handles: list[Any] = []
    highest = 0.0
    for number, runs in enumerate(each.finished):
        colour, style = drawing.look(number)
        values = np.array(
            [
                score_over_rounds(run.means, run.verdicts, run.verdict_rounds, spec.question.bar, grid)
                for run in runs.runs
            ]
        )
        mean, low, high = drawing.middle(values)
        highest = max(highest, float(high.max()))
        axes.fill_between(grid, low, high, color=colour, alpha=0.15, linewidth=0)
        marks = drawing.marked(number, len(each.finished), POINTS)
        handles += axes.plot(grid, mean, color=colour, linestyle=style, linewidth=1.8, **marks)
    ceiling = each.finished[0].ceiling / spec.horizon * grid
    labels = [f"{runs.policy} ({runs.guarantee})" for runs in each.finished]
    if highest > 0.25 * ceiling[-1]:  # it would flatten the other lines
        handles += axes.plot(grid, ceiling, color="0.4", linewidth=0.9, linestyle=(0, (1, 2)))
        labels.append("ceiling: every good arm known from the start")
    axes.set_xlim(0.0, spec.horizon)
    axes.xaxis.set_major_formatter(lambda value, place: drawing.tick(value))
    axes.yaxis.set_major_formatter(lambda value, place: drawing.tick(value))
    axes.set_xlabel("round")
    axes.set_ylabel("exploit score so far")
    count = len(each.finished[0])
    of = f"mean of {count:,} runs; the bands hold the middle 80% of them" if count > 1 else "one run"
    drawing.headed(axes, _title(each, spec.environment.name), of)
    drawing.plain(axes)
    return handles, labels


def _title(each: Comparison, name: str) -> str:
    (setting,) = each.request.settings
    return (
        name if str(setting) == name else f"{name}, {setting}" if isinstance(setting, str) else f"{name} at {setting}"
    )


def _with_intervals(axes: Axes, x: Sequence[float], y: Sequence[Estimate], place: int) -> Any:
    """A line through the means with their intervals."""
    errors = np.array([[each.mean - each.low for each in y], [each.high - each.mean for each in y]])
    shown = np.where(np.isfinite(errors), errors, 0.0)
    means = [each.mean for each in y]
    colour, style = drawing.look(place)
    marker = drawing.MARKERS[place % len(drawing.MARKERS)]
    line: dict[str, Any] = {"color": colour, "linestyle": style, "linewidth": 1.6}
    return axes.errorbar(x, means, yerr=shown, marker=marker, markersize=5, capsize=3, **line)


def _sweep(results: Comparison, over: str, number: str) -> Figure:
    """Mean with its 95% interval over a column of the table, one line per policy."""

    if over not in results.table:
        raise UnknownName("column", over, results.table)
    if number not in PER_RUN or number == "run":
        raise UnknownName("column", number, [name for name in PER_RUN if name != "run"])
    policies = list(dict.fromkeys(runs.policy for runs in results.finished))
    figure, axes = drawing.canvas(4.1, len(policies))
    places = results.table[over].tolist()
    numeric = all(isinstance(place, int | float) for place in places)
    words = list(dict.fromkeys(places))
    handles = []
    for count, policy in enumerate(policies):
        mine = [
            (place if numeric else words.index(place), _mean(runs, number))
            for place, runs in zip(places, results.finished, strict=True)
            if runs.policy == policy
        ]
        mine.sort(key=lambda pair: pair[0])
        x, y = _beside([pair[0] for pair in mine], count, len(policies)), [pair[1] for pair in mine]
        handles.append(_with_intervals(axes, x, y, count))
    _sweep_axis(axes, words, numeric)
    axes.yaxis.set_major_formatter(lambda value, place: drawing.tick(value))
    axes.set_xlabel(over if over != "setting" else "swept value" if numeric else "environment")
    axes.set_ylabel(number.replace("_", " "))
    drawing.headed(axes, f"{number.replace('_', ' ')} over {over}", "mean over the runs with its 95% interval")
    drawing.plain(axes)
    drawing.legend_below(figure, handles, policies)
    return figure


def _beside(places: list[float], number: int, of: int) -> list[float]:
    """Shift the points slightly to separate intervals of several policies."""
    shift = 0.008 * (number - (of - 1) / 2.0)
    span = max(places) - min(places)
    logarithmic = min(places) > 0.0 and max(places) >= 10.0 * min(places)
    return [place * (1.0 + 3.0 * shift) if logarithmic else place + shift * (span or 1.0) for place in places]


def _sweep_axis(axes: Axes, words: list[Any], numeric: bool) -> None:
    if not numeric:
        letters = max(8, 84 // len(words))  # that fit between two ticks
        axes.set_xticks(range(len(words)), ["\n".join(wrap(str(word), letters)) for word in words])
        return
    from matplotlib.ticker import NullLocator

    low, high = min(words), max(words)
    if low > 0.0 and high >= 10.0 * low:
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
    if len(words) <= MOST_TICKS:
        axes.set_xticks(words, [drawing.tick(word) for word in words])
    else:
        axes.xaxis.set_major_formatter(lambda value, place: drawing.tick(value))


def _mean(runs: Runs, number: str) -> Any:
    values = runs.table[number].astype(np.float64)
    return estimate(values[np.isfinite(values)])
