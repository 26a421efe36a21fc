"""Figures: alpha and beta over a run, and the bounds of one arm along its trajectory.

Both need data that a simulation records only on request. If the data is missing, the first runs are played again with
the same seed and the same result.
"""

from __future__ import annotations

import math
from base64 import b64encode
from dataclasses import dataclass, replace
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.errors import GoodarmError, InvalidValue
from goodarm.policies import policy as make_policy
from goodarm.policies.bounds import deciding_bound, sampling_bound
from goodarm.report import drawing
from goodarm.rules.beliefs import MEAN, PULLS, TOTAL, VERDICT, WIDTH, Pool, read_arm
from goodarm.simulation.run import assembly_of, source_of, stops_of
from goodarm.simulation.runs import Runs
from goodarm.simulation.simulate import collect
from goodarm.streams import ENVIRONMENT, POLICY, generator

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

POINTS = 100
"""Points of a trajectory."""
FEWEST = 20
"""Minimum points of the longest run; with fewer, the first runs are played again, unless fewer were asked for."""
FINEST = 100_000
"""Maximum points of a whole horizon, if runs end long before it."""
FOLLOWED = 5
"""Number of runs to play again if no trajectory was recorded."""
OTHERS = {"hoeffding": "hdoc", "gap-mixture": "ucb+gap-mixture", "stitched": "ucb+stitched"}
"""Certified bounds for comparison with a policy's deciding bound, and a policy that uses each."""


class Followed(NamedTuple):
    """Bounds over the rounds: one row per run in `alpha` and `beta`."""

    policy: str
    rounds: Floats
    alpha: Floats
    beta: Floats


def followed(runs: Runs) -> Followed:
    """alpha and beta of a policy until the longest run ends; a run that ends earlier keeps its last values."""
    if _rounds(runs).size < min(max(runs.spec.trajectory, 2), FEWEST):
        first = runs.runs[: min(len(runs), FOLLOWED)]
        points = POINTS * runs.spec.horizon // max(run.rounds for run in first)
        runs = collect(replace(runs.spec, trajectory=min(points, FINEST)), len(first), first=first[0].number)
    found, rounds = runs.trajectories, _rounds(runs)
    values = {name: np.empty((len(runs), rounds.size)) for name in ("alpha", "beta")}
    for row, run in enumerate(runs.runs):
        mine = found["run"] == run.number
        for name, curve in values.items():
            known = found[name][mine]
            curve[row] = np.concatenate([known, np.full(rounds.size - known.size, known[-1])])
    return Followed(runs.policy, rounds, values["alpha"], values["beta"])


def _rounds(runs: Runs) -> Floats:
    """The rounds at which the longest run was recorded, the last one at its end."""
    spec, longest = runs.spec, max(run.rounds for run in runs.runs)
    stops = np.array(stops_of(spec.horizon, spec.trajectory) if spec.trajectory else [], dtype=np.float64)
    return np.unique(np.minimum(stops, longest))


def draw_learning(several: list[Runs]) -> Figure:
    """Figure 2 of the paper for any problem: the bounds for deciding and for sampling over the rounds."""
    from matplotlib.figure import Figure

    shown = [followed(runs) for runs in several]
    figure = Figure(figsize=(9.0, 3.7 + drawing.below(len(shown))), layout="constrained")
    handles = draw_bounds(figure.subplots(1, 2), shown, several[0].spec.environment.name)
    drawing.legend_below(figure, handles, [_named(each) for each in shown])
    return figure


def _named(shown: Followed) -> str:
    """The policy's name, and which of the bounds it does not have."""
    missing = [name for name in ("alpha", "beta") if not np.isfinite(getattr(shown, name)).any()]
    return f"{shown.policy} (no {' and no '.join(missing)})" if missing else shown.policy


