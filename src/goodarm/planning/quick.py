"""Quick plans by the forecaster, for the form of a new campaign, where people change the bar interactively."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from goodarm.errors import InvalidValue
from goodarm.forecast import Forecast, in_range
from goodarm.planning.costs import prices_of
from goodarm.planning.guess import MeansGuess, PerMetric, guess_real_means
from goodarm.planning.kinds import LIMIT as LIMIT
from goodarm.planning.kinds import PlannedQuestion, planned_question
from goodarm.problem import Bounded, Cases, Gaussian, NonNegative, Problem, Rewards, read_rewards  # noqa: F401  Gaussian: the example
from goodarm.question import BarsGiven, QuestionGiven
from goodarm.simulation.specification import CostsGiven

WORK = 20_000
"""Maximum number of arms times draws."""
FEWEST, MOST = 19, 200

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Spent:
    """Samples of a campaign, or their cost, over draws of the means.

    half, eighty, ninety : samples until this share of the arms is decided, the easiest first (medians)
    median, low, high    : samples by which half, one in ten and nine in ten of the campaigns have decided every arm
    """

    half: float
    eighty: float
    ninety: float
    median: float
    low: float
    high: float


@dataclass(frozen=True)
class QuickPlan(Spent):
    """Total samples of a campaign.

    guess   : the assumption about the means, in words
    to_half : `half` as a range
    money   : the same numbers as costs; None if only samples are counted
    """

    guess: str
    to_half: Forecast
    money: Spent | None = None


def quick_plan(
    *,
    threshold: float | str | None = None,
    control: float | str | None = None,
    margin: float | str = 0.0,
    arms: int,
    delta: float = 0.05,
    gap: PerMetric | None = None,
    prior: PerMetric | None = None,
    rewards: Rewards | str = Bounded(),
    cases: int | None = None,
    seed: int = 0,
    bars: BarsGiven | None = None,
    question: QuestionGiven | None = None,
    cost: CostsGiven | None = None,
) -> QuickPlan:
    """Estimate the samples of a campaign, including those of a control, from the means alone.

    For each draw of the means, rewards of each arm are drawn until `gap-mixture` decides (`goodarm.forecast`), and a
    campaign needs the sum over its arms. `PlannedControl.spent` has a formula for comparisons with a control. `plan` is
    slower, because it simulates the policy itself.

    control, margin : in place of a threshold: the expected mean of the control, and the amount by which an arm must
                      exceed it, a number or a percentage such as "2%"; `arms` does not count the control
    gap, prior : as in `plan`; without either, means are spread around the bar: Beta(1, b) or Beta(b, 1) with the bar as
                 mean; for Gaussian rewards normal, with the standard deviation of one reward. Their prior is
                 normal:MEAN,SD
    cases      : the number of cases of a fixed test set, with 0/1 results, each drawn at most once per arm
    bars, question, cost : as in `plan`

    >>> made = quick_plan(threshold=0.5, arms=10, gap=0.2)
    >>> made.low, made.median, made.high
    (651.0, 818.0, 995.0)
    >>> quick_plan(threshold=10.0, arms=10, gap=1.0, rewards=Gaussian(2.0)).median
    586.0
    >>> quick_plan(threshold=0.8, arms=40, prior="beta:8,2", cases=500).median  # full evaluation needs 20,000
    8660.0
    >>> made = quick_plan(control=0.3, margin=0.02, arms=10, gap=0.1)
    >>> round(made.half), round(made.median)
    (5662, 8375)
    >>> made = quick_plan(bars="correct >= 90%, slow <= 5%", arms=10, gap=0.04, cost=0.1)
    >>> round(made.median), round(made.money.median)
    (6625, 662)
    """
    rewards = read_rewards(rewards)
    planned = planned_question(question, cases, threshold=threshold, control=control, margin=margin, bars=bars)
    if cases is not None:
        if rewards != Bounded():
            raise InvalidValue(f"results of {cases} cases are 0 or 1; got {rewards}. Leave `rewards` or `cases` out.")
        rewards = Cases(cases)
    planned.check_rewards(rewards)
    problem = planned.problem(arms, delta, rewards)
    guess = _guess(planned, problem, gap, prior)
    prices = prices_of(cost, guess, planned.question)
    draws = int(min(max(WORK // arms, FEWEST), MOST))
    chance = default_rng(seed)
    samples, money = planned.spent([guess.draw(chance) for _ in range(draws)], problem, prices, chance)
    to_half = in_range(samples[:, 0])
    return QuickPlan(*_ranges(samples), guess.words, to_half, Spent(*_ranges(money)) if prices.known else None)


def _ranges(spent: Floats) -> tuple[float, float, float, float, float, float]:
    half, eighty, ninety = (float(each) for each in np.median(spent[:, :-1], axis=0))
    return half, eighty, ninety, *in_range(spent[:, -1])


def _guess(planned: PlannedQuestion, problem: Problem, gap: PerMetric | None, prior: PerMetric | None) -> MeansGuess:
    rewards, arms = problem.rewards, problem.arms
    if isinstance(rewards, Bounded):
        return planned.guess(arms, gap, None, prior or (planned.around() if gap is None else None))
    if isinstance(rewards, NonNegative):
        raise InvalidValue(f"no plan can be made for {rewards}: the number of samples depends on their spread.")
    given = prior or f"normal:{problem.threshold!r},{rewards.scale!r}"
    return guess_real_means(problem.threshold, arms, gap=gap, prior=given)  # type: ignore[arg-type]  # one value
