"""`plan`: what a campaign will take, by lower bound and by simulation, and what looser wishes would buy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from goodarm.arguments import check_whole
from goodarm.environments.columns import Source
from goodarm.errors import InvalidValue
from goodarm.plan.bounds import campaign_lower_bound, decidable, pulls_lower_bound
from goodarm.plan.guess import MeansGuess, guess_means
from goodarm.policies import DEFAULT_POLICY, Policy
from goodarm.problem import Problem
from goodarm.simulation.runs import Estimate, Runs, estimate
from goodarm.simulation.simulate import simulate
from goodarm.simulation.specification import specify

Floats = NDArray[np.float64]
Progress = Callable[[int, int], None]

DRAWS = 200
"""Draws of the means that a median lower bound is taken over; one where the means are known."""
ROUNDS_TO_SIMULATE = 6e7
"""All settings and runs together, unless the budget asks for more: several seconds on two cores."""
SETTINGS = 4
FEWEST_RUNS, MOST_RUNS = 3, 20


@dataclass(frozen=True)
class Outlook:
    """One setting, simulated until no arm was open or until the last round.

    lower_bound : rounds that every policy needs on average to decide all arms (median over draws of the means)
    rounds      : of this policy until no arm is open; None where a run had not got there by the last round
    decided     : share of the arms with a verdict by the last round
    found       : share of the good arms that were called good by then; None where there are none
    decided_at  : per run, the rounds of its verdicts in order
    """

    words: str
    threshold: float
    delta: float
    lower_bound: float
    rounds: Estimate | None
    decided: Estimate
    found: Estimate | None
    wrong_runs: int
    decided_at: tuple[Floats, ...] = field(repr=False, compare=False)


@dataclass(frozen=True)
class CampaignPlan:
    """What to expect of a campaign; `notes` says in words what the numbers mean for the wish that was made.

    arm_bound : pulls that every policy needs on average for one arm: quartiles over the arms
    possible  : False where the budget is below the lower bound
    asked     : as asked; None where the budget is too small to pull each arm once
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

    @property
    def pulls_per_arm(self) -> Estimate | None:
        """Pulls of an arm on average until its verdict; None where a run did not decide all arms."""
        if self.asked is None or self.asked.rounds is None:
            return None
        mean, low, high, runs = self.asked.rounds
        return Estimate(mean / self.arms, low / self.arms, high / self.arms, runs)


def plan(
    *, threshold: float, arms: int | None = None, delta: float = 0.05, gap: float | None = None,
    means: Source | None = None, prior: str | None = None, policy: str | Policy = DEFAULT_POLICY,
    budget: int | None = None, runs: int | None = None, seed: int = 0, workers: int = 1,
    progress: Progress | None = None,
) -> CampaignPlan:  # fmt: skip
    """How many pulls an arm and a campaign will take.

    gap      : every mean lies this far from the threshold, half of them above
    means    : a table with the columns arm and mean: a path, a dataframe or a dict
    prior    : "beta:A,B" or "uniform:LOW,HIGH": means drawn anew in each run
    budget   : rounds that can be paid for; without it the simulation goes on to the end, or to its own limit
    runs     : simulated runs; as many as fit into a few seconds if not given
    progress : called with the runs that have ended, and how many there will be

    >>> made = plan(arms=10, threshold=0.5, gap=0.2, budget=2000, runs=5)
    >>> round(made.lower_bound), made.possible, made.asked.decided.mean
    (322, True, 1.0)
    """
    Problem(threshold=threshold, arms=1, delta=delta)  # a wrong threshold or delta is told first
    guess = guess_means(threshold, arms, gap=gap, means=means, prior=prior)
    problem = Problem(threshold=threshold, arms=guess.arms, delta=delta)
    _check_numbers(budget, runs)
    last_round = budget or _own_last_round(guess, problem)
    many = runs or int(min(max(ROUNDS_TO_SIMULATE / SETTINGS / last_round, FEWEST_RUNS), MOST_RUNS))
    made = specify(policy, guess.environment(threshold), horizon=max(last_round, guess.arms), seed=seed, delta=delta)
    settings = _settings(guess, problem) if last_round >= guess.arms else []
    play = _Play(guess, made.policy, last_round, many, seed, workers, progress, len(settings) * many)
    outlooks = [play.outlook(words, each) for words, each in settings]
    bound = _median_bound(guess, problem)
    return CampaignPlan(
        arms=guess.arms, threshold=threshold, delta=delta, means=guess.words, policy=made.policy.name,
        guarantee=made.policy.promise, budget=budget, last_round=last_round, runs=many, seed=seed,
        lower_bound=bound, arm_bound=_quartiles(guess, problem), possible=budget is None or budget >= bound,
        asked=outlooks[0] if outlooks else None, alternatives=tuple(outlooks[1:]),
        notes=tuple(_notes(guess, problem, budget, last_round, bound, outlooks[:1])),
    )  # fmt: skip


def _check_numbers(budget: int | None, runs: int | None) -> None:
    check_whole(**{name: value for name, value in (("budget", budget), ("runs", runs)) if value is not None})
    if budget is not None and budget < 1:
        raise InvalidValue(f"budget must be at least one round; got {budget}.")
    if runs is not None and runs < 1:
        raise InvalidValue(f"runs must be at least 1; got {runs}.")


