"""Summary of a reproduction: one line per policy and dataset, from the rows of its runs."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.environments import Environment
from goodarm.environments.names import environment as find_environment
from goodarm.numerics import clopper_pearson
from goodarm.paper.finished_tasks import Columns, FinishedTask
from goodarm.paper.reproduction import FinishedWork
from goodarm.paper.scope import (
    REWARD_ENTRIES,
    SWEEP,
    SWEEP_HORIZON,
    Entry,
    PaperDataset,
    Request,
    entries_of,
    horizon_of,
    sweep_entries,
)
from goodarm.scores import Score, score_by_run
from goodarm.simulation.runs import Estimate
from goodarm.theory import exploit_ceiling, oracle_limit

DELTA = 0.05
HDOC = "hdoc"
NEXT_TO_NOTHING = 0.01
"""Share of the ceiling below which a score is too small for ratios."""

Floats = NDArray[np.float64]


class PolicyScore(NamedTuple):
    """One policy on one dataset. `ratio`: to HDoC's score on the same runs; NaN if HDoC scores almost nothing."""

    entry: str
    kind: str
    policy: str
    guarantee: str
    runs: int
    mean: float
    sd: float
    share_of_ceiling: float
    share_of_limit: float
    found: float  # good arms called good, per run
    false_good: float  # bad arms called good, per run
    false_bad: float  # good arms called bad, per run
    wrong_runs: int
    deciding_runs: int  # runs that gave any verdict
    ratio: float
    printed: float  # NaN if the run is shorter than the paper's
    printed_ratio: float
    each: tuple[Score, ...]  # of every run

    @property
    def wrong_verdicts(self) -> float:
        return self.false_good + self.false_bad

    @property
    def wrong_share(self) -> Estimate:
        """Share of runs with a wrong verdict, with its Clopper-Pearson interval."""
        low, high = clopper_pearson(self.wrong_runs, self.runs, 0.95)
        return Estimate(self.wrong_runs / self.runs, low, high, self.runs)


class PolicyReward(NamedTuple):
    """One policy that collects rewards: the sum of all rewards, and its share of the best arm's reward."""

    entry: str
    kind: str
    runs: int
    reward: float
    share_of_best: float


class OnDataset(NamedTuple):
    """A dataset, its reference values, and its lines in the order of the paper's table."""

    name: str
    reading: str
    reference: str
    arms: int
    good_arms: float
    threshold: float
    horizon: int
    own_horizon: int
    ceiling: float
    limit: float
    in_paper: bool
    model: str
    lines: list[PolicyScore]
    rewards: list[PolicyReward]


class SweepLine(NamedTuple):
    """The paper's training with one eta and one sign of D: the learned bounds, and their verdicts on fresh rewards."""

    sign: str
    eta: float
    runs: int
    alpha: float
    beta: float
    share_of_ceiling: float
    wrong_runs: int
    deciding_runs: int
    wrong_verdicts: float


class Reproduction(NamedTuple):
    """Results of a reproduction: every dataset with its policies, and the finished tasks behind them."""

    request: Request
    datasets: list[OnDataset]
    tasks: list[FinishedTask]
    sweep: tuple[SweepLine, ...] = ()

    def table(self, name: str, dataset: str, entry: str) -> list[Columns]:
        """The tables with this name from all tasks of a dataset and a policy."""
        return [task.tables[name] for task in self.tasks if _is(task, dataset, entry) and name in task.tables]

    def parameters(self, dataset: str, entry: str) -> list[dict[str, float]]:
        """Learned values, one dictionary per task that learned something."""
        found = [task.facts.get("parameters") for task in self.tasks if _is(task, dataset, entry)]
        return [each for each in found if each]


def _is(task: FinishedTask, dataset: str, entry: str) -> bool:
    return bool(task.facts["dataset"] == dataset and task.facts["entry"] == entry)


def summarise(work: FinishedWork) -> Reproduction:
    """Summarise all finished tasks."""
    request = work.request
    empty = Reproduction(request, [], work.tasks)
    datasets = [_on_dataset(empty, dataset) for dataset in request.datasets]
    lines = (_sweep_line(empty, entry) for entry in sweep_entries(request.scale))
    return empty._replace(datasets=datasets, sweep=tuple(line for line in lines if line is not None))


def _sweep_line(found: Reproduction, entry: Entry) -> SweepLine | None:
    tables = found.table("rows", SWEEP, entry.name)
    if not tables:
        return None
    environment = find_environment(SWEEP)
    scores = list(_scored(tables, environment, SWEEP_HORIZON).values())
    ceilings = [exploit_ceiling(rows["mean"], environment.threshold, SWEEP_HORIZON) for rows in tables]
    learned, options = found.parameters(SWEEP, entry.name), dict(entry.options)
    return SweepLine(
        sign=entry.name.partition(",")[0],
        eta=options["eta1"],
        runs=len(scores),
        alpha=float(np.mean([each["alpha"] for each in learned])),
        beta=float(np.mean([each["beta"] for each in learned])),
        share_of_ceiling=_ratio(float(np.mean([each.exploit_score for each in scores])), float(np.mean(ceilings))),
        wrong_runs=sum(each.wrong > 0 for each in scores),
        deciding_runs=sum(each.decided > 0 for each in scores),
        wrong_verdicts=float(np.mean([each.wrong for each in scores])),
    )