def draw_bounds(both: Any, shown: list[Followed], where: str) -> list[Any]:
    """alpha on the left, beta on the right, one line per policy. Missing bounds are left out."""
    handles: list[Any] = []
    for axes, name, what in zip(both, ("alpha", "beta"), ("deciding", "sampling"), strict=True):
        for number, each in enumerate(shown):
            values: Floats = getattr(each, name)
            known = np.isfinite(values).all(axis=0)
            colour, style = drawing.look(number)
            look: dict[str, Any] = {"color": colour, "linestyle": style, "linewidth": 1.8}
            marks = drawing.marked(number, len(shown), int(known.sum()))
            mean, low, high = drawing.middle(values[:, known]) if known.any() else (np.zeros(0),) * 3
            axes.fill_between(each.rounds[known], low, high, color=colour, alpha=0.15, linewidth=0)
            line = axes.plot(each.rounds[known], mean, **look, **marks)
            handles += line if name == "alpha" else []
        axes.set_xlim(0.0, max(each.rounds[-1] for each in shown))
        low, high = axes.get_ylim()
        room = high - low
        curves: list[Floats] = [getattr(each, name) for each in shown]
        lowest = min(float(np.min(curve, initial=0.0, where=np.isfinite(curve))) for curve in curves)
        if lowest < 0.0:  # dgai-online learns such an alpha: it calls an arm good below the bar
            axes.set_ylim(low - 0.1 * room, high + 0.1 * room)
            axes.axhline(0.0, color="0.4", linewidth=0.9, linestyle=(0, (4, 3)))
        else:
            axes.set_ylim(max(0.0, low - 0.5 * room), high + 0.1 * room)
        axes.xaxis.set_major_formatter(lambda value, place: drawing.tick(value))
        axes.set_xlabel("round")
        axes.set_ylabel(f"{name}, standard errors")
        count = max(len(each.alpha) for each in shown)
        of = f"mean of {count} runs; the bands hold the middle 80%" if count > 1 else "one run"
        drawing.headed(axes, f"{where}: bound for {what}", of)
        drawing.plain(axes)
    return handles


class ArmTrajectory(NamedTuple):
    """One arm along one run: values per recorded point, as distances above the threshold."""

    policy: str
    arm: str
    truth: float
    decided_at: int
    verdict: int
    room: float  # larger bounds are meaningless: no mean lies there
    rounds: Floats
    pulls: Floats
    surplus: Floats
    deciding: Floats
    sampling: Floats
    others: dict[str, Floats]


def arm_trajectory(runs: Runs, arm: int | None = None) -> ArmTrajectory:
    """Play the first run again and record the arm's mean and bounds at rounds that grow geometrically.

    arm : its number; by default, the arm with the most pulls among those called good
    """
    spec, run = runs.spec, runs.runs[0]
    i = _chosen(runs, arm)
    assembly = assembly_of(spec)
    instance = spec.environment.instance(generator(spec.seed, run.number, ENVIRONMENT))
    state, source = assembly.start(float(spec.horizon)), source_of(spec, run.number, instance)
    draws, bar = generator(spec.seed, run.number, POLICY), assembly.bar
    rows: list[list[float]] = []
    last = run.rounds
    for until in np.unique(np.round(np.geomspace(min(assembly.problem.arms, last), last, POINTS))).astype(int):
        while state.round < until and state.open_arms > 0:
            assembly.advance(state, source, draws, int(until), np.zeros(0, dtype=np.int64))
        row = state.arms[i]
        if row[PULLS] >= 1.0:
            n, error = float(row[PULLS]), bar.spread / math.sqrt(float(row[PULLS]))
            decided = deciding_bound(spec.policy, n, state.pool, bar) * error
            sampled = sampling_bound(spec.policy, read_arm(state.arms, i), state.pool, bar) * bar.spread * row[WIDTH]
            rows.append([state.round, n, row[TOTAL] / n - bar.threshold, decided, row[MEAN] - bar.threshold + sampled])
        if row[VERDICT] != 0.0 or state.open_arms == 0:
            break
    rounds, pulls, surplus, deciding, sampling = np.array(rows, dtype=np.float64).T
    labels = spec.environment.labels
    return ArmTrajectory(
        runs.policy,
        str(labels[i]) if labels else f"arm {i}",
        float(run.means[i]) - bar.threshold,
        int(run.verdict_rounds[i]),
        int(run.verdicts[i]),
        1.0 - bar.threshold if bar.bounded > 0.0 else math.inf,
        rounds,
        pulls,
        surplus,
        deciding,
        sampling,
        _others(runs, pulls, bar),
    )


def _chosen(runs: Runs, arm: int | None) -> int:
    run = runs.runs[0]
    if arm is None:
        good = run.verdicts == 1
        return int(np.argmax(np.where(good | ~good.any(), run.pulls, -1)))
    if not 0 <= arm < len(run.means):
        raise InvalidValue(f"arm must be a number from 0 to {len(run.means) - 1}; got {arm}.")
    if run.pulls[arm] == 0:
        raise InvalidValue(f"arm {arm} was never pulled in run {run.number}: it has no bounds to draw. Choose another.")
    return arm


