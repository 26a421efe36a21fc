"""The charts of a reproduction: the paper's Figures 1 to 4, and wrong verdicts against scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from goodarm.engine.ordered_log import OrderedLog
from goodarm.environments.names import environment as find_environment
from goodarm.paper.finished_tasks import Columns
from goodarm.paper.report import DELTA, HDOC, OnDataset, Reproduction
from goodarm.paper.scope import REWARD_ENTRIES
from goodarm.paper.tasks import FOLLOWED
from goodarm.policies import Policy, policy
from goodarm.policies.names import identification_rule
from goodarm.problem import Bar, Problem
from goodarm.report.chart import Chart, Floats, Series
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification.studentised import least_pulls
from goodarm.rules.learners.ladder import ladder_learner
from goodarm.scores import score_over_rounds

POINTS = 120
PRESSED = 5.0
"""Multiple of the score of `value` above which the largest score makes the scale logarithmic."""
LONGEST = 20_000
"""Maximum number of pulls for the certified bounds of Figure 3, which are computed reward by reward."""


NO_POOL = Pool(0.0)
"""Placeholder pool for rules that use only the arm."""


class FigureOf(NamedTuple):
    """One figure: its name, title, description and charts."""

    name: str
    title: str
    words: str
    charts: list[Chart]


def figures(found: Reproduction) -> list[FigureOf]:
    """All requested figures that have data."""
    makers: dict[str, list[tuple[str, str, str, Callable[[Reproduction, OnDataset], Chart | None]]]] = {
        "figure1": [
            ("figure1-epochs", "Figure 1a: exploit score over training epochs", EPOCHS, score_by_epoch),
            ("figure1-rounds", "Figure 1b: exploit score over rounds", ROUNDS, score_by_round),
        ],
        "figure2": [("figure2", "Figure 2: alpha and beta while they are learned", LEARNING, learning)],
        "figure3": [
            ("figure3", "Figure 3a: identification bound of the best arm along its trajectory", ALONG, bound_by_round),
            ("figure3-pulls", "Figure 3b: the same bounds over the number of pulls", BOUNDS, bounds),
        ],
        "figure4": [("figure4", "Figure 4: cumulative reward with a threshold", REWARD, rewards)],
        "price": [("price", "The price of the score", PRICE, price)],
        "structured": [
            ("structured-rounds", "Arms with features: exploit score over rounds", FEATURES, score_by_round),
            ("structured-learning", "Arms with features: alpha and beta while they are learned", LEARNING, learning),
        ],
    }
    made: list[FigureOf] = []
    for item in found.request.items:
        for name, title, words, make in makers.get(item, []):
            here = [each for each in found.datasets if bool(each.model) == (item == "structured")]
            charts = [chart for each in here if (chart := make(found, each)) is not None]
            if charts:
                made.append(FigureOf(name, title, words, charts))
    return made


EPOCHS = (
    "dgai-offline, trained as printed: the score of the trajectory of each epoch, mean and standard deviation over the "
    "repetitions. The other lines are the final scores of the baselines and of value, for comparison."
)
ROUNDS = (
    "Score collected by round t: the sum over the arms called good by then of (t - t_i)(mean - threshold). A line that "
    "falls has called bad arms good."
)
LEARNING = (
    "As printed: offline (solid) over epochs, online (dashed) over rounds, both as a share of the whole; mean over "
    "repetitions. dgai: beta as it is learned, and the alpha that a verdict needs at the pulls of the leading arm. "
    "alpha below 0 is no bound: an arm is then called good as soon as it is looked at."
)
FEATURES = (
    "As Figure 1b, on arms with features, every policy but hdoc with the dataset's model. The printed policies and "
    "dgai share index and model; they differ in what is learned and in what decides."
)
ALONG = (
    "The first run of each policy: how far above the threshold the mean of the best arm had to lie for a good verdict, "
    "with the pulls that the arm had by that round. A curve ends at the arm's verdict, or where the bound is 0 or "
    "below and any mean would do. The dotted line is the arm's gap."
)
BOUNDS = (
    "How far its mean must lie above the threshold for an arm with N pulls to be called good. The dotted line is the "
    "gap of the best arm: where a bound falls below it, that arm is decided. Certified bounds are followed on evenly "
    "spread rewards. A learned bound below them decides sooner; whether rightly, only its wrong verdicts say."
)
REWARD = (
    "Reward collected so far as a share of what the best arm pays in the same rounds. Mean over the repetitions. "
    "dgai-reward-printed is the paper's formula; dgai-reward is ours."
)
PRICE = (
    "Every run a point: its score as a share of the ceiling, and how many of its verdicts were wrong. Good policies "
    "lie to the lower right. A certified policy may leave the ground in one run of twenty (delta)."
)


def score_by_epoch(found: Reproduction, on: OnDataset) -> Chart | None:
    """Figure 1, offline."""
    tables = found.table("training", on.name, "dgai-offline")
    if not tables:
        return None
    scores = np.array([table["score"] for table in tables])
    epochs = tables[0]["epoch"].astype(float) + 1.0
    mean, spread = scores.mean(axis=0), scores.std(axis=0)
    series = [Series("dgai-offline", epochs, mean, mean - spread, mean + spread)]
    ends = np.array([epochs[0], epochs[-1]])
    for line in on.lines:
        if line.kind == "baseline" or line.entry == "value":
            series.append(Series(line.entry, ends, np.full(2, line.mean)))
    series, flat = _apart(series)
    return Chart(on.name, f"epoch{flat}", "exploit score", series, _ceiling(on, series), **_scale_of(series))


NEARLY = 0.004
"""Share of the largest value in a linear chart below which a line can't be distinguished from the axis."""


