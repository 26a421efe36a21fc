"""Kinetic tree: the largest of K lines mean + clock * slope while the clock moves on, without a scan over K.

tree[node] = (mean, slope, due, arm): the line and the arm that win below this node, and the first clock at which this
decision, or one below it, can change. Node 0 holds (clock, last clock of the run). Winners are always decided by
evaluating mean + clock * slope itself, and `due` errs on the early side by a margin that covers every rounding error
of that evaluation: the arms chosen are exactly those of a plain scan with ties to the lowest arm.
"""

from __future__ import annotations

import math

import numpy as np

from goodarm.beliefs import Table
from goodarm.engine.winner_tree import leaves_for

COLUMNS = 4
HALF_ULP = 2.0**-53
TINY = 2.0**-1000


def empty(arms: int) -> Table:
    """A tree of `arms` leaves, all at -inf."""
    leaves = leaves_for(arms)
    tree = np.zeros((2 * leaves, COLUMNS))
    tree[:, 0] = -np.inf
    tree[:, 2] = np.inf
    tree[leaves : leaves + arms, 3] = np.arange(arms)
    return tree


def set_leaf(tree: Table, arm: int, mean: float, slope: float) -> None:
    """Write a leaf without looking at its ancestors."""
    leaf = tree.shape[0] // 2 + arm
    tree[leaf, 0] = mean
    tree[leaf, 1] = slope


def crossing(mean: float, slope: float, rival_mean: float, rival_slope: float, clock: float, last: float) -> float:
    """The first clock at which the rival may overtake; never later than the truth, inf if it can't."""
    lead = mean - rival_mean
    closing = rival_slope - slope
    if rival_mean == -math.inf or (lead == 0.0 and closing == 0.0):
        return math.inf
    reach = max(abs(clock), abs(last))
    margin = 8.0 * HALF_ULP * (abs(mean) + abs(rival_mean) + reach * (abs(slope) + abs(rival_slope)))
    # strictly after the clock, also where the clock is 0 or below: otherwise `advance` would not end
    soonest = clock + 4.0 * HALF_ULP * abs(clock) + TINY
    if closing > 0.0:
        due = (lead - margin) / closing
        return max(due - 8.0 * HALF_ULP * abs(due), soonest)
    return math.inf if lead - clock * closing >= margin else soonest


def duel(tree: Table, node: int, clock: float, last: float) -> None:
    """Decide a node anew from its two children."""
    left, right = 2 * node, 2 * node + 1
    mean, slope = tree[left, 0], tree[left, 1]
    rival_mean, rival_slope = tree[right, 0], tree[right, 1]
    winner = left
    if rival_mean + clock * rival_slope > mean + clock * slope:
        winner = right
        mean, slope, rival_mean, rival_slope = rival_mean, rival_slope, mean, slope
    due = crossing(mean, slope, rival_mean, rival_slope, clock, last)
    tree[node, 0] = mean
    tree[node, 1] = slope
    tree[node, 2] = min(due, min(tree[left, 2], tree[right, 2]))
    tree[node, 3] = tree[winner, 3]


def climb(tree: Table, node: int, clock: float, last: float) -> None:
    """Decide a node and all its ancestors anew."""
    while node >= 1:
        duel(tree, node, clock, last)
        node >>= 1


def build(tree: Table, clock: float, last: float) -> None:
    """All inner nodes from the leaves."""
    for node in range(tree.shape[0] // 2 - 1, 0, -1):
        duel(tree, node, clock, last)


def advance(tree: Table, clock: float, last: float) -> int:
    """Move the clock on, repair what has fallen due, and return the winning arm."""
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
    """Change one line and the path above it."""
    set_leaf(tree, arm, mean, slope)
    climb(tree, (tree.shape[0] // 2 + arm) >> 1, clock, last)
