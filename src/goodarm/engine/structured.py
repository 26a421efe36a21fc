"""The round for models that change the belief about every arm with each pull: choose -> reward -> evidence -> model.

Every index changes in every round, so the loop scans instead of using a tree. The table of arms is that of `loop.py`,
stored by columns: the scan and the model's update of means and widths are plain vector loops.

There is usually no initial phase: before the first reward the model's prior gives every arm a mean and a width, and the
sampling rule chooses from these. An arm may never be pulled. A rule that decides by an arm's own evidence ignores such
an arm; a rule that decides by the model checks every undecided arm after each pull. The rules of the paper are the
exception: they pull each arm once (`SamplingRule.each_first`), and then judge only the arm that was pulled
(`IdentificationRule.waits`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from goodarm.engine.compile import compiled
from goodarm.engine.loop import (
    FIT_DUE,
    FRESH,
    OPEN,
    ROUND,
    WANTED,
    Kind,
    Tables,
    good_so_far,
    number_changes,
    row_stays,
)
from goodarm.engine.rule_parts import identification_parts
from goodarm.engine.selectors import at_once, in_turn, own_choice
from goodarm.models._base import LOG_DET, REGULARISER
from goodarm.policies import Policy
from goodarm.problem import Bar
from goodarm.rules.beliefs import (
    MEAN,
    PULLS,
    VERDICT,
    WIDTH,
    Arm,
    Pool,
    Row,
    Table,
    at_round,
    read_arm,
    read_arm_with_row,
    write_arm,
    write_arm_beside_row,
)
from goodarm.rules.identification import IdentificationRule, ModelRule, RadiusRule
from goodarm.rules.identification._base import decide_around
from goodarm.rules.identification.false_discovery import decide_by_rank
from goodarm.rules.parameters import Formula
from goodarm.rules.sampling import ChoiceRule, IndexRule, LineRule, SamplingRule
from goodarm.verdict import Criterion


class StructuredParts(NamedTuple):
    """The functions that make up a round; `choose`, `reward` and the last two as in `loop.Parts`."""

    choose: Formula
    reward: Formula
    as_asked: Formula
    """(arm, pool, source) -> (arm, pool) at the time of asking, on which a bet may depend"""
    observe: Formula
    """(arm, reward, pool, bar, *parameters) -> evidence"""
    absorb: Formula
    """(belief, arms, a, before, reward, bar) -> whether the model's upkeep is due"""
    judge: Formula
    """(tables, a, numbers, worn, pool, bar, parameters) -> number of new verdicts; worn: the model requests upkeep, and
    its widths must not be used before it"""
    fit: Formula
    """(belief, arms, pool, bar, parameters) -> pool"""
    next_round: Formula


def parts_for(
    policy: Policy, absorb: Formula, reward: Formula, fit: Formula, next_round: Formula, usual: bool = False
) -> StructuredParts:
    """The parts of a simulated pairing with a model; `usual` as in `identification_parts`."""
    rule, sampling = policy.identification, policy.sampling
    if isinstance(sampling, IndexRule) and sampling.index_of_model:
        sampling = replace(sampling, index=sampling.index_of_model)
    everyone = isinstance(rule, ModelRule) and rule.blind
    first = in_turn if policy.sampling.each_first else at_once
    return StructuredParts(
        choose=first(scan_for(sampling, everyone)),
        reward=reward,
        as_asked=as_it_is,
        absorb=absorb,
        observe=identification_parts(rule, usual)[0],
        judge=judge_for(rule, policy.criterion is Criterion.FDR),
        fit=fit,
        next_round=next_round,
    )


def as_it_is(arm: Arm, pool: Pool, source: Any) -> tuple[Arm, Pool]:
    """Arm and pool at the time of asking, unchanged if rewards are immediate."""
    return arm, pool


