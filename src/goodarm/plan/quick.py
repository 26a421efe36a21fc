"""A plan at once, without simulation: for a page on which somebody moves the bar to see what it costs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from goodarm.plan.guess import MeansGuess, guess_means, guess_real_means
from goodarm.plan.under_way import kl
from goodarm.problem import Bounded, Gaussian, Problem, Rewards  # noqa: F401  Gaussian: the example

LIMIT = 1e12
"""Pulls of one arm beyond which nobody would wait."""
WORK = 50_000
"""Arms times draws."""
FEWEST, MOST = 10, 200
SHARES = (0.5, 0.8, 0.9)
SUBSTITUTIONS = 60

Floats = NDArray[np.float64]


class QuickPlan(NamedTuple):
    """Pulls in all, over draws of the means.

    half, eighty, ninety : until that share of the arms is decided, the easiest first (medians)
    median, high         : until no arm is open; half, and nine in ten, of the campaigns end by then
    guess                : what was assumed about the means, in words
    """

    half: float
    eighty: float
    ninety: float
    median: float
    high: float
    guess: str


def quick_plan(
    *,
    threshold: float,
    arms: int,
    delta: float = 0.05,
    gap: float | None = None,
    prior: str | None = None,
    rewards: Rewards = Bounded(),
    seed: int = 0,
) -> QuickPlan:
    """How many pulls a campaign takes, from its means alone.

    For each draw of the means, an arm of mean mu takes the smallest n with
        n d(mu, xi) - log(1 + 2 n d(mu, xi))/2 >= log(K/delta),
    d being the relative entropy of two rewards: kl for rewards in [0, 1], as in `remaining`, and for Gaussian ones
    (mu - xi)^2/(2 scale^2). So n = ceil(E/d), where E solves E - log(1 + 2 E)/2 = log(K/delta), and a campaign takes
    the sum over its arms. The simulation, `plan`, is slower, and includes what a policy wastes.

    gap, prior : as in `plan`; with neither, means spread around the bar: Beta(1, b) or Beta(b, 1) with the bar as mean;
                 for Gaussian rewards normal, with the standard deviation of one reward. Their prior is normal:MEAN,SD

    >>> quick_plan(threshold=0.5, arms=10, gap=0.2).median
    810.0
    >>> quick_plan(threshold=10.0, arms=10, gap=1.0, rewards=Gaussian(2.0)).median
    540.0
    """
    problem = Problem(threshold=threshold, arms=arms, delta=delta, rewards=rewards)
    guess = _guess(problem, gap, prior)
    draws = 1 if gap is not None else draws_for(arms)
    generator = default_rng(seed)
    means = np.array([guess.draw(generator) for _ in range(draws)])
    spent = np.cumsum(np.sort(_pulls(means, problem), axis=1), axis=1)
    half, eighty, ninety = (_median(spent[:, int(np.ceil(share * arms)) - 1]) for share in SHARES)
    return QuickPlan(half, eighty, ninety, _median(spent[:, -1]), float(np.quantile(spent[:, -1], 0.9)), guess.words)


def draws_for(arms: int) -> int:
    """How often the means are drawn: less often where there are many of them."""
    return int(min(max(WORK // arms, FEWEST), MOST))


def _guess(problem: Problem, gap: float | None, prior: str | None) -> MeansGuess:
    rewards, threshold, arms = problem.rewards, problem.threshold, problem.arms
    if isinstance(rewards, Bounded):
        return guess_means(threshold, arms, gap=gap, prior=prior or (around(threshold) if gap is None else None))
    return guess_real_means(threshold, arms, gap=gap, prior=prior or f"normal:{threshold!r},{rewards.scale!r}")


def _pulls(means: Floats, problem: Problem) -> Floats:
    """Pulls of each arm until its verdict; LIMIT where nobody would wait for it."""
    rewards, xi = problem.rewards, problem.threshold
    per_pull = kl(means, xi) if isinstance(rewards, Bounded) else (means - xi) ** 2 / (2.0 * rewards.scale**2)
    with np.errstate(divide="ignore", over="ignore"):
        return np.minimum(np.ceil(evidence_needed(problem) / per_pull), LIMIT)


def evidence_needed(problem: Problem) -> float:
    """E with E - log(1 + 2 E)/2 = log(K/delta); repeated substitution shrinks the error by 1/(1 + 2 E) each time."""
    needed = evidence = math.log(problem.arms / problem.delta)
    for _ in range(SUBSTITUTIONS):
        evidence = needed + 0.5 * math.log1p(2.0 * evidence)
    return evidence


def around(threshold: float) -> str:
    """A prior whose mean is the threshold, broad on its longer side.

    >>> around(0.02)
    'beta:1,49'
    """
    if threshold <= 0.5:
        return f"beta:1,{(1.0 - threshold) / threshold:.6g}"
    return f"beta:{threshold / (1.0 - threshold):.6g},1"


def _median(values: Floats) -> float:
    return float(np.median(values))
