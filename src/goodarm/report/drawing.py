"""Shared parts of figures: colours, axes of rounds, headings, legends below the plot, and saving."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

COLOURS = ("#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe & Ito's palette for colour-blind readers, without its yellow (too pale) and its red."""

WRONG = "#C1121F"
"""Colour of wrong verdicts, used for nothing else."""

STYLES = ("-", "-.", ":")
"""Line styles for further policies once the colours are used up. Dashes are reserved for wrong verdicts."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
MARKS = 5
"""Approximate number of markers per line, a second cue beside the colour."""

LOW, HIGH = 0.1, 0.9
"""Bands hold the middle 80% of the runs."""


def canvas(height: float, names: int) -> tuple[Figure, Axes]:
    """A figure of this height in inches with one plot, and room for this many names in the legend below it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, height + below(names)), layout="constrained")
    return figure, figure.add_subplot()


def look(number: int) -> tuple[str, str]:
    """Colour and line of the n-th policy."""
    return COLOURS[number % len(COLOURS)], STYLES[number // len(COLOURS) % len(STYLES)]


def marked(number: int, of: int, points: int) -> dict[str, Any]:
    """Markers of the n-th of several lines with this many points, placed apart from those of other lines.

    >>> marked(1, 2, 400)["markevery"], marked(0, 1, 400)
    ((60, 80), {})
    """
    if of == 1:
        return {}
    step = max(1, points // MARKS)
    first = min(int(step * (number + 0.5) / of), max(0, points - 1))
    return {"marker": MARKERS[number % len(MARKERS)], "markersize": 5.0, "markevery": (first, step)}


def tick(value: float, share: bool = False) -> str:
    """A number on an axis, without trailing zeros.

    >>> tick(20000.0), tick(2.5e6), tick(-0.001), tick(0.025, True)
    ('20k', '2.5M', '-0.001', '2.5%')
    """
    if share:
        return f"{100.0 * value:.3g}%"
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:g}{letter}"
    return f"{value:.6g}"


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers for a logarithmic axis: powers of ten, or finer steps if there would be few.

    >>> log_ticks(900, 2e6), log_ticks(800, 6000), log_ticks(11711, 18000)
    ([1000.0, 10000.0, 100000.0, 1000000.0], [1000.0, 2000.0, 5000.0], [12000.0, 14000.0, 16000.0, 18000.0])
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    decades = [10.0**power for power in powers if low <= 10.0**power <= high]
    if len(decades) >= 3:
        return decades
    finer = [lead * 10.0**power for power in powers for lead in (1, 2, 5) if low <= lead * 10.0**power <= high]
    if len(finer) >= 3:
        return finer
    if high <= low:
        return [low]
    from matplotlib.ticker import MaxNLocator

    ticks = MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(low, high)
    return [float(value) for value in ticks if low <= value <= high] or [low]


def log_axis(axis: Axis, low: float, high: float) -> None:
    """A logarithmic axis with ticks of one kind; the scale itself is set by the caller."""
    from matplotlib.ticker import NullFormatter, NullLocator

    ticks = log_ticks(low, high)
    axis.set_ticks(ticks, [tick(value) for value in ticks])
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def headed(axes: Axes, title: str, words: str = "") -> None:
    """A heading at the left, with a grey description below it. Neither changes the size of the plot."""
    lines = words.count("\n") + 1 if words else 0
    axes.set_title(title, loc="left", fontsize=12, fontweight="bold", pad=8 + 13 * lines)
    if words:
        said = axes.annotate(
            words,
            (0.0, 1.0),
            xycoords="axes fraction",
            xytext=(0, 7),
            textcoords="offset points",
            color="0.35",
            fontsize=9,
        )
        said.set_in_layout(False)


def plain(axes: Axes, grid: str = "y") -> None:
    """Remove the frame and draw a pale grid."""
    axes.grid(axis=grid, color="0.92", linewidth=0.8)  # type: ignore[arg-type]  # matplotlib wants a literal
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def legend_below(figure: Figure, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """The legend below the plot, in as many columns as fit. Long names add height, not width."""
    if not handles:
        return
    longest = max(map(len, labels))
    columns = max(1, min(4, len(labels), int(figure.get_figwidth() * 13 / (longest + 7))))
    figure.legend(handles, labels, loc="outside lower left", ncols=columns, frameon=False, fontsize=9)


def below(count: int) -> float:
    """Inches of height that a legend of this many names adds."""
    return 0.22 * math.ceil(count / 2)


def middle(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean over the runs, and the ends of the band that holds the middle 80% of them; runs along the first axis."""
    return values.mean(axis=0), np.quantile(values, LOW, axis=0), np.quantile(values, HIGH, axis=0)


def save(figure: Figure, path: Path) -> None:
    """Write SVG or PNG, by the path's suffix; the same figure gives the same bytes."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "goodarm"}):
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else {"Software": None})
