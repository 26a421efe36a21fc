"""e-BH: the false discovery rate among the arms called good, and among those called bad, kept below delta.

Sort the evidence: with g arms already called, call the next j where E_(j) >= K/((g + j) delta), the largest such j.

Proof. A called arm i keeps its evidence E_i (it is never pulled again), and E_i >= K/(r_i delta), where r_i is the
number called at that moment, so E_i >= K/(R delta) for the final number R >= r_i. The share of wrong calls is sum over
wrong i of 1/R <= sum over wrong i of delta E_i / K, and each E_i, taken at a stopping time of an e-process of
a true hypothesis, has expectation at most 1: the expected share is at most delta (Wang & Ramdas 2022, JRSS B 84(3)).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from goodarm.problem import Bar
from goodarm.rules.beliefs import FOR_GOOD, VERDICT, Table

Ledger = NDArray[np.int64]


def empty_ledger(arms: int) -> Ledger:
    """Two lists of arms whose evidence once reached 1/delta: row 0 for good, row 1 for bad.

    Column 0: length of the list; column 1: arms called so far; then the arms.
    """
    return np.zeros((2, arms + 2), dtype=np.int64)


def enlist(ledger: Ledger, side: int, arm: int) -> None:
    """Put an arm on a list, unless it is already there."""
    length = ledger[side, 0]
    for j in range(length):
        if ledger[side, 2 + j] == arm:
            return
    ledger[side, 2 + length] = arm
    ledger[side, 0] = length + 1


def call(arms: Table, ledger: Ledger, side: int, called: NDArray[np.int64], bar: Bar) -> int:
    """The arms that e-BH calls now on one side, written to `called`; returns how many."""
    column = FOR_GOOD + side
    length, already = ledger[side, 0], ledger[side, 1]
    order = ledger[side, 2 : 2 + length]
    # insertion sort by evidence, largest first: the list is short and stays nearly sorted
    for j in range(1, length):
        arm = order[j]
        k = j
        while k > 0 and arms[order[k - 1], column] < arms[arm, column]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = arm
    found = 0
    for j in range(length):
        if arms[order[j], column] >= bar.budget - math.log(already + j + 1.0):
            found = j + 1
    for j in range(found):
        called[j] = order[j]
    for j in range(found, length):
        order[j - found] = order[j]
    ledger[side, 0] = length - found
    ledger[side, 1] = already + found
    return found


def strike(ledger: Ledger, side: int, arm: int) -> None:
    """Remove an arm from a list because it was called on the other side."""
    length = ledger[side, 0]
    for j in range(length):
        if ledger[side, 2 + j] == arm:
            for k in range(j + 1, length):
                ledger[side, 1 + k] = ledger[side, 2 + k]
            ledger[side, 0] = length - 1
            return


def decide_by_rank(arms: Table, arm: int, ledger: Ledger, called: NDArray[np.int64], bar: Bar) -> tuple[int, int]:
    """Verdicts that follow from the new evidence of `arm`, written into the table and to `called`.

    Returns their number, and the number of these arms that were open before: suspended arms can also be decided.
    """
    found, opened = 0, 0
    for side in range(2):
        if arms[arm, FOR_GOOD + side] >= -math.log(bar.delta):
            enlist(ledger, side, arm)
            found = call(arms, ledger, side, called, bar)
            for j in range(found):
                opened += 1 if arms[called[j], VERDICT] == 0.0 else 0
                arms[called[j], VERDICT] = 1.0 - 2.0 * side
                strike(ledger, 1 - side, called[j])
        if found > 0:
            break
    return found, opened


def needed_by_rank(ledger: Ledger, side: int, verdict: float, bar: Bar) -> float:
    """The evidence that a verdict on this side needs: log(K/(r delta)), r the number of arms called with it.

    For a called arm, r counts all arms called on its side so far, including itself, and e-BH holds for each of them
    with that r. For other arms, r is one more.
    """
    already = ledger[side, 1]
    return float(bar.budget - math.log(already if verdict == 1.0 - 2.0 * side else already + 1.0))
