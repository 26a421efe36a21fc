"""Wrap rules for rewards that arrive late, out of order, or never.

Why the verdicts hold (proofs in docs/live-verdicts.md):

by totals  The evidence for good counts every pending pull as reward 0, and the evidence for bad counts it as 1: E+ from
           (asked, told total), E- from (asked, told total + pending). Once all rewards are told, nothing is lost. This
           needs a rule by totals and rewards in [0, 1].
in order   All other evidence, and all unbounded rewards. The caller passes an arm's rewards in the order of asking.
           A bet reads the pool and the model as they were when its pull was asked for.

The sampling rule may use all information. It sees an arm with n pending pulls as if they had returned the arm's present
mean, so a batch spreads over several arms.

This module wraps each rule; the round stays that of `loop.py` and `structured.py`. An arm's row has `EXTRA` more
numbers, which the wrapped rules see as `arm.memory`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

from goodarm.engine.live.step import ArmState
from goodarm.engine.totals import either_side
from goodarm.problem import Bar, bar_with
from goodarm.rules.beliefs import (
    ARM_FIELDS,
    FOR_BAD,
    FOR_GOOD,
    PULLS,
    SUSPENDED,
    TOTAL,
    VERDICT,
    Arm,
    Pool,
    Row,
    Table,
    read_arm,
    write_arm,
)
from goodarm.rules.identification import EvidenceRule, IdentificationRule, RadiusRule
from goodarm.rules.identification._base import decide_around
from goodarm.rules.parameters import Formula
from goodarm.rules.sampling import ChoiceRule, IndexRule, LineRule, SamplingRule

PENDING, OFFSET, TOLD_GOOD, TOLD_BAD, COST = range(5)
EXTRA = 5
"""Indices into `arm.memory` of a live arm, followed by the rule's own memory.

PENDING             : number of pending pulls
OFFSET              : log(w K), where the evidence starts; w is the arm's share of the error probability
TOLD_GOOD, TOLD_BAD : evidence from told rewards alone; used for choosing, never for verdicts
COST                : cost of a pull; used for choosing, never for verdicts
"""
PENDING_COLUMN, OFFSET_COLUMN, COST_COLUMN = ARM_FIELDS + PENDING, ARM_FIELDS + OFFSET, ARM_FIELDS + COST


def as_if_back(arm: Arm, bar: Bar) -> Arm:
    """The arm as a sampling rule sees it: pending pulls have returned its present mean.

    With a model the mean stays too, and n pulls make the width w / sqrt(1 + n w^2), which is exact for the arm itself.
    """
    pending = arm.memory[PENDING]
    if pending == 0.0:
        return Arm(arm.pulls, arm.total, arm.mean, arm.width, arm.for_good, arm.for_bad, 0.0, arm.verdict)
    pulls = arm.pulls + pending
    believed = arm.pulls > 0.0 or bar.modelled > 0.0
    mean = arm.mean if believed else bar.threshold
    narrower = arm.width / math.sqrt(1.0 + pending * arm.width * arm.width)
    width = narrower if bar.modelled > 0.0 else 1.0 / math.sqrt(pulls)
    ahead = pulls / arm.pulls if arm.pulls > 0.0 else 1.0
    for_good = max(arm.memory[TOLD_GOOD], 0.0) * ahead + arm.memory[OFFSET]
    for_bad = max(arm.memory[TOLD_BAD], 0.0) * ahead + arm.memory[OFFSET]
    return Arm(pulls, arm.total + pending * mean, mean, width, for_good, for_bad, 0.0, arm.verdict)


HELD_BACK = 20.0
"""Divisor of the index of an arm that only pending pulls keep from a verdict.

