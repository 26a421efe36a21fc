"""Stop an Inspect evaluation of a model as soon as its verdict is certain.

    from goodarm.integrations.inspect_stopping import stop_when_certain

    task = Task(dataset, solver=..., scorer=match(), early_stopping=stop_when_certain(threshold=0.8, arms=3))
    eval(task, model=["openai/a", "openai/b", "openai/c"], sample_shuffle=1)

The question concerns the pass rate on the samples of the dataset. Pending samples count at their worst, so samples may
run in parallel, be slow, or fail. The proof is that of `gap-mixture` on a fixed test set. It needs samples in
random order, so the evaluation must shuffle: `sample_shuffle=SEED`, or `dataset.shuffle()`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from goodarm.arguments import check_whole
from goodarm.errors import InvalidValue
from goodarm.problem import Cases, Problem
from goodarm.question import SHARES, Threshold
from goodarm.verdict import Guarantee

if TYPE_CHECKING:
    from inspect_ai.dataset import Sample
    from inspect_ai.log import EvalSpec
    from inspect_ai.scorer import SampleScore
    from inspect_ai.util import EarlyStop, EarlyStopping


def passed_fully(score: float) -> bool:
    """By default a sample passes with the full score."""
    return score >= 1.0


def stop_when_certain(
    threshold: float,
    arms: int,
    *,
    delta: float = 0.05,
    metric: str | None = None,
    passes: Callable[[float], bool] = passed_fully,
) -> EarlyStopping:
    """An early stopping manager for `Task(early_stopping=...)`.

    threshold : the pass rate that a good model reaches on this dataset
    arms      : number of models or solvers that are evaluated with this manager; they share delta
    delta     : probability that any of their verdicts is wrong
    metric    : the scorer whose score counts; the first one if None
    passes    : whether a score passes
    """
    return Stopping(threshold, check_whole("arms", arms, 1), delta, metric, passes)


@dataclass
class Progress:
    """One evaluation: its started, completed and passed samples."""

    problem: Problem
    scheduled: set[str | int] = field(default_factory=set)
    completed: set[str | int] = field(default_factory=set)
    passed: int = 0
    verdict: int = 0

    @property
    def pending(self) -> int:
        return len(self.scheduled) - len(self.completed)

    def judge(self) -> None:
        """Decide. Pending samples count as failed in the evidence for good, and as passed in the evidence for bad."""
        from goodarm.rules.identification.gap_mixture import log_average

        bar, drawn = self.problem.bar, float(len(self.scheduled))
        if not self.verdict and log_average(1.0, drawn, float(self.passed), bar) >= bar.budget:
            self.verdict = 1
        if not self.verdict and log_average(-1.0, drawn, float(self.passed + self.pending), bar) >= bar.budget:
            self.verdict = -1

    def summary(self) -> dict[str, Any]:
        """Data for the evaluation's log."""
        from goodarm.engine.totals import interval_from_totals
        from goodarm.rules.identification.gap_mixture import gap_mixture

        bar, drawn = self.problem.bar, np.array([float(len(self.scheduled))])
        worst, best = np.array([float(self.passed)]), np.array([float(self.passed + self.pending)])
        low = interval_from_totals(gap_mixture, drawn, worst, bar, bar.budget)[0]
        high = interval_from_totals(gap_mixture, drawn, best, bar, bar.budget)[1]
        question = Threshold(self.problem.threshold)
        return {
            "verdict": question.word(self.verdict),
            "guarantee": str(Guarantee.CERTIFIED if self.verdict else Guarantee.NONE),
            "threshold": self.problem.threshold,
            "delta": self.problem.delta,
            "arms": self.problem.arms,
            "samples": len(self.completed),
            "passed": self.passed,
            "cases": int(bar.cases),
            "low": float(low[0]),
            "high": float(high[0]),
        }


class Stopping:
    """Inspect's early stopping protocol. One manager may serve several evaluations at once."""

    def __init__(
        self, threshold: float, arms: int, delta: float, metric: str | None, passes: Callable[[float], bool]
    ) -> None:
        Problem(threshold, arms, delta)  # refuse an invalid threshold or delta now
        self.threshold, self.arms, self.delta = threshold, arms, delta
        self.metric, self.passes = metric, passes
        self.started = 0
        self._progress: ContextVar[Progress] = ContextVar("progress")
        """Each evaluation has a separate one, because its samples run in copies of the context in which it was
        started."""

    async def start_task(self, task: EvalSpec, samples: list[Sample], epochs: int) -> str:
        if epochs > 1:
            raise InvalidValue(f"an evaluation that stops early must have one epoch; got {epochs}. Leave out epochs=.")
        if not (task.dataset.shuffled or task.config.sample_shuffle):
            raise InvalidValue(
                "samples must come in random order. Otherwise the pass rate of the first samples says nothing about "
                "the others. Pass sample_shuffle=SEED to eval, or shuffle the dataset."
            )
        self.started += 1
        if self.started > self.arms:
            raise InvalidValue(
                f"this is evaluation {self.started}, but delta was divided among {self.arms}. Pass the number of all "
                "models and solvers: stop_when_certain(arms=...)."
            )
        self._progress.set(Progress(Problem(self.threshold, self.arms, self.delta, Cases(len(samples)))))
        return "goodarm"

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:
        from inspect_ai.util import EarlyStop

        progress = self._progress.get()
        if progress.verdict:
            phrases = Threshold(self.threshold).phrases(SHARES)
            where = phrases.above if progress.verdict > 0 else f"below {SHARES.mean(self.threshold)}"
            return EarlyStop(id=id, epoch=epoch, reason=f"the pass rate is certainly {where}")
        progress.scheduled.add(id)  # a sample that is retried after an error counts once
        return None

    async def complete_sample(self, id: str | int, epoch: int, scores: dict[str, SampleScore]) -> None:
        from inspect_ai.scorer import value_to_float

        progress = self._progress.get()
        name = self.metric or next(iter(scores), None)
        if name not in scores:
            if self.metric is not None and scores:
                raise InvalidValue(f"there is no score {self.metric!r}; the scorers are {', '.join(scores)}.")
            return  # a sample without a score stays pending and counts at its worst
        if id in progress.completed:
            return
        progress.completed.add(id)
        progress.passed += bool(self.passes(value_to_float()(scores[name].score.value)))
        progress.judge()

    async def complete_task(self) -> dict[str, Any]:
        return self._progress.get().summary()
