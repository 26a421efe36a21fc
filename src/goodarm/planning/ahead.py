"""`plan`: the samples that a campaign needs, by lower bound and by simulation, also with looser settings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from goodarm.arguments import check_whole, checked_number, exact
from goodarm.environments.columns import Source
from goodarm.errors import InvalidValue, MissingExtra
from goodarm.planning.bounds import decidable, pulls_lower_bounds
from goodarm.planning.guess import MeansGuess, guess_means
from goodarm.planning.kinds import PlannedQuestion, Progress, median_bound, planned_question
from goodarm.planning.outlook import Outlook
from goodarm.policies import DEFAULT_POLICY, Policy
from goodarm.problem import Bounded, Cases, Problem
from goodarm.simulation.runs import Estimate

Floats = NDArray[np.float64]

DRAWS, FEWEST_DRAWS, MEANS_TO_DRAW = 200, 3, 100_000
"""Number of draws of the means for the median of a lower bound: fewer for many arms, one for known means."""


@dataclass(frozen=True)
class CampaignPlan:
    """Expected course of a campaign; `notes` explains the numbers in words.

    runs      : number of simulated campaigns per setting
    lower_bound : samples that every policy needs on average; 0 on a fixed test set, for which we know no bound
    arm_bound : the same for one arm: quartiles over the arms
    possible  : False if the budget is below the lower bound
    asked     : outlook for the given setting; None if the budget is too small to pull each arm once
    cost      : cost of a sample; None if only samples are counted
    question  : the question; `threshold` is the mean that an arm must reach
    """

    arms: int
    question: PlannedQuestion
    delta: float
    means: str
    policy: str
    guarantee: str
    budget: int | None
    last_round: int
    runs: int
    seed: int
    lower_bound: float
    arm_bound: tuple[float, float, float]
    possible: bool
    asked: Outlook | None
    alternatives: tuple[Outlook, ...]
    notes: tuple[str, ...]
    cost: float | None = None

    @property
    def threshold(self) -> float:
        return self.question.bar

    @property
    def control(self) -> float | None:
        """The expected mean of the control that arms are compared with, if there is one."""
        return self.question.control

    @property
    def cases(self) -> int | None:
        """Number of cases of the fixed test set, if there is one."""
        return self.question.cases

    @property
    def full_evaluation(self) -> int | None:
        """Samples that evaluating every arm on every case takes; None without a fixed test set."""
        return None if self.cases is None else self.arms * self.cases

    @property
    def margin(self) -> float:
        return self.question.margin

    def __str__(self) -> str:
        return "\n".join(_report("plan_text").in_words(self))

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(line)}</p>" for line in _report("plan_text").in_words(self))

    def plot(self) -> Any:
        """A matplotlib figure: the share of the good arms that is found, over samples."""
        if find_spec("matplotlib") is None:
            raise MissingExtra("plot()", "report")
        figure = _report("plan_figure")
        return figure.draw(figure.info(self))

    @property
    def pulls_per_arm(self) -> Estimate | None:
        """Mean number of pulls of an arm until its verdict; None if a run did not decide all arms."""
        if self.asked is None or self.asked.rounds is None:
            return None
        mean, low, high, runs = self.asked.rounds
        return Estimate(mean / self.arms, low / self.arms, high / self.arms, runs)


def _report(module: str) -> Any:
    """A report module, imported only when needed."""
    return import_module(f"goodarm.report.{module}")


def plan(
    *,
    threshold: float | str | None = None,
    arms: int | None = None,
    delta: float = 0.05,
    gap: float | None = None,
    means: Source | None = None,
    prior: str | None = None,
    policy: str | Policy = DEFAULT_POLICY,
    budget: float | None = None,
    runs: int | None = None,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
    control: float | None = None,
    margin: float = 0.0,
    cases: int | None = None,
    cost: float | None = None,
) -> CampaignPlan:
    """How many pulls an arm and a campaign will take.

    control, margin : in place of a threshold: the expected mean of the control, and by how much an arm must be better;
                      verdicts then use the totals of both
    gap      : assumed distance of every mean from the threshold, half of them above
    means    : a table with the columns arm and mean: a path, a dataframe or a dict
    prior    : "beta:A,B" or "uniform:LOW,HIGH": means drawn independently in each run
    cost     : cost of a sample; then `budget` is the maximum total cost, and the plan also shows costs
    budget   : maximum number of rounds; without it the simulation runs to the end or to its own limit
    runs     : number of simulated campaigns per setting; by default as many as fit into a few seconds
    progress : called with the number of finished runs and the number of all runs
    cases    : number of cases of a fixed test set: an arm draws each at most once, and its mean is the share of these
               cases that it passes

    >>> made = plan(arms=10, threshold=0.5, gap=0.2, budget=2000, runs=5)
    >>> round(made.lower_bound), made.possible, made.asked.decided.mean
    (322, True, 1.0)
    >>> half = made.asked.milestones[0]
    >>> half.share, half.samples.low <= half.samples.median <= half.samples.high < made.asked.end.high
    (0.5, True)
    >>> made = plan(arms=4, control=0.3, margin=0.0, gap=0.15, runs=5)
    >>> made.policy, made.threshold, made.asked.decided.mean, made.asked.wrong_runs
    ('value-normal+versus', 0.3, 1.0, 0)
    >>> made = plan(arms=10, threshold=0.8, gap=0.1, cases=200, runs=5)
    >>> made.full_evaluation, made.asked.decided.mean, made.asked.end.high < 2000
    (2000, 1.0, True)
    """
    samples = samples_for(budget, cost)
    question = planned_question(threshold, control, margin, cases)
    Problem(threshold=question.bar, arms=1, delta=delta)  # report a wrong threshold or delta first
    guess = guess_means(question.bar, arms, gap=gap, means=means, prior=prior)
    question.check_arms(guess.arms)
    rewards = Bounded() if cases is None else Cases(cases)
    problem = Problem(threshold=question.bar, arms=guess.arms, delta=delta, rewards=rewards)
    check_numbers(samples, runs)
    draws = draws_of(guess)
    last_round = samples or question.last_round(problem, draws)
    if cases is not None:
        last_round = min(last_round, guess.arms * cases)
    many = runs or question.runs(guess.arms, last_round)
    made = question.policy(policy, guess, last_round, seed, delta)
    enough = last_round >= guess.arms + len(question.question.references)
    player = question.player(guess, made, many, seed, workers, progress)
    outlooks = player.outlooks(question.settings(guess, problem) if enough else [], last_round, draws)
    if question.doubles and samples is not None and outlooks and _falls_short(outlooks[0]):
        twice = f"budget {2 * samples:,}" + ("" if cost is None else " samples")
        outlooks += player.outlooks([(twice, problem)], 2 * samples, draws)
    bound = median_bound(draws, problem)
    return CampaignPlan(
        arms=guess.arms,
        question=question,
        delta=delta,
        means=guess.words,
        policy=made.name,
        guarantee=made.promise,
        budget=samples,
        last_round=last_round,
        runs=many,
        seed=seed,
        lower_bound=bound,
        arm_bound=quartiles(draws, problem),
        possible=samples is None or samples >= bound,
        asked=outlooks[0] if outlooks else None,
        alternatives=tuple(outlooks[1:]),
        notes=tuple(notes_on(draws, problem, samples, last_round, bound, outlooks[:1])),
        cost=cost,
    )


def samples_for(budget: float | None, cost: float | None) -> int | None:
    """Number of samples that a budget pays for; without a cost the budget is in samples.

    >>> samples_for(100, 0.02), samples_for(100, None)
    (5000, 100)
    """
    if cost is None:
        return budget  # type: ignore[return-value]  # checked as a number of samples
    price = checked_number("cost", cost)
    if not 0.0 < price < math.inf:
        raise InvalidValue(f"cost, of a sample, must be a positive number; got {cost!r}.")
    if budget is None:
        return None
    money = checked_number("budget", budget)
    if not math.isfinite(money) or money < price:
        raise InvalidValue(f"a budget of {budget!r} does not pay for one sample, which costs {cost:g}.")
    return int(exact(money) / exact(price))


def check_numbers(budget: int | None, runs: int | None) -> None:
    for name, value in (("budget", budget), ("runs", runs)):
        if value is not None:
            check_whole(name, value)
    if budget is not None and budget < 1:
        raise InvalidValue(f"budget must be at least one round; got {budget}.")
    if runs is not None and runs < 1:
        raise InvalidValue(f"runs must be at least 1; got {runs}.")


def _falls_short(asked: Outlook) -> bool:
    """Whether half of the campaigns miss the last milestone."""
    return bool(asked.milestones) and not math.isfinite(asked.milestones[-1].samples.median)


def draws_of(guess: MeansGuess) -> list[Floats]:
    """The means, or many draws of them."""
    generator = default_rng(0)
    first = guess.draw(generator)
    if (guess.draw(generator) == first).all():
        return [first]
    return [guess.draw(generator) for _ in range(min(DRAWS, max(FEWEST_DRAWS, MEANS_TO_DRAW // guess.arms)))]


def quartiles(draws: list[Floats], problem: Problem) -> tuple[float, float, float]:
    """Quartiles over the arms of all draws, by rank, since an arm on the threshold costs inf."""
    if isinstance(problem.rewards, Cases):
        return 0.0, 0.0, 0.0
    bounds = np.sort(np.concatenate([pulls_lower_bounds(means, problem) for means in draws[:20]]))
    low, median, high = (float(bounds[int(q * (bounds.size - 1))]) for q in (0.25, 0.5, 0.75))
    return low, median, high


def notes_on(
    draws: list[Floats], problem: Problem, budget: int | None, last_round: int, bound: float, asked: list[Outlook]
) -> list[str]:
    """Notes that explain the numbers."""
    notes = []
    arms = problem.arms
    if isinstance(problem.rewards, Cases):
        pass  # its last case decides every arm
    elif any((means == problem.threshold).any() for means in draws):
        notes.append("An arm whose mean equals the threshold can't be decided by any number of pulls.")
    elif len(draws) > 1:
        notes.append(
            "Means from a prior can lie arbitrarily near to the threshold, and such arms stay undecided: plan for a "
            "share of the good arms, not for a verdict on every arm. Lower bounds are medians over draws of the means."
        )
    if budget is not None and budget < arms:
        notes.append(f"Impossible: {budget:,} rounds are too few to pull each of the {arms:,} arms once.")
    elif budget is not None and budget < bound:
        best = int(np.median([decidable(means, problem, budget) for means in draws]))
        notes.append(
            f"A verdict on every arm is out of reach: no policy that keeps delta = {problem.delta:g} decides all "
            f"{arms:,} arms in {budget:,} rounds on average; that takes at least {_rounds(bound)}. At best the budget "
            f"pays for the {best:,} easiest."
        )
    if budget is None and asked and asked[0].rounds is None:
        notes.append(f"Simulated for {last_round:,} rounds, not to the end. Give a `budget` to look further.")
    return notes


def _rounds(value: float) -> str:
    return f"{value:,.0f}" if math.isfinite(value) else "infinitely many"
