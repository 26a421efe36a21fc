"""Charts of the reproduction: one small chart per dataset, drawn separately for a page or side by side for a file."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.report.drawing import tick

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

STYLE_OF: dict[str, tuple[str, str]] = {
    "hdoc": ("#000000", "-"),
    "lucb-g": ("#E69F00", "-"),
    "apt-g": ("#56B4E9", "-"),
    "tt-ts": ("#CC79A7", "-"),
    "softucb-g": ("#7F7F7F", "-"),
    "dgai-online": ("#D55E00", "--"),
    "dgai-offline": ("#D55E00", "-"),
    "dgai": ("#009E73", "-"),
    "dgai learned offline": ("#009E73", "--"),
    "dgai-spread": ("#009E73", ":"),
    "value": ("#0072B2", "-"),
    "value calibrated": ("#0072B2", "--"),
    "ucb1": ("#000000", "-"),
    "thompson": ("#CC79A7", "-"),
    "softucb": ("#7F7F7F", "-"),
    "dgai-reward-printed": ("#D55E00", "-"),
    "dgai-reward": ("#0072B2", "-"),
    "alpha, offline": ("#D55E00", "-"),
    "alpha, online": ("#D55E00", "--"),
    "beta, offline": ("#0072B2", "-"),
    "beta, online": ("#0072B2", "--"),
    "alpha, dgai": ("#D55E00", ":"),
    "beta, dgai": ("#0072B2", ":"),
    "baselines (hoeffding)": ("#000000", "-"),
    "certified: kt": ("#009E73", "-"),
    "certified: learned-bets": ("#0072B2", "-"),
    "apt-g-printed": ("#56B4E9", "--"),
    "tt-ts-printed": ("#CC79A7", "--"),
    "dgai-offline-covering": ("#D55E00", ":"),
}
"""Colour and line of every name, the same in all charts: colours of Okabe & Ito."""


class Series(NamedTuple):
    """A line, or points with intervals."""

    name: str
    x: Floats
    y: Floats
    low: Floats | None = None
    high: Floats | None = None
    points: bool = False


MARK = "0.45"
MOST_TICKS = 8
MARKERS = "os^DvP<X>*d"
"""Markers, one per line, at different places to distinguish lines that coincide."""


class Chart(NamedTuple):
    """Data of one chart."""

    title: str
    x_label: str
    y_label: str
    series: list[Series]
    marks: Sequence[tuple[str, float]] = ()  # horizontal lines: words, height
    x_scale: str = "linear"
    y_scale: str = "linear"
    smallest: float = 1.0  # of a symlog axis: below it the axis is linear
    x_share: bool = False
    y_share: bool = False
    y_limits: tuple[float, float] | None = None


def names_in(charts: list[Chart]) -> list[str]:
    """The names of all series, each once, in their order."""
    return list(dict.fromkeys(series.name for chart in charts for series in chart.series))


def marks_in(charts: list[Chart]) -> list[str]:
    """The words of all horizontal lines, each once."""
    return list(dict.fromkeys(words for chart in charts for words, _ in chart.marks))


def marker_of(name: str) -> str:
    """The marker of a series, the same in all charts."""
    return MARKERS[list(STYLE_OF).index(name) % len(MARKERS)]


def draw_one(chart: Chart) -> Figure:
    """One chart as a figure, without a legend."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6, 3.1))
    _draw(figure.add_axes((0.18, 0.15, 0.80, 0.75)), chart)  # a layout engine takes longer than the drawing
    return figure