Such an arm is sampled again after the arms whose index exceeds this fraction of its own. If its pulls return, it needs
no sample. If they are lost, more samples decide it all the same. `python -m benchmarks lost` measures it.
"""


def with_losses(arm: Arm, shown: Arm, bar: Bar) -> Arm:
    """The arm as a sampling rule sees it if its pending pulls are lost: each cancels a told reward, on either side.

    This approximates the evidence with pending pulls at their worst, which is only computed when a reward is told. One
    reward at least is missing.
    """
    left = max(1.0 - arm.memory[PENDING] / arm.pulls, 0.0)
    good, bad = max(arm.memory[TOLD_GOOD], 0.0), max(arm.memory[TOLD_BAD], 0.0)
    for_good = min(good * left + arm.memory[OFFSET], bar.budget - good / arm.pulls)
    for_bad = min(bad * left + arm.memory[OFFSET], bar.budget - bad / arm.pulls)
    return Arm(shown.pulls, shown.total, shown.mean, shown.width, for_good, for_bad, 0.0, arm.verdict)


@cache
def live_sampling(rule: SamplingRule) -> SamplingRule:
    """The rule with pending pulls treated as returned, and indices divided by the cost of a pull."""
    if isinstance(rule, IndexRule):
        return replace(rule, index=_live_index(rule.index))
    if isinstance(rule, LineRule):
        return replace(rule, slope=_live_slope(rule.slope))
    if isinstance(rule, ChoiceRule):
        return replace(rule, choose=_live_choice(rule.choose))
    raise TypeError(f"{rule!r} is neither an IndexRule, a LineRule nor a ChoiceRule")


def _live_index(index: Formula) -> Formula:
    def live_index(arm: Arm, pool: Pool, bar: Bar, *parameters: float) -> float:
        shown = as_if_back(arm, bar)
        cost = arm.memory[COST]
        if arm.memory[PENDING] > 0.0 and arm.pulls > 0.0 and max(shown.for_good, shown.for_bad) >= bar.budget:
            shown, cost = with_losses(arm, shown, bar), cost * HELD_BACK
        value = index(shown, pool, bar, *parameters)
        return value / cost if value > 0.0 else value * cost  # type: ignore[no-any-return]  # a rule's function

    return live_index


def _live_slope(slope: Formula) -> Formula:
    def live_slope(arm: Arm, bar: Bar, *parameters: float) -> float:
        return slope(as_if_back(arm, bar), bar, *parameters)  # type: ignore[no-any-return]  # a rule's function

    return live_slope


def _live_choice(choose: Formula) -> Formula:
    def live_choice(arms: Table, pool: Pool, bar: Bar, generator: Any, *parameters: float) -> int:
        shown = arms
        for i in range(len(arms)):
            if arms[i, PENDING_COLUMN] > 0.0:
                shown = arms.copy()
                break
        for i in range(len(arms)):
            if arms[i, PENDING_COLUMN] > 0.0:
                row = arms[i]
                arm = read_arm(arms, i)
                whole = Arm(
                    arm.pulls, arm.total, arm.mean, arm.width, arm.for_good, arm.for_bad, row[ARM_FIELDS:], arm.verdict
                )
                write_arm(shown, i, as_if_back(whole, bar))
        return choose(shown, pool, bar, generator, *parameters)  # type: ignore[no-any-return]  # a rule's function

    return live_choice


@cache
def live_identification(rule: IdentificationRule) -> tuple[Formula, Formula]:
    """`observe` and `decide` of a rule with pending pulls; `observe` gets the reward of one of them."""
    if isinstance(rule, EvidenceRule) and rule.totals is not None:
        return observe_totals(worst_case(rule)), _decide_evidence
    if isinstance(rule, EvidenceRule):
        return _observe_in_order(rule.observe, rule.memory > 1), _decide_evidence
    if isinstance(rule, RadiusRule):
        return _observe_nothing, _decide_radius(rule.radius)
    raise TypeError(f"{rule!r} decides by a model of the arms, which live campaigns do not support")


def _decide_evidence(arm: Arm, pool: Pool, bar: Bar, parameters: Any) -> float:
    if arm.for_good >= bar.budget:
        return 1.0
    return -1.0 if arm.for_bad >= bar.budget else 0.0


@cache
def worst_case(rule: EvidenceRule) -> Formula:
    """log E+ with every pending reward at its worst, 0, and log E- with it at 1; both start at the arm's offset."""
    totals, one_side = rule.formula, rule.one_side or either_side(rule.formula)

    def evidence(pulls: float, total: float, memory: Any, bar: Bar, *parameters: float) -> tuple[float, float]:
        pending, offset = memory[PENDING] if bar.bounded > 0.0 else 0.0, memory[OFFSET]
        if pulls + pending <= 0.0:
            memory[TOLD_GOOD], memory[TOLD_BAD] = 0.0, 0.0
            return offset, offset
        if pending > 0.0:
            for_good = one_side(1.0, pulls + pending, total, bar, *parameters)
            for_bad = one_side(-1.0, pulls + pending, total + pending, bar, *parameters)
            if pulls > 0.0:
                memory[TOLD_GOOD], memory[TOLD_BAD] = totals(pulls, total, bar, *parameters)
        else:
            for_good, for_bad = totals(pulls, total, bar, *parameters)
            memory[TOLD_GOOD], memory[TOLD_BAD] = for_good, for_bad
        return for_good + offset, for_bad + offset

    return evidence


