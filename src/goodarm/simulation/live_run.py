"""One run by the step of a live campaign: any kind of question, unequal costs, a budget.

Each reward is told before the next sample is asked for, as in a campaign with a single worker. With one
threshold and equal costs a run has the same samples, evidence and verdicts as the compiled loop, bit for bit.

The first rounds run as Python, so that short simulations never wait for the compiler. Compiled code plays the rest,
with the same bits, if it is on the disk, or after `SIMULATED_ROUNDS`.
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
from goodarm.engine.live.step import Account
from goodarm.engine.loop import NEVER
from goodarm.engine.rule_parts import Drawn, draw_of
from goodarm.environments import Instance
from goodarm.question import Reward, Totals
from goodarm.rules.parameters import Formula
from goodarm.simulation.progress import say_if_compiling
from goodarm.simulation.run import Run, drawn_from, stops_of
from goodarm.simulation.specification import Specification
from goodarm.simulation.stop import Stop
from goodarm.streams import ENVIRONMENT, derived_seed, generator, metric_key

AHEAD = 32
"""Number of rewards of an arm to draw at a time."""
LOOK = 1000
"""Number of rounds played as Python between two checks of the stop token and the compiled code."""
STRIDE = 100_000
"""Number of rounds played as compiled code between two checks of the stop token."""
LARGEST = 2**62
"""Maximum total cost of a run, in the units of its account, that compiled code can count."""


def play_live_runs(spec: Specification, numbers: Iterable[int], stop: Stop | None = None) -> list[Run]:
    """Play several runs one after the other, a worker's unit of work. `stop` works within one process."""
    return [LiveRun(spec, number).played(stop) for number in numbers]


