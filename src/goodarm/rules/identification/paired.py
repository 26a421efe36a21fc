"""Comparison with a control on the same cases: the difference of both results on a case counts as one result.

On each of the N cases, an arm has a result x and the control a result x0, both in [0, 1]. The arm is better by a margin
M if the mean of d = x - x0 over the set is at least M. Drawn without replacement, (1 + d)/2 are the graded results of N
cases, and the bar for their mean is (1 + M)/2. So `bet-mixture` with `GradedCases(N)` applies, with its proof, which
requires only a uniformly random order of the cases for each arm. The control may be evaluated once per case and its
result used for all arms: each arm's evidence is a supermartingale by itself, and the union bound over the arms does not
need independence.

Pairing helps because two arms fail on the same hard cases: the differences vary less than the results, and
`bet-mixture` makes larger bets on rewards that vary less.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goodarm.errors import InvalidValue


def paired_reward(result: float, control: float) -> float:
    """(1 + x - x0)/2, the reward of a paired comparison.

    >>> paired_reward(1.0, 0.0), paired_reward(1.0, 1.0)
    (1.0, 0.5)
    """
    return 0.5 * (1.0 + result - control)


def paired_threshold(margin: float) -> float:
    """(1 + M)/2, the bar for the mean of the paired rewards.

    >>> paired_threshold(0.02)
    0.51
    """
    if not -1.0 < margin < 1.0:
        raise InvalidValue(f"margin must lie strictly between -1 and 1; got {margin}.")
    return 0.5 * (1.0 + margin)


def paired_results(results: ArrayLike, control: int) -> NDArray[np.float64]:
    """The paired rewards of all other arms, shape (arms - 1, cases), from results of shape (arms, cases)."""
    table = np.asarray(results, dtype=np.float64)
    found: NDArray[np.float64] = 0.5 * (1.0 + np.delete(table, control, axis=0) - table[control])
    return found