def _others(runs: Runs, pulls: Floats, bar: Any) -> dict[str, Floats]:
    """The certified bounds at the arm's own numbers of pulls."""
    found, pool = {}, Pool(1.0, float(runs.spec.horizon))
    for name, stands_for in OTHERS.items():
        try:
            other = make_policy(stands_for, rewards=runs.spec.problem.rewards)
        except GoodarmError:
            continue  # not valid for these rewards
        alphas = np.array([deciding_bound(other, float(n), pool, bar) for n in pulls])
        found[name] = alphas * bar.spread / np.sqrt(pulls)
    return found


def draw_bound(runs: Runs, arm: int | None = None) -> Figure:
    """Figure 3 of the paper for any arm of any problem: its bounds along its own trajectory."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 4.1 + drawing.below(6)), layout="constrained")
    handles, labels = draw_arm(figure.add_subplot(), arm_trajectory(runs, arm), runs.spec.environment.name)
    drawing.legend_below(figure, handles, labels)
    return figure


def draw_arm(axes: Axes, shown: ArmTrajectory, where: str) -> tuple[list[Any], list[str]]:
    """Distances above the threshold, on a logarithmic axis: the arm's mean reaches its bound when it is called good."""
    handles: list[Any] = []
    labels: list[str] = []
    curves = {
        f"{shown.policy}: bound for deciding": shown.deciding,
        f"{shown.policy}: upper bound for sampling": shown.sampling,
        **{f"{name} (certified)": values for name, values in shown.others.items()},
    }
    count = len(curves) + 1
    for number, (label, values) in enumerate(curves.items()):
        known = (values < shown.room) & (values > 0.0)
        if known.any():
            colour, style = drawing.look(number)
            marks = drawing.marked(number, count, int(known.sum()))
            handles += axes.plot(shown.rounds[known], values[known], color=colour, linestyle=style, **marks)
            labels.append(label)
    above = shown.surplus > 0.0
    handles += axes.plot(shown.rounds[above], shown.surplus[above], ".", color="0.25", markersize=4)
    labels.append("mean of the arm's rewards")
    axes.set_xscale("log")
    axes.set_yscale("log")
    if shown.truth > 0.0:
        axes.axhline(shown.truth, color="0.5", linewidth=0.9, linestyle=(0, (1, 2)))
        # values far below the true gap are noise of the first pulls
        axes.set_ylim(bottom=shown.truth / 5.0)
    drawing.log_axis(axes.xaxis, float(shown.rounds[0]), float(shown.rounds[-1]))
    drawing.log_axis(axes.yaxis, *axes.get_ylim())
    axes.set_xlabel("round (log scale)")
    axes.set_ylabel("distance above the threshold (log scale)")
    word = {1: f"called good at round {shown.decided_at:,}", -1: f"called bad at round {shown.decided_at:,}"}
    drawing.headed(
        axes,
        f"{where}: bounds of {shown.arm}",
        f"{word.get(shown.verdict, 'undecided')} after {int(shown.pulls[-1]):,} pulls; the true mean lies "
        f"{abs(shown.truth):.3g} {'above' if shown.truth >= 0.0 else 'below'} the threshold",
    )
    drawing.plain(axes)
    return handles, labels


@dataclass(frozen=True, eq=False)
class LearnedBounds:
    """Both figures of one policy's runs, with a notebook display."""

    runs: Runs
    arm: int | None = None

    def figure(self) -> Figure:
        """alpha and beta over the rounds above, one arm along its trajectory below."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9.0, 8.0 + drawing.below(6)), layout="constrained")
        grid = figure.add_gridspec(2, 2, height_ratios=(1.0, 1.2))
        where = self.runs.spec.environment.name
        draw_bounds([figure.add_subplot(grid[0, j]) for j in range(2)], [followed(self.runs)], where)
        handles, labels = draw_arm(figure.add_subplot(grid[1, :]), arm_trajectory(self.runs, self.arm), where)
        drawing.legend_below(figure, handles, labels)
        return figure

    def _repr_png_(self) -> bytes:
        picture = BytesIO()
        self.figure().savefig(picture, format="png", dpi=110)
        return picture.getvalue()

    def _repr_html_(self) -> str:
        picture = b64encode(self._repr_png_()).decode()
        return f'<img alt="learned bounds of {self.runs.policy}" src="data:image/png;base64,{picture}">'
