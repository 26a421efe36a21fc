"""The forest plot of a campaign or a judgement.

It shows each arm's mean and deciding interval beside the bar, and a histogram of the means if there are many arms.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.errors import MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 60
"""Maximum number of arms that are all drawn as lines. Of more arms, FEW get a line, and a histogram shows all."""
FEW = 36
COLOURS = {1: "#0072B2", -1: "#D55E00", 0: "#7a828c"}
"""Colours of Okabe & Ito's palette for colour-blind readers."""
MARKERS = {1: "^", -1: "v", 0: "o"}
"""Markers as a second cue beside the colour: good points up, bad down."""
BINS = 60

Floats = NDArray[np.float64]


class Forest(NamedTuple):
    """Data of the figure."""

    title: str
    setting: str
    bar: float
    names: Sequence[str]  # of the arms that have a line
    mean: Floats
    low: Floats
    high: Floats
    verdict: NDArray[np.int8]
    words: dict[int, str]
    edges: Floats  # bins of the histogram of all means; empty if every arm has a line
    counts: dict[int, Floats]
    beyond: int  # number of arms in the last bin whose mean lies above it
    percent: bool
    measured: str
    signed: bool  # differences: in percentage points, with their sign


def drawn(verdict: NDArray[np.int8]) -> NDArray[np.intp]:
    """The arms that get a line, of arms sorted by verdict and evidence: all, or the first of good, bad and undecided.

    >>> drawn(np.repeat(np.array([1, -1, 0], np.int8), [12, 115, 73])).tolist() == [*range(24), *range(127, 139)]
    True
    """
    if verdict.size <= MOST:
        return np.arange(verdict.size)
    groups = sorted((np.flatnonzero(verdict == value) for value in (1, -1, 0)), key=len)
    taken, left = [], FEW
    for number, group in enumerate(groups):  # larger groups get the places that small groups leave free
        part = group[: left // (len(groups) - number)]
        left -= part.size
        taken.append(part)
    return np.sort(np.concatenate(taken))


def density(mean: Floats, verdict: NDArray[np.int8], bar: float) -> tuple[Floats, dict[int, Floats], int]:
    """Edges and counts of the histogram of all means, and the number above its last bin."""
    seen = mean[np.isfinite(mean)]
    top = max(float(np.quantile(seen, 0.995)), bar) if seen.size else 1.0
    edges = np.linspace(min(float(seen.min(initial=bar)), bar), top + 1e-12, BINS + 1)
    finite = np.isfinite(mean)
    counts = {
        value: np.histogram(np.clip(mean[finite & (verdict == value)], edges[0], edges[-1]), edges)[0].astype(float)
        for value in (1, -1, 0)
    }
    return edges, counts, int((seen > edges[-1]).sum())


def draw(forest: Forest) -> Figure:
    """The figure; `save` writes it."""
    if find_spec("matplotlib") is None:
        raise MissingExtra("plot()", "report")
    from matplotlib.figure import Figure

    rows = len(forest.names)
    tall = 0.2 * rows + 1.6
    density = forest.edges.size > 0
    figure = Figure(figsize=(9.0, tall + (1.7 if density else 0.0)), layout="constrained")
    if density:
        below, axes = figure.subplots(2, 1, height_ratios=[1.7, tall])
        _draw_density(below, forest)
    else:
        axes = figure.subplots()
    place = np.arange(rows)[::-1]
    for value, colour in COLOURS.items():
        which = forest.verdict == value
        if which.any() or (density and forest.counts[value].any()):  # the histogram includes arms without a line
            axes.hlines(place[which], forest.low[which], forest.high[which], color=colour, linewidth=2.2, alpha=0.85)
            mark, words = MARKERS[value], forest.words[value]
            axes.plot(forest.mean[which], place[which], mark, color=colour, markersize=4.5, label=words)
    axes.set_yticks(place, forest.names, fontsize=7.5, parse_math=False)
    axes.set_ylim(-0.8, rows - 0.2)
    left, right = span(forest)
    if density:  # a common scale, so the bar is one line
        left, right = min(left, float(forest.edges[0])), max(right, float(forest.edges[-1]))
        below.set_xlim(left, right)
    axes.set_xlim(left, right)
    _dress(axes, forest)
    # aligned with the figure: long arm names push the axes to the right
    figure.suptitle(_folded(forest.title), x=0.01, ha="left", fontsize=10.5, fontweight="bold", parse_math=False)
    figure.supxlabel(_folded(forest.setting, 130), x=0.01, ha="left", fontsize=8, color="0.35", parse_math=False)
    # above the plot, where it covers no lines
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, frameon=False, fontsize=8, borderaxespad=0.1)
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write SVG (with text as text) or PNG. Equal figures give equal bytes."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "goodarm", "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # the font may lack characters of a name
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else {"Software": None})


def _dress(axes: Axes, forest: Forest) -> None:
    axes.axvline(forest.bar, color="0.25", linewidth=1.0, linestyle=(0, (4, 3)))
    axes.set_xlabel(f"{forest.measured} and the deciding interval")
    axes.grid(axis="x", color="0.92", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    _write_amounts(axes, forest)


def _draw_density(axes: Axes, forest: Forest) -> None:
    bottom = np.zeros(BINS)
    for value, colour in COLOURS.items():
        axes.bar(forest.edges[:-1], forest.counts[value], np.diff(forest.edges), bottom, align="edge", color=colour)
        bottom = bottom + forest.counts[value]
    axes.axvline(forest.bar, color="0.25", linewidth=1.0, linestyle=(0, (4, 3)))
    axes.set_ylabel(f"all {int(bottom.sum()):,} arms", fontsize=8)
    if forest.beyond:
        place = (float(forest.edges[-1]), float(bottom[-1]))
        axes.annotate(f"with {forest.beyond:,} above ▸", place, ha="right", va="bottom", fontsize=7.5, color="0.25")
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    _write_amounts(axes, forest)


def _write_amounts(axes: Axes, forest: Forest) -> None:
    unit, factor = ((" pp" if forest.signed else "%"), 100.0) if forest.percent else ("", 1.0)
    sign = "+" if forest.signed else ""
    if unit or sign:
        axes.xaxis.set_major_formatter(
            lambda value, position: f"{factor * value:{sign}.3g}{unit}" if value else f"0{unit}"
        )


def span(forest: Forest) -> tuple[float, float]:
    """The range to show: the means and the bar, and the intervals unless they are much wider."""
    means = forest.mean[np.isfinite(forest.mean)]
    low, high = float(means.min(initial=forest.bar)), float(means.max(initial=forest.bar))
    length = max(high - low, 1e-3 * max(abs(forest.bar), 1e-6))
    finite_low, finite_high = (ends[np.isfinite(ends)] for ends in (forest.low, forest.high))
    left = max(float(finite_low.min(initial=low)), low - 0.8 * length)
    right = min(float(finite_high.max(initial=high)), high + 0.8 * length)
    return left - 0.03 * (right - left), right + 0.03 * (right - left)


def short(name: str, most: int = 48) -> str:
    """The name beside a line, truncated.

    >>> short("abcdefgh", 5)
    'abcd…'
    """
    return name if len(name) <= most else name[: most - 1] + "…"


def _folded(text: str, width: int = 96) -> str:
    from textwrap import fill

    return fill(text, width)
