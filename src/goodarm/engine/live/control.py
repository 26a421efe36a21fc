"""Live against a control: is each arm's mean at least the control's plus a margin? By totals of both.

The evidence of an arm is `goodarm.rules.identification.versus.better_by` of its totals and the control's. Pulls under
way count at their worst on both sides: for "better" the arm's count as 0 and the control's as 1, for "worse" the other
way round.

Certified: P(any wrong verdict) <= delta for rewards in [0, 1], whatever rule chooses the pulls and however late rewards
come.

Proof. Number the pulls of all arms in the order of asking. H_j are the choices and rewards of pulls 1..j, told or not.
A choice depends only on rewards that had arrived, so the mean of a reward given H_{j-1} is its arm's mean. Let theta be
the control's true mean, and let the arm's mean be at most theta + m. Take the products of
e^(b x)/(1 - (theta + m) + (theta + m) e^b) over the arm's pulls and of e^(-a x)/(1 - theta + theta e^-a) over the
control's, and average them over bets (a, b). This is a nonnegative supermartingale M_n with M_0 = 1 (the chord argument
of `better_by`). The first factor grows with x and the second falls, so pending rewards at 0 and at 1 give a lower bound
of M_n, where n is the number of pulls asked so far. The minimum over theta is smaller still. By Ville's inequality M
ever reaches 1/(delta w) with probability at most delta w, where w is the arm's share. Looking late, rarely, or at
moments that depend on the data can only miss that event. "Worse" is the same with 1 - x for x. An arm is one or the
other, and the shares add up to 1.

An arm that is added later could have been picked because of what the control has shown by then, as better or as worse.
Then either of its two sides may be wrong, so each side gets half of its share (`LATER`).

An arm's evidence is computed again when one of its own pulls is answered, and that of all arms when the control has a
sixteenth more rewards.

Choosing is as with a threshold at the control's present mean plus the margin, pulls under way counted as if they had
come back. Every arm's index moves with the control, so the largest one is found by a scan over the kept indices. The
control is asked instead while it has fewer than share * sqrt(open arms) times the chosen arm's pulls. Share 1 is the
allocation of Dunnett (1955, JASA 50(272)); docs/campaign.md has measurements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goodarm.engine.assemble import first_fit, loop_parameters, start_pool
from goodarm.engine.compile import AGAINST_CONTROL, INDICES, just_in_time
from goodarm.engine.live.checks import check_against_control, offsets_of
from goodarm.engine.live.step import ArmState, Asked, Counts, as_plain, like, packed, unpacked
from goodarm.engine.live.worst_case import (
    EXTRA,
    OFFSET_COLUMN,
    PENDING_COLUMN,
    TOLD_BAD,
    TOLD_GOOD,
    live_sampling,
    start_at_offset,
)
from goodarm.engine.rule_parts import learner_parts
from goodarm.engine.selectors import NO_INDEX
from goodarm.errors import InvalidValue, RuleFailed
from goodarm.policies import Policy
from goodarm.problem import Bar, Problem, bar_at
from goodarm.rules.beliefs import (
    ARM_FIELDS,
    FOR_BAD,
    FOR_GOOD,
    MEAN,
    PULLS,
    SUSPENDED,
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
"""Share of Dunnett's number of control pulls."""
LATER = 0.5
"""Share of its part of delta that either side of a later arm gets."""
GROWTH = 1.0 / 16.0
"""Relative growth of the control's rewards after which all arms are computed again."""
PIECE = 64
"""In a block, an arm gets one pull at a time, or 1/64 of its previous pulls if that is more."""


class ControlState(NamedTuple):
    """The table of arms."""

    arms: Table