def rounds(parts: StructuredParts, kind: Kind) -> Callable[..., tuple[Pool, bool]]:
    """The loop over the rounds of a pairing with a model, as plain Python; stops early if the model's upkeep is due."""
    choose, reward, as_asked, observe, absorb, judge, fit, next_round = parts
    _, rows, outside, waits = kind
    read, write = (read_arm_with_row, write_arm_beside_row) if rows else (read_arm, write_arm)
    remember = row_stays if rows else number_changes

    def loop(
        both: tuple[Tables, Any],
        pool: Pool,
        source: Any,
        bar: Any,
        parameters: Any,
        generator: Any,
        until: int,
        trace: Any,
    ) -> tuple[Pool, bool]:
        tables, belief = both
        arms, scores, progress = tables.arms, tables.kept, tables.progress
        choosing, observing, deciding, fitting, timing = parameters
        now, open_arms, due, fresh = progress[ROUND], progress[OPEN], progress[FIT_DUE], progress[FRESH]
        count, wants = len(arms), False
        enough = False if outside else good_so_far(arms) >= progress[WANTED]
        while now < until and (outside or (open_arms > 0 and not enough)) and not wants:
            now += 1
            pool = at_round(pool, float(now))
            a = choose(scores, arms, pool, bar, generator, choosing, fresh, source)
            before = read(arms, a)
            x = reward(a, before.pulls, source)
            if outside and abs(before.verdict) == 1.0:
                for_good, for_bad, kept = before.for_good, before.for_bad, before.memory
            else:
                seen, then = as_asked(before, pool, source)
                for_good, for_bad, memory = observe(seen, x, then, bar, *observing)
                kept = remember(before, memory)
            wants = absorb(belief, arms, a, before, x, bar)
            n, s = before.pulls + 1.0, before.total + x
            arm = Arm(n, s, arms[a, MEAN], arms[a, WIDTH], for_good, for_bad, kept, before.verdict)
            write(arms, a, arm)
            if trace.size > 0:
                trace[now - 1] = a
            if not waits or fresh >= count:
                found = judge(tables, a, belief.numbers, wants, pool, bar, deciding)
                open_arms -= found
                if found > 0 and not outside:
                    enough = good_so_far(arms) >= progress[WANTED]
            if not outside:
                while fresh < count and arms[fresh, PULLS] > 0.0:
                    fresh += 1
            if now >= due:
                pool = fit(belief, arms, pool, bar, fitting)
                due = np.int64(next_round(float(now), bar, *timing))
        progress[ROUND], progress[OPEN], progress[FIT_DUE], progress[FRESH] = now, open_arms, due, fresh
        return pool, wants

    return loop


@cache
def build(parts: StructuredParts, kind: Kind) -> Callable[..., tuple[Pool, bool]]:
    """The compiled loop of a pairing, compiled at its first call or loaded from the disk cache."""
    loop: Callable[..., tuple[Pool, bool]] = compiled(rounds(parts, kind))
    return loop


def first_largest(scores: Row) -> int:
    """Index of the largest number; ties go to the first."""
    best, leader = scores[0], 0
    for i in range(1, len(scores)):
        if scores[i] > best:
            best, leader = scores[i], i
    return leader


@cache
def scan_for(rule: SamplingRule, everyone: bool, rows: bool = False) -> Formula:
    """The function by which a sampling rule finds its arm; `rows` as in `selector_for`."""
    read = read_arm_with_row if rows else read_arm
    if isinstance(rule, IndexRule):
        return _index_scan(rule.index, everyone, read)
    if isinstance(rule, LineRule):
        return _line_scan(rule.slope, rule.clock, read)
    if isinstance(rule, ChoiceRule):
        return own_choice(rule.choose)
    raise TypeError(f"{rule!r} is neither an IndexRule, a LineRule nor a ChoiceRule")


def _index_scan(index: Formula, everyone: bool, read: Formula) -> Formula:
    def select(scores: Row, arms: Table, pool: Pool, bar: Bar, generator: Any, parameters: Any) -> int:
        for i in range(len(scores)):
            if everyone or arms[i, VERDICT] == 0.0:
                scores[i] = index(read(arms, i), pool, bar, *parameters[0])
            else:
                scores[i] = -math.inf
        return first_largest(scores)

    return select


