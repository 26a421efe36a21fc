"""Kinetic tree: the largest of K lines mean + clock * slope as the clock advances, without a scan over K.

tree[node] = (mean, slope, due, arm): the line and the arm that win below this node, and the first clock at which this
decision, or one below it, can change. Node 0 holds (clock, last clock of the run). Winners are always decided by
evaluating mean + clock * slope itself, and `due` errs on the early side by a margin that covers every rounding error
of that evaluation: the arms chosen are exactly those of a plain scan with ties to the lowest arm.
"""

from __future__ import annotations

import math

import numpy as np

from goodarm.engine.winner_tree import leaves_for, note_nan
from goodarm.rules.beliefs import Table

COLUMNS = 4
HALF_ULP = 2.0**-53
TINY = 2.0**-1000
CLOSED = -1e300
"""Mean of a decided arm: below all others, and finite, so differences of two are numbers."""


def empty(arms: int) -> Table:
    """A tree with `arms` leaves, all closed."""
    leaves = leaves_for(arms)
    tree = np.zeros((2 * leaves, COLUMNS))
    tree[:, 0] = CLOSED
    tree[:, 2] = np.inf
    tree[leaves : leaves + arms, 3] = np.arange(arms)
    return tree


def set_leaf(tree: Table, arm: int, mean: float, slope: float) -> None:
    """Write a leaf without updating its ancestors."""
    note_nan(tree, slope)
    leaf = tree.shape[0] // 2 + arm
    tree[leaf, 0] = mean
    tree[leaf, 1] = slope


def soonest(clock: float) -> float:
    """The first time strictly after the clock, even if the clock is 0 or negative. `advance` relies on this to end."""
    return clock + 4.0 * HALF_ULP * abs(clock) + TINY


def crossing(lead: float, closing: float, margin: float, clock: float, soon: float) -> float:
    """A lower bound of the clock at which the rival overtakes; inf if it can't.

    lead, closing : difference of the means, and how much steeper the rival's line is; soon : `soonest(clock)`
    """
    due = (lead - margin) / (closing if closing > 0.0 else 1.0)
    rising = max(due - 8.0 * HALF_ULP * abs(due), soon)
    apart = (lead - clock * closing >= margin) | ((lead == 0.0) & (closing == 0.0))
    return rising if closing > 0.0 else (math.inf if apart else soon)


def rounding(mean: float, slope: float, rival_mean: float, rival_slope: float, reach: float) -> float:
    """Upper bound of the rounding errors of the two evaluations at any clock up to `reach`."""
    return 8.0 * HALF_ULP * (abs(mean) + abs(rival_mean) + reach * (abs(slope) + abs(rival_slope)))


def duel(tree: Table, node: int, clock: float, reach: float, soon: float) -> None:
    """Recompute a node from its two children."""
    left, right = 2 * node, 2 * node + 1
    mean, slope = tree[left, 0], tree[left, 1]
    rival_mean, rival_slope = tree[right, 0], tree[right, 1]
    winner = left
    if rival_mean + clock * rival_slope > mean + clock * slope:
        winner = right
        mean, slope, rival_mean, rival_slope = rival_mean, rival_slope, mean, slope
    margin = rounding(mean, slope, rival_mean, rival_slope, reach)
    due = crossing(mean - rival_mean, rival_slope - slope, margin, clock, soon)
    tree[node, 0] = mean
    tree[node, 1] = slope
    tree[node, 2] = min(due, min(tree[left, 2], tree[right, 2]))
    tree[node, 3] = tree[winner, 3]


def climb(tree: Table, node: int, clock: float, last: float) -> None:
    """Recompute a node and all its ancestors."""
    reach, soon = max(abs(clock), abs(last)), soonest(clock)
    while node >= 1:
        duel(tree, node, clock, reach, soon)
        node >>= 1


def build(tree: Table, clock: float, last: float) -> None:
    """Compute all inner nodes from the leaves."""
    reach, soon = max(abs(clock), abs(last)), soonest(clock)
    for node in range(tree.shape[0] // 2 - 1, 0, -1):
        duel(tree, node, clock, reach, soon)


def advance(tree: Table, clock: float, last: float) -> int:
    """Advance the clock, recompute the nodes that are due, and return the winning arm."""
    leaves = tree.shape[0] // 2
    while tree[1, 2] <= clock:
        node = 1
        while 2 * node < leaves:
            if tree[2 * node, 2] <= clock:
                node = 2 * node
            elif tree[2 * node + 1, 2] <= clock:
                node = 2 * node + 1
            else:
                break
        climb(tree, node, clock, last)
    return int(tree[1, 3])


def change(tree: Table, arm: int, mean: float, slope: float, clock: float, last: float) -> None:
    """Change one line and recompute the path above it. The winner so far stays in registers on the way up."""
    set_leaf(tree, arm, mean, slope)
    reach, soon = max(abs(clock), abs(last)), soonest(clock)
    node = tree.shape[0] // 2 + arm
    winner, due = float(arm), math.inf
    value = mean + clock * slope
    while node > 1:
        rival = node ^ 1
        rival_mean, rival_slope = tree[rival, 0], tree[rival, 1]
        rival_value = rival_mean + clock * rival_slope
        # a tie goes to the left child, whose number is even; written without a branch, which would be unpredictable
        lost = (rival_value > value) | ((rival_value == value) & (rival < node))
        lead, closing = mean - rival_mean, rival_slope - slope
        margin = rounding(mean, slope, rival_mean, rival_slope, reach)
        overtaken = crossing(-lead if lost else lead, -closing if lost else closing, margin, clock, soon)
        due = min(overtaken, min(due, tree[rival, 2]))
        mean = rival_mean if lost else mean
        slope = rival_slope if lost else slope
        value = rival_value if lost else value
        winner = tree[rival, 3] if lost else winner
        node >>= 1
        tree[node, 0] = mean
        tree[node, 1] = slope
        tree[node, 2] = due
        tree[node, 3] = winner
