"""Selectors find a sampling rule's arm: by winner tree, kinetic tree or few lines, its own choice, or a plain scan.

Each selector is three plain functions. The scan is the reference: the trees choose the same arms.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from goodarm.engine import few_lines, kinetic_tree, winner_tree
from goodarm.engine.compile import inlined, reordered
from goodarm.engine.few_lines import Lines
from goodarm.errors import RuleFailed
from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool, Table, is_open, may_be_sampled, read_arm, read_arm_with_row
from goodarm.rules.parameters import Formula, Setting, parameters_of, take
from goodarm.rules.sampling import ChoiceRule, IndexRule, LineRule, SamplingRule

FOREVER = 2.0**53
"""The last round that a float counts exactly; the default horizon."""

NO_INDEX = (
    "a sampling rule's index is NaN, which can't be compared with others. Return a number for every arm that was "
    "pulled, even if its rewards are all 0 or all 1."
)


class Selector(NamedTuple):
    """Three functions that find the arm."""

    prepare: Formula
    """(kept, arms, pool, bar, parameters): prepare from scratch for the next choice."""
    select: Formula
    """(kept, arms, pool, bar, generator, parameters) -> arm"""
    update: Formula
    """(kept, i, arm, pool, bar, parameters): arm i has changed."""


def scans_lines(rule: SamplingRule, arms: int) -> bool:
    """Whether a compiled loop scans the rule's lines. In Python a tree is faster, however few arms there are."""
    return isinstance(rule, LineRule) and arms <= few_lines.FEW


def memory_for(rule: SamplingRule, arms: int, *, scan: bool = False, few: bool = False) -> Any:
    """The working memory of `selector_for` with the same arguments."""
    if scan or isinstance(rule, ChoiceRule):
        return np.zeros((0, 0))
    if isinstance(rule, IndexRule):
        return winner_tree.empty(arms)
    return few_lines.empty(arms) if few else kinetic_tree.empty(arms)


def choosing_parameters(rule: SamplingRule, setting: Setting) -> tuple[Any, ...]:
    """The parameter tuples of the rule's functions, in the form that its selector expects."""
    if isinstance(rule, LineRule):
        return tuple(take(setting.sampling, parameters_of(part, 2)) for part in (rule.slope, rule.clock))
    return take(setting.sampling, rule.defaults), ()


def refuse_nan(kept: Any) -> None:
    """Refuse a NaN index, found in the selector's memory: a tree or lines that record NaN, or the latest indices."""
    if isinstance(kept, few_lines.Lines):
        found = kept.counts[few_lines.NAN] > 0
    elif kept.ndim == 2:
        found = kept.size > 0 and kept[0, -1] != 0.0
    else:
        found = np.isnan(kept).any()
    if found:
        raise RuleFailed(NO_INDEX)


@cache
def in_turn(select: Formula) -> Formula:
    """Choose each arm once, then use the selector."""

    @inlined
    def choose(
        kept: Any, arms: Table, pool: Pool, bar: Bar, generator: Any, parameters: Any, fresh: int, source: Any
    ) -> int:
        return fresh if fresh < len(arms) else select(kept, arms, pool, bar, generator, parameters)

    return choose


@cache
def at_once(select: Formula) -> Formula:
    """Use the selector from the first round: a model has a mean and a width for arms that were never pulled."""

    def choose(
        kept: Any, arms: Table, pool: Pool, bar: Bar, generator: Any, parameters: Any, fresh: int, source: Any
    ) -> int:
        return select(kept, arms, pool, bar, generator, parameters)  # type: ignore[no-any-return]  # the same

    return choose


@cache
def selector_for(rule: SamplingRule, scan: bool, rows: bool = False, kept: bool = False, few: bool = False) -> Selector:
    """The selector of a rule; `scan` requests the plain scan, `rows` passes the arm's whole row as memory.

    kept : the identification rule keeps likelihoods there, which the index may read
    few  : scan the kept lines of a `LineRule` instead of keeping a tree (`scans_lines`)
    """
    read = read_arm_with_row if rows else read_arm
    if isinstance(rule, ChoiceRule):
        return Selector(_nothing, own_choice(rule.choose), _nothing)
    if isinstance(rule, IndexRule):
        index = rule.index_of_kept if kept and rule.index_of_kept else rule.index
        if scan:
            return _scan(_index_formula(rule.index))
        ahead = rule.stays_ahead if index is rule.index_of_kept else None
        return _winner(index, read) if ahead is None else _leading(_winner(index, read), ahead)
    if isinstance(rule, LineRule):
        if scan:
            return _scan(_line_formula(rule.slope, rule.clock))
        return (_few_lines if few else _kinetic)(rule.slope, rule.clock, read)
    raise TypeError(f"{rule!r} is neither an IndexRule, a LineRule nor a ChoiceRule")


def _nothing(tree: Table, *arguments: Any) -> None:
    """No update, for selectors without memory."""


def own_choice(choose: Formula) -> Formula:
    """A rule's own choice, checked. The first argument is the loop's working memory for choosing."""

    def select(kept: Any, arms: Table, pool: Pool, bar: Bar, generator: Any, parameters: Any) -> int:
        i = choose(arms, pool, bar, generator, *parameters[0])
        # compiled code checks no bounds, and a second verdict on an arm would corrupt the counts
        if i < 0 or i >= len(arms) or not may_be_sampled(arms, i, bar):
            raise RuleFailed(
                "a sampling rule chose an arm that is decided or does not exist; it must choose an open one"
            )
        return i  # type: ignore[no-any-return]  # a rule's function has no declared result

    return select