def draw(charts: list[Chart]) -> Figure:
    """All charts side by side in two columns, with one legend below them."""
    from matplotlib.figure import Figure

    columns = min(2, len(charts))
    rows = -(-len(charts) // columns)
    entries = len(names_in(charts)) + len(marks_in(charts))
    in_a_row = 2 * columns
    below = 0.75 + 0.22 * -(-entries // in_a_row) + (0.2 if any("\n" in chart.x_label for chart in charts) else 0.0)
    height = 3.2 * rows + below - 0.45
    figure = Figure(figsize=(4.8 * columns, height))
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    left = 0.1 if columns == 2 else 0.2
    figure.subplots_adjust(left, below / height, 0.985, 1.0 - 0.35 / height, wspace=0.27, hspace=0.42)
    handles: dict[str, Any] = {}
    for axes, chart in zip(grid, charts, strict=False):
        handles.update(_draw(axes, chart))
    for axes in grid[len(charts) :]:
        axes.set_axis_off()
    figure.legend(
        list(handles.values()), list(handles), loc="lower center", ncols=in_a_row, frameon=False, fontsize=8.5
    )
    return figure


def _draw(axes: Axes, chart: Chart) -> dict[str, Any]:
    handles: dict[str, Any] = {}
    for number, series in enumerate(chart.series):
        handles[series.name] = _draw_series(axes, series, number / len(chart.series))
    for words, height in chart.marks:
        handles[words] = axes.axhline(height, color=MARK, linewidth=1.0, linestyle=(0, (1, 2)), zorder=1)
    axes.set_xscale(chart.x_scale)
    if chart.y_scale == "symlog":
        axes.set_yscale("symlog", linthresh=chart.smallest)
    else:
        axes.set_yscale(chart.y_scale)
    _dress(axes, chart)
    return handles


def _draw_series(axes: Axes, series: Series, place: float) -> Any:
    """A line with a few markers. The first one is at the fraction `place` of the distance between markers."""
    colour, style = STYLE_OF[series.name]
    marker = marker_of(series.name)
    if series.points:
        hollow: dict[str, Any] = {"markerfacecolor": "white"} if style == "--" else {}
        errors = None
        if series.low is not None and series.high is not None:
            errors = np.maximum(np.array([series.y - series.low, series.high - series.y]), 0.0)
        return axes.errorbar(
            series.x,
            series.y,
            yerr=errors,
            fmt=marker,
            color=colour,
            markersize=5,
            elinewidth=0.8,
            capsize=2,
            alpha=0.75,
            linestyle="none",
            **hollow,
        )
    if series.low is not None and series.high is not None:
        axes.fill_between(series.x, series.low, series.high, color=colour, alpha=0.12, linewidth=0)
    step = max(1, len(series.x) // 4)
    return axes.plot(
        series.x,
        series.y,
        color=colour,
        linestyle=style,
        linewidth=1.4,
        marker=marker,
        markersize=4,
        markevery=(int(place * step), step),
        markerfacecolor="white" if style == "--" else colour,
    )[0]


def _scale_words(chart: Chart) -> str:
    """The label of an axis, with a note if the axis is not linear."""
    if chart.y_scale == "symlog":
        return f"\n(log scale beyond ±{tick(chart.smallest, chart.y_share)})"
    return "\n(log scale)" if chart.y_scale == "log" else ""


def _dress(axes: Axes, chart: Chart) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_title(chart.title, loc="left", fontsize=10, fontweight="bold")
    axes.set_xlabel(chart.x_label + (" (log scale)" if chart.x_scale == "log" else ""), fontsize=8.5)
    axes.set_ylabel(f"{chart.y_label}{_scale_words(chart)}", fontsize=8.5)
    axes.xaxis.set_major_formatter(lambda value, place: tick(value, chart.x_share))
    axes.yaxis.set_major_formatter(lambda value, place: tick(value, chart.y_share))
    for axis, scale in ((axes.xaxis, chart.x_scale), (axes.yaxis, chart.y_scale)):
        if scale == "linear":
            axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axes.minorticks_off()
    if chart.y_limits is not None:
        axes.set_ylim(*chart.y_limits)
    if chart.y_scale == "symlog":
        axes.set_yticks(symlog_ticks(*axes.get_ylim(), chart.smallest))
    axes.tick_params(labelsize=8)
    axes.grid(color="0.93", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def symlog_ticks(low: float, high: float, smallest: float) -> list[float]:
    """0, and powers of ten from `smallest` on to both sides, every other one if there would be many.

    >>> symlog_ticks(-0.3, 500.0, 1.0)
    [0.0, 1.0, 10.0, 100.0]
    """
    above = [smallest * 10.0**k for k in range(40) if smallest * 10.0**k <= high]
    below = [-smallest * 10.0**k for k in range(40) if -smallest * 10.0**k >= low]
    step = 2 if len(above) + len(below) > MOST_TICKS else 1
    return [*reversed(below[::step]), *([0.0] if low <= 0.0 <= high else []), *above[::step]]


def svg(figure: Figure, prefix: str) -> str:
    """The figure as an <svg> element for a page: text stays text, and its ids begin with `prefix`."""
    import matplotlib

    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "goodarm", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\b(id=")', rf"\g<1>{prefix}-", text)
    text = re.sub(r'(href="#|url\(#)', rf"\g<1>{prefix}-", text)
    for size in ("width", "height"):  # the page decides
        text = re.sub(rf'(<svg[^>]*?) {size}="[^"]*"', r"\1", text, count=1)
    return text