def _apart(series: list[Series]) -> tuple[list[Series], str]:
    """The lines that can be distinguished from the axis, and a sentence about the others."""
    largest = {each.name: float(np.abs(each.y).max()) for each in series}
    least = 0.0 if _scale_of(series) else NEARLY * max(largest.values(), default=0.0)
    flat = [each.name for each in series if largest[each.name] <= least]
    words = f"\n0 or nearly: {', '.join(flat)}" if flat else ""
    return [each for each in series if each.name not in flat], words


def _ceiling(on: OnDataset, series: list[Series]) -> list[tuple[str, float]]:
    """The ceiling as a mark, unless it would flatten all lines."""
    highest = max((float(each.y.max()) for each in series), default=0.0)
    return [("ceiling", on.ceiling)] if highest > 0.4 * on.ceiling else []


def _scale_of(series: list[Series]) -> dict[str, Any]:
    """A logarithmic scale if one policy would flatten all others."""
    ends = {each.name: abs(float(each.y[-1])) for each in series}
    ours = ends.get("value", 0.0)
    if ours <= 0.0 or max(ends.values()) <= PRESSED * ours:
        return {}
    return {"y_scale": "symlog", "smallest": float(10.0 ** math.floor(math.log10(ours / 10.0)))}


def score_by_round(found: Reproduction, on: OnDataset) -> Chart | None:
    """Figure 1, online: all played policies."""
    threshold = on.threshold
    grid = np.linspace(0.0, on.horizon, POINTS)
    series = []
    for line in on.lines:
        tables = found.table("rows", on.name, line.entry)
        total = np.zeros(POINTS)
        for rows in tables:
            total += score_over_rounds(rows["mean"], rows["verdict"], rows["verdict_round"], threshold, grid)
        series.append(Series(line.entry, grid, total / line.runs))
    series, flat = _apart(series)
    if not series:
        return None
    return Chart(on.name, f"round{flat}", "exploit score so far", series, _ceiling(on, series), **_scale_of(series))


def learning(found: Reproduction, on: OnDataset) -> Chart | None:
    """Figure 2."""
    offline = found.table("training", on.name, "dgai-offline")
    online = found.table("curve", on.name, "dgai-online")
    working = found.table("curve", on.name, "dgai")
    if not offline and not online:
        return None
    series = []
    for name in ("alpha", "beta"):
        if offline:
            values = np.array([table[name] for table in offline])
            share = np.linspace(0.0, 1.0, values.shape[1])
            series.append(Series(f"{name}, offline", share, values.mean(axis=0)))
        if online:
            series.append(Series(f"{name}, online", *_mean_curve(online, name, on.horizon)))
        if working:
            series.append(Series(f"{name}, dgai", *_mean_curve(working, name, on.horizon, start=None)))
    return Chart(on.name, "share of the training", "alpha, beta", series, y_scale="symlog", smallest=1e-3, x_share=True)


