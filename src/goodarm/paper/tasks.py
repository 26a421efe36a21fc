"""One task of a reproduction: a few runs of one policy on one dataset, including any learning that must come first."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from goodarm.environments import Environment
from goodarm.environments.names import environment as find_environment
from goodarm.learning import learn
from goodarm.paper.finished_tasks import Columns, FinishedTask, key_of
from goodarm.paper.scope import (
    DATASETS,
    REWARD_ENTRIES,
    STRUCTURED,
    SWEEP,
    SWEEP_HORIZON,
    Entry,
    PaperDataset,
    Request,
    Scale,
    entries_of,
    horizon_of,
    sweep_entries,
)
from goodarm.paper.training import train_paper
from goodarm.policies import policy, reward_policy
from goodarm.simulation.run import Run, play_runs
from goodarm.simulation.runs import Runs
from goodarm.simulation.specification import Specification, specify
from goodarm.simulation.stop import Stop
from goodarm.streams import ENVIRONMENT, generator

ROUNDS_PER_TASK = 4_000_000
ELSEWHERE = 1_000_003
"""Learning uses the streams of seed + this: so no reported result uses a reward from learning."""


EVERY = (*DATASETS, *STRUCTURED)
FOLLOWED = ("hdoc", "dgai-online", "dgai-offline", "dgai", "value")
"""Policies whose best arm is recorded in the first run, for Figure 3."""


@dataclass(frozen=True)
class Task:
    """A task. All its fields and the code are part of the key of its result.

    goal  : "verdicts", "reward", "sweep" (over eta), or "policy" (learn one and keep its file)
    learned : the key of the task that learns the policy; None if nothing must be learned
    """

    goal: str
    dataset: str
    entry: str
    horizon: int
    first: int
    runs: int
    seed: int
    scale: Scale
    learned: str | None = None

    @property
    def key(self) -> str:
        facts = asdict(self)
        facts["scale"] = [v for k, v in self.scale._asdict().items() if k != "name" and not k.endswith("runs")]
        name = f"{self.dataset}-{self.entry}-{self.goal}-{self.first}".replace(", ", "-").replace(" ", "-")
        return f"{name}-{key_of(facts)}"

    @property
    def spec(self) -> Entry:
        entries = {"reward": REWARD_ENTRIES, "sweep": sweep_entries(self.scale)}.get(self.goal)
        if entries is None:
            entries = entries_of(next(each for each in EVERY if each.name == self.dataset), self.scale)
        return next(entry for entry in entries if entry.name == self.entry)


def tasks_of(request: Request) -> list[Task]:
    """All tasks: those that others need first, then by decreasing length."""
    tasks = [task for dataset in request.datasets for task in _of_dataset(dataset, request)]
    return sorted(tasks, key=lambda task: (task.goal != "policy", not task.spec.slow, -task.horizon))


def _of_dataset(dataset: PaperDataset, request: Request) -> Iterator[Task]:
    scale, seed = request.scale, request.seed
    horizon = horizon_of(dataset, request.quick)
    if set(request.items) - {"figure4", "sweep"}:
        for entry in entries_of(dataset, scale):
            learned = None
            if entry.made in ("learned", "calibrated"):
                teacher = Task("policy", dataset.name, entry.name, horizon, 0, 0, seed, scale)
                learned = teacher.key
                yield teacher
            slow = entry.slow and (dataset.name != "synth-small" or bool(entry.only))
            runs = scale.slow_runs if slow else scale.runs
            runs = scale.structured_runs if dataset.model else runs
            size = 1 if entry.made == "trained" else max(1, ROUNDS_PER_TASK // horizon)
            for first in range(0, runs, size):
                count = min(size, runs - first)
                yield Task("verdicts", dataset.name, entry.name, horizon, first, count, seed, scale, learned)
    if "sweep" in request.items and dataset.name == SWEEP:
        for entry in sweep_entries(scale):
            for first in range(scale.sweep_runs):
                yield Task("sweep", dataset.name, entry.name, SWEEP_HORIZON, first, 1, seed, scale)
    if "figure4" in request.items and dataset.reward_horizon:
        span = min(horizon, dataset.reward_horizon, scale.reward_horizon)
        for entry in REWARD_ENTRIES:
            for first in range(scale.slow_reward_runs if entry.slow else scale.reward_runs):
                yield Task("reward", dataset.name, entry.name, span, first, 1, seed, scale)


def perform(task: Task, kept: Path, stop: Stop) -> FinishedTask:
    """Play the task. `kept` has the results that it needs."""
    if task.goal == "policy":
        return _learn_policy(task, stop)
    if task.goal == "reward":
        made = reward_policy(task.spec.policy)
        return _played(task, specify(made, task.dataset, horizon=task.horizon, seed=task.seed), points=True, stop=stop)
    if task.spec.made == "trained":
        return _train_and_play(task, stop)
    if task.learned is None:
        spec = specify(task.spec.policy, task.dataset, horizon=task.horizon, seed=task.seed)
        return _played(task, spec, points=task.spec.name in ("dgai-online", "dgai", "value"), stop=stop)
    facts = json.loads((kept / task.learned / "facts.json").read_text(encoding="utf-8"))
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        file.write(facts["file"])
        file.flush()
        spec = specify(file.name, task.dataset, horizon=task.horizon, seed=task.seed)
    return _played(task, spec, points=False, stop=stop, facts={"parameters": facts["parameters"]})


def _played(
    task: Task, spec: Specification, *, points: bool, stop: Stop, facts: dict[str, Any] | None = None
) -> FinishedTask:
    followed = task.goal == "verdicts" and task.first == 0 and task.entry in FOLLOWED
    spec = replace(spec, trajectory=task.scale.points if points else 0, trace=followed)
    runs = Runs(spec, tuple(play_runs(spec, range(task.first, task.first + task.runs), stop)))
    tables: dict[str, Columns] = {}
    if task.goal in ("verdicts", "sweep"):
        tables["rows"] = _rows(runs)
    if followed:
        tables["best"] = _best_arm(runs.runs[0])
    if points:
        tables["curve"] = _curve(runs)
    seconds = sum(run.seconds for run in runs.runs)
    return FinishedTask(tables, {**_facts(task, runs), "seconds": seconds, **(facts or {})})


def _facts(task: Task, runs: Runs) -> dict[str, Any]:
    return {
        "goal": task.goal,
        "dataset": task.dataset,
        "entry": task.entry,
        "policy": runs.policy,
        "guarantee": str(runs.guarantee),
        "horizon": task.horizon,
        "first": task.first,
        "runs": task.runs,
    }


def _rows(runs: Runs) -> Columns:
    """One row per arm and run, in compact columns, because a reproduction has millions of rows."""
    arms = runs.spec.environment.arms
    return {
        "run": np.repeat(np.array([run.number for run in runs.runs], dtype=np.int32), arms),
        "arm": np.tile(np.arange(arms, dtype=np.int32), len(runs)),
        "mean": np.concatenate([run.means for run in runs.runs]),
        "verdict": np.concatenate([run.verdicts for run in runs.runs]),
        "verdict_round": np.concatenate([run.verdict_rounds for run in runs.runs]),
        "pulls": np.concatenate([run.pulls for run in runs.runs]),
    }


def _best_arm(run: Run) -> Columns:
    """Number of pulls of the arm with the largest mean at some rounds of a run, up to its verdict."""
    best = int(run.means.argmax())
    last = int(run.verdict_rounds[best]) or run.rounds
    rounds = np.unique(np.round(np.geomspace(1, last, 200)).astype(np.int64))
    at = np.flatnonzero(run.trace == best) + 1
    return {
        "round": rounds,
        "pulls": np.searchsorted(at, rounds, side="right"),
        "verdict": np.full(len(rounds), int(run.verdicts[best])),
        "gap": np.full(len(rounds), float(run.means[best])),
    }


def _curve(runs: Runs) -> Columns:
    """One row per recorded point: round, reward so far, best mean, and learned values."""
    points, sizes = runs.trajectories, [len(run.trajectory) for run in runs.runs]
    columns: Columns = {
        "run": np.repeat([run.number for run in runs.runs], sizes),
        "round": points["round"].astype(np.int64),
        "reward": points["reward"],
        "best_mean": np.repeat([float(run.means.max()) for run in runs.runs], sizes),
    }
    return columns | {name: points[name] for name in {"alpha": 0, "beta": 0} | runs.runs[0].learned}


def _learn_policy(task: Task, stop: Stop) -> FinishedTask:
    """Learn a policy on the dataset; returns the text of its file."""
    calibrated = task.spec.made == "calibrated"
    given = next(each.calibration for each in DATASETS if each.name == task.dataset)
    learning_runs, tests = given or (1000, 1000)
    learned = learn(
        task.dataset,
        task.spec.policy,
        horizon=task.horizon,
        objective="none" if calibrated else "score",
        budget=task.scale.budget,
        calibrate=calibrated,
        learning_runs=learning_runs,
        tests=tests,
        seed=task.seed + ELSEWHERE,
        stop=stop,
    )
    with tempfile.TemporaryDirectory() as folder:
        learned.save(Path(folder) / "policy.json")
        text = (Path(folder) / "policy.json").read_text(encoding="utf-8")
    certificate = learned.policy.certificate
    tested = {"runs": certificate.runs, "wrong_runs": certificate.wrong_runs} if certificate else None
    facts = {
        "goal": task.goal,
        "dataset": task.dataset,
        "entry": task.entry,
        "parameters": learned.parameters,
        "certificate": tested,
        "file": text,
    }
    return FinishedTask({}, facts)


def _train_and_play(task: Task, stop: Stop) -> FinishedTask:
    """Run the paper's offline training on the arms of the run, then the run itself with the learned parameters."""
    environment = find_environment(task.dataset)
    means = environment.instance(generator(task.seed, task.first, ENVIRONMENT)).means
    scale, model = task.scale, policy(task.spec.policy, rewards=environment.rewards).model
    horizon = min(task.horizon, scale.training_horizon)
    trained = train_paper(
        _fixed(environment, means),
        horizon=horizon,
        epochs=scale.structured_epochs if model else scale.epochs,
        every=min(scale.every, max(1, horizon // 1000)),
        seed=task.seed + ELSEWHERE + task.first,
        model=model,
        progress=lambda epoch: stop.check(),
        draw="argmax",
        identification="learned-online",
        delta=0.05,
        **dict(task.spec.options),
    )
    spec = specify(trained.policy, task.dataset, horizon=task.horizon, seed=task.seed)
    found = {"parameters": {"alpha": trained.alpha, "beta": trained.beta}}
    played = _played(task, spec, points=False, stop=stop, facts=found)
    rows = list(trained.rows())
    training: Columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    training["run"] = np.full(len(rows), task.first)
    return FinishedTask({**played.tables, "training": training}, played.facts)


def _fixed(environment: Environment, means: Any) -> Environment:
    return replace(environment, draw=lambda generator: means)
