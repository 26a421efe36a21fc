"""`plan` against a control: how many samples until it is known which arms beat it by a margin."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

from goodarm.arguments import check_real
from goodarm.engine.control import ControlStep
from goodarm.environments.columns import Source
from goodarm.errors import InvalidValue
from goodarm.plan import ahead
from goodarm.plan.guess import MeansGuess, guess_means
from goodarm.plan.outlook import Outlook, outlook
from goodarm.policies import policy
from goodarm.problem import Problem
from goodarm.rules.beliefs import VERDICT
from goodarm.rules.identification.versus import versus

GROWTH = 1.0 / 16.0
"""Samples are simulated in blocks of this share of what was sampled before."""
MOST_ARMS, MANY = 1000, 50
FEW_RUNS, RUNS = 10, 20
DEAREST = 1e9
"""The most samples that are simulated where no budget is given."""
BOTH_SIDES = 12.0
"""Without a budget: this many times what the evidence of nine tenths of the arms costs with a known control."""


class SimulatedCampaign(NamedTuple):
    """One simulated campaign; the last row of means is not the control's."""

    rounds: int
    open_arms: int
    verdicts: NDArray[np.int8]
    verdict_rounds: NDArray[np.int64]
    means: NDArray[np.float64]


def plan_against(
    control: float,
    margin: float,
    arms: int | None,
    delta: float,
    gap: float | None,
    means: Source | None,
    prior: str | None,
    budget: int | None,
    runs: int | None,
    seed: int,
    progress: ahead.Progress | None,
) -> ahead.CampaignPlan:
    """As `plan`, with the control's mean plus the margin as the threshold.

    Each campaign is played by `goodarm.engine.control` as it is played live, in blocks of a sixteenth of what was
    sampled before; a block is told all at once. The lower bounds are for somebody who knows the control's mean.

    >>> from goodarm.plan import plan
    >>> made = plan(arms=4, control=0.3, margin=0.0, gap=0.15, runs=5)
    >>> made.policy, made.threshold, made.asked.decided.mean, made.asked.wrong_runs
    ('value-normal+versus', 0.3, 1.0, 0)
    """
    bar = control_bar(control, margin)
    guess = guess_means(bar, arms, gap=gap, means=means, prior=prior)
    if guess.arms > MOST_ARMS:
        raise InvalidValue(
            f"against a control a plan simulates at most {MOST_ARMS:,} arms; got {guess.arms:,}. Plan for a sample, "
            f"`arms={MOST_ARMS}`: what an arm takes grows only with the logarithm of their number."
        )
    ahead.check_numbers(budget, runs)
    problem, draws = Problem(bar, guess.arms, delta), ahead.draws_of(guess)
    last = budget or int(min(BOTH_SIDES * ahead.cost_of(problem, draws), DEAREST))
    many = runs or (RUNS if guess.arms <= MANY else FEW_RUNS)
    looser = min(2.0 * delta, 0.5 + 0.5 * delta)
    settings = [("as asked", problem), (f"delta {looser:g}", Problem(bar, guess.arms, looser))]
    played = _Play(guess, control, margin, many, seed, progress, many * len(settings))
    enough = last > guess.arms
    outlooks = [played.outlook(words, each, last, draws) for words, each in settings] if enough else []
    bound = ahead.median_bound(draws, problem)
    return ahead.CampaignPlan(
        arms=guess.arms,
        threshold=bar,
        delta=delta,
        means=guess.words,
        policy="value-normal+versus",
        guarantee="certified",
        budget=budget,
        last_round=last,
        runs=many,
        seed=seed,
        lower_bound=bound,
        arm_bound=ahead.quartiles(draws, problem),
        possible=budget is None or budget >= bound,
        asked=outlooks[0] if outlooks else None,
        alternatives=tuple(outlooks[1:]),
        notes=tuple(ahead.notes_on(draws, problem, budget, last, bound, outlooks[:1])),
        control=control,
        margin=margin,
    )


def control_bar(control: float, margin: float) -> float:
    """The mean that an arm must reach to be better than the control by the margin."""
    check_real(control=control, margin=margin)
    bar = control + margin
    if not (0.0 < control < 1.0 and 0.0 < bar < 1.0):
        raise InvalidValue(
            "the control's mean, and that plus the margin, must lie strictly between 0 and 1; got "
            f"control={control:g}, margin={margin:g}."
        )
    return float(f"{bar:.12g}")


class _Play:
    def __init__(
        self,
        guess: MeansGuess,
        control: float,
        margin: float,
        runs: int,
        seed: int,
        progress: ahead.Progress | None,
        in_all: int,
    ) -> None:
        self.guess, self.control, self.margin, self.runs, self.seed = guess, control, margin, runs, seed
        self.progress, self.in_all, self.ended = progress, in_all, 0

    def outlook(self, words: str, problem: Problem, last: int, draws: list[NDArray[np.float64]]) -> Outlook:
        found, wrong = [], 0
        for run in range(self.runs):
            each = self._campaign(problem, last, default_rng((self.seed, run)))
            right = np.where(each.means >= problem.threshold, 1, -1)
            wrong += bool(((each.verdicts != 0) & (each.verdicts != right)).any())
            found.append(each)
            self.ended += 1
            if self.progress is not None:
                self.progress(self.ended, self.in_all)
        return outlook(words, problem, last, ahead.median_bound(draws, problem), found, wrong)

    def _campaign(self, problem: Problem, last: int, chance: Generator) -> SimulatedCampaign:
        """Blocks until no arm is open, or until the last round."""
        means = self.guess.draw(chance)
        differences = Problem(0.5 * (1.0 + self.margin), problem.arms, problem.delta)
        step = ControlStep(policy("value-normal", versus), differences, problem.arms, self.margin, horizon=math.inf)
        rates, rounds = np.append(means, self.control), 0
        at = np.zeros(problem.arms, dtype=np.int64)
        while rounds < last:
            counts = step.ask_block(min(max(1, int(GROWTH * rounds)), last - rounds))
            if not counts.any():
                break
            rounds += int(counts.sum())
            at[step.absorb_block(counts, chance.binomial(counts, rates).astype(np.float64))] = rounds
        verdicts = step.state.arms[: problem.arms, VERDICT].astype(np.int8)
        return SimulatedCampaign(rounds, int((verdicts == 0).sum()), verdicts, at, means)
