"""What is believed of one arm, and of all arms together: the only things that a rule sees.

Both are tuples of numbers, so that the same rule runs as Python and as native code. The engine keeps them as rows of
one float table (an arm is one cache line); `read_arm` and `read_pool` are the way from row to tuple.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]
Row = NDArray[np.float64]


class Arm(NamedTuple):
    """One arm. `mean`, `width` come from the estimator; `for_good`, `for_bad`, `memory` from the identification rule.

    pulls    : N, rewards seen so far
    total    : S, their sum
    mean     : estimate of the arm's mean
    width    : its uncertainty in units of one reward's standard deviation (1/sqrt(N) for independent arms)
    for_good : log E+, evidence against "mean <= threshold"
    for_bad  : log E-, evidence against "mean >= threshold"
    memory   : one number that the identification rule may keep
    verdict  : 1 good, -1 bad, 0 open
    """

    pulls: float
    total: float
    mean: float
    width: float
    for_good: float
    for_bad: float
    memory: float
    verdict: float


class Pool(NamedTuple):
    """All arms together: the time, and what was learned from every arm so far.

    round          : t, counted from 1, the pull that is being made
    horizon        : T, the last round (inf: none)
    prior_mean     : m0, mean of the arms' means
    prior_strength : k, how many pulls the prior is worth
    prior_variance : tau2, variance of the arms' means
    alpha, beta    : learned bounds for deciding and for sampling
    past_alpha, past_beta : what the learner has summed up so far
    """

    round: float
    horizon: float
    prior_mean: float
    prior_strength: float
    prior_variance: float
    alpha: float
    beta: float
    past_alpha: float
    past_beta: float


ARM_FIELDS = len(Arm._fields)
POOL_FIELDS = len(Pool._fields)
VERDICT = Arm._fields.index("verdict")


def read_arm(arms: Table, i: int) -> Arm:
    """Row `i` of the table as an `Arm`."""
    row = arms[i]
    return Arm(row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7])


def write_arm(arms: Table, i: int, arm: Arm) -> None:
    """The inverse of `read_arm`."""
    row = arms[i]
    row[0] = arm.pulls
    row[1] = arm.total
    row[2] = arm.mean
    row[3] = arm.width
    row[4] = arm.for_good
    row[5] = arm.for_bad
    row[6] = arm.memory
    row[7] = arm.verdict


def read_pool(row: Row, now: float) -> Pool:
    """The stored pool, at round `now`."""
    return Pool(now, row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8])


def write_pool(row: Row, pool: Pool) -> None:
    """The inverse of `read_pool`."""
    row[0] = pool.round
    row[1] = pool.horizon
    row[2] = pool.prior_mean
    row[3] = pool.prior_strength
    row[4] = pool.prior_variance
    row[5] = pool.alpha
    row[6] = pool.beta
    row[7] = pool.past_alpha
    row[8] = pool.past_beta


def is_open(arms: Table, i: int) -> bool:
    """Has arm `i` no verdict yet?"""
    return bool(arms[i, 7] == 0.0)
