"""`python -m benchmarks.structured_figures [FOLDER]`: the figures of docs/structured.md."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from goodarm.report import drawing
from goodarm.simulation.run import assembly_of, source_of
from goodarm.simulation.simulate import simulate
from goodarm.simulation.specification import specify
from goodarm.streams import ENVIRONMENT, POLICY, generator

SEED = 4
MOMENTS = (0, 300, 5_000, 60_000)
CURVES = {
    "linear": (300_000, ("value-normal", "value-normal@linear")),
    "linear-misspecified": (300_000, ("value-normal", "value-normal@mixed", "value-normal@linear")),
    "bumps": (150_000, ("value-normal", "value-normal@kernel(gamma=4)", "value-normal@neural")),
}
RUNS = 3
POINTS = 400


def snapshots(name: str, environment: str, rounds: tuple[int, ...]) -> tuple[Any, list[np.ndarray]]:
    """The table of arms at several rounds of one run."""
    spec = specify(name, environment, horizon=max(rounds), seed=SEED)
    assembly: Any = assembly_of(spec)
    instance = spec.environment.instance(generator(SEED, 0, ENVIRONMENT))
    state = assembly.start(float(spec.horizon))
    source, draws = source_of(spec, 0, instance), generator(SEED, 0, POLICY)
    tables = []
    for until in rounds:
        while state.round < until and state.open_arms > 0:
            assembly.advance(state, source, draws, until, np.zeros(0, dtype=np.int64))
        tables.append(state.arms.copy())
    return spec, tables


def shown(axis: Any, values: np.ndarray, **style: Any) -> Any:
    """One surface over the unit square."""
    side = round(len(values) ** 0.5)
    axis.set_xticks([])
    axis.set_yticks([])
    return axis.imshow(values.reshape(side, side).T, origin="lower", extent=(0, 1, 0, 1), **style)


def outlined(axis: Any, truth: np.ndarray) -> None:
    """Where the true means cross the threshold."""
    side = round(len(truth) ** 0.5)
    axis.contour(
        truth.reshape(side, side).T, levels=[0.5], extent=(0, 1, 0, 1), colors="black", linewidths=0.8, origin="lower"
    )


def draw_surfaces(path: Path) -> None:
    """Believed mean, standard deviation and verdicts over the 30 x 30 grid, before, during and after."""
    import matplotlib.pyplot as plt

    spec, tables = snapshots("value-normal@kernel(gamma=4)", "bumps", MOMENTS)
    truth = spec.environment.draw(None)
    figure, axes = plt.subplots(3, len(MOMENTS) + 1, figsize=(13, 7.6), layout="constrained")
    for column, (moment, table) in enumerate(zip(MOMENTS, tables, strict=True)):
        shown(axes[0, column], table[:, 2], vmin=0.2, vmax=0.8, cmap="RdBu_r")
        sd = shown(axes[1, column], spec.problem.bar.spread * table[:, 3], vmin=0.0, vmax=0.25, cmap="viridis")
        shown(axes[2, column], table[:, 7], vmin=-1, vmax=1, cmap="RdBu_r")
        axes[0, column].set_title(f"after {moment:,} pulls" if moment else "before the first pull")
        outlined(axes[0, column], truth)
        outlined(axes[2, column], truth)
        good, bad, never = (table[:, 7] > 0).sum(), (table[:, 7] < 0).sum(), (table[:, 0] == 0).sum()
        axes[2, column].set_xlabel(f"{good} good, {bad} bad, {never} never pulled", fontsize=9)
    means = shown(axes[0, -1], truth, vmin=0.2, vmax=0.8, cmap="RdBu_r")
    axes[0, -1].set_title("truth; line: threshold")
    outlined(axes[0, -1], truth)
    pulls = shown(axes[2, -1], np.log10(1.0 + tables[-1][:, 0]), cmap="magma")
    axes[2, -1].set_xlabel(f"log10(1 + pulls) after {MOMENTS[-1]:,}", fontsize=9)
    axes[1, -1].axis("off")
    for row, (label, colours) in enumerate((("believed mean", means), ("standard deviation", sd), ("verdicts", pulls))):
        axes[row, 0].set_ylabel(label)
        figure.colorbar(colours, ax=axes[row, -1], shrink=0.9)
    figure.savefig(path / "structured-bumps.png", dpi=100)


def draw_curves(path: Path) -> None:
    """Good arms found against pulls, with a model and without."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(CURVES), figsize=(13, 4.2), layout="constrained")
    for axis, (environment, (horizon, names)) in zip(axes, CURVES.items(), strict=True):
        for number, name in enumerate(names):
            runs = simulate(name, environment, horizon=horizon, runs=RUNS, seed=SEED).runs
            good = np.mean([(run.means >= 0.55).sum() for run in runs])
            found = [run.verdict_rounds[(run.verdicts == 1) & (run.means >= 0.55)] for run in runs]
            times = np.sort(np.concatenate(found))
            grid = np.linspace(0.0, horizon, POINTS)
            counts = np.searchsorted(times, grid, side="right") / RUNS
            colour, style = drawing.look(number)
            marks = drawing.marked(number, len(names), POINTS)
            axis.plot(grid, counts, label=name, color=colour, linestyle=style, linewidth=1.8, **marks)
        axis.axhline(good, color="0.4", linewidth=0.9, linestyle=(0, (1, 2)))
        axis.set(xlabel="pulls", ylabel="good arms found (gap at least 0.05)", xlim=(0, horizon), ylim=(0, None))
        axis.xaxis.set_major_formatter(lambda value, place: drawing.tick(value))
        drawing.headed(axis, environment, f"mean of {RUNS} runs; dotted: all of them")
        drawing.plain(axis)
        axis.legend(loc="lower right", fontsize=9)
    figure.savefig(path / "structured-pulls.png", dpi=110)


def main() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/figures")
    path.mkdir(parents=True, exist_ok=True)
    draw_surfaces(path)
    draw_curves(path)


if __name__ == "__main__":
    main()
