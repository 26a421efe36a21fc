"""A plan at once, by a formula instead of simulation: for a page on which people move the bar to see what it costs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from goodarm.errors import InvalidValue
from goodarm.planning.guess import MeansGuess, guess_means, guess_real_means
from goodarm.planning.kinds import LIMIT as LIMIT
from goodarm.planning.kinds import planned_question
from goodarm.problem import Bounded, Gaussian, NonNegative, Problem, Rewards  # noqa: F401  Gaussian: the example

WORK = 50_000
"""Arms times draws."""
FEWEST, MOST = 10, 200

Floats = NDArray[np.float64]


class QuickPlan(NamedTuple):
    """Samples in all, over draws of the means.

    half, eighty, ninety : until that share of the arms is decided, the easiest first (medians)
    median, high         : until no arm is undecided; half, and nine in ten, of the campaigns end by then
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
    threshold: float | str | None = None,
    control: float | None = None,
    margin: float = 0.0,
    arms: int,
    delta: float = 0.05,
    gap: float | None = None,
    prior: str | None = None,
    rewards: Rewards = Bounded(),
    seed: int = 0,
) -> QuickPlan:
    """How many samples a campaign takes, from its means alone; against a control, those of the control included.

    For each draw of the means, an arm of mean mu takes the smallest n with
        n d(mu, xi) - log(1 + 2 n d(mu, xi))/2 >= log(K/delta),
    d being the relative entropy of two rewards: kl for rewards in [0, 1], as in `remaining`, and for Gaussian ones
    (mu - xi)^2/(2 scale^2). So n = ceil(E/d), where E solves E - log(1 + 2 E)/2 = log(K/delta), and a campaign takes
    the sum over its arms. `PlannedControl.spent` has the formula against a control. The simulation, `plan`, is slower,
    and includes what a policy wastes.

    control, margin : in place of a threshold: what mean the control is expected to have, and by how much better an arm
                 is to be; `arms` does not count the control
    gap, prior : as in `plan`; with neither, means spread around the bar: Beta(1, b) or Beta(b, 1) with the bar as mean;
                 for Gaussian rewards normal, with the standard deviation of one reward. Their prior is normal:MEAN,SD

    >>> quick_plan(threshold=0.5, arms=10, gap=0.2).median
    810.0
    >>> quick_plan(threshold=10.0, arms=10, gap=1.0, rewards=Gaussian(2.0)).median
    540.0
    >>> made = quick_plan(control=0.3, margin=0.02, arms=10, gap=0.1)
    >>> round(made.half), round(made.median)
    (5662, 8375)
    """
    planned = planned_question(threshold, control, margin)
    planned.check_rewards(rewards)
    problem = Problem(threshold=planned.bar, arms=arms, delta=delta, rewards=rewards)
    guess = _guess(problem, gap, prior)
    draws = 1 if gap is not None else int(min(max(WORK // arms, FEWEST), MOST))
    generator = default_rng(seed)
    spent = np.array([planned.spent(guess.draw(generator), problem) for _ in range(draws)])
    half, eighty, ninety, median = (float(each) for each in np.median(spent, axis=0))
    return QuickPlan(half, eighty, ninety, median, float(np.quantile(spent[:, -1], 0.9)), guess.words)


def _guess(problem: Problem, gap: float | None, prior: str | None) -> MeansGuess:
    rewards, threshold, arms = problem.rewards, problem.threshold, problem.arms
    if isinstance(rewards, Bounded):
        return guess_means(threshold, arms, gap=gap, prior=prior or (around(threshold) if gap is None else None))
    if isinstance(rewards, NonNegative):
        raise InvalidValue(f"no plan can be made for {rewards}: how many samples they take depends on their spread.")
    return guess_real_means(threshold, arms, gap=gap, prior=prior or f"normal:{threshold!r},{rewards.scale!r}")


def around(threshold: float) -> str:
    """A prior whose mean is the threshold, broad on its longer side.

    >>> around(0.02)
    'beta:1,49'
    """
    if threshold <= 0.5:
        return f"beta:1,{(1.0 - threshold) / threshold:.6g}"
    return f"beta:{threshold / (1.0 - threshold):.6g},1"
