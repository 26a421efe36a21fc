"""Beliefs about one arm and about all arms together. Rules see nothing else.

Both are tuples of numbers, so the same rule runs as Python and as native code. The engine keeps the arms as rows
of one float table, 8 floats or one cache line each; `read_arm` and `write_arm` convert between row and tuple. The names
of the columns are defined only here.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.problem import Bar

Table = NDArray[np.float64]
Row = NDArray[np.float64]


class Arm(NamedTuple):
    """One arm. `mean` and `width` come from the model; `for_good`, `for_bad`, `memory` from the identification rule.

    pulls    : N, rewards seen so far
    total    : S, their sum
    mean     : estimate of the arm's mean
    width    : the uncertainty of `mean`, in units of one reward's standard deviation (1/sqrt(N) for independent arms)
    for_good : log E+, evidence against "mean <= threshold"
    for_bad  : log E-, evidence against "mean >= threshold"
    memory   : one number that the identification rule may keep; if it declares several, the arm's row of them, which it
               changes in place
    verdict  : 1 good, -1 bad, 0 open, `SUSPENDED` while the arm is neither decided nor asked for
    """

    pulls: float
    total: float
    mean: float
    width: float
    for_good: float
    for_bad: float
    memory: Any
    verdict: float


ARM_FIELDS = len(Arm._fields)
PULLS, TOTAL, MEAN, WIDTH, FOR_GOOD, FOR_BAD, MEMORY, VERDICT = range(ARM_FIELDS)
"""Columns of the table of arms."""

SUSPENDED = 2.0
"""Value of `verdict` for an undecided arm that must not be pulled (suspended or retired)."""


class Nothing(NamedTuple):
    """The learned part of the pool for a policy without a learner."""

    nothing: float = 0.0


class Pool(NamedTuple):
    """All arms together: the time, and the values learned from every arm so far.

    round   : t, the number of the present pull, counted from 1
    horizon : T, the last round (inf: none)
    learned : the beliefs of the policy's learner, a named tuple that the learner defines
    """

    round: float
    horizon: float = math.inf
    learned: Any = Nothing()


def at_round(pool: Pool, now: float) -> Pool:
    """The pool at another time."""
    return Pool(now, pool.horizon, pool.learned)


def having_learned(pool: Pool, learned: Any) -> Pool:
    """The pool with newly learned beliefs."""
    return Pool(pool.round, pool.horizon, learned)


def with_verdict(arm: Arm, verdict: float) -> Arm:
    """The same arm with a verdict."""
    return Arm(arm.pulls, arm.total, arm.mean, arm.width, arm.for_good, arm.for_bad, arm.memory, verdict)


def read_arm(arms: Table, i: int) -> Arm:
    """Row `i` of the table as an `Arm`."""
    row = arms[i]
    return Arm(row[PULLS], row[TOTAL], row[MEAN], row[WIDTH], row[FOR_GOOD], row[FOR_BAD], row[MEMORY], row[VERDICT])


def write_arm(arms: Table, i: int, arm: Arm) -> None:
    """The inverse of `read_arm`."""
    row = arms[i]
    row[PULLS] = arm.pulls
    row[TOTAL] = arm.total
    row[MEAN] = arm.mean
    row[WIDTH] = arm.width
    row[FOR_GOOD] = arm.for_good
    row[FOR_BAD] = arm.for_bad
    row[MEMORY] = arm.memory
    row[VERDICT] = arm.verdict


def read_arm_with_row(arms: Table, i: int) -> Arm:
    """Row `i` for rules that keep several numbers per arm: `memory` is the rest of the arm's row."""
    row = arms[i]
    rest = row[ARM_FIELDS:]
    return Arm(row[PULLS], row[TOTAL], row[MEAN], row[WIDTH], row[FOR_GOOD], row[FOR_BAD], rest, row[VERDICT])


def write_arm_beside_row(arms: Table, i: int, arm: Arm) -> None:
    """The inverse of `read_arm_with_row`. The rule's numbers are already in the row."""
    arms[i, PULLS] = arm.pulls
    arms[i, TOTAL] = arm.total
    arms[i, MEAN] = arm.mean
    arms[i, WIDTH] = arm.width
    arms[i, FOR_GOOD] = arm.for_good
    arms[i, FOR_BAD] = arm.for_bad
    arms[i, VERDICT] = arm.verdict


def is_open(arms: Table, i: int) -> bool:
    """Whether arm `i` may be pulled: it has no verdict and is not suspended."""
    return bool(arms[i, VERDICT] == 0.0)


def may_be_sampled(arms: Table, i: int, bar: Bar) -> bool:
    """Whether arm `i` may be sampled: if it is open, or if a model decides, since it then informs about the others."""
    return is_open(arms, i) or bar.modelled > 1.0