def observe_totals(evidence: Formula) -> Formula:
    """`observe` of a rule by totals, from its evidence."""

    def observe(arm: Arm, reward: float, pool: Pool, bar: Bar, *parameters: float) -> tuple[float, float, float]:
        for_good, for_bad = evidence(arm.pulls + 1.0, arm.total + reward, arm.memory, bar, *parameters)
        return for_good, for_bad, 0.0

    return observe


def _observe_in_order(observe: Formula, rows: bool) -> Formula:
    def own_row(arm: Arm, reward: float, pool: Pool, bar: Bar, *parameters: float) -> tuple[float, float, float]:
        seen = Arm(
            arm.pulls, arm.total, arm.mean, arm.width, arm.for_good, arm.for_bad, arm.memory[EXTRA:], arm.verdict
        )
        for_good, for_bad, _ = observe(seen, reward, pool, bar, *parameters)
        arm.memory[TOLD_GOOD], arm.memory[TOLD_BAD] = for_good - arm.memory[OFFSET], for_bad - arm.memory[OFFSET]
        return for_good, for_bad, 0.0

    def own_number(arm: Arm, reward: float, pool: Pool, bar: Bar, *parameters: float) -> tuple[float, float, float]:
        seen = Arm(arm.pulls, arm.total, arm.mean, arm.width, arm.for_good, arm.for_bad, arm.memory[EXTRA], arm.verdict)
        for_good, for_bad, arm.memory[EXTRA] = observe(seen, reward, pool, bar, *parameters)
        arm.memory[TOLD_GOOD], arm.memory[TOLD_BAD] = for_good - arm.memory[OFFSET], for_bad - arm.memory[OFFSET]
        return for_good, for_bad, 0.0

    return own_row if rows else own_number


def _observe_nothing(arm: Arm, reward: float, pool: Pool, bar: Bar) -> tuple[float, float, float]:
    return 0.0, 0.0, 0.0


def _decide_radius(radius: Formula) -> Formula:
    def decide(arm: Arm, pool: Pool, bar: Bar, parameters: Any) -> float:
        pending = arm.memory[PENDING] if bar.bounded > 0.0 else 0.0
        pulls = arm.pulls + pending
        if pulls <= 0.0:
            return 0.0
        own = bar_with(bar, bar.delta * math.exp(arm.memory[OFFSET]), bar.budget)
        width = 1.0 / math.sqrt(pulls)
        low = Arm(pulls, arm.total, arm.total / pulls, width, 0.0, 0.0, 0.0, 0.0)
        most = arm.total + pending
        high = Arm(pulls, most, most / pulls, width, 0.0, 0.0, 0.0, 0.0)
        if decide_around(low.mean, radius(low, pool, own, *parameters), own) > 0.0:
            return 1.0
        return -1.0 if decide_around(high.mean, radius(high, pool, own, *parameters), own) < 0.0 else 0.0

    return decide


def columns_of(rule: IdentificationRule) -> int:
    """Number of columns of a live campaign's table of arms."""
    return ARM_FIELDS + EXTRA + (0 if rule.by_totals else max(rule.memory, 1))


def start_at_offset(table: Table, offsets: Any, costs: Any = None) -> None:
    """Start the evidence of new arms at their offset; a pull costs 1 by default."""
    table[:, COST_COLUMN] = 1.0 if costs is None else costs
    table[:, OFFSET_COLUMN] = offsets
    table[:, FOR_GOOD] = offsets
    table[:, FOR_BAD] = offsets


def state_of(row: Row, needed_good: float, needed_bad: float) -> ArmState:
    """Summary of an arm, from its row and the evidence needed on each side."""
    values = row.tolist()
    suspended = values[VERDICT] == SUSPENDED
    return ArmState(
        pulls=values[PULLS],
        total=values[TOTAL],
        pending=values[PENDING_COLUMN],
        for_good=values[FOR_GOOD],
        for_bad=values[FOR_BAD],
        needed_good=needed_good,
        needed_bad=needed_bad,
        offset=values[OFFSET_COLUMN],
        verdict=0 if suspended else int(values[VERDICT]),
        suspended=suspended,
    )
