"""`plan`: the samples that a campaign needs, by a lower bound and by simulation, including looser settings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from goodarm.arguments import check_whole
from goodarm.environments.columns import Source
from goodarm.errors import InvalidValue, MissingExtra
from goodarm.planning.bounds import payable
from goodarm.planning.costs import Prices, prices_of
from goodarm.planning.guess import MeansGuess, PerMetric
from goodarm.planning.kinds import PlannedQuestion, planned_question
from goodarm.planning.outlook import Outlook
from goodarm.planning.players import Campaigns, Limit, Progress
from goodarm.policies import LIVE_POLICY, Policy
from goodarm.problem import OTHER_RANGE, Bounded, Cases, Problem
from goodarm.question import BarsGiven, Question, QuestionGiven
from goodarm.simulation.runs import Estimate
from goodarm.simulation.specification import CostsGiven

Floats = NDArray[np.float64]

DRAWS, FEWEST_DRAWS, MEANS_TO_DRAW = 200, 3, 100_000
"""Number of draws of the means for the median of a lower bound: fewer for many arms, one for known means."""

TO_RESCALE = (
    "A plan simulates rewards of 0 and 1. For rewards from 0 to HIGH, divide the threshold and the gap by HIGH. For "
    "revenue, see docs/revenue.md: its spread decides how many samples are needed."
)
LARGEST = 2**53
"""Maximum number of rounds: floats count exactly up to this number."""


@dataclass(frozen=True)
class CampaignPlan:
    """Expected course of a campaign; `notes` explains the numbers in words.

    runs      : number of simulated campaigns per setting
    lower_bound : samples that every policy needs on average; 0 on a fixed test set, for which no bound is known
    arm_bound : the lower bound for one arm: quartiles over the arms
    possible  : False if the budget is below the lower bound
    asked     : outlook for the given setting; None if the budget is too small to pull each arm once
    budget    : maximum number of samples; None without a budget, or if costs differ
    cost      : cost of every sample; None if only samples are counted, or if costs differ
    costs     : cost of a sample of each arm, a control last, if costs differ; otherwise empty
    money     : the budget if costs differ
    lower_cost : cost of the samples of the lower bound; None if only samples are counted
    planned   : the question with the assumptions about it; `threshold` is the mean that an arm must reach, None with
                several bars
    """

    arms: int
    planned: PlannedQuestion
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
    costs: tuple[float, ...] = ()
    money: float | None = None
    lower_cost: float | None = None

    @property
    def question(self) -> Question:
        """The question, with placeholder ids for its reference arms."""
        return self.planned.question

    @property
    def threshold(self) -> float | None:
        return self.planned.threshold

    @property
    def bars(self) -> list[dict[str, Any]]:
        """The bar of each metric if there are several bars; otherwise empty."""
        return self.planned.bars

    @property
    def control(self) -> float | None:
        """The expected mean of the control that arms are compared with, if there is one."""
        return self.planned.control

    @property
    def cases(self) -> int | None:
        """Number of cases of the fixed test set, if there is one."""
        return self.planned.cases

    @property
    def full_evaluation(self) -> int | None:
        """Number of samples in an evaluation of every arm on every case; None without a fixed test set."""
        return None if self.cases is None else self.arms * self.cases

    @property
    def margin(self) -> float:
        """The margin over the control; 0 without one."""
        return self.planned.margin

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
    gap: PerMetric | None = None,
    means: Source | None = None,
    prior: PerMetric | None = None,
    policy: str | Policy = LIVE_POLICY,
    budget: float | None = None,
    runs: int | None = None,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
    control: float | str | None = None,
    margin: float | str = 0.0,
    cases: int | None = None,
    cost: CostsGiven | None = None,
    bars: BarsGiven | None = None,
    question: QuestionGiven | None = None,
) -> CampaignPlan:
    """Estimate how many samples an arm and a campaign will need.

    control, margin : in place of a threshold: the expected mean of the control, and the amount by which an arm must
                      exceed it; verdicts then use the totals of both. Like threshold and gap, numbers or percentages
                      such as "2%"
    bars     : in place of a threshold: several metrics, each with its bar, such as "correct >= 90%, slow <= 5%"; the
               simulated metrics are independent of each other
    question : in place of all of these: the question as an object of `goodarm.question`, or its JSON fields
    gap      : assumed distance of every mean from the threshold, half of them above; with several bars, half of the
               arms clear every bar by this distance, and the others fail one bar by it
    means    : a table with the columns arm and mean: a path, a dataframe or a dict; with several bars the means of each
               metric are in the column of its name. A column cost has the cost of a sample of each arm
    prior    : "beta:A,B" or "uniform:LOW,HIGH": means drawn independently in each run
               With several bars `gap` and `prior` may differ: {"correct": 0.05, "slow": 0.02}
    cost     : cost of a sample: for all arms, {arm: cost}, or one number per arm, a control last. Unnamed arms cost 1.
               Then `budget` is the maximum total cost, and the plan also shows costs
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
    >>> made = plan(arms=4, bars="correct >= 90%, slow <= 5%", gap=0.04, cost=[1, 5, 1, 5], runs=5)
    >>> made.asked.decided.mean, made.asked.money.end.median > made.asked.end.median
    (1.0, True)
    """
    planned = planned_question(question, cases, threshold=threshold, control=control, margin=margin, bars=bars)
    rewards = Bounded() if cases is None else Cases(cases)
    _check_problem(planned, delta, rewards)  # report an invalid threshold or delta first
    guess = planned.guess(arms, gap, means, prior)
    planned.check_arms(guess.arms)
    prices = prices_of(cost, guess, planned.question)
    samples, money = prices.samples(budget), prices.money(budget)
    problem = planned.problem(guess.arms, delta, rewards)
    check_numbers(samples, runs)
    draws = draws_of(guess)
    last_round = samples or planned.last_round(problem, draws)
    if money is not None:
        last_round = int(min(money / min(prices.each), LARGEST))
    if cases is not None:
        last_round = min(last_round, guess.arms * cases)
    many = runs or planned.runs(guess.arms, last_round, prices)
    made = planned.policy(policy, guess, prices, last_round, seed, delta)
    limit = Limit(last_round, math.inf if money is None else money)
    enough = last_round >= guess.arms + len(planned.question.references) and limit.money >= sum(prices.each)
    player = planned.player(Campaigns(guess, made, prices, many, seed, workers, progress))
    outlooks = player.outlooks(planned.settings(guess, problem) if enough else [], limit, draws)
    if planned.doubles and (samples or money) and outlooks and _falls_short(outlooks[0]):
        twice = f"budget {2 * money:,.10g}" if money else f"budget {2 * last_round:,}"
        unit = " samples" if prices.equal is not None else ""
        outlooks += player.outlooks([(twice + unit, problem)], Limit(2 * last_round, 2.0 * limit.money), draws)
    bound = planned.median_bound(draws, problem)
    lower_cost = planned.median_bound(draws, problem, prices.of_arms(guess.arms)) if prices.known else None
    return CampaignPlan(
        arms=guess.arms,
        planned=planned,
        delta=delta,
        means=guess.words,
        policy=made.name,
        guarantee=made.promise,
        budget=samples,
        last_round=last_round,
        runs=many,
        seed=seed,
        lower_bound=bound,
        arm_bound=quartiles(planned, draws, problem),
        possible=(samples is None or samples >= bound) and (money is None or lower_cost is None or money >= lower_cost),
        asked=outlooks[0] if outlooks else None,
        alternatives=tuple(outlooks[1:]),
        notes=tuple(notes_on(planned, draws, problem, Purse(samples, money, prices), last_round, outlooks[:1])),
        cost=prices.equal,
        costs=prices.each,
        money=money,
        lower_cost=lower_cost,
    )


def _check_problem(planned: PlannedQuestion, delta: float, rewards: Bounded) -> None:
    """Refuse an invalid threshold or delta. A plan has no reward family to declare, so it advises to rescale.

    >>> _check_problem(planned_question(threshold=1.5), 0.05, Bounded())
    Traceback (most recent call last):
        ...
    goodarm.errors.InvalidValue: threshold must lie strictly between 0 and 1 for rewards in [0, 1]; got 1.5. \