def _line_scan(slope: Formula, clock: Formula, read: Formula) -> Formula:
    def select(scores: Row, arms: Table, pool: Pool, bar: Bar, generator: Any, parameters: Any) -> int:
        time = clock(pool.round, bar, *parameters[1])
        for i in range(len(scores)):
            arm = read(arms, i)
            value = arm.mean + time * slope(arm, bar, *parameters[0])
            scores[i] = value if arm.verdict == 0.0 else -math.inf
        return first_largest(scores)

    return select


@cache
def judge_for(rule: IdentificationRule, fdr: bool) -> Formula:
    """The function that gives verdicts after a pull."""
    if fdr:
        return judge_by_rank
    if isinstance(rule, ModelRule):
        return _judge_all_by_factor(rule.factor)
    if isinstance(rule, RadiusRule) and rule.by_model:
        return _judge_the_pulled_by_radius(rule.radius) if rule.waits else _judge_all_by_radius(rule.radius)
    return judge_the_pulled(identification_parts(rule)[1], rule.memory > 1)


def give_verdict(tables: Tables, i: int, verdict: float, pool: Pool) -> int:
    """Give arm i its verdict, if any; returns the number of arms newly decided."""
    if verdict == 0.0:
        return 0
    was_open = tables.arms[i, VERDICT] == 0.0
    tables.arms[i, VERDICT] = verdict
    tables.decided_at[i] = np.int64(pool.round)
    return 1 if was_open else 0


def judge_by_rank(tables: Tables, a: int, numbers: Row, worn: bool, pool: Pool, bar: Bar, given: Any) -> int:
    """Verdicts by e-BH."""
    found, opened = decide_by_rank(tables.arms, a, tables.ledger, tables.called, bar)
    for j in range(found):
        tables.decided_at[tables.called[j]] = np.int64(pool.round)
    return opened


def judge_the_pulled(decide: Formula, rows: bool) -> Formula:
    """The verdict on the arm that was pulled, from its own evidence."""
    read = read_arm_with_row if rows else read_arm

    def judge(tables: Tables, a: int, numbers: Row, worn: bool, pool: Pool, bar: Bar, given: Any) -> int:
        arms = tables.arms
        if abs(arms[a, VERDICT]) == 1.0:
            return 0
        return give_verdict(tables, a, decide(read(arms, a), pool, bar, given), pool)

    return judge


def _judge_all_by_factor(factor: Formula) -> Formula:
    def judge(tables: Tables, a: int, numbers: Row, worn: bool, pool: Pool, bar: Bar, given: Any) -> int:
        arms = tables.arms
        if worn:  # rounding has just cancelled the widths to about 0
            return 0
        size = factor(numbers[LOG_DET], numbers[REGULARISER], pool, bar, *given)
        if size == math.inf:
            return 0
        found = 0
        for i in range(len(arms)):
            if arms[i, VERDICT] == 0.0:
                verdict = decide_around(arms[i, MEAN], size * arms[i, WIDTH], bar)
                if verdict != 0.0:  # calling a function for every arm would take twenty times as long
                    found += give_verdict(tables, i, verdict, pool)
        return found

    return judge


def _judge_all_by_radius(radius: Formula) -> Formula:
    def judge(tables: Tables, a: int, numbers: Row, worn: bool, pool: Pool, bar: Bar, given: Any) -> int:
        arms = tables.arms
        if worn:
            return 0
        found = 0
        for i in range(len(arms)):
            arm = read_arm(arms, i)
            if arm.verdict == 0.0:
                verdict = decide_around(arm.mean, radius(arm, pool, bar, *given), bar)
                if verdict != 0.0:
                    found += give_verdict(tables, i, verdict, pool)
        return found

    return judge


def _judge_the_pulled_by_radius(radius: Formula) -> Formula:
    """The verdict on the arm that was pulled, around the model's mean."""

    def judge(tables: Tables, a: int, numbers: Row, worn: bool, pool: Pool, bar: Bar, given: Any) -> int:
        arm = read_arm(tables.arms, a)
        if worn or arm.verdict != 0.0:
            return 0
        return give_verdict(tables, a, decide_around(arm.mean, radius(arm, pool, bar, *given), bar), pool)

    return judge
