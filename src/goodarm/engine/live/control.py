"""Live comparison with a control: is each arm's mean at least the control's plus a margin? Verdicts use both totals.

The evidence of an arm is `goodarm.rules.identification.versus.better_by` of its totals and the control's. Pending pulls
count at their worst for both verdicts: for "better" the arm's count as 0 and the control's as 1, for "not better" the
other way round.

Certified: P(any wrong verdict) <= delta for rewards in [0, 1], whatever rule chooses the pulls and however late rewards
come.

Proof. Number the pulls of the arm and of the control in the order of asking. Let H_j contain their rewards 1..j, told
or not, and everything told before pull j + 1 was asked for. Assume that the mean of a reward given H_{j-1} is its arm's
mean. Rewards of one batch may be positively dependent on the control's, because the evidence decreases with the
control's rewards. They must not compete with them: if the arm's rewards are 1 minus the control's, 63 of 300 runs call
the arm better at delta = 0.1 (`tests/judgement/test_judged_promise.py`).

Let theta be the control's true mean, and let the arm's mean be at most theta + m. Form the product of e^(b x)/(1 -
(theta + m) + (theta + m) e^b) over the arm's pulls and of e^(-a x)/(1 - theta + theta e^-a) over the control's, and
average it over bets (a, b). This average is a nonnegative supermartingale M_n with M_0 = 1 (the chord argument of
`better_by`). The first factor increases with x and the second decreases. Setting the arm's pending rewards to 0 and the
control's to 1 therefore gives a lower bound of M_n, where n is the number of pulls asked for so far. The minimum over
theta is smaller still. By Ville's inequality, M ever reaches 1/(delta w) with probability at most delta w, where w is
the arm's share. Evaluating it late, rarely, or at data-dependent times can only miss that event. The proof for "worse"
replaces x by 1 - x. Only one of the two verdicts can be wrong for an arm, and the shares add up to 1.

An arm that is added later may have been picked because of the control's earlier rewards, in either direction.
Then both verdicts can be wrong, so each of them gets half of the arm's share (`LATER`).

A told reward of an arm updates that arm's evidence. The evidence of all arms is updated whenever the control's number
of rewards has grown by a sixteenth.

The sampling rule sees a threshold at the control's present mean plus the margin, and pending pulls as if they had
returned their arm's mean. Every index depends on the control, so a scan over the stored indices finds the largest. The
control is pulled instead while it has fewer than share * sqrt(undecided arms) times the chosen arm's pulls. A share of
1 is the allocation of Dunnett (1955, JASA 50(272)); docs/live-verdicts.md has measurements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goodarm.engine.assemble import first_fit, loop_parameters, start_pool
from goodarm.engine.compile import AGAINST_CONTROL, INDICES, just_in_time
from goodarm.engine.live.checks import check_against_control, offsets_of
from goodarm.engine.live.scan import ScanStep, indices
from goodarm.engine.live.step import ArmState, Asked, Tenths, as_plain, like, packed, unpacked
from goodarm.engine.live.worst_case import (
    EXTRA,
    OFFSET_COLUMN,
    PENDING_COLUMN,
    TOLD_BAD,
    TOLD_GOOD,
    live_sampling,
    start_at_offset,
    state_of,
)
from goodarm.engine.rule_parts import learner_parts
from goodarm.engine.selectors import NO_INDEX
from goodarm.errors import RuleFailed
from goodarm.policies import Policy
from goodarm.problem import Bar, Problem, bar_at
from goodarm.rules.beliefs import ARM_FIELDS, FOR_BAD, FOR_GOOD, PULLS, TOTAL, VERDICT, Pool, Table, at_round
from goodarm.rules.identification.versus import against_control, better_by
from goodarm.rules.sampling import IndexRule

SHARE = 1.0
"""Number of control pulls, as a multiple of Dunnett's allocation."""
LATER = 0.5
"""Fraction of a later arm's share of delta that each of its two verdicts gets."""
GROWTH = 1.0 / 16.0
"""Relative growth of the control's number of rewards after which all arms are updated."""


class ControlState(NamedTuple):
    """The table of arms."""

    arms: Table


