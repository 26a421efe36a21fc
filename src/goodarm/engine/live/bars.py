"""Live campaigns with several bars: does each metric's mean clear its bar? Verdicts use the totals of every metric.

A reward has one number in [0, 1] per metric. Where less is better, 1 - x takes the place of x and 1 - bar that of the
bar, so that more is better in every table here. With E+_j and E-_j the evidence of metric j, pending pulls at their
worst,

    E_good = min_j E+_j,      E_bad = mean_j E-_j

(`goodarm.rules.identification.several_bars`).

Certified: P(any wrong verdict) <= delta for rewards in [0, 1], whatever rule chooses the pulls, however late rewards
come, and however the metrics of one reward depend on each other.

Proof. Number the pulls in the order of asking; H_n are the choices and rewards of pulls 1..n, told or not. A choice
depends only on rewards that had arrived, so the mean of metric j given H_{n-1} is the arm's mean of metric j: for each
metric alone this is the setting of a campaign with one threshold, and E+_j with pending rewards at 0, E-_j with pending
rewards at 1 are lower bounds of e-processes for "mean_j <= bar_j" and "mean_j >= bar_j", adapted to H.
Good is wrong if some metric j fails its bar. E_good <= E+_j always, so by Ville's inequality it ever reaches
1/(delta w) with probability at most delta w, where w is the arm's share. Bad is wrong if every metric clears its bar.
Then every E-_j is an e-process for H, and so is their average: the expectation of a sum needs no independence. Only one
of the two verdicts can be wrong for an arm, and the shares add up to at most 1.

A bad verdict names the metric with the largest E-_j. At least one metric has E-_j >= E_bad, so the named one is refuted
at the arm's own share. The verdict also certifies that the named metric fails once its E-_j reaches J/(delta w), which
is log J more evidence (union over the J metrics); the audit has the evidence of each.

The sampling rule sees each arm at its bottleneck, the metric with the least evidence for good, as if that were the only
threshold: the arm can't become good before this metric has cleared its bar. Each metric has a separate pool.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goodarm.engine.assemble import first_fit, loop_parameters, start_pool
from goodarm.engine.compile import (
    INDICES,
    SIMULATED_ROUNDS,
    SLOW_RULE,
    as_native_rounds,
    just_in_time,
)
from goodarm.engine.live.assembly import live_fit
from goodarm.engine.live.checks import offsets_of
from goodarm.engine.live.scan import ScanStep, indices
from goodarm.engine.live.step import Account, ArmState, Asked, CompiledPlay, Tenths, as_plain, like, packed, unpacked
from goodarm.engine.live.worst_case import (
    EXTRA,
    OFFSET_COLUMN,
    TOLD_GOOD,
    live_sampling,
    start_at_offset,
    state_of,
    worst_case,
)
from goodarm.engine.loop import nothing_changes
from goodarm.engine.rule_parts import Drawn, learner_parts
from goodarm.engine.selectors import NO_INDEX
from goodarm.errors import RuleFailed
from goodarm.policies import Policy
from goodarm.problem import Problem, bar_at
from goodarm.question import Metric
from goodarm.rules.beliefs import (
    ARM_FIELDS,
    FOR_BAD,
    FOR_GOOD,
    MEAN,
    PULLS,
    TOTAL,
    VERDICT,
    WIDTH,
    Pool,
    Table,
    at_round,
)
from goodarm.rules.identification import EvidenceRule
from goodarm.rules.identification.several_bars import evidence_for_all
from goodarm.rules.parameters import Formula
from goodarm.rules.sampling import IndexRule


class BarsStep(ScanStep):
    """A `LiveStep` of a policy on arms with several metrics.

    metrics : the metrics with their bars; a reward is a tuple of numbers in the same order
    weights : each arm's share of the error probability, 1/K each if not given
    costs   : cost of a pull of each arm, 1 each by default

    >>> from goodarm.policies import policy
    >>> from goodarm.question import Bars
    >>> bars = Bars("correct >= 0.5, slow <= 0.5")
    >>> step = BarsStep(policy("value+gap-mixture"), Problem(threshold=0.5, arms=2), bars.metrics)
    >>> while (arm := step.choose()) >= 0:
    ...     step.ask(arm)
    ...     _ = step.absorb(arm, (1.0, 0.0 if arm == 0 else 1.0))
    >>> [step.row(arm).verdict for arm in range(2)]
    [1, -1]
    """

    def __init__(
        self,
        policy: Policy,
        problem: Problem,
        metrics: Sequence[Metric],
        *,
        horizon: float = math.inf,
        weights: ArrayLike | None = None,
        costs: ArrayLike | None = None,
    ) -> None:
        assert isinstance(policy.identification, EvidenceRule)
        self.policy, self.problem, self.metrics, self.horizon = policy, problem, tuple(metrics), horizon
        arms = np.zeros((len(self.metrics), problem.arms, ARM_FIELDS + EXTRA))
        for table in arms:
            start_at_offset(table, offsets_of(problem, weights), costs)
        self.arms = arms
        self.index = np.full(problem.arms, math.inf)
        self.bars = [bar_at(problem.bar, metric.threshold) for metric in self.metrics]
        self.pools: list[Pool] = [start_pool(policy, bar, horizon) for bar in self.bars]
        self.fit_due = first_fit(policy, self.bars[0])
        self.parameters = loop_parameters(policy)
        self._evidence = as_native_rounds(worst_case(policy.identification))

    @property
    def tables(self) -> Sequence[Table]:
        return list(self.arms)

    def choose(self) -> int:
        """The next arm to ask for: each arm once, then the rule's choice; -1 if every arm is decided."""
        best = int(np.argmax(self.index))
        return -1 if self.index[best] == -math.inf else best

    def absorb(self, arm: int, reward: Sequence[float], asked: Asked | None = None) -> list[int]:
        """Absorb the reward of a pending pull, one number per metric; returns the arms that it decides."""
        return self._absorbed(arm, [metric.turned(x) for metric, x in zip(self.metrics, reward, strict=True)])

    def absorb_block(self, told: ArrayLike, totals: ArrayLike) -> list[int]:
        """Absorb many rewards: `told` per arm, `totals` per arm and metric; returns the arms that they decide."""
        counts, sums = np.asarray(told, dtype=np.float64), np.asarray(totals, dtype=np.float64)
        turned = [metric.turned(sums[:, j], counts) for j, metric in enumerate(self.metrics)]
        return super().absorb_block(counts, np.transpose(turned))

    def _after(self, told: list[int]) -> list[int]:
        decided = self._look(told)
        if self.rounds >= self.fit_due:
            self._fit()
        return decided

    def _after_void(self, arm: int) -> list[int]:
        return self._look([arm])

    # Simulation

    def player(self, draws: tuple[Formula, ...], rounds: int) -> CompiledPlay | None:
        """Compiled code that plays rounds with rewards drawn at once; None if it is not due yet."""
        sampling, rule = live_sampling(self.policy.sampling), self.policy.identification
        assert isinstance(sampling, IndexRule)
        assert isinstance(rule, EvidenceRule)
        loop = playing(worst_case(rule), indices(sampling.index), drawing(draws))
        run = just_in_time(loop, SIMULATED_ROUNDS).native(rounds)
        return None if run is None else CompiledPlay(run, self._play)

    def _play(
        self,
        run: Formula,
        sources: tuple[Drawn, ...],
        account: Account,
        wanted: int,
        until: int,
        trace: NDArray[np.int64],
    ) -> bool:
        """The loop plays rounds without verdicts or fits. They follow here, as in single steps."""
        (values, _), observing, *_ = self.parameters
        turned = np.array([not metric.at_least for metric in self.metrics])
        bars, good = tuple(self.bars), int((self.arms[0, :, VERDICT] > 0.0).sum())
        while self.rounds < until:
            if good >= wanted:
                return False
            stop = until if self.fit_due >= until else max(math.ceil(self.fit_due), self.rounds + 1)
            step = (self.arms, self.index, turned, bars, tuple(self.pools))
            arm = int(run(step, sources, account, (values, observing), self.rounds, stop, trace))
            if np.isnan(self.index).any():
                raise RuleFailed(NO_INDEX)
            self.asks = self.rounds = int(self.arms[0, :, PULLS].sum())
            if arm == ENDED:
                return False
            if arm >= 0 and self._look([arm]):
                account.rounds_at[arm], account.spent_at[arm] = self.rounds, account.spent[0]
                good += int(self.arms[0, arm, VERDICT] > 0.0)
            if self.rounds >= self.fit_due:
                self._fit()
        return True

    # Views

    def _look(self, which: list[int]) -> list[int]:
        """Recompute the evidence, verdicts and indices of these arms."""
        decided, budget = [], self.problem.bar.budget
        for arm in which:
            if abs(self.arms[0, arm, VERDICT]) == 1.0:
                continue
            for_good, for_bad = self._combined(arm)
            if for_good >= budget or for_bad >= budget:
                self._mark(arm, 1.0 if for_good >= budget else -1.0)
                decided.append(arm)
            self._show(arm)
        return decided

    def _combined(self, arm: int) -> tuple[float, float]:
        """log E_good and log E_bad of an arm. Updates the evidence of each metric."""
        values = self.parameters[1]
        for table, bar in zip(self.arms, self.bars, strict=True):
            row = table[arm]
            if abs(row[VERDICT]) != 1.0:
                row[FOR_GOOD], row[FOR_BAD] = self._evidence(row[PULLS], row[TOTAL], row[ARM_FIELDS:], bar, *values)
        return evidence_for_all(self.arms[:, arm, FOR_GOOD].tolist(), self.arms[:, arm, FOR_BAD].tolist())

    def row(self, arm: int) -> ArmState:
        """Summary of an arm. There is no single sum of rewards."""
        for_good, for_bad = self._combined(arm)
        budget = self.problem.bar.budget
        found = state_of(self.arms[0, arm], budget, budget)
        return found._replace(total=math.nan, for_good=for_good, for_bad=for_bad)

    def _show(self, arm: int) -> None:
        self._show_all(np.array([arm]))

    def _show_all(self, which: NDArray[np.int64]) -> None:
        """Compute the indices of these arms, each at its bottleneck."""
        sampling, learner = live_sampling(self.policy.sampling), self.policy.learner
        assert isinstance(sampling, IndexRule)
        values, _ = self.parameters[0]
        slow = learner is not None and learner.native
        compute = just_in_time(indices(sampling.index), SLOW_RULE if slow else INDICES, over=1)
        bottleneck = self.arms[:, which, ARM_FIELDS + TOLD_GOOD].argmin(axis=0)
        for j, (table, pool, bar) in enumerate(zip(self.arms, self.pools, self.bars, strict=True)):
            mine = which[bottleneck == j]
            if mine.size:
                compute(table, mine, at_round(pool, float(max(self.asks, 1))), bar, values, self.index)
        if np.isnan(self.index[which]).any():
            raise RuleFailed(NO_INDEX)

    def _fit(self) -> None:
        fit, (_, next_round) = live_fit(self.policy.learner), learner_parts(self.policy.learner)
        *_, fitting, timing = self.parameters
        now = float(self.rounds)
        self.pools = [
            fit(table, at_round(pool, now), bar, *fitting)
            for table, pool, bar in zip(self.arms, self.pools, self.bars, strict=True)
        ]
        self.fit_due = float(next_round(now, self.bars[0], *timing))
        self._show_all(np.arange(len(self.index)))

    # New arms and saved state

    def add_arms(self, weights: Sequence[float], tenths: Tenths = (), costs: Sequence[float] | None = None) -> None:
        """Add arms, each with its share of the error probability. The problem keeps its K and delta."""
        more = self._added(weights, costs, self.arms[0, :, OFFSET_COLUMN])
        self.arms = np.concatenate([self.arms, np.stack([more] * len(self.metrics))], axis=1)

    def pack(self) -> bytes | None:
        """The state as bytes."""
        numbers = {
            "asks": self.asks,
            "rounds": self.rounds,
            "fit_due": self.fit_due,
            "pools": [[pool.round, as_plain(pool.learned)] for pool in self.pools],
        }
        return packed(numbers, arms=self.arms, index=self.index)

    def unpack(self, body: bytes) -> None:
        """Restore a packed state into a new step."""
        numbers, arrays = unpacked(body)
        self.arms, self.index = (np.require(arrays[name], requirements=["C", "W"]) for name in ("arms", "index"))
        self.asks, self.rounds, self.fit_due = numbers["asks"], numbers["rounds"], numbers["fit_due"]
        self.pools = [
            Pool(round, self.horizon, like(pool.learned, learned))
            for pool, (round, learned) in zip(self.pools, numbers["pools"], strict=True)
        ]