class ControlStep:
    """A `LiveStep` of a sampling rule against a control.

    problem : K arms without the control; its threshold is (1 + margin)/2, the margin mapped from [-1, 1] to [0, 1]
    control : the control's row in the table of arms, which has K + 1 rows
    weights : shares of delta of the arms without the control, in their order

    >>> from goodarm.policies import policy
    >>> from goodarm.rules.identification.versus import versus
    >>> step = ControlStep(policy("value-normal", versus), Problem(threshold=0.5, arms=2), control=0, margin=0.0)
    >>> decided = []
    >>> while not decided:
    ...     arm = step.choose()
    ...     step.ask(arm)
    ...     decided = step.absorb(arm, 1.0 if arm == 2 else 0.0)
    >>> decided, step.pulls().tolist()
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
        """Each arm's index when it was last computed: inf if it was never asked for, -inf if it is not open."""
        self.index[control] = -math.inf
        self.bar = problem.bar
        """What the sampling rule sees: the threshold is the control's mean plus the margin, when last computed."""
        self.pool: Pool = start_pool(policy, problem.bar, horizon)
        self.asks = self.rounds = 0
        self.looked = 0.0
        """Rewards of the control when all arms were last computed."""
        self.fit_due = first_fit(policy, problem.bar)
        self.stale = False

    # Asking

    def choose(self) -> int:
        """The arm to ask for next: the control, each arm once, then the rule's choice; -1 if no arm is open."""
        best = int(np.argmax(self.index))
        if self.index[best] == -math.inf:
            return -1
        asked = self._asked(self.control)
        if asked == 0.0 or math.isinf(self.index[best]):
            return self.control if asked == 0.0 else best
        open_arms = np.count_nonzero(self.index > -math.inf)
        return self.control if asked < self.share * math.sqrt(open_arms) * self._asked(best) else best

    def ticket(self, arm: int) -> Asked:
        """What to keep with the next ticket; by totals nothing depends on it."""
        return Asked(self.asks + 1, 0)

    def ask(self, arm: int, pulls: int = 1) -> None:
        """More pulls of this arm are under way."""
        self.asks += pulls
        self.state.arms[arm, PENDING_COLUMN] += pulls
        self.stale = True
        if arm != self.control:
            self._show(arm)

    def choose_block(self, pulls: int) -> Counts:
        """Choose and ask many times; returns the pulls of each arm. Fewer in total only if no arm is open."""
        counts = np.zeros(len(self.state.arms), dtype=np.int64)
        left = pulls
        while left:
            arm = self.choose()
            if arm < 0:
                break
            piece = min(left, max(1, int(self._asked(arm)) // PIECE))
            self.ask(arm, piece)
            counts[arm] += piece
            left -= piece
        return counts

    def ask_block(self, counts: Counts) -> None:
        """A block that another process has chosen is under way."""
        for arm in np.flatnonzero(counts).tolist():
            self.ask(arm, int(counts[arm]))

    # Absorbing

    def absorb(self, arm: int, reward: float, asked: Asked | None = None) -> list[int]:
        """The reward of a pull that was asked for; returns the arms that it decides."""
        row = self.state.arms[arm]
        if row[PENDING_COLUMN] < 1.0:
            raise InvalidValue(f"arm {arm} has no pull under way: ask for it before its reward is told.")
        self._count(arm, 1.0, reward)
        return self._after([arm])

    def absorb_block(self, told: ArrayLike, totals: ArrayLike) -> list[int]:
        """Many rewards at once, per arm their number and their sum; returns the arms that they decide."""
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

    def void(self, arm: int, pulls: int = 1) -> list[int]:
        """Pulls that will never be answered, for a reason unrelated to their rewards; returns the arms decided."""
        row = self.state.arms[arm]
        if row[PENDING_COLUMN] < pulls:
            raise InvalidValue(f"arm {arm} has no pull under way that could be declared void.")
        row[PENDING_COLUMN] -= pulls
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
        """Compute the evidence of these arms; `choosing` says whether the sampling rule may see it."""
        arms = self.state.arms
        just_in_time(_compute_evidence, AGAINST_CONTROL, over=1)(arms, which, arms[self.control], self.margin, choosing)

    def _refresh(self) -> None:
        """Let the evidence of every arm count all that is told and under way; nothing is decided by it."""
        if self.stale:
            which = np.flatnonzero(np.abs(self.state.arms[:, VERDICT]) != 1.0)
            self._evidence(which[which != self.control], choosing=False)
            self.stale = False

    def row(self, arm: int) -> ArmState:
        """What is known of an arm."""
        self._refresh()
        row, budget = self.state.arms[arm].tolist(), self.problem.bar.budget
        return ArmState(
            pulls=row[PULLS],
            total=row[TOTAL],
            pending=row[PENDING_COLUMN],
            for_good=row[FOR_GOOD],
            for_bad=row[FOR_BAD],
            needed_good=budget,
            needed_bad=budget,
            offset=row[OFFSET_COLUMN],
            verdict=0 if row[VERDICT] == SUSPENDED else int(row[VERDICT]),
            suspended=row[VERDICT] == SUSPENDED,
        )

    def pulls(self) -> NDArray[np.float64]:
        """The number of absorbed rewards of every arm, the control's included."""
        return self.state.arms[:, PULLS].copy()

    def bounds(self) -> dict[str, float]:
        """Empty: against a control the bar moves, and a distance from it in standard errors of one arm says little."""
        return {}

    def verdict_without(self, arm: int, pulls: int) -> int:
        """Not known: the pending pulls of two arms matter."""
        return 0

    # Arms that come and go

    def add_arms(self, weights: Sequence[float], tenths: Sequence[Sequence[int]] = ()) -> None:
        """More arms, each with its share of the error probability; K and delta of the problem stay the same."""
        before = np.delete(self.state.arms[:, OFFSET_COLUMN], self.control)
        more = np.zeros((len(weights), ARM_FIELDS + EXTRA))
        spent = float(np.exp(before).sum()) / self.problem.arms
        start_at_offset(more, offsets_of(self.problem, weights, spent) + math.log(LATER))
        self.state = ControlState(np.vstack([self.state.arms, more]))
        self.index = np.concatenate([self.index, np.full(len(weights), math.inf)])

    def suspend(self, arm: int) -> None:
        """Do not choose this arm until it is reopened. It gets no verdict by this, and its rewards still count."""
        if self.state.arms[arm, VERDICT] == 0.0:
            self.state.arms[arm, VERDICT] = SUSPENDED
            self._show(arm)

    def reopen(self, arm: int) -> None:
        """Choose a suspended arm again."""
        if self.state.arms[arm, VERDICT] == SUSPENDED:
            self.state.arms[arm, VERDICT] = 0.0
            self._show(arm)

    # Keeping

    def replay(self, kinds: ArrayLike, arms: ArrayLike, rewards: ArrayLike) -> None:
        """Against a control a journal is replayed entry by entry."""
        raise InvalidValue("against a control a journal is replayed step by step: each reward of it moves every arm.")

    def pack(self) -> bytes | None:
        """Everything that the next ask or reward depends on."""
        numbers = {
            "asks": self.asks,
            "rounds": self.rounds,
            "looked": self.looked,
            "bar": list(self.bar),
            "round": self.pool.round,
            "fit_due": self.fit_due,
            "learned": as_plain(self.pool.learned),
        }
        return packed(numbers, arms=self.state.arms, index=self.index)

    def unpack(self, body: bytes) -> None:
        """Put a step that was just made into the state that was packed."""
        numbers, arrays = unpacked(body)
        self.state = ControlState(np.require(arrays["arms"], requirements=["C", "W"]))
        self.index = np.require(arrays["index"], requirements=["C", "W"])
        self.bar = Bar(*numbers["bar"])
        self.pool = Pool(numbers["round"], self.horizon, like(self.pool.learned, numbers["learned"]))
        self.asks, self.rounds, self.looked = numbers["asks"], numbers["rounds"], numbers["looked"]
        self.fit_due, self.stale = numbers["fit_due"], True

    # Small parts

    def _asked(self, arm: int) -> float:
        return float(self.state.arms[arm, PULLS] + self.state.arms[arm, PENDING_COLUMN])

    def _show(self, arm: int) -> None:
        self._show_all(np.array([arm]))

    def _show_all(self, which: NDArray[np.int64]) -> None:
        """Compute the indices of these arms."""
        sampling = live_sampling(self.policy.sampling)
        assert isinstance(sampling, IndexRule)
        pool, (values, _), *_ = at_round(self.pool, float(max(self.asks, 1))), loop_parameters(self.policy)[0]
        compute = just_in_time(_indices(sampling.index), INDICES, over=1)
        compute(self.state.arms, which, pool, self.bar, values, self.index)
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


def _compute_evidence(arms: Table, which: Any, control: Any, margin: float, choosing: bool) -> None:
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


@cache
def _indices(index: Formula) -> Formula:
    """A loop over some arms that computes their indices. The evidence that they see is that of the told rewards."""

    def compute(arms: Table, which: Any, pool: Pool, bar: Bar, values: Any, found: Any) -> None:
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

    return compute