def _index_formula(index: Formula) -> Formula:
    def value(arm: Arm, pool: Pool, bar: Bar, parameters: Any) -> float:
        return index(arm, pool, bar, *parameters[0])  # type: ignore[no-any-return]  # the same

    return value


def _line_formula(slope: Formula, clock: Formula) -> Formula:
    def value(arm: Arm, pool: Pool, bar: Bar, parameters: Any) -> float:
        return arm.mean + clock(pool.round, bar, *parameters[1]) * slope(arm, bar, *parameters[0])  # type: ignore[no-any-return]  # the same

    return value


def _scan(value: Formula) -> Selector:
    def select(tree: Table, arms: Table, pool: Pool, bar: Bar, generator: Any, parameters: Any) -> int:
        best, leader = -math.inf, -1
        for i in range(len(arms)):
            if is_open(arms, i):
                index = value(read_arm(arms, i), pool, bar, parameters)
                if math.isnan(index):
                    raise RuleFailed(NO_INDEX)
                if leader < 0 or index > best:
                    best, leader = index, i
        return leader

    return Selector(_nothing, select, _nothing)


def _winner(index: Formula, read: Formula) -> Selector:
    @inlined
    def prepare(tree: Table, arms: Table, pool: Pool, bar: Bar, parameters: Any) -> None:
        for i in range(len(arms)):
            key = index(read(arms, i), pool, bar, *parameters[0]) if is_open(arms, i) else -math.inf
            winner_tree.set_leaf(tree, i, key)
        winner_tree.build(tree)

    def select(tree: Table, arms: Table, pool: Pool, bar: Bar, generator: Any, parameters: Any) -> int:
        return winner_tree.top(tree)

    @inlined
    def update(tree: Table, i: int, arm: Arm, pool: Pool, bar: Bar, parameters: Any) -> None:
        if arm.verdict == 0.0:
            winner_tree.push(tree, i, index(arm, pool, bar, *parameters[0]))
        else:
            winner_tree.push(tree, i, -math.inf)

    return Selector(prepare, select, update)


def _leading(selector: Selector, stays_ahead: Formula) -> Selector:
    """The selector for loops in which only the chosen arm's index changes until the next `prepare`.

    The arm that was pulled leads the tree. If its index still exceeds all others, it is chosen again, so the index is
    not computed and its leaf and the path above keep the index of an earlier pull. That index is at least as large as
    all others: it was when it was computed, and the others have not changed since, except to -inf with a verdict. So
    the arm leads until an update finds that it may not, and that update computes its index.
    """
    update_path, stays_ahead = selector.update, reordered(stays_ahead)

    @inlined
    def update(tree: Table, i: int, arm: Arm, pool: Pool, bar: Bar, parameters: Any) -> None:
        hint = -1.0
        if arm.verdict == 0.0:
            hint = stays_ahead(arm, pool, bar, winner_tree.largest_other(tree, i), tree[0, 0], *parameters[0])
        if hint >= 0.0:
            tree[0, 0] = hint
        else:
            update_path(tree, i, arm, pool, bar, parameters)

    return Selector(selector.prepare, selector.select, update)


def _kinetic(slope: Formula, clock: Formula, read: Formula) -> Selector:
    @inlined
    def prepare(tree: Table, arms: Table, pool: Pool, bar: Bar, parameters: Any) -> None:
        for i in range(len(arms)):
            if is_open(arms, i):
                arm = read(arms, i)
                kinetic_tree.set_leaf(tree, i, arm.mean, slope(arm, bar, *parameters[0]))
            else:
                kinetic_tree.set_leaf(tree, i, kinetic_tree.CLOSED, 0.0)
        tree[0, 0] = clock(pool.round, bar, *parameters[1])
        tree[0, 1] = clock(min(pool.horizon, FOREVER), bar, *parameters[1])
        kinetic_tree.build(tree, tree[0, 0], tree[0, 1])

    @inlined
    def select(tree: Table, arms: Table, pool: Pool, bar: Bar, generator: Any, parameters: Any) -> int:
        tree[0, 0] = clock(pool.round, bar, *parameters[1])
        return kinetic_tree.advance(tree, tree[0, 0], tree[0, 1])

    @inlined
    def update(tree: Table, i: int, arm: Arm, pool: Pool, bar: Bar, parameters: Any) -> None:
        is_open_line = arm.verdict == 0.0
        mean = arm.mean if is_open_line else kinetic_tree.CLOSED
        steepness = slope(arm, bar, *parameters[0]) if is_open_line else 0.0
        kinetic_tree.change(tree, i, mean, steepness, tree[0, 0], tree[0, 1])

    return Selector(prepare, select, update)


def _few_lines(slope: Formula, clock: Formula, read: Formula) -> Selector:
    @inlined
    def prepare(lines: Lines, arms: Table, pool: Pool, bar: Bar, parameters: Any) -> None:
        few_lines.clear(lines)
        for i in range(len(arms)):
            if is_open(arms, i):
                arm = read(arms, i)
                few_lines.append(lines, i, arm.mean, slope(arm, bar, *parameters[0]))

    @inlined
    def select(lines: Lines, arms: Table, pool: Pool, bar: Bar, generator: Any, parameters: Any) -> int:
        return few_lines.highest(lines, clock(pool.round, bar, *parameters[1]))

    @inlined
    def update(lines: Lines, i: int, arm: Arm, pool: Pool, bar: Bar, parameters: Any) -> None:
        if arm.verdict == 0.0:
            few_lines.change(lines, i, arm.mean, slope(arm, bar, *parameters[0]))
        else:
            few_lines.remove(lines, i)

    return Selector(prepare, select, update)