class ControlStep(ScanStep):
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
        costs: ArrayLike | None = None,
    ) -> None:
        check_against_control(policy, problem)
        self.policy, self.problem, self.control, self.margin = policy, problem, control, margin
        self.horizon, self.share = horizon, share
        arms = np.zeros((problem.arms + 1, ARM_FIELDS + EXTRA))
        start_at_offset(arms, np.insert(offsets_of(problem, weights), control, 0.0), costs)
        self.state = ControlState(arms)
        self.index = np.full(len(arms), math.inf)
        """Each arm's latest index: inf if it was never asked for, -inf if it is decided or suspended."""
        self.index[control] = -math.inf
        self.bar = problem.bar
        """The bar as the sampling rule sees it: its threshold is the control's latest mean plus the margin."""
        self.pool: Pool = start_pool(policy, problem.bar, horizon)
        self.looked = 0.0
        """Number of the control's rewards at the latest update of all arms."""
        self.fit_due = first_fit(policy, problem.bar)

    @property
    def tables(self) -> Sequence[Table]:
        return (self.state.arms,)

    # Asking

    def choose(self) -> int:
        """The next arm to ask for: the control, each arm once, then the rule's choice; -1 if every arm is decided."""
        best = int(np.argmax(self.index))
        if self.index[best] == -math.inf:
            return -1
        asked = self._asked(self.control)
        if asked == 0.0 or math.isinf(self.index[best]):
            return self.control if asked == 0.0 else best
        open_arms = np.count_nonzero(self.index > -math.inf)
        return self.control if asked < self.share * math.sqrt(open_arms) * self._asked(best) else best

    # Absorbing

    def absorb(self, arm: int, reward: float, asked: Asked | None = None) -> list[int]:
        """Absorb the reward of a pending pull; returns the arms that it decides."""
        return self._absorbed(arm, (reward,))

    def _after_void(self, arm: int) -> list[int]:
        return self._look_at_all() if arm == self.control else self._look([arm])

    def _after(self, told: list[int]) -> list[int]:
        """Give the verdicts that follow from rewards of these arms."""
        now = float(self.state.arms[self.control, PULLS])
        due = self.control in told and now >= self.looked + max(1.0, GROWTH * self.looked)
        decided = self._look_at_all() if due else self._look([arm for arm in told if arm != self.control])
        if self.rounds >= self.fit_due:
            self._fit()
        return decided

    # Views

    def _look_at_all(self) -> list[int]:
        row = self.state.arms[self.control]
        self.looked = float(row[PULLS])
        mean = (row[TOTAL] + 0.5) / (row[PULLS] + 1.0)
        self.bar = bar_at(self.problem.bar, float(min(max(mean + self.margin, 1e-6), 1.0 - 1e-6)))
        return self._look([arm for arm in range(len(self.state.arms)) if arm != self.control])

    def _look(self, which: list[int]) -> list[int]:
        """Recompute evidence, verdicts and indices of these arms."""
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
        """Compute the evidence of these arms; `choosing` makes it visible to the sampling rule."""
        arms = self.state.arms
        just_in_time(_compute_evidence, AGAINST_CONTROL, over=1)(arms, which, arms[self.control], self.margin, choosing)

    def _refresh(self) -> None:
        """Update the evidence of every arm with all told and pending pulls, without deciding anything."""
        if self.stale:
            which = np.flatnonzero(np.abs(self.state.arms[:, VERDICT]) != 1.0)
            self._evidence(which[which != self.control], choosing=False)
            self.stale = False

    def row(self, arm: int) -> ArmState:
        """Summary of an arm."""
        self._refresh()
        budget = self.problem.bar.budget
        return state_of(self.state.arms[arm], budget, budget)

    # New arms

    def add_arms(self, weights: Sequence[float], tenths: Tenths = (), costs: Sequence[float] | None = None) -> None:
        """Add arms, each with its share of the error probability. The problem keeps its K and delta."""
        before = np.delete(self.state.arms[:, OFFSET_COLUMN], self.control)
        more = self._added(weights, costs, before, math.log(LATER))
        self.state = ControlState(np.vstack([self.state.arms, more]))

    # Saved state

    def pack(self) -> bytes | None:
        """The state as bytes."""
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
        """Restore a packed state into a new step."""
        numbers, arrays = unpacked(body)
        self.state = ControlState(np.require(arrays["arms"], requirements=["C", "W"]))
        self.index = np.require(arrays["index"], requirements=["C", "W"])
        self.bar = Bar(*numbers["bar"])
        self.pool = Pool(numbers["round"], self.horizon, like(self.pool.learned, numbers["learned"]))
        self.asks, self.rounds, self.looked = numbers["asks"], numbers["rounds"], numbers["looked"]
        self.fit_due, self.stale = numbers["fit_due"], True

    # Helpers

    def _show(self, arm: int) -> None:
        if arm != self.control:
            self._show_all(np.array([arm]))

    def _show_all(self, which: NDArray[np.int64]) -> None:
        """Compute the indices of these arms."""
        sampling = live_sampling(self.policy.sampling)
        assert isinstance(sampling, IndexRule)
        pool, (values, _), *_ = at_round(self.pool, float(max(self.asks, 1))), loop_parameters(self.policy)[0]
        compute = just_in_time(indices(sampling.index), INDICES, over=1)
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
