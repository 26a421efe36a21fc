"""Simulated campaigns of a plan: by the compiled loop, or by the step of a live campaign in blocks."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

from goodarm.engine.evidence import Setup, evidence_for
from goodarm.engine.live.step import LiveStep
from goodarm.environments._base import Environment
from goodarm.planning.costs import Prices
from goodarm.planning.guess import MeansGuess
from goodarm.planning.outlook import Outlook, Played, outlook
from goodarm.policies import Policy
from goodarm.problem import GradedCases, Problem
from goodarm.question import Question
from goodarm.simulation.simulate import simulate

Floats = NDArray[np.float64]
Progress = Callable[[int, int], None]
Setting = tuple[str, Problem]

GROWTH = 1.0 / 16.0
"""Size of a block in simulated live campaigns, as a share of the earlier samples."""


class Limit(NamedTuple):
    """Limits of a simulation: the last round and, if costs differ, the money."""

    rounds: int
    money: float = math.inf


class Planned(Protocol):
    """Information about the planned question that a player needs."""

    def asked(self, problem: Problem) -> Question:
        """The question in this setting, with placeholder ids for its reference arms."""

    def level(self, problem: Problem) -> float:
        """The smallest estimate of a good arm in this setting."""

    def estimates(self, means: Floats) -> Floats:
        """The number of each arm that is compared with `level`, from its true means."""

    def with_references(self, means: Floats) -> Floats:
        """These means, followed by those of the reference arms."""

    def median_bound(self, draws: list[Floats], problem: Problem) -> float:
        """The lower bound on the rounds of a campaign."""


class Campaigns(NamedTuple):
    """The campaigns that are simulated in each setting: `runs` of them, with means from the guess."""

    guess: MeansGuess
    policy: Policy
    prices: Prices
    runs: int
    seed: int
    workers: int
    progress: Progress | None


class Player(ABC):
    """Simulates the settings one by one, with progress reports."""

    def __init__(self, planned: Planned, campaigns: Campaigns) -> None:
        self.planned, self.campaigns = planned, campaigns
        self.in_all, self.ended = 0, 0

    def outlooks(self, settings: Sequence[Setting], limit: Limit, draws: list[Floats]) -> list[Outlook]:
        """The outlook of each setting."""
        self.in_all += len(settings) * self.campaigns.runs
        prices = self.campaigns.prices
        price = (prices.equal or 1.0) if prices.known else None
        found = []
        for words, problem in settings:
            runs, wrong = self.play(problem, limit)
            bound, level = self.planned.median_bound(draws, problem), self.planned.level(problem)
            found.append(outlook(words, problem, level, limit.rounds, bound, runs, wrong, price))
        return found

    @abstractmethod
    def play(self, problem: Problem, limit: Limit) -> tuple[Sequence[Played], int]:
        """The simulated campaigns of one setting, and the number with a wrong verdict."""

    def report(self, ended: int) -> None:
        """Report finished campaigns."""
        self.ended += ended
        if self.campaigns.progress is not None:
            self.campaigns.progress(self.ended, self.in_all)


class SimulatedPlayer(Player):
    """Campaigns with immediate rewards and equal costs, by `goodarm.simulate`."""

    def __init__(
        self, planned: Planned, campaigns: Campaigns, environment: Callable[[MeansGuess, float], Environment]
    ) -> None:
        super().__init__(planned, campaigns)
        self.environment = environment

    def play(self, problem: Problem, limit: Limit) -> tuple[Sequence[Played], int]:
        campaigns = self.campaigns
        played = simulate(
            campaigns.policy,
            self.environment(campaigns.guess, problem.threshold),
            horizon=limit.rounds,
            runs=campaigns.runs,
            seed=campaigns.seed,
            delta=problem.delta,
            workers=campaigns.workers,
            progress=self.report,
        )
        return played.runs, played.wrong_runs


class SimulatedCampaign(NamedTuple):
    """One simulated campaign, without its reference arms; `means` are the estimates of its true means."""

    rounds: int
    open_arms: int
    verdicts: NDArray[np.int8]
    verdict_rounds: NDArray[np.int64]
    means: Floats
    spent: float
    verdict_spent: Floats


class LivePlayer(Player):
    """Campaigns played by the question's live step, in blocks of a sixteenth of the earlier samples.

    All rewards of a block are told together. Costs divide the index of each arm, as in a campaign, and a campaign ends
    when the money does not cover the next sample.
    """

    def play(self, problem: Problem, limit: Limit) -> tuple[Sequence[Played], int]:
        found, wrong, level = [], 0, self.planned.level(problem)
        for run in range(self.campaigns.runs):
            each = self._campaign(problem, limit, default_rng((self.campaigns.seed, run)))
            right = np.where(each.means >= level, 1, -1)
            wrong += bool(((each.verdicts != 0) & (each.verdicts != right)).any())
            found.append(each)
            self.report(1)
        return found, wrong

    def _campaign(self, problem: Problem, limit: Limit, chance: Generator) -> SimulatedCampaign:
        """Play blocks until every arm is decided, the last round is reached, or the money is spent."""
        guess, policy, prices = self.campaigns.guess, self.campaigns.policy, self.campaigns.prices
        means, arms, asked = guess.draw(chance), problem.arms, self.planned.asked(problem)
        seen = asked.problem(arms, problem.delta, problem.rewards)
        ids = [*map(str, range(arms)), *asked.references]
        costs, seed = prices.each or None, self.campaigns.seed
        step = evidence_for(asked, problem.rewards).step(Setup(policy, seen, ids, seed=seed, costs=costs))
        each = np.array(costs or (1.0,) * len(ids))
        rewards = _Rewards(self.planned.with_references(means), problem, chance)
        rounds, spent = 0, 0.0
        at, paid = np.zeros(arms, dtype=np.int64), np.zeros(arms)
        while rounds < limit.rounds:
            counts = _block(step, min(max(1, int(GROWTH * rounds)), limit.rounds - rounds), each, limit.money - spent)
            if not counts.any():
                break
            rounds, spent = rounds + int(counts.sum()), spent + float(counts @ each)
            decided = step.absorb_block(counts, rewards.totals(counts))
            at[decided], paid[decided] = rounds, spent
        verdicts = np.array([step.row(arm).verdict for arm in range(arms)], dtype=np.int8)
        estimates = self.planned.estimates(means)
        return SimulatedCampaign(rounds, int((verdicts == 0).sum()), verdicts, at, estimates, spent, paid)


def _block(step: LiveStep, pulls: int, prices: Floats, money: float) -> NDArray[np.int64]:
    """The next block, within these pulls and this money; empty if the next sample costs more than is left."""
    dearest = float(prices.max())
    if math.isfinite(money) and pulls * dearest > money:
        pulls = max(1, int(money / dearest))
    counts = step.choose_block(pulls)
    if float(counts @ prices) > money * (1.0 + 1e-12):
        return np.zeros_like(counts)
    return counts


class _Rewards:
    """0/1 rewards of arms with these means, shape (arms,) or (arms, metrics); on a test set without replacement."""

    def __init__(self, means: Floats, problem: Problem, chance: Generator) -> None:
        self.means, self.chance = means, chance
        self.cases = problem.rewards.count if isinstance(problem.rewards, GradedCases) else 0
        self.passes = np.rint(means * self.cases).astype(np.int64)
        self.fails = self.cases - self.passes

    def totals(self, counts: NDArray[np.int64]) -> Floats:
        """Sums of the next rewards of each arm."""
        if self.cases:
            won = self.chance.hypergeometric(self.passes, self.fails, counts)
            self.passes, self.fails = self.passes - won, self.fails - (counts - won)
            return np.asarray(won, dtype=np.float64)
        each = counts if self.means.ndim == 1 else counts[:, None]
        return np.asarray(self.chance.binomial(each, self.means), dtype=np.float64)