class LiveRun:
    """The state of a run.

    as_python : play every round by single steps; the reference for the compiled code
    """

    def __init__(self, spec: Specification, number: int, *, as_python: bool = False) -> None:
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
        self.unit, self.account = account_of(spec)
        self.draws = tuple([stream.draw for stream in self.streams])
        self.sources = tuple([stream.source for stream in self.streams])
        self.compiles = not as_python and self.account.prices.dtype == np.int64
        self.wanted = NEVER if spec.stop_after is None else spec.stop_after
        self.rounds, self.good = 0, 0
        self.goes_on = True
        self.pulls = [0] * arms
        self.verdicts = np.zeros(arms, dtype=np.int8)
        self.trace = np.zeros(spec.horizon if spec.trace else 0, dtype=np.int64)

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
        while self.rounds < until and self.goes_on:
            if stop is not None:
                stop.check()
            play = self.step.player(self.draws, min(LOOK, until - self.rounds)) if self.compiles else None
            if play is None:
                self._step_by_step(min(until, self.rounds + LOOK))
                continue
            if stop is not None:  # in worker processes, the line would appear once per worker
                say_if_compiling(self.spec.policy.name, play.loop)
            last = min(until, self.rounds + STRIDE)
            self.goes_on = play(self.sources, self.account, self.wanted, last, self.trace)
            self._catch_up()

    def _catch_up(self) -> None:
        """Read the state after rounds of compiled code."""
        self.pulls = self.step.pulls().astype(np.int64).tolist()
        self.rounds = sum(self.pulls)
        for arm in np.flatnonzero((self.account.rounds_at > 0) & (self.verdicts == 0)).tolist():
            self._note(arm)

    def _step_by_step(self, until: int) -> None:
        step, account = self.step, self.account
        while self.rounds < until:
            arm = step.choose() if self.good < self.wanted else -1
            if arm < 0 or not account.pays(arm):
                self.goes_on = False
                return
            if self.trace.size:
                self.trace[self.rounds] = arm
            self.rounds += 1
            account.spent[0] += account.prices[arm]
            step.ask(arm)
            for each in step.absorb(arm, self._reward(arm)):
                account.rounds_at[each], account.spent_at[each] = self.rounds, account.spent[0]
                self._note(each)

    def _reward(self, arm: int) -> Reward:
        n = self.pulls[arm]
        self.pulls[arm] = n + 1
        values = [stream.reward(arm, n) for stream in self.streams]
        self.account.sums[:, arm] += values
        return self.spec.environment.reward_of(tuple(values))

    def _note(self, arm: int) -> None:
        """Record the verdict of an arm."""
        self.verdicts[arm] = self.step.row(arm).verdict
        self.good += int(self.verdicts[arm] > 0)

    def _total(self, arm: int) -> Reward:
        return self.spec.environment.reward_of(tuple(self.account.sums[:, arm].tolist()))

    def _failed(self) -> NDArray[np.int64]:
        """The metric that each arm's bad verdict names; -1 if none. Decided arms have no more rewards."""
        spec, arms = self.spec, len(self.ids)
        found = np.full(arms if self.question.names else 0, -1, dtype=np.int64)
        for arm in np.flatnonzero(self.verdicts).tolist() if self.question.names else []:
            seen, verdict = Seen(float(self.pulls[arm]), self._total(arm)), int(self.verdicts[arm])
            states = spec.evidence.metrics(spec.policy, spec.problem, seen, 1.0 / spec.problem.arms, verdict)
            for j, metric in enumerate(states):
                if metric.failed:
                    found[arm] = j
        return found

    def _point(self) -> list[float]:
        counts = [self.rounds, int((self.verdicts > 0).sum()), int((self.verdicts < 0).sum()), self._collected()]
        bounds = self.step.bounds()
        return [*map(float, counts), bounds.get("alpha", math.nan), bounds.get("beta", math.nan)]

    def _collected(self) -> float:
        return float(sum(self.question.shown_total(self._total(arm)) for arm in range(len(self.ids))))

    def _money(self, units: int) -> float:
        return float(units * self.unit)

    def _finished(self, seconds: float, points: list[list[float]]) -> Run:
        rows = [self.step.row(arm) for arm in range(len(self.ids))]
        return Run(
            number=self.number,
            means=self._truth(),
            verdicts=self.verdicts,
            verdict_rounds=self.account.rounds_at,
            pulls=np.array(self.pulls, dtype=np.int64),
            rounds=self.rounds,
            open_arms=int((self.verdicts == 0).sum()),
            reward=self._collected(),
            seconds=seconds,
            evidence=np.array([[row.for_good, row.for_bad] for row in rows]),
            learned={},
            trajectory=np.array(points) if points else np.zeros((0, 6)),
            trace=self.trace[: self.rounds],
            spent=self._money(int(self.account.spent[0])),
            verdict_spent=np.array([self._money(int(units)) for units in self.account.spent_at]),
            metric_means=self._means() if self.question.names else np.zeros((0, 0)),
            failed=self._failed(),
        )

    def _means(self) -> NDArray[np.float64]:
        return np.stack([instance.means for instance in self.instances])

    def _truth(self) -> NDArray[np.float64]:
        """The question's estimate of each arm from the true means, for comparison with the bar."""
        reward_of = self.spec.environment.reward_of
        true = {
            name: Totals(1, 1, 0, reward_of(tuple(m)))
            for name, m in zip(self.ids, self._means().T.tolist(), strict=True)
        }
        return np.array([self.question.estimate(name, true.__getitem__) for name in self.ids])


def account_of(spec: Specification) -> tuple[Fraction, Account]:
    """The account of a run before its first round, and its unit: the largest in which all amounts are whole numbers.

    Amounts that may exceed the machine's integers are Python integers, which compiled code does not support.
    """
    arms = spec.environment.arms
    prices = [exact(cost) for cost in spec.costs or (1.0,) * arms]
    budget = [] if spec.budget is None else [exact(spec.budget)]
    unit = Fraction(1, math.lcm(*(amount.denominator for amount in [*prices, *budget])))
    whole = [int(price / unit) for price in prices]
    most = [int(amount / unit) for amount in budget] or [NEVER]
    fits = spec.horizon * max(whole) < LARGEST and most[0] <= NEVER
    kind: Any = np.int64 if fits else object
    return unit, Account(
        prices=np.array(whole, dtype=kind),
        budget=np.array(most if fits or budget else [math.inf], dtype=kind),
        spent=np.zeros(1, dtype=kind),
        rounds_at=np.zeros(arms, dtype=np.int64),
        spent_at=np.zeros(arms, dtype=kind),
        sums=np.zeros((len(spec.environment.metrics), arms)),
    )


class _Rewards:
    """The rewards of one metric, per arm in their order."""

    def __init__(self, spec: Specification, draw: Formula, instance: Instance, metric: int, number: int) -> None:
        self.draw, self.fill, self.found = draw, drawn_ahead(draw), np.empty(AHEAD)
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
