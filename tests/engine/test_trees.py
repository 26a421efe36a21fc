"""Winner tree, kinetic tree and few lines against a plain maximum, in plain Python."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goodarm.engine import few_lines, kinetic_tree, selectors, winner_tree
from goodarm.errors import RuleFailed
from goodarm.policies import policy

COARSE = st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0])
careful = settings(max_examples=60, deadline=None, derandomize=True)


@pytest.mark.parametrize(("arms", "leaves"), [(1, 2), (2, 2), (3, 4), (4, 4), (5, 8), (1000, 1024), (1025, 2048)])
def test_leaves(arms: int, leaves: int) -> None:
    assert winner_tree.leaves_for(arms) == leaves


@careful
@given(st.lists(COARSE, min_size=1, max_size=20), st.lists(st.tuples(st.integers(0, 19), COARSE), max_size=40))
def test_winner_tree_is_the_first_maximum(indices: list[float], changes: list[tuple[int, float]]) -> None:
    tree = winner_tree.empty(len(indices))
    for arm, index in enumerate(indices):
        winner_tree.set_leaf(tree, arm, index)
    winner_tree.build(tree)
    assert winner_tree.top(tree) == int(np.argmax(indices))
    for arm, index in changes:
        # every third change takes an arm out, as a verdict does
        indices[arm % len(indices)] = -math.inf if index == 0.25 and len(indices) > 1 else index
        winner_tree.push(tree, arm % len(indices), indices[arm % len(indices)])
        if max(indices) > -math.inf:
            assert winner_tree.top(tree) == int(np.argmax(indices))


@careful
@given(st.lists(COARSE, min_size=1, max_size=20), st.integers(0, 19))
def test_the_largest_index_of_the_other_arms(indices: list[float], arm: int) -> None:
    tree, arm = winner_tree.empty(len(indices)), arm % len(indices)
    for each, index in enumerate(indices):
        winner_tree.set_leaf(tree, each, index)
    winner_tree.build(tree)
    others = indices[:arm] + indices[arm + 1 :]
    assert winner_tree.largest_other(tree, arm) == max(others, default=-math.inf)


@careful
@given(
    st.lists(st.tuples(COARSE, COARSE), min_size=1, max_size=20),
    st.lists(st.tuples(st.integers(0, 19), COARSE, COARSE), max_size=30),
    st.sampled_from([-2.0, 0.0, 0.5]),
)
def test_kinetic_tree_is_the_first_maximum_of_the_lines(
    lines: list[tuple[float, float]], changes: list[tuple[int, float, float]], start: float
) -> None:
    """The clock moves on, also from below zero and through it; the lines are changed on the way."""
    clock, last = start, 50.0
    tree = kinetic_tree.empty(len(lines))
    for arm, (mean, slope) in enumerate(lines):
        kinetic_tree.set_leaf(tree, arm, mean, slope)
    with np.errstate(invalid="ignore"):
        kinetic_tree.build(tree, clock, last)
        for step, (arm, mean, slope) in enumerate(changes):
            clock += (0.0, 0.25, 1.0)[step % 3]
            values = [mean + clock * slope for mean, slope in lines]
            assert kinetic_tree.advance(tree, clock, last) == int(np.argmax(values))
            lines[arm % len(lines)] = (mean, slope)
            kinetic_tree.change(tree, arm % len(lines), mean, slope, clock, last)


@careful
@given(
    st.lists(st.tuples(COARSE, COARSE), min_size=1, max_size=20),
    st.lists(st.integers(0, 19), max_size=20),
    st.sampled_from([-2.0, 0.0, 0.25, 50.0]),
)
def test_few_lines_have_the_first_maximum(lines: list[tuple[float, float]], closed: list[int], clock: float) -> None:
    kept = few_lines.empty(len(lines))
    for arm, (mean, slope) in enumerate(lines):
        few_lines.append(kept, arm, mean, slope)
    for arm in list({arm % len(lines) for arm in closed})[1:]:  # one arm stays open
        lines[arm] = (kinetic_tree.CLOSED, 0.0)
        few_lines.remove(kept, arm)
    still = max(arm for arm, (mean, _) in enumerate(lines) if mean > kinetic_tree.CLOSED)
    lines[still] = (lines[still][0] + 0.25, lines[still][1])
    few_lines.change(kept, still, *lines[still])
    assert few_lines.highest(kept, clock) == int(np.argmax([mean + clock * slope for mean, slope in lines]))


def test_only_loops_with_few_arms_scan_lines() -> None:
    rule = policy("hdoc").sampling
    assert selectors.scans_lines(rule, few_lines.FEW)
    assert not selectors.scans_lines(rule, few_lines.FEW + 1)
    assert not selectors.scans_lines(policy("ucb").sampling, 1)
    assert isinstance(selectors.memory_for(rule, 1, few=True), few_lines.Lines)
    assert isinstance(selectors.memory_for(rule, 1), np.ndarray)


def test_few_lines_record_a_slope_that_is_no_number() -> None:
    kept = few_lines.empty(1)
    few_lines.append(kept, 0, 0.5, 1.0)
    selectors.refuse_nan(kept)
    few_lines.change(kept, 0, 0.5, math.nan)
    with pytest.raises(RuleFailed, match="NaN"):
        selectors.refuse_nan(kept)
