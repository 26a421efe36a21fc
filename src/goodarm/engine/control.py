"""A live campaign against a control: is each arm's mean at least the control's plus a margin? By totals of both.

Here stands what `engine.step` is for a threshold, with the same face: choose, ask, absorb. The evidence of an arm is
`goodarm.rules.identification.versus.better_by` of its totals and the control's, pulls under way at their worst on both
sides: for "better" the arm's count as 0 and the control's as 1, for "worse" the other way round.

Certified: P(any wrong verdict) <= delta for rewards in [0, 1], whatever chooses the pulls, however late rewards come.
Proof. Number the pulls of all arms in the order of asking; H_j are the choices and rewards of pulls 1..j, told or not.
A choice depends on rewards that had arrived, so a reward's mean given H_{j-1} is its arm's. Let theta be the control's
true mean, and the arm's mean at most theta + m. The average over bets (a, b) of the products of
e^(b x)/(1 - (theta + m) + (theta + m) e^b) over the arm's pulls and of e^(-a x)/(1 - theta + theta e^-a) over the
control's is then a nonnegative supermartingale M_n with M_0 = 1 (the chord argument of `better_by`). The first factor
grows with x and the second falls, so pending rewards at 0 and at 1 give a lower bound of M_n, n the pulls asked so far;
the minimum over theta is smaller still. Ville's inequality bounds the probability that M ever reaches 1/(delta w) by
delta w, w the arm's share: looking late, seldom, or at moments that depend on anything can only miss it. "Worse" is the
same with 1 - x for x. An arm is one or the other, and the shares add up to 1.
An arm that is added later could be chosen for what the control has shown by then, as one that is better or worse: both
of its sides may be wrong, and each has half of its share (`LATER`).

Looked at again: an arm when one of its own pulls is answered, all arms when the control has a sixteenth more rewards.

Choosing is as with a threshold at the control's present mean plus the margin, pulls under way counted as if they had
come back. Every arm moves with the control, so that the one chosen is found by a scan of the kept indices. The control
is asked in its place while it has fewer than share * sqrt(open arms) times as many pulls: Dunnett (1955, JASA 50(272))
for share 1; docs/campaign.md has what was measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goodarm.engine.assemble import first_fit, loop_parameters, start_pool
from goodarm.engine.compile import compiled
from goodarm.engine.live import (
    EXTRA,
    OFFSET_COLUMN,
    PENDING_COLUMN,
    TOLD_BAD,
    TOLD_GOOD,
    live_sampling,
    start_at_offset,
)
from goodarm.engine.live_checks import check_against_control, offsets_of
from goodarm.engine.rule_parts import learner_parts
from goodarm.engine.selectors import NO_INDEX
from goodarm.engine.totals_loops import bar_at
from goodarm.errors import InvalidValue, RuleFailed
from goodarm.policies import Policy
from goodarm.problem import Bar, Problem
from goodarm.rules.beliefs import (
    ARM_FIELDS,
    CLOSED,
    FOR_BAD,
    FOR_GOOD,
    MEAN,
    PULLS,
    TOTAL,
    VERDICT,
    WIDTH,
    Arm,
    Pool,
    Table,
    at_round,
)
from goodarm.rules.identification.versus import against_control, better_by
from goodarm.rules.parameters import Formula
from goodarm.rules.sampling import IndexRule

SHARE = 1.0
"""Of Dunnett's number of control pulls."""
LATER = 0.5
"""Of its share of delta, that an arm which was added later has on either side."""
GROWTH = 1.0 / 16.0
"""All arms are looked at again when the control has so many more rewards."""
FEW = 100
"""So many looks at an arm are plain Python, which takes milliseconds; then a compiled loop is worth its loading."""
MANY = 2000
"""More indices than this at once are computed by a compiled loop."""
PIECE = 64
"""Of a block, an arm is given one pull at a time, or a 64th of what it had if that is more."""


class ControlState(NamedTuple):
    """What others read of the step: the table of arms, as `Step.state` has it."""

    arms: Table


