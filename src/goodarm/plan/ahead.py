"""`plan`: what a campaign will take, by lower bound and by simulation, and what a looser wish would buy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from goodarm.arguments import check_whole
from goodarm.environments.columns import Source
from goodarm.errors import InvalidValue, MissingExtra
from goodarm.plan.bounds import campaign_lower_bound, decidable, pulls_lower_bounds
from goodarm.plan.guess import MeansGuess, guess_means
from goodarm.plan.outlook import Outlook, outlook
from goodarm.policies import DEFAULT_POLICY, Policy
from goodarm.problem import Problem
from goodarm.simulation.runs import Estimate
from goodarm.simulation.simulate import simulate
from goodarm.simulation.specification import specify

Floats = NDArray[np.float64]
Progress = Callable[[int, int], None]

DRAWS, FEWEST_DRAWS, MEANS_TO_DRAW = 200, 3, 100_000
"""Draws of the means over which a lower bound's median is taken: fewer for many arms, one where the means are known."""
ROUNDS_TO_SIMULATE = 2.5e7
"""Of each setting, unless the budget needs more: a minute of one core for all of them with `value`."""
FEWEST_RUNS, MOST_RUNS = 10, 60
"""Fewer than ten campaigns can't say where nine in ten lie."""


@dataclass(frozen=True)
class CampaignPlan:
    """What to expect of a campaign; `notes` says in words what the numbers mean for what was asked.

    runs      : simulated campaigns of each setting
    arm_bound : pulls that every policy needs on average for one arm: quartiles over the arms
    possible  : False where the budget is below the lower bound
    asked     : as asked; None where the budget is too small to pull each arm once
    control   : the mean of the control that arms are compared with; then the threshold is that mean plus the margin
    """

    arms: int
    threshold: float
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
    control: float | None = None
    margin: float = 0.0

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
        """Pulls of an arm on average until its verdict; None where a run did not decide all arms."""
        if self.asked is None or self.asked.rounds is None:
            return None
        mean, low, high, runs = self.asked.rounds
        return Estimate(mean / self.arms, low / self.arms, high / self.arms, runs)


def _report(module: str) -> Any:
    """A report module, imported only when needed: plans do not depend on it."""
    return import_module(f"goodarm.report.{module}")


def plan(
    *,
    threshold: float | None = None,
    arms: int | None = None,
    delta: float = 0.05,
    gap: float | None = None,
    means: Source | None = None,
    prior: str | None = None,
    policy: str | Policy = DEFAULT_POLICY,
    budget: int | None = None,
    runs: int | None = None,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
    control: float | None = None,
    margin: float = 0.0,
) -> CampaignPlan:
    """How many pulls an arm and a campaign will take.

    control, margin : in place of a threshold: what mean the control is expected to have, and by how much an arm is to
               be better; the policy is that of campaigns against a control
    gap      : every mean lies this far from the threshold, half of them above
    means    : a table with the columns arm and mean: a path, a dataframe or a dict
    prior    : "beta:A,B" or "uniform:LOW,HIGH": means drawn anew in each run
    budget   : rounds that can be paid for; without it the simulation goes on to the end, or to its own limit
    runs     : simulated campaigns of each setting; if not given, as many as fit into a few seconds
    progress : called with the runs that have ended, and how many there will be

    >>> made = plan(arms=10, threshold=0.5, gap=0.2, budget=2000, runs=5)
    >>> round(made.lower_bound), made.possible, made.asked.decided.mean
    (322, True, 1.0)
    >>> half = made.asked.milestones[0]
    >>> half.share, half.samples.low <= half.samples.median <= half.samples.high < made.asked.end.high
    (0.5, True)
    """
    if control is not None:
        from goodarm.plan.against import plan_against

        if threshold is not None or policy != DEFAULT_POLICY:
            raise InvalidValue(
                "with `control`, leave `threshold` and `policy` out: arms are compared with the control."
            )
        return plan_against(control, margin, arms, delta, gap, means, prior, budget, runs, seed, progress)
    if threshold is None or margin:
        raise InvalidValue(
            "give the bar that a good arm's mean reaches, `threshold`, or a `control` with its `margin`."
        )
    return _plan_for(threshold, arms, delta, gap, means, prior, policy, budget, runs, seed, workers, progress)


def _plan_for(
    threshold: float,
    arms: int | None,
    delta: float,
    gap: float | None,
    means: Source | None,
    prior: str | None,
    policy: str | Policy,
    budget: int | None,
    runs: int | None,
    seed: int,
    workers: int,
    progress: Progress | None,
) -> CampaignPlan:
    """The plan of a campaign with a threshold; the arguments are those of `plan`."""
    Problem(threshold=threshold, arms=1, delta=delta)  # a wrong threshold or delta is reported first
    guess = guess_means(threshold, arms, gap=gap, means=means, prior=prior)
    problem = Problem(threshold=threshold, arms=guess.arms, delta=delta)
    check_numbers(budget, runs)
    draws = draws_of(guess)
    last_round = budget or _own_last_round(guess, problem, draws)
    many = runs or int(min(max(ROUNDS_TO_SIMULATE / last_round, FEWEST_RUNS), MOST_RUNS))
    made = specify(policy, guess.environment(threshold), horizon=max(last_round, guess.arms), seed=seed, delta=delta)
    settings = _settings(guess, problem) if last_round >= guess.arms else []
    play = _Play(guess, made.policy, many, seed, workers, progress, len(settings) * many, draws)
    outlooks = [play.outlook(words, each, last_round) for words, each in settings]
    if budget is not None and outlooks and _falls_short(outlooks[0]):
        play.in_all += many
        outlooks.append(play.outlook(f"budget {2 * budget:,}", problem, 2 * budget))
    bound = median_bound(draws, problem)
    return CampaignPlan(
        arms=guess.arms,
        threshold=threshold,
        delta=delta,
        means=guess.words,
        policy=made.policy.name,
        guarantee=made.policy.promise,
        budget=budget,
        last_round=last_round,
        runs=many,
        seed=seed,
        lower_bound=bound,
        arm_bound=quartiles(draws, problem),
        possible=budget is None or budget >= bound,
        asked=outlooks[0] if outlooks else None,
        alternatives=tuple(outlooks[1:]),
        notes=tuple(notes_on(draws, problem, budget, last_round, bound, outlooks[:1])),
    )