Did you mean 1.5%? Write '1.5%' or 0.015. A plan simulates rewards of 0 and 1. ...
    """
    try:
        planned.problem(1, delta, rewards)
    except InvalidValue as error:
        raise InvalidValue(str(error).replace(OTHER_RANGE, TO_RESCALE)) from None


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


def quartiles(planned: PlannedQuestion, draws: list[Floats], problem: Problem) -> tuple[float, float, float]:
    """Quartiles over the arms of all draws, by rank, because an arm on the threshold has the bound inf."""
    if isinstance(problem.rewards, Cases):
        return 0.0, 0.0, 0.0
    bounds = np.sort(np.concatenate([planned.pulls_bounds(means, problem) for means in draws[:20]]))
    low, median, high = (float(bounds[int(q * (bounds.size - 1))]) for q in (0.25, 0.5, 0.75))
    return low, median, high


def notes_on(
    planned: PlannedQuestion,
    draws: list[Floats],
    problem: Problem,
    purse: Purse,
    last_round: int,
    asked: list[Outlook],
) -> list[str]:
    """Notes that explain the numbers."""
    notes = []
    if isinstance(problem.rewards, Cases):
        pass  # every arm is decided by its last case
    elif any((planned.information(means, problem) == 0.0).any() for means in draws):
        notes.append(f"An arm whose mean equals {planned.bar_words} can't be decided with any number of pulls.")
    elif len(draws) > 1:
        notes.append((_near(planned, draws, problem) + " Lower bounds are medians over draws of the means.").strip())
    notes += purse.notes(planned, draws, problem)
    if purse.samples is None and purse.money is None and asked and asked[0].rounds is None:
        notes.append(f"Simulated for {last_round:,} rounds, not to the end. Give a larger `budget` to simulate more.")
    return notes


def _near(planned: PlannedQuestion, draws: list[Floats], problem: Problem) -> str:
    """A warning of arms near the bar, if the prior has arms on both sides of it; otherwise empty."""
    drawn, bar = np.concatenate([planned.estimates(means) for means in draws]), planned.level(problem)
    if drawn.min() >= bar or drawn.max() < bar:
        return ""
    return (
        f"Means from a prior can lie arbitrarily close to {'a bar' if planned.bars else planned.bar_words}, and such "
        f"arms stay undecided. Plan for a share of the {planned.question.good} arms, not for a verdict on every arm."
    )


class Purse(NamedTuple):
    """The budget of a campaign: samples, or money if costs differ; None without a budget."""

    samples: int | None
    money: float | None
    prices: Prices

    def notes(self, planned: PlannedQuestion, draws: list[Floats], problem: Problem) -> list[str]:
        """Whether the budget is too small for one pull of each arm, or for a verdict on each."""
        budget: float | None = self.samples if self.money is None else self.money
        if budget is None:
            return []
        arms, each = problem.arms, self.prices.of_arms(problem.arms) if self.prices.each else np.ones(problem.arms)
        first = float(sum(self.prices.each) or arms)
        in_money = self.money is not None
        if budget < first:
            few = f"{budget:,} rounds are too few" if budget > 1 else "1 round is too few"
            if in_money:
                few = f"a budget of {budget:,.10g} is too small: {first:,.10g} are needed"
            return [f"Impossible: {few} to pull each of the {arms:,} arms once."]
        bound = planned.median_bound(draws, problem, each)
        if budget >= bound:
            return []
        best = int(np.median([payable(each * planned.pulls_bounds(means, problem), budget) for means in draws]))
        within = f"for {budget:,.10g} of money" if in_money else f"in {budget:,} rounds"
        return [
            f"A verdict on every arm is impossible: no policy with delta = {problem.delta:g} decides all "
            f"{arms:,} arms {within} on average; this needs at least {_number(bound)}. "
            + (f"At best, the budget covers the {best:,} easiest." if best else "It does not cover a single verdict.")
        ]


def _number(value: float) -> str:
    return f"{value:,.0f}" if math.isfinite(value) else "infinitely many"