class ControlStep:
    """A sampling rule against a control, one ask and one told reward at a time.

    problem : K arms without the control; its threshold is (1 + margin)/2, the middle of all differences
    control : the control's row in the table of arms, which has one row more
    weights : shares of delta of the arms without the control, in their order

    >>> from goodarm.policies import policy
    >>> from goodarm.rules.identification.versus import versus
    >>> step = ControlStep(policy("value-normal", versus), Problem(threshold=0.5, arms=2), control=0, margin=0.0)
    >>> decided = []
    >>> while not decided:
    ...     arm = step.choose()
    ...     step.ask(arm)
    ...     decided = step.absorb(arm, 1.0 if arm == 2 else 0.0)
    >>> decided, step.state.arms[:, PULLS].tolist()
    ([2], [6.0, 1.0, 5.0])
    """

    by_totals, fdr, replayable = True, False, False

    def __init__(
        self,
        policy: Policy,
        problem: Problem,
        control: int,
        margin: float,
        *,
        horizon: float = math.inf,
        weights: ArrayLike | None = None,
        share: float = SHARE,
    ) -> None:
        check_against_control(policy, problem)
        self.policy, self.problem, self.control, self.margin = policy, problem, control, margin
        self.horizon, self.share = horizon, share
        arms = np.zeros((problem.arms + 1, ARM_FIELDS + EXTRA))
        start_at_offset(arms, np.insert(offsets_of(problem, weights), control, 0.0))
        self.state = ControlState(arms)
        self.index = np.full(len(arms), math.inf)
        """Each arm's index as of the last look at it: inf if it was never asked for, -inf if it is not open."""
        self.index[control] = -math.inf
        self.bar = problem.bar
        """What the sampling rule sees: the threshold is the control's mean plus the margin, as of the last look."""
        self.pool: Pool = start_pool(policy, problem.bar, horizon)
        self.asks = self.rounds = 0
        self.looked = 0.0
        """Rewards of the control when all arms were last looked at."""
        self.fit_due = first_fit(policy, problem.bar)
        self.stale = False

    # Asking

    def choose(self) -> int:
        """The arm to ask for next: the control, each arm once, then as the rule says; -1 where no arm is open."""
        best = int(np.argmax(self.index))
        if self.index[best] == -math.inf:
            return -1
        asked = self._asked(self.control)
        if asked == 0.0 or math.isinf(self.index[best]):
            return self.control if asked == 0.0 else best
        open_arms = np.count_nonzero(self.index > -math.inf)
        return self.control if asked < self.share * math.sqrt(open_arms) * self._asked(best) else best

    def ticket(self) -> tuple[int, int]:
        """As `Step.ticket`; by totals nothing has to be kept with a ticket."""
        return self.asks + 1, 0

    def ask(self, arm: int) -> None:
        """One more pull of this arm is under way."""
        self._ask_many(arm, 1)

    def ask_block(self, pulls: int) -> NDArray[np.int64]:
        """So many asks at once; returns the pulls of each arm. Fewer in all only where no arm is open."""
        counts = np.zeros(len(self.state.arms), dtype=np.int64)
        left = pulls
        while left:
            arm = self.choose()
            if arm < 0:
                break
            piece = min(left, max(1, int(self._asked(arm)) // PIECE))
            self._ask_many(arm, piece)
            counts[arm] += piece
            left -= piece
        return counts

    def note_block(self, counts: NDArray[np.int64]) -> None:
        """A block that was asked for by somebody else: so many more pulls of each arm are under way."""
        for arm in np.flatnonzero(counts).tolist():
            self._ask_many(arm, int(counts[arm]))

    def _ask_many(self, arm: int, pulls: int) -> None:
        self.asks += pulls
        self.state.arms[arm, PENDING_COLUMN] += pulls
        self.stale = True
        if arm != self.control:
            self._show(arm)

    # Absorbing

    def absorb(self, arm: int, reward: float, asked: tuple[int, int] | None = None) -> list[int]:
        """The reward of a pull that was asked for; returns the arms that have their verdict now."""
        row = self.state.arms[arm]
        if row[PENDING_COLUMN] < 1.0:
            raise InvalidValue(f"arm {arm} has no pull under way: ask for it before its reward is told.")
        self._count(arm, 1.0, reward)
        return self._after([arm])

    def absorb_block(self, told: ArrayLike, totals: ArrayLike) -> list[int]:
        """Rewards of many pulls at once: per arm how many, and their sum; returns the arms decided by them."""
        counts, sums = np.asarray(told, dtype=np.float64), np.asarray(totals, dtype=np.float64)
        over = counts > self.state.arms[:, PENDING_COLUMN]
        if over.any():
            arm = int(np.argmax(over))
            out = self.state.arms[arm, PENDING_COLUMN]
            raise InvalidValue(f"arm {arm} has {out:g} pulls under way, and {counts[arm]:g} were told.")
        there = np.flatnonzero(counts).tolist()
        for arm in there:
            self._count(arm, float(counts[arm]), float(sums[arm]))
        return self._after(there)

    def void(self, arm: int) -> list[int]:
        """A pull that was asked for will never be answered, for a reason that has nothing to do with its reward."""
        row = self.state.arms[arm]
        if row[PENDING_COLUMN] < 1.0:
            raise InvalidValue(f"arm {arm} has no pull under way that could be declared void.")
        row[PENDING_COLUMN] -= 1.0
        return self._look_at_all() if arm == self.control else self._look([arm])

    def _count(self, arm: int, pulls: float, total: float) -> None:
        row = self.state.arms[arm]
        row[PENDING_COLUMN] -= pulls
        row[PULLS] += pulls
        row[TOTAL] += total
        row[MEAN], row[WIDTH] = row[TOTAL] / row[PULLS], 1.0 / math.sqrt(row[PULLS])
        self.rounds += int(pulls)
        self.stale = True

    def _after(self, told: list[int]) -> list[int]:
        """Verdicts that follow from rewards of these arms."""
        now = float(self.state.arms[self.control, PULLS])
        due = self.control in told and now >= self.looked + max(1.0, GROWTH * self.looked)
        decided = self._look_at_all() if due else self._look([arm for arm in told if arm != self.control])
        if self.rounds >= self.fit_due:
            self._fit()
        return decided

    # Looking

    def _look_at_all(self) -> list[int]:
        row = self.state.arms[self.control]
        self.looked = float(row[PULLS])
        mean = (row[TOTAL] + 0.5) / (row[PULLS] + 1.0)
        self.bar = bar_at(self.problem.bar, float(min(max(mean + self.margin, 1e-6), 1.0 - 1e-6)))
        return self._look([arm for arm in range(len(self.state.arms)) if arm != self.control])

    def _look(self, which: list[int]) -> list[int]:
        """Evidence, verdicts and indices of these arms."""
        arms, budget = self.state.arms, self.problem.bar.budget
        still = np.array([arm for arm in which if abs(arms[arm, VERDICT]) != 1.0], dtype=np.int64)
        if still.size == 0:
            return []
        self._evidence(still, choosing=True)
        good, bad = arms[still, FOR_GOOD] >= budget, arms[still, FOR_BAD] >= budget
        arms[still[bad], VERDICT] = -1.0
        arms[still[good], VERDICT] = 1.0
        self._show_all(still)
        return [int(arm) for arm in still[good | bad]]

    def _evidence(self, which: NDArray[np.int64], *, choosing: bool) -> None:
        """Evidence of these arms as it is now; `choosing` says whether the sampling rule may see it."""
        arms = self.state.arms
        _evidence_loop(_many_looks(which.size))(arms, which, arms[self.control], self.margin, choosing)

    def refresh(self) -> None:
        """Let the shown evidence of every arm know of all that is told and under way; nothing is decided by it."""
        if self.stale:
            which = np.flatnonzero(np.abs(self.state.arms[:, VERDICT]) != 1.0)
            self._evidence(which[which != self.control], choosing=False)
            self.stale = False

    # Arms that come and go

    def add_arms(self, weights: Sequence[float]) -> None:
        """More arms, each with its share of the error probability; K and delta of the problem stay what they were."""
        before = np.delete(self.state.arms[:, OFFSET_COLUMN], self.control)
        more = np.zeros((len(weights), ARM_FIELDS + EXTRA))
        spent = float(np.exp(before).sum()) / self.problem.arms
        start_at_offset(more, offsets_of(self.problem, weights, spent) + math.log(LATER))
        self.state = ControlState(np.vstack([self.state.arms, more]))
        self.index = np.concatenate([self.index, np.full(len(weights), math.inf)])

    def close(self, arm: int) -> None:
        """Never choose this arm until it is opened again; no verdict is implied, and rewards under way still count."""
        if self.state.arms[arm, VERDICT] == 0.0:
            self.state.arms[arm, VERDICT] = CLOSED
            self._show(arm)

    def reopen(self, arm: int) -> None:
        """Choose it again."""
        if self.state.arms[arm, VERDICT] == CLOSED:
            self.state.arms[arm, VERDICT] = 0.0
            self._show(arm)

    def replay(self, kinds: ArrayLike, arms: ArrayLike, rewards: ArrayLike) -> None:
        """As `Step.replay`; against a control a journal is replayed entry by entry."""
        raise InvalidValue("against a control a journal is replayed step by step: each reward of it moves every arm.")

    # Small parts

    def _asked(self, arm: int) -> float:
        return float(self.state.arms[arm, PULLS] + self.state.arms[arm, PENDING_COLUMN])

    def _show(self, arm: int) -> None:
        self._show_all(np.array([arm]))

    def _show_all(self, which: NDArray[np.int64]) -> None:
        """The indices of these arms, as of now."""
        sampling = live_sampling(self.policy.sampling)
        assert isinstance(sampling, IndexRule)
        pool, (values, _), *_ = at_round(self.pool, float(max(self.asks, 1))), loop_parameters(self.policy)[0]
        _index_loop(sampling.index, which.size > MANY)(self.state.arms, which, pool, self.bar, values, self.index)
        self.index[self.control] = -math.inf
        if np.isnan(self.index[which]).any():
            raise RuleFailed(NO_INDEX)

    def _fit(self) -> None:
        fit, next_round = learner_parts(self.policy.learner)
        *_, fitting, timing = loop_parameters(self.policy)
        now = float(self.rounds)
        self.pool = fit(self.state.arms, at_round(self.pool, now), self.bar, *fitting)
        self.fit_due = float(next_round(now, self.bar, *timing))
        self._show_all(np.arange(len(self.state.arms)))


_looks = [0]


def _many_looks(more: int) -> bool:
    """Have there been so many looks in this process that a compiled loop pays? Both round alike."""
    _looks[0] += more
    return _looks[0] > FEW


@cache
def _evidence_loop(fast: bool) -> Formula:
    def loop(arms: Table, which: Any, control: Any, margin: float, choosing: bool) -> None:
        n0, s0, waiting = control[PULLS], control[TOTAL], control[PENDING_COLUMN]
        for i in which:
            row = arms[i]
            n, s, pending, offset = row[PULLS], row[TOTAL], row[PENDING_COLUMN], row[OFFSET_COLUMN]
            for_good, for_bad, asked, asked0 = 0.0, 0.0, n + pending, n0 + waiting
            if asked > 0.0 and asked0 > 0.0:
                for_good = better_by(asked, s, asked0, s0 + waiting, margin)
                for_bad = better_by(asked, asked - s - pending, asked0, asked0 - s0, -margin)
            row[FOR_GOOD], row[FOR_BAD] = for_good + offset, for_bad + offset
            if choosing:
                if n > 0.0 and n0 > 0.0 and pending + waiting > 0.0:
                    for_good, for_bad = against_control(n, s, n0, s0, margin)
                row[ARM_FIELDS + TOLD_GOOD], row[ARM_FIELDS + TOLD_BAD] = for_good, for_bad

    built: Formula = compiled(loop) if fast else loop
    return built


@cache
def _index_loop(index: Formula, fast: bool) -> Formula:
    """Indices of some arms; the evidence that they see is of what was told."""

    def loop(arms: Table, which: Any, pool: Pool, bar: Bar, values: Any, found: Any) -> None:
        for i in which:
            row = arms[i]
            if row[VERDICT] != 0.0:
                found[i] = -math.inf
            elif row[PULLS] + row[PENDING_COLUMN] == 0.0:
                found[i] = math.inf
            else:
                offset, memory = row[OFFSET_COLUMN], row[ARM_FIELDS:]
                for_good, for_bad = memory[TOLD_GOOD] + offset, memory[TOLD_BAD] + offset
                arm = Arm(row[PULLS], row[TOTAL], row[MEAN], row[WIDTH], for_good, for_bad, memory, 0.0)
                found[i] = index(arm, pool, bar, *values)

    built: Formula = compiled(loop) if fast else loop
    return built
