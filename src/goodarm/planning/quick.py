"""Quick plans by the forecaster, for a page on which people move the bar."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from goodarm.errors import InvalidValue
from goodarm.forecast import Forecast, in_range
from goodarm.planning.guess import MeansGuess, guess_means, guess_real_means
from goodarm.planning.kinds import LIMIT as LIMIT
from goodarm.planning.kinds import planned_question
from goodarm.problem import Bounded, Cases, Gaussian, NonNegative, Problem, Rewards  # noqa: F401  Gaussian: the example

WORK = 20_000
"""Arms times draws."""
FEWEST, MOST = 19, 200

Floats = NDArray[np.float64]


class QuickPlan(NamedTuple):
    """Total samples of a campaign, over draws of the means.

    half, eighty, ninety : until that share of the arms is decided, the easiest first (medians)
    median, low, high    : until no arm is undecided; half, one in ten and nine in ten of the campaigns end by then
    guess                : the assumption about the means, in words
    to_half              : `half` as a range
    """

    half: float
    eighty: float
    ninety: float
    median: float
    low: float
    high: float
    guess: str
    to_half: Forecast


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
    cases: int | None = None,
    seed: int = 0,
) -> QuickPlan:
    """How many samples a campaign takes, from its means alone; against a control, those of the control included.

    For each draw of the means, rewards of each arm are drawn until `gap-mixture` decides (`goodarm.forecast`), and a
    campaign takes the sum over its arms. `PlannedControl.spent` has a formula against a control. `plan` is slower: it
    simulates the policy itself.

    control, margin : in place of a threshold: the expected mean of the control, and by how much better an arm must be;
                      `arms` does not count the control
    gap, prior : as in `plan`; with neither, means spread around the bar: Beta(1, b) or Beta(b, 1) with the bar as mean;
                 for Gaussian rewards normal, with the standard deviation of one reward. Their prior is normal:MEAN,SD
    cases      : the number of cases of a fixed test set, with 0/1 results, each drawn at most once per arm

    >>> made = quick_plan(threshold=0.5, arms=10, gap=0.2)
    >>> made.low, made.median, made.high
    (651.0, 818.0, 995.0)
    >>> quick_plan(threshold=10.0, arms=10, gap=1.0, rewards=Gaussian(2.0)).median
    586.0
    >>> quick_plan(threshold=0.8, arms=40, prior="beta:8,2", cases=500).median  # full evaluation takes 20,000
    8660.0
    >>> made = quick_plan(control=0.3, margin=0.02, arms=10, gap=0.1)
    >>> round(made.half), round(made.median)
    (5662, 8375)
    """
    planned = planned_question(threshold, control, margin, cases)
    if cases is not None:
        if rewards != Bounded():
            raise InvalidValue(f"results of {cases} cases are 0 or 1; got {rewards}. Leave `rewards` or `cases` out.")
        rewards = Cases(cases)
    planned.check_rewards(rewards)
    problem = Problem(threshold=planned.bar, arms=arms, delta=delta, rewards=rewards)
    guess = _guess(problem, gap, prior)
    draws = int(min(max(WORK // arms, FEWEST), MOST))
    chance = default_rng(seed)
    spent = planned.spent([guess.draw(chance) for _ in range(draws)], problem, chance)
    half, eighty, ninety = (float(each) for each in np.median(spent[:, :-1], axis=0))
    return QuickPlan(half, eighty, ninety, *in_range(spent[:, -1]), guess.words, in_range(spent[:, 0]))


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