# Simulated rounds, compiled.

ENDED, GOES_ON = -2, -1
"""Results of the loop other than an arm: no arm can be pulled, and the last round is reached."""
NEARLY = 1e-9
"""Distance from the evidence of a verdict within which the step itself decides. It exceeds all rounding errors."""


@cache
def drawing(draws: tuple[Formula, ...]) -> Formula:
    """(arm, pulls, sources, j, found): draw one number of metric j and of each metric after it."""
    if not draws:
        return nothing_changes
    first, rest = draws[0], drawing(draws[1:])

    def draw(arm: int, pulls: float, sources: Any, j: int, found: Any) -> None:
        found[j] = first(arm, pulls, sources[j])
        rest(arm, pulls, sources, j + 1, found)

    return draw


@cache
def playing(evidence: Formula, index: Formula, draw: Formula) -> Formula:
    """Rounds of a simulated campaign up to the next verdict: choose, pay, and absorb the rewards at once.

    The function returns the arm whose evidence may suffice after the last round, `GOES_ON` or `ENDED`.
    """

    def play(step: Any, sources: Any, account: Account, parameters: Any, rounds: int, until: int, trace: Any) -> int:
        arms, latest, turned, bars, pools = step
        choosing, observing = parameters
        metrics, rewards, which = len(arms), np.zeros(len(arms)), np.zeros(1, dtype=np.int64)
        while rounds < until:
            a = int(np.argmax(latest))
            if latest[a] == -math.inf or account.spent[0] + account.prices[a] > account.budget[0]:
                return ENDED
            account.spent[0] += account.prices[a]
            draw(a, arms[0, a, PULLS], sources, 0, rewards)
            if trace.size > 0:
                trace[rounds] = a
            rounds += 1
            bottleneck, for_good, top = 0, math.inf, -math.inf
            for j in range(metrics):
                row, x = arms[j, a], rewards[j]
                account.sums[j, a] += x
                row[PULLS] += 1.0
                row[TOTAL] += 1.0 - x if turned[j] else x
                row[MEAN], row[WIDTH] = row[TOTAL] / row[PULLS], 1.0 / math.sqrt(row[PULLS])
                row[FOR_GOOD], row[FOR_BAD] = evidence(row[PULLS], row[TOTAL], row[ARM_FIELDS:], bars[j], *observing)
                for_good, top = min(for_good, row[FOR_GOOD]), max(top, row[FOR_BAD])
                if row[ARM_FIELDS + TOLD_GOOD] < arms[bottleneck, a, ARM_FIELDS + TOLD_GOOD]:
                    bottleneck = j
            mean = 0.0
            for j in range(metrics):
                mean += math.exp(arms[j, a, FOR_BAD] - top) / metrics
            if max(for_good, top + math.log(mean)) >= bars[0].budget - NEARLY:
                return a
            which[0] = a
            pool = at_round(pools[bottleneck], float(rounds))
            index(arms[bottleneck], which, pool, bars[bottleneck], choosing, latest)
        return GOES_ON

    return play
