"""One run by the step of a live campaign: any kind of question, unequal costs, a budget.

Each sample is asked for and its reward told before the next one, as in a campaign with a single worker. With one
threshold and equal costs a run has the same samples, evidence and verdicts as the compiled loop, bit for bit, but it
is Python and much slower.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goodarm.arguments import exact
from goodarm.engine.compile import compiled
from goodarm.engine.evidence import Seen, Setup
from goodarm.engine.rule_parts import Drawn, draw_of
from goodarm.environments import Instance
from goodarm.question import Reward, Totals
from goodarm.rules.parameters import Formula
from goodarm.simulation.run import Run, drawn_from, stops_of
from goodarm.simulation.specification import Specification
from goodarm.simulation.stop import Stop
from goodarm.streams import ENVIRONMENT, derived_seed, generator, metric_key

AHEAD = 32
"""Number of rewards of an arm to draw at a time."""
LOOK = 1000
"""Number of rounds between two checks of the stop token."""


def play_live_runs(spec: Specification, numbers: Iterable[int], stop: Stop | None = None) -> list[Run]:
    """Play several runs one after the other, a worker's unit of work. `stop` works within one process."""
    return [LiveRun(spec, number).played(stop) for number in numbers]


class LiveRun:
    """The state of a run."""

    def __init__(self, spec: Specification, number: int) -> None:
        self.spec, self.number, self.question = spec, number, spec.question
        environment, arms = spec.environment, spec.environment.arms
        chance = generator(spec.seed, number, ENVIRONMENT)
        self.instances = [metric.instance(chance) for metric in environment.metrics]
        self.streams = [
            _Rewards(spec, draw_of(spec.problem, metric.reward), instance, 0 if environment.together else j, number)
            for j, (metric, instance) in enumerate(zip(environment.metrics, self.instances, strict=True))
        ]
        self.ids = list(environment.labels) or list(map(str, range(arms)))
        seed = derived_seed(spec.seed, f"policy of run {number}")
        horizon, features = float(spec.horizon), environment.features
        self.step = spec.evidence.step(
            Setup(spec.policy, spec.problem, self.ids, horizon, features, seed, costs=spec.costs or None)
        )
        self.prices = [exact(cost) for cost in spec.costs or (1.0,) * arms]
        self.budget = None if spec.budget is None else exact(spec.budget)
        self.spent, self.rounds, self.good = Fraction(0), 0, 0
        self.goes_on = True
        self.pulls = [0] * arms
        self.totals: list[Reward] = [self.question.nothing] * arms
        self.verdicts = np.zeros(arms, dtype=np.int8)
        self.verdict_rounds, self.verdict_spent = np.zeros(arms, dtype=np.int64), np.zeros(arms)
        self.failed = np.full(arms if self.question.names else 0, -1, dtype=np.int64)
        self.trace: list[int] = []

    def played(self, stop: Stop | None = None) -> Run:
        """Play to the end and return the result."""
        points: list[list[float]] = []
        started = time.perf_counter()
        for until in stops_of(self.spec.horizon, self.spec.trajectory):
            self._advance(until, stop)
            if self.spec.trajectory:
                points.append(self._point())
            if not self.goes_on:
                break
        return self._finished(time.perf_counter() - started, points)

    def _advance(self, until: int, stop: Stop | None) -> None:
        """Play until this round, or until every arm is decided, enough are found, or the budget is spent."""
        step, wanted = self.step, self.spec.stop_after
        while self.rounds < until:
            if stop is not None and self.rounds % LOOK == 0:
                stop.check()
            arm = step.choose() if wanted is None or self.good < wanted else -1
            if arm < 0 or (self.budget is not None and self.spent + self.prices[arm] > self.budget):
                self.goes_on = False
                return
            self.rounds += 1
            self.spent += self.prices[arm]
            step.ask(arm)
            reward = self._reward(arm)
            self.totals[arm] = self.question.plus(self.totals[arm], reward)
            if self.spec.trace:
                self.trace.append(arm)
            for each in step.absorb(arm, reward):
                self._decided(each)

    def _reward(self, arm: int) -> Reward:
        n = self.pulls[arm]
        self.pulls[arm] = n + 1
        return self.spec.environment.reward_of(tuple([stream.reward(arm, n) for stream in self.streams]))

    def _decided(self, arm: int) -> None:
        verdict = self.step.row(arm).verdict
        self.verdicts[arm], self.verdict_rounds[arm] = verdict, self.rounds
        self.verdict_spent[arm] = float(self.spent)
        self.good += verdict > 0
        spec = self.spec
        seen = Seen(float(self.pulls[arm]), self.totals[arm])
        states = spec.evidence.metrics(spec.policy, spec.problem, seen, 1.0 / spec.problem.arms, verdict)
        for j, metric in enumerate(states):
            if metric.failed:
                self.failed[arm] = j

    def _point(self) -> list[float]:
        counts = [self.rounds, int((self.verdicts > 0).sum()), int((self.verdicts < 0).sum()), self._collected()]
        bounds = self.step.bounds()
        return [*map(float, counts), bounds.get("alpha", math.nan), bounds.get("beta", math.nan)]

    def _collected(self) -> float:
        return float(sum(self.question.shown_total(total) for total in self.totals))

    def _finished(self, seconds: float, points: list[list[float]]) -> Run:
        rows = [self.step.row(arm) for arm in range(len(self.ids))]
        return Run(
            number=self.number,
            means=self._truth(),
            verdicts=self.verdicts,
            verdict_rounds=self.verdict_rounds,
            pulls=np.array(self.pulls, dtype=np.int64),
            rounds=self.rounds,
            open_arms=int((self.verdicts == 0).sum()),
            reward=self._collected(),
            seconds=seconds,
            evidence=np.array([[row.for_good, row.for_bad] for row in rows]),
            learned={},
            trajectory=np.array(points) if points else np.zeros((0, 6)),
            trace=np.array(self.trace, dtype=np.int64),
            spent=float(self.spent),
            verdict_spent=self.verdict_spent,
            metric_means=self._means() if self.question.names else np.zeros((0, 0)),
            failed=self.failed,
        )

    def _means(self) -> NDArray[np.float64]:
        return np.stack([instance.means for instance in self.instances])

    def _truth(self) -> NDArray[np.float64]:
        """The question's estimate of each arm from the true means, which is compared with the bar."""
        reward_of = self.spec.environment.reward_of
        true = {
            name: Totals(1, 1, 0, reward_of(tuple(m)))
            for name, m in zip(self.ids, self._means().T.tolist(), strict=True)
        }
        return np.array([self.question.estimate(name, true.__getitem__) for name in self.ids])


class _Rewards:
    """The rewards of one metric, per arm in their order."""

    def __init__(self, spec: Specification, draw: Formula, instance: Instance, metric: int, number: int) -> None:
        self.fill, self.found = drawn_ahead(draw), np.empty(AHEAD)
        self.source: Drawn = drawn_from(instance, metric_key(spec.seed, number, metric))
        self.kept: list[list[float]] = [[]] * spec.environment.arms

    def reward(self, arm: int, n: int) -> float:
        """The n-th reward of an arm, counted from 0. Calls must come in order."""
        place = n % AHEAD
        if place == 0:
            self.fill(arm, float(n), self.source, self.found)
            self.kept[arm] = self.found.tolist()
        return self.kept[arm][place]


@cache
def drawn_ahead(draw: Formula) -> Formula:
    """The next rewards of an arm, in one call of compiled code."""

    def fill(arm: int, pulls: float, source: Drawn, found: Any) -> None:
        for j in range(len(found)):
            found[j] = draw(arm, pulls + j, source)

    return compiled(fill)  # type: ignore[no-any-return]  # numba's dispatcher