def _on_dataset(found: Reproduction, dataset: PaperDataset) -> OnDataset:
    environment = find_environment(dataset.name)
    horizon = horizon_of(dataset, found.request.quick)
    entries = entries_of(dataset, found.request.scale)
    scored = {
        entry.name: _scored(found.table("rows", dataset.name, entry.name), environment, horizon) for entry in entries
    }
    scored = {name: each for name, each in scored.items() if each}
    bounds = _bounds(found, dataset, environment, horizon)
    means = [bounds[run] for run in sorted(bounds)]
    lines = [_policy_score(found, dataset, entry, scored, bounds) for entry in entries if entry.name in scored]
    return OnDataset(
        name=dataset.name,
        reading=environment.reading,
        reference=environment.reference,
        arms=environment.arms,
        good_arms=float(np.mean([each[2] for each in means])) if means else math.nan,
        threshold=environment.threshold,
        horizon=horizon,
        own_horizon=horizon_of(dataset, False),
        ceiling=float(np.mean([each[0] for each in means])) if means else math.nan,
        limit=float(np.mean([each[1] for each in means])) if means else math.nan,
        in_paper=not dataset.small and not dataset.model,
        model=dataset.model,
        lines=lines,
        rewards=[line for entry in REWARD_ENTRIES if (line := _policy_reward(found, dataset, entry)) is not None],
    )


def _split(tables: list[Columns]) -> dict[int, Columns]:
    """The rows of each run."""
    runs: dict[int, Columns] = {}
    for table in tables:
        for number in np.unique(table["run"]):
            mine = table["run"] == number
            runs[int(number)] = {name: column[mine] for name, column in table.items()}
    return runs


def _scored(tables: list[Columns], environment: Environment, horizon: int) -> dict[int, Score]:
    """The score of each run, by run number."""
    scored: dict[int, Score] = {}
    for rows in tables:
        scored |= score_by_run(
            rows["run"], rows["mean"], rows["verdict"], rows["verdict_round"], environment.threshold, horizon
        )
    return dict(sorted(scored.items()))


def _bounds(
    found: Reproduction, dataset: PaperDataset, environment: Environment, horizon: int
) -> dict[int, tuple[float, float, int]]:
    """Ceiling, oracle limit and number of good arms of each run: the same for every policy."""
    bounds: dict[int, tuple[float, float, int]] = {}
    seen: dict[bytes, tuple[float, float, int]] = {}
    for entry in entries_of(dataset, found.request.scale):
        for number, rows in _split(found.table("rows", dataset.name, entry.name)).items():
            if number not in bounds:
                means, threshold = rows["mean"], environment.threshold
                key = means.tobytes()
                if key not in seen:
                    seen[key] = (
                        exploit_ceiling(means, threshold, horizon),
                        oracle_limit(means, threshold, DELTA, horizon),
                        int((means >= threshold).sum()),
                    )
                bounds[number] = seen[key]
    return bounds


def _policy_score(
    found: Reproduction,
    dataset: PaperDataset,
    entry: Entry,
    scored: dict[str, dict[int, Score]],
    bounds: dict[int, tuple[float, float, int]],
) -> PolicyScore:
    mine = scored[entry.name]
    each = list(mine.values())
    scores = np.array([run.exploit_score for run in each])
    facts = next(p.facts for p in found.tasks if _is(p, dataset.name, entry.name) and p.facts["goal"] == "verdicts")
    hdoc = scored.get(HDOC, {})
    beside = [hdoc[run].exploit_score for run in mine if run in hdoc]
    printed, printed_hdoc = (dataset.printed.get(name, math.nan) for name in (entry.name, HDOC))
    if found.request.quick:  # runs are shorter than the paper's, so its numbers are not comparable
        printed = math.nan
    next_to_nothing = NEXT_TO_NOTHING * float(np.mean([bounds[run][0] for run in mine]))
    mean = float(scores.mean())
    return PolicyScore(
        entry=entry.name,
        kind=entry.kind,
        policy=facts["policy"],
        guarantee=facts["guarantee"],
        runs=len(scores),
        mean=mean,
        sd=float(scores.std(ddof=1)) if len(scores) > 1 else math.nan,
        share_of_ceiling=_ratio(mean, float(np.mean([bounds[run][0] for run in mine]))),
        share_of_limit=_ratio(mean, float(np.mean([bounds[run][1] for run in mine]))),
        found=float(np.mean([run.found for run in each])),
        false_good=float(np.mean([run.false_good for run in each])),
        false_bad=float(np.mean([run.false_bad for run in each])),
        wrong_runs=sum(run.wrong > 0 for run in each),
        deciding_runs=sum(run.decided > 0 for run in each),
        ratio=_ratio(mean, float(np.mean(beside))) if beside and np.mean(beside) > next_to_nothing else math.nan,
        printed=printed,
        printed_ratio=_ratio(printed, printed_hdoc),
        each=tuple(each),
    )


def _policy_reward(found: Reproduction, dataset: PaperDataset, entry: Entry) -> PolicyReward | None:
    tables = found.table("curve", dataset.name, entry.name)
    if not tables:
        return None
    last = [(float(t["reward"][-1]), float(t["round"][-1] * t["best_mean"][-1])) for t in tables]
    reward, best = (float(np.mean(column)) for column in zip(*last, strict=True))
    return PolicyReward(entry.name, entry.kind, len(tables), reward, _ratio(reward, best))


def _ratio(value: float, whole: float) -> float:
    return value / whole if whole > 0.0 else math.nan


def as_json(found: Reproduction) -> dict[str, Any]:
    """The object that `goodarm reproduce --json` prints."""
    request = found.request
    return {
        "command": request.command(),
        "quick": request.quick,
        "seed": request.seed,
        "delta": DELTA,
        "datasets": [
            {
                **{k: v for k, v in each._asdict().items() if k not in ("lines", "rewards")},
                "policies": [{k: v for k, v in line._asdict().items() if k != "each"} for line in each.lines],
                "rewards": [line._asdict() for line in each.rewards],
            }
            for each in found.datasets
        ],
        "sweep": [line._asdict() for line in found.sweep],
    }
