"""Winner tree: the largest of K indices when only one of them changes at a time, O(log K) per change.

tree[node] = (index, arm). Leaves P .. 2P-1, P the power of two at or above K; node 1 holds the winner. A decided arm
has index -inf. Ties go to the left child, that is to the lowest arm. tree[0] has the hint of `IndexRule.stays_ahead`,
and whether an index was NaN.
"""

from __future__ import annotations

import numpy as np

from goodarm.rules.beliefs import Table

COLUMNS = 2


def leaves_for(arms: int) -> int:
    """P: the power of two at or above the number of arms, at least 2."""
    return 1 << max(1, (arms - 1).bit_length())


def empty(arms: int) -> Table:
    """A tree with `arms` leaves, all at -inf."""
    leaves = leaves_for(arms)
    tree = np.full((2 * leaves, COLUMNS), -np.inf)
    tree[leaves : leaves + arms, 1] = np.arange(arms)
    tree[0] = -1.0, 0.0
    return tree


def note_nan(tree: Table, index: float) -> None:
    """Record a NaN index in node 0. NaN does not compare, so its arm would be pulled always or never."""
    if index != index:
        tree[0, -1] = 1.0


def set_leaf(tree: Table, arm: int, index: float) -> None:
    """Write a leaf without updating its ancestors; `build` must follow."""
    note_nan(tree, index)
    tree[tree.shape[0] // 2 + arm, 0] = index


def build(tree: Table) -> None:
    """Compute all inner nodes from the leaves."""
    for node in range(tree.shape[0] // 2 - 1, 0, -1):
        left, right = 2 * node, 2 * node + 1
        child = right if tree[right, 0] > tree[left, 0] else left
        tree[node, 0] = tree[child, 0]
        tree[node, 1] = tree[child, 1]


def push(tree: Table, arm: int, index: float) -> None:
    """Change one leaf and the path above it. A NaN never loses a comparison, so it reaches the top."""
    node = tree.shape[0] // 2 + arm
    tree[node, 0] = index
    winner = float(arm)
    while node > 1:
        sibling = node ^ 1
        rival = tree[sibling, 0]
        # if node is odd its sibling is the left child, which also wins a tie
        lost = (rival > index) | ((rival == index) & ((node & 1) == 1))
        index = rival if lost else index
        winner = tree[sibling, 1] if lost else winner
        node >>= 1
        tree[node, 0] = index
        tree[node, 1] = winner


def largest_other(tree: Table, arm: int) -> float:
    """The largest index of all other arms, from the siblings on the path above this one."""
    node = tree.shape[0] // 2 + arm
    largest: float = tree[node ^ 1, 0]
    while node > 3:
        node >>= 1
        rival = tree[node ^ 1, 0]
        largest = rival if rival > largest else largest
    return largest


def top(tree: Table) -> int:
    """The arm with the largest index. A NaN index is recorded in node 0."""
    if tree[1, 0] != tree[1, 0]:
        tree[0, -1] = 1.0
    return int(tree[1, 1])