def _mean_curve(tables: list[Columns], name: str, horizon: int, start: float | None = 0.0) -> tuple[Floats, Floats]:
    """Mean over runs at each share of the horizon. A run that ended early keeps its last value.

    start : the value before the first round; None for the first known value
    """
    shares = np.linspace(0.0, 1.0, POINTS)
    curves = []
    for table in tables:
        for run in np.unique(table["run"]):
            mine = (table["run"] == run) & np.isfinite(table[name])
            if not mine.any():
                continue
            at, values = table["round"][mine] / horizon, table[name][mine]
            first = values[0] if start is None else start
            curves.append(np.interp(shares, np.append(0.0, at), np.append(first, values)))
    return (shares, np.mean(curves, axis=0)) if curves else (np.zeros(0), np.zeros(0))


def bounds(found: Reproduction, on: OnDataset) -> Chart | None:
    """Figure 3."""
    if not on.in_paper or not on.lines:
        return None
    problem = find_environment(on.name).problem(DELTA)
    bar = problem.bar
    pulls = np.unique(np.round(np.geomspace(1.0, on.horizon, POINTS)))
    series = [_by_radius("baselines (hoeffding)", "hoeffding", pulls, bar)]
    for entry in ("dgai-online", "dgai-offline"):
        alpha = _final_alpha(found, on, entry)
        if alpha is not None:
            series.append(_by_radius(entry, "learned-printed", pulls, bar, alpha=alpha))
    for learned in found.parameters(on.name, "value calibrated")[:1]:
        series.append(_by_radius("value calibrated", "learned", pulls, bar, **learned, minimum_pulls=least_pulls(bar)))
    series += _certified(on, problem)
    rows = found.table("rows", on.name, on.lines[0].entry)
    gap = float(np.mean([table["mean"].max() for table in rows])) - on.threshold
    scale = "symlog" if any((each.y <= 0.0).any() for each in series) else "log"
    return Chart(
        on.name,
        "pulls of the arm",
        "bound above the threshold",
        series,
        [("gap of the best arm", gap)],
        x_scale="log",
        y_scale=scale,
        smallest=_lowest(gap),
    )


def bound_by_round(found: Reproduction, on: OnDataset) -> Chart | None:
    """Figure 3, as the paper describes it: along the trajectory of the best arm."""
    if not on.in_paper or not on.lines:
        return None
    problem = find_environment(on.name).problem(DELTA)
    series, gap = [], math.nan
    for entry in FOLLOWED:
        for table in found.table("best", on.name, entry)[:1]:
            gap = float(table["gap"][0]) - on.threshold
            bound = _needed(found, on, entry, table, problem)
            drawn = np.isfinite(bound) & (bound > 0.0)
            if drawn.any():
                series.append(Series(entry, table["round"][drawn].astype(float), bound[drawn]))
    if not series:
        return None
    marks = [("gap of the best arm", gap)]
    return Chart(on.name, "round", "bound above the threshold", series, marks, x_scale="log", y_scale="log")


def _needed(found: Reproduction, on: OnDataset, entry: str, table: Columns, problem: Problem) -> Floats:
    """Distance above the threshold that the best arm's mean had to reach, at the rounds of a recorded run."""
    pulls = table["pulls"].astype(float)
    if entry == HDOC:
        return _radius_at("hoeffding", pulls, problem.bar)
    if entry == "dgai-offline":
        alphas = [each["alpha"] for each in found.parameters(on.name, entry)][:1]
        return _radius_at("learned-printed", pulls, problem.bar, alpha=alphas[0])
    if entry == "dgai-online":
        curve = found.table("curve", on.name, entry)[0]
        first = curve["run"] == curve["run"].min()
        at = np.interp(table["round"], np.append(0.0, curve["round"][first]), np.append(0.0, curve["alpha"][first]))
        return np.asarray(at * _radius_at("learned-printed", pulls, problem.bar, alpha=1.0))
    rule = policy(next(line.policy for line in on.lines if line.entry == entry)).identification.name
    known = _by_evidence(entry, rule, Pool(0.0, on.horizon, ladder_learner.start(problem.bar)), problem)
    inside = np.interp(np.log(np.maximum(pulls, 1.0)), np.log(known.x), np.log(known.y), left=np.nan, right=np.nan)
    return np.asarray(np.exp(inside))


