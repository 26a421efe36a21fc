"""Scores of verdicts: the exploit score and related numbers, from columns of arms.

A column has one entry per arm: `means` (mu_i), `verdicts` (1 good, -1 bad, 0 undecided) and `rounds` (t_i, the round of
the verdict, 0 while undecided). With `runs`, columns hold the arms of many runs one after the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


class Score(NamedTuple):
    """One run in numbers: the exploit score, and counts of right and wrong verdicts."""

    exploit_score: float
    found: int  # good arms called good
    false_good: int  # bad arms called good
    false_bad: int  # good arms called bad
    decided: int  # verdicts

    @property
    def wrong(self) -> int:
        """Wrong verdicts."""
        return self.false_good + self.false_bad


def score(means: ArrayLike, verdicts: ArrayLike, rounds: ArrayLike, threshold: float, horizon: float) -> Score:
    """Score of the arms of one run.

    exploit score = sum over the arms called good of (T - t_i)(mu_i - xi); a bad arm called good subtracts.

    >>> score([0.75, 0.625, 0.25, 0.5], [1, 1, 1, 0], [10, 20, 50, 0], threshold=0.5, horizon=100)
    Score(exploit_score=20.0, found=2, false_good=1, false_bad=0, decided=3)
    """
    mu, verdict, at = np.asarray(means, dtype=np.float64), np.asarray(verdicts), np.asarray(rounds)
    good, called_good, called_bad = mu >= threshold, verdict > 0, verdict < 0
    return Score(
        exploit_score=float(((horizon - at) * (mu - threshold))[called_good].sum()),
        found=int((called_good & good).sum()),
        false_good=int((called_good & ~good).sum()),
        false_bad=int((called_bad & good).sum()),
        decided=int((called_good | called_bad).sum()),
    )


def score_by_run(
    runs: ArrayLike, means: ArrayLike, verdicts: ArrayLike, rounds: ArrayLike, threshold: float, horizon: float
) -> dict[int, Score]:
    """The scores of all runs of a table, by run number.

    >>> found = score_by_run([0, 0, 3, 3], [0.7, 0.4, 0.7, 0.4], [1, 0, 1, 1], [10, 0, 90, 20], 0.5, 100)
    >>> {run: round(each.exploit_score, 6) for run, each in found.items()}
    {0: 18.0, 3: -6.0}
    """
    number = np.asarray(runs)
    mu, verdict, at = np.asarray(means), np.asarray(verdicts), np.asarray(rounds)
    parts = {int(run): number == run for run in np.unique(number)}
    return {run: score(mu[mine], verdict[mine], at[mine], threshold, horizon) for run, mine in parts.items()}


def score_over_rounds(
    means: ArrayLike, verdicts: ArrayLike, rounds: ArrayLike, threshold: float, grid: ArrayLike
) -> Floats:
    """The exploit score collected by each round t of `grid`: sum over good verdicts until t of (t - t_i)(mu_i - xi).

    By cumulative sums: O(K log K + grid), for the arms of one run or the sum over many.

    >>> score_over_rounds([0.7, 0.6], [1, 1], [10, 20], 0.5, [0, 10, 20, 100]).round(6).tolist()
    [0.0, 0.0, 2.0, 26.0]
    """
    called = np.asarray(verdicts) > 0
    at, gap = np.asarray(rounds)[called].astype(float), (np.asarray(means, dtype=np.float64)[called] - threshold)
    order = np.argsort(at, kind="stable")
    at, gap, t = at[order], gap[order], np.asarray(grid, dtype=np.float64)
    place = np.searchsorted(at, t, side="right")
    gaps = np.concatenate([[0.0], np.cumsum(gap)])[place]
    starts = np.concatenate([[0.0], np.cumsum(gap * at)])[place]
    return np.asarray(t * gaps - starts)


def first_good_verdict(verdicts: ArrayLike, rounds: ArrayLike) -> float:
    """tau_1, the round of the first good verdict of a run; NaN if there is none.

    >>> first_good_verdict([0, 1, 1, -1], [0, 30, 20, 5])
    20.0
    """
    called = np.asarray(rounds)[np.asarray(verdicts) > 0]
    return float(called.min()) if called.size else float("nan")


def regret(means: ArrayLike, pulls: ArrayLike) -> float:
    """Pulls * largest mean - sum of the means of the pulled arms: the expected cost of the chosen arms.

    >>> round(regret([0.9, 0.5], [10, 5]), 6)
    2.0
    """
    mu, n = np.asarray(means, dtype=np.float64), np.asarray(pulls)
    return float(n.sum() * mu.max() - n @ mu)
