"""A plan at once, without simulation: for a page on which somebody moves the bar and wants to see what it costs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from goodarm.plan.guess import guess_means
from goodarm.plan.under_way import _pulls_left
from goodarm.problem import Problem

LIMIT = 1e12
"""Pulls of one arm beyond which nobody waits."""
WORK = 50_000
"""Arms times draws."""
FEWEST, MOST = 10, 200
SHARES = (0.5, 0.8, 0.9)


class QuickPlan(NamedTuple):
    """Pulls in all, over draws of the means.

    half, eighty, ninety : until that share of the arms is decided, the easiest first (medians)
    median, high         : until no arm is open; half, and nine in ten, of the campaigns end by then
    guess                : what was assumed of the means, in words
    """

    half: float
    eighty: float
    ninety: float
    median: float
    high: float
    guess: str


def quick_plan(
    *, threshold: float, arms: int, delta: float = 0.05, gap: float | None = None, prior: str | None = None,
    seed: int = 0,
) -> QuickPlan:  # fmt: skip
    """How many pulls a campaign takes, from its means alone; rewards in [0, 1].

    For each draw of the means, an arm of mean mu takes the smallest n with
        n kl(mu, xi) - log(1 + 2 n kl(mu, xi))/2 >= log(K/delta),
    as in `remaining`, and a campaign takes the sum over its arms. Simulation, `plan`, is slower and knows what a
    policy wastes.

    gap, prior : as in `plan`; with neither, means spread around the bar: Beta(1, b) or Beta(b, 1) whose mean it is

    >>> quick_plan(threshold=0.5, arms=10, gap=0.2).median
    810.0
    """
    problem = Problem(threshold=threshold, arms=arms, delta=delta)
    guess = guess_means(threshold, arms, gap=gap, prior=prior or (_around(threshold) if gap is None else None))
    draws = 1 if gap is not None else int(min(max(WORK // arms, FEWEST), MOST))
    generator = default_rng(seed)
    means = np.array([guess.draw(generator) for _ in range(draws)])
    nothing = np.zeros(arms)
    spent = np.cumsum(np.sort(_pulls_left(means, nothing, nothing, problem, LIMIT), axis=1), axis=1)
    half, eighty, ninety = (_median(spent[:, int(np.ceil(share * arms)) - 1]) for share in SHARES)
    return QuickPlan(half, eighty, ninety, _median(spent[:, -1]), float(np.quantile(spent[:, -1], 0.9)), guess.words)


def _around(threshold: float) -> str:
    """A prior whose mean is the threshold, broad on its longer side.

    >>> _around(0.02)
    'beta:1,49'
    """
    if threshold <= 0.5:
        return f"beta:1,{(1.0 - threshold) / threshold:.6g}"
    return f"beta:{threshold / (1.0 - threshold):.6g},1"


def _median(values: NDArray[np.float64]) -> float:
    return float(np.median(values))