def _radius_at(rule: str, pulls: Floats, bar: Bar, **parameters: float) -> Floats:
    """A radius at each number of pulls, infinite before the first."""
    formula = identification_rule(rule).formula
    arms = [
        Arm(n, n * bar.threshold, bar.threshold, n**-0.5, 0.0, 0.0, 0.0, 0.0) if n else None for n in pulls.tolist()
    ]
    return np.array([math.inf if arm is None else formula(arm, NO_POOL, bar, **parameters) for arm in arms])


def _lowest(gap: float) -> float:
    return float(10.0 ** math.floor(math.log10(gap / 10.0)))


def _final_alpha(found: Reproduction, on: OnDataset, entry: str) -> float | None:
    """Mean over the runs of the last learned alpha."""
    if entry == "dgai-offline":
        values = [each["alpha"] for each in found.parameters(on.name, entry)]
        return float(np.mean(values)) if values else None
    tables = found.table("curve", on.name, entry)
    return float(_mean_curve(tables, "alpha", on.horizon)[1][-1]) if tables else None


def _certified(on: OnDataset, problem: Problem) -> Iterator[Series]:
    """Gap at which an evidence rule decides after N evenly spread rewards; `learned-bets` before it has learned."""
    pool = Pool(0.0, on.horizon, ladder_learner.start(problem.bar))
    yield _by_evidence("certified: kt", "kt", pool, problem)
    yield _by_evidence("certified: learned-bets", "learned-bets", pool, problem)


def _by_radius(name: str, rule: str, pulls: Floats, bar: Bar, **parameters: float) -> Series:
    """A radius over the number of pulls, if finite."""
    values = _radius_at(rule, pulls, bar, **parameters)
    finite = np.isfinite(values)
    return Series(name, pulls[finite], values[finite])


def _by_evidence(name: str, rule: str, pool: Pool, problem: Problem) -> Series:
    points = []
    top = 1.0 - problem.threshold
    for gap in np.geomspace(0.9 * top, 1e-3 * top, 28):
        pulls = _pulls_until_good(policy("uniform", rule), problem.threshold + float(gap), pool, problem)
        if pulls is None:
            break
        points.append((pulls, float(gap)))
    x, y = (np.array(column) for column in zip(*points, strict=True))
    return Series(name, x, y)


def _pulls_until_good(policy: Policy, mean: float, pool: Pool, problem: Problem) -> float | None:
    """Number of pulls after which an arm with evenly spread 0/1 rewards of this mean is called good."""
    log = OrderedLog(policy, problem, pool)
    rewards = np.diff(np.floor(np.arange(LONGEST + 1) * mean + 0.5))
    log.absorb(np.zeros(LONGEST, dtype=np.int64), rewards)
    return float(log.decided_at[0]) if log.verdicts[0] > 0 else None


def rewards(found: Reproduction, on: OnDataset) -> Chart | None:
    """Figure 4."""
    series = []
    for entry in REWARD_ENTRIES:
        tables = found.table("curve", on.name, entry.name)
        if tables:
            shares = np.array([table["reward"] / (table["round"] * table["best_mean"]) for table in tables])
            series.append(Series(entry.name, tables[0]["round"].astype(float), shares.mean(axis=0)))
    return Chart(on.name, "round", "reward, share of the best arm's", series, y_share=True) if series else None


def price(found: Reproduction, on: OnDataset) -> Chart | None:
    """Wrong verdicts of each run against its score."""
    series = [
        Series(
            line.entry,
            np.array([each.exploit_score / on.ceiling for each in line.each]),
            np.array([float(each.wrong) for each in line.each]),
            points=True,
        )
        for line in on.lines
    ]
    if not series:
        return None
    most = max(float(each.y.max()) for each in series)
    many = most > 20.0
    return Chart(
        on.name,
        "exploit score of the run, share of the ceiling",
        "wrong verdicts in the run",
        series,
        x_share=True,
        y_scale="symlog" if many else "linear",
        smallest=1.0,
        y_limits=(-0.3, 2.0 * most) if many else (-0.05 * max(most, 4.0), 1.1 * max(most, 4.0)),
    )