def check_numbers(budget: int | None, runs: int | None) -> None:
    for name, value in (("budget", budget), ("runs", runs)):
        if value is not None:
            check_whole(name, value)
    if budget is not None and budget < 1:
        raise InvalidValue(f"budget must be at least one round; got {budget}.")
    if runs is not None and runs < 1:
        raise InvalidValue(f"runs must be at least 1; got {runs}.")


def _settings(guess: MeansGuess, problem: Problem) -> list[tuple[str, Problem]]:
    """As asked; twice the delta; the bar a little lower and a little higher while the means stay where they are."""
    xi, delta = problem.threshold, min(2.0 * problem.delta, 0.5 + 0.5 * problem.delta)
    step = 0.1 * min(xi, 1.0 - xi)
    if guess.gap is not None:
        step = min(step, guess.gap / 2.0)  # an arm should not change sides
    lower, higher = (float(f"{value:.6g}") for value in (xi - step, xi + step))
    return [
        ("as asked", problem),
        (f"delta {delta:g}", Problem(xi, problem.arms, delta)),
        (f"threshold {lower:g}", Problem(lower, problem.arms, problem.delta)),
        (f"threshold {higher:g}", Problem(higher, problem.arms, problem.delta)),
    ]


def _falls_short(asked: Outlook) -> bool:
    """Is the last milestone out of reach in half of the campaigns?"""
    return bool(asked.milestones) and not math.isfinite(asked.milestones[-1].samples.median)


class _Play:
    """Simulates one setting after the other on the same rewards, and reports its progress."""

    def __init__(
        self,
        guess: MeansGuess,
        policy: Policy,
        runs: int,
        seed: int,
        workers: int,
        progress: Progress | None,
        in_all: int,
        draws: list[Floats],
    ) -> None:
        self.guess, self.policy, self.runs, self.seed = guess, policy, runs, seed
        self.workers, self.progress, self.in_all, self.draws = workers, progress, in_all, draws
        self.ended = 0

    def outlook(self, words: str, problem: Problem, last_round: int) -> Outlook:
        played = simulate(
            self.policy,
            self.guess.environment(problem.threshold),
            horizon=last_round,
            runs=self.runs,
            seed=self.seed,
            delta=problem.delta,
            workers=self.workers,
            progress=self._told,
        )
        bound = median_bound(self.draws, problem)
        return outlook(words, problem, last_round, bound, played.runs, played.wrong_runs)

    def _told(self, ended: int) -> None:
        self.ended += ended
        if self.progress is not None:
            self.progress(self.ended, self.in_all)


def draws_of(guess: MeansGuess) -> list[Floats]:
    """The means, or many draws of them."""
    generator = default_rng(0)
    first = guess.draw(generator)
    if (guess.draw(generator) == first).all():
        return [first]
    return [guess.draw(generator) for _ in range(min(DRAWS, max(FEWEST_DRAWS, MEANS_TO_DRAW // guess.arms)))]


def median_bound(draws: list[Floats], problem: Problem) -> float:
    return float(np.median([campaign_lower_bound(means, problem) for means in draws]))


def quartiles(draws: list[Floats], problem: Problem) -> tuple[float, float, float]:
    """Over the arms of all draws; taken by rank, since an arm on the threshold costs inf."""
    bounds = np.sort(np.concatenate([pulls_lower_bounds(means, problem) for means in draws[:20]]))
    low, median, high = (float(bounds[int(q * (bounds.size - 1))]) for q in (0.25, 0.5, 0.75))
    return low, median, high


def _own_last_round(guess: MeansGuess, problem: Problem, draws: list[Floats]) -> int:
    """Without a budget: three times what the evidence of nine tenths of the arms costs, up to a limit."""
    patience = ROUNDS_TO_SIMULATE / FEWEST_RUNS
    return int(max(min(3.0 * cost_of(problem, draws), patience), 10.0 * guess.arms))


def cost_of(problem: Problem, draws: list[Floats]) -> float:
    """Pulls that the evidence of nine tenths of the arms costs, taking the easiest ones."""
    divergence, needed = problem.rewards.divergence, math.log(problem.arms / problem.delta)
    information = np.sort([divergence(float(mean), problem.threshold) for mean in draws[0]])
    cheaper = information[information.size // 10 :]
    return float(np.sum(needed / np.maximum(cheaper, 1e-300)))


def notes_on(
    draws: list[Floats], problem: Problem, budget: int | None, last_round: int, bound: float, asked: list[Outlook]
) -> list[str]:
    """What the numbers mean, where they need words."""
    notes = []
    arms = problem.arms
    if any((means == problem.threshold).any() for means in draws):
        notes.append("An arm whose mean equals the threshold can't be decided by any number of pulls.")
    elif len(draws) > 1:
        notes.append(
            "Means from a prior lie as near to the threshold as you like, and such arms stay open: plan for a share of "
            "the good arms, not for a verdict on every arm. Lower bounds are medians over draws of the means."
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