def _settings(guess: MeansGuess, problem: Problem) -> list[tuple[str, Problem]]:
    """As asked; twice the delta; the bar a little lower and a little higher, the means staying where they are."""
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


class _Play:
    """Simulates one setting after the other on the same rewards, and tells how far it is."""

    def __init__(
        self, guess: MeansGuess, policy: Policy, last_round: int, runs: int, seed: int, workers: int,
        progress: Progress | None, in_all: int,
    ) -> None:  # fmt: skip
        self.guess, self.policy, self.last_round, self.runs, self.seed = guess, policy, last_round, runs, seed
        self.workers, self.progress, self.in_all = workers, progress, in_all
        self.ended = 0

    def outlook(self, words: str, problem: Problem) -> Outlook:
        arms = self.guess.arms
        played = simulate(
            self.policy, self.guess.environment(problem.threshold), horizon=self.last_round, runs=self.runs,
            seed=self.seed, delta=problem.delta, workers=self.workers, progress=self._told,
        )  # fmt: skip
        to_the_end = all(run.open_arms == 0 for run in played.runs)
        return Outlook(
            words=words, threshold=problem.threshold, delta=problem.delta,
            lower_bound=_median_bound(self.guess, problem),
            rounds=estimate(np.array([float(run.rounds) for run in played.runs])) if to_the_end else None,
            decided=_share(np.array([1.0 - run.open_arms / arms for run in played.runs])),
            found=_found(played), wrong_runs=played.wrong_runs,
            decided_at=tuple(np.sort(run.verdict_rounds[run.verdicts != 0]).astype(np.float64) for run in played.runs),
        )  # fmt: skip

    def _told(self, ended: int) -> None:
        self.ended += ended
        if self.progress is not None:
            self.progress(self.ended, self.in_all)


def _found(played: Runs) -> Estimate | None:
    """Share of the good arms called good, over the runs that had any."""
    xi = played.spec.problem.threshold
    shares = [float((run.verdicts[run.means >= xi] == 1).mean()) for run in played.runs if (run.means >= xi).any()]
    return _share(np.array(shares)) if shares else None


def _share(values: Floats) -> Estimate:
    """An estimate that stays within [0, 1]."""
    mean, low, high, runs = estimate(values)
    return Estimate(mean, max(low, 0.0), min(high, 1.0), runs)


def _draws(guess: MeansGuess) -> list[Floats]:
    """The means, or many draws of them."""
    generator = default_rng(0)
    first = guess.draw(generator)
    return [first] if (guess.draw(generator) == first).all() else [guess.draw(generator) for _ in range(DRAWS)]


def _median_bound(guess: MeansGuess, problem: Problem) -> float:
    return float(np.median([campaign_lower_bound(means, problem) for means in _draws(guess)]))


def _quartiles(guess: MeansGuess, problem: Problem) -> tuple[float, float, float]:
    """Over the arms of all draws; taken by rank, since an arm on the threshold costs inf."""
    bounds = np.sort([pulls_lower_bound(float(mean), problem) for means in _draws(guess)[:20] for mean in means])
    low, median, high = (float(bounds[int(q * (bounds.size - 1))]) for q in (0.25, 0.5, 0.75))
    return low, median, high


def _own_last_round(guess: MeansGuess, problem: Problem) -> int:
    """Without a budget: three times what the evidence of nine tenths of the arms costs, as far as our patience goes."""
    divergence, needed = problem.rewards.divergence, math.log(problem.arms / problem.delta)
    information = np.sort([divergence(float(mean), problem.threshold) for mean in _draws(guess)[0]])
    cheaper = information[information.size // 10 :]
    cost = float(np.sum(needed / np.maximum(cheaper, 1e-300)))
    patience = ROUNDS_TO_SIMULATE / SETTINGS / FEWEST_RUNS
    return int(max(min(3.0 * cost, patience), 10.0 * guess.arms))


def _notes(
    guess: MeansGuess, problem: Problem, budget: int | None, last_round: int, bound: float, asked: list[Outlook]
) -> list[str]:
    """What the numbers mean, where they need words."""
    notes = []
    draws = _draws(guess)
    if any((means == problem.threshold).any() for means in draws):
        notes.append("An arm whose mean equals the threshold can't be decided by any number of pulls.")
    elif len(draws) > 1:
        notes.append(
            "Means from a prior lie as near to the threshold as you like, and such arms stay open: "
            "plan for a share of the arms, not for all. Lower bounds are medians over draws of the means."
        )
    if budget is not None and budget < guess.arms:
        notes.append(f"Impossible: {budget:,} rounds do not pull each of the {guess.arms:,} arms once.")
    elif budget is not None and budget < bound:
        best = int(np.median([decidable(means, problem, budget) for means in draws]))
        notes.append(
            f"Impossible: no policy that keeps delta = {problem.delta:g} decides all {guess.arms:,} arms in {budget:,} "
            f"rounds on average; that takes at least {_rounds(bound)}. At best it pays for the {best:,} easiest."
        )
    if budget is None and asked and asked[0].rounds is None:
        notes.append(f"Simulated for {last_round:,} rounds, and not to the end. Give a budget to look further.")
    return notes


def _rounds(value: float) -> str:
    return f"{value:,.0f}" if math.isfinite(value) else "infinitely many"
