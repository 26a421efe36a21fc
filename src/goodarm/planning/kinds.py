"""Plans for each kind of question: words, simulation of campaigns, and a formula for the samples."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

from goodarm.arguments import check_real, percentage
from goodarm.engine.evidence import Setup, evidence_for
from goodarm.environments._base import Environment
from goodarm.errors import InvalidValue
from goodarm.forecast import waits
from goodarm.planning.bounds import campaign_lower_bound
from goodarm.planning.guess import MeansGuess
from goodarm.planning.outlook import Outlook, Played, outlook
from goodarm.planning.under_way import boundary_of, sums_over
from goodarm.policies import Policy
from goodarm.problem import Bounded, Cases, GradedCases, Problem, Rewards
from goodarm.question import Control, Question, Threshold
from goodarm.rules.identification.gap_mixture import gap_mixture
from goodarm.simulation.simulate import simulate
from goodarm.simulation.specification import specify

Floats = NDArray[np.float64]
Progress = Callable[[int, int], None]
Setting = tuple[str, Problem]

LIMIT = 1e12
"""Maximum number of samples of a formula; more counts as never."""
SHARES = (0.5, 0.8, 0.9)
"""Shares of decided arms for which the formulas give samples."""
SAMPLED = 1000
"""Maximum number of arms that a quick plan simulates in one draw of the means; they stand in for the rest."""
SUBSTITUTIONS = 60
ROUNDS_TO_SIMULATE = 2.5e7
"""Maximum rounds per setting with a threshold, unless the budget is larger: about a minute of one core with `value`."""
FEWEST_RUNS, MOST_RUNS = 10, 60
"""Minimum number of campaigns: fewer than ten give no 90% quantile."""
GROWTH = 1.0 / 16.0
"""Size of a block in simulated live campaigns, as a share of the earlier samples."""
MANY, LIVE_RUNS, FEW_LIVE_RUNS = 50, 20, 10
"""Number of live campaigns per setting, and the number with more than 50 arms."""
DEAREST = 1e9
"""Maximum number of samples of a live campaign that is simulated without a budget."""
BOTH_SIDES = 12.0
"""Horizon without a budget, as a multiple of the samples for nine tenths of the arms with a known control."""
BEYOND = 1.75
"""Samples of simulated campaigns against a control, as a multiple of the formula. It was chosen by hand after five
settings of 7 campaigns each, with multiples from 1.58 to 1.97. Two of the five are in the tests. No separate setting
was used to confirm it."""
CONTROL_PULLS = np.exp(np.linspace(0.02, 5.0, 60))
"""Candidate sample sizes of the control, as multiples of the minimum for the hardest arm."""


class Player(ABC):
    """Simulates the settings one by one, with progress reports."""

    def __init__(
        self, guess: MeansGuess, policy: Policy, runs: int, seed: int, workers: int, progress: Progress | None
    ) -> None:
        self.guess, self.policy, self.runs, self.seed, self.workers = guess, policy, runs, seed, workers
        self.progress, self.in_all, self.ended = progress, 0, 0

    def outlooks(self, settings: Sequence[Setting], last_round: int, draws: list[Floats]) -> list[Outlook]:
        """The outlook of each setting."""
        self.in_all += len(settings) * self.runs
        return [
            outlook(words, problem, last_round, median_bound(draws, problem), *self.play(problem, last_round))
            for words, problem in settings
        ]

    @abstractmethod
    def play(self, problem: Problem, last_round: int) -> tuple[Sequence[Played], int]:
        """The simulated campaigns of one setting, and the number with a wrong verdict."""

    def report(self, ended: int) -> None:
        """Report finished campaigns."""
        self.ended += ended
        if self.progress is not None:
            self.progress(self.ended, self.in_all)


class PlannedQuestion(ABC):
    """A question about arms with assumed means.

    question    : with made-up ids for its reference arms
    bar         : the mean that an arm must reach
    knowing     : further assumption of the lower bounds, in words
    cases       : number of cases of a fixed test set; None if rewards never run out
    most_arms   : maximum number of simulated arms; None for the common limit of plans
    doubles     : whether an insufficient budget is simulated a second time, doubled
    """

    knowing: ClassVar[str] = ""
    cases: int | None = None
    most_arms: ClassVar[int | None] = None
    doubles: ClassVar[bool] = False

    @property
    @abstractmethod
    def question(self) -> Question: ...

    @property
    @abstractmethod
    def bar(self) -> float: ...

    @property
    @abstractmethod
    def words(self) -> str:
        """The bar in a sentence."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The bar in the title of a figure."""

    @property
    @abstractmethod
    def control(self) -> float | None:
        """The expected mean of the control, if there is one."""

    @property
    @abstractmethod
    def margin(self) -> float:
        """The margin over the control."""

    @abstractmethod
    def check_rewards(self, rewards: Rewards) -> None:
        """Refuse rewards for which the question can't be answered."""

    def check_arms(self, arms: int) -> None:
        """Refuse more arms than can be simulated."""
        if self.most_arms is not None and arms > self.most_arms:
            raise InvalidValue(
                f"against a {self.question.field} a plan simulates at most {self.most_arms:,} arms; got {arms:,}. "
                f"Plan for a sample, `arms={self.most_arms}`: what an arm takes grows only with the logarithm of their "
                "number."
            )

    @abstractmethod
    def policy(self, given: str | Policy, guess: MeansGuess, last_round: int, seed: int, delta: float) -> Policy:
        """The policy that campaigns are simulated with."""

    @abstractmethod
    def settings(self, guess: MeansGuess, problem: Problem) -> list[Setting]:
        """The given setting, and looser ones."""

    @abstractmethod
    def last_round(self, problem: Problem, draws: list[Floats]) -> int:
        """Last round of a simulation without a budget."""

    @abstractmethod
    def runs(self, arms: int, last_round: int) -> int:
        """Number of campaigns per setting that fit into a few seconds."""

    @abstractmethod
    def player(
        self, guess: MeansGuess, policy: Policy, runs: int, seed: int, workers: int, progress: Progress | None
    ) -> Player:
        """The simulator of campaigns."""

    @abstractmethod
    def spent(self, draws: list[Floats], problem: Problem, chance: Generator) -> Floats:
        """Samples until each of `SHARES` of the arms, the easiest first, and all of them are decided.

        draws : of the means. Returns one row per draw.
        """


@dataclass(frozen=True)
class PlannedThreshold(PlannedQuestion):
    """Means against a threshold."""

    threshold: float
    cases: int | None = None

    doubles: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_real(threshold=self.threshold)

    @property
    def rewards(self) -> Bounded:
        return Bounded() if self.cases is None else Cases(self.cases)

    def environment(self, guess: MeansGuess, threshold: float) -> Environment:
        """Arms with the means of the guess."""
        return guess.environment(threshold) if self.cases is None else guess.on_cases(threshold, self.cases)

    @property
    def question(self) -> Threshold:
        return Threshold(self.threshold)

    @property
    def bar(self) -> float:
        return self.threshold

    @property
    def words(self) -> str:
        on = "" if self.cases is None else f" of {self.cases:,} cases"
        return f"threshold {self.threshold:g}{on}"

    @property
    def title(self) -> str:
        return self.words

    @property
    def control(self) -> None:
        return None

    @property
    def margin(self) -> float:
        return 0.0

    def check_rewards(self, rewards: Rewards) -> None:
        rewards.check_threshold(self.bar)

    def policy(self, given: str | Policy, guess: MeansGuess, last_round: int, seed: int, delta: float) -> Policy:
        horizon = max(last_round, guess.arms)
        return specify(given, self.environment(guess, self.bar), horizon=horizon, seed=seed, delta=delta).policy

    def settings(self, guess: MeansGuess, problem: Problem) -> list[Setting]:
        """The given setting; twice the delta; a slightly lower and a slightly higher bar with the same means."""
        xi = problem.threshold
        step = 0.1 * min(xi, 1.0 - xi)
        if guess.gap is not None:
            step = min(step, guess.gap / 2.0)  # no arm may change sides
        lower, higher = (float(f"{value:.6g}") for value in (xi - step, xi + step))
        return [
            *_looser(problem),
            (f"threshold {lower:g}", replace(problem, threshold=lower)),
            (f"threshold {higher:g}", replace(problem, threshold=higher)),
        ]

    def last_round(self, problem: Problem, draws: list[Floats]) -> int:
        """Three times the samples for nine tenths of the arms, up to a limit; all cells of a test set."""
        patience = ROUNDS_TO_SIMULATE / FEWEST_RUNS
        if self.cases is not None:
            return int(min(problem.arms * self.cases, max(patience, problem.arms)))
        return int(max(min(3.0 * _cost(problem, draws), patience), 10.0 * problem.arms))

    def runs(self, arms: int, last_round: int) -> int:
        return int(min(max(ROUNDS_TO_SIMULATE / last_round, FEWEST_RUNS), MOST_RUNS))

    def player(
        self, guess: MeansGuess, policy: Policy, runs: int, seed: int, workers: int, progress: Progress | None
    ) -> Player:
        return SimulatedPlayer(guess, policy, runs, seed, workers, progress, question=self)

    def spent(self, draws: list[Floats], problem: Problem, chance: Generator) -> Floats:
        """By `goodarm.forecast`: draw rewards for each arm until `gap-mixture` decides."""
        arms = problem.arms
        means = np.stack([each if arms <= SAMPLED else chance.choice(each, SAMPLED, replace=False) for each in draws])
        nothing = np.zeros(means.shape[1])
        levels = np.full(nothing.size, problem.bar.budget)
        boundary = boundary_of(gap_mixture, (), problem, levels, LIMIT)
        own = np.minimum(waits(means, nothing, nothing, problem, boundary, chance, LIMIT), LIMIT)
        in_turn = np.cumsum(np.sort(own, axis=1), axis=1) * (arms / nothing.size)
        columns = [in_turn[:, many - 1] for many in _counts(nothing.size)[:-1]]
        return np.stack([*columns, np.minimum(sums_over(own, arms, chance), LIMIT)], axis=1)


@dataclass(frozen=True)
class PlannedControl(PlannedQuestion):
    """Arms against a control's expected mean plus a margin. The lower bounds assume a known control."""

    mean: float
    by: float

    knowing: ClassVar[str] = ", even if it knows the mean of the control"
    most_arms: ClassVar[int | None] = 1000

    def __post_init__(self) -> None:
        check_real(control=self.mean, margin=self.by)
        if not (0.0 < self.mean < 1.0 and 0.0 < self.mean + self.by < 1.0):
            raise InvalidValue(
                "the control's mean, and that plus the margin, must lie strictly between 0 and 1; got "
                f"control={self.mean:g}, margin={self.by:g}."
            )

    @property
    def question(self) -> Control:
        return Control("control", self.by)

    @property
    def bar(self) -> float:
        return float(f"{self.mean + self.by:.12g}")

    @property
    def words(self) -> str:
        return f"against a control of mean {self.mean:g} by a margin of {self.by:g}"

    @property
    def title(self) -> str:
        return f"control {self.mean:g}, margin {self.by:g}"

    @property
    def control(self) -> float:
        return self.mean

    @property
    def margin(self) -> float:
        return self.by

    def check_rewards(self, rewards: Rewards) -> None:
        if not isinstance(rewards, Bounded):
            raise InvalidValue(f"against a control, rewards lie between 0 and 1; got {rewards}.")

    def policy(self, given: str | Policy, guess: MeansGuess, last_round: int, seed: int, delta: float) -> Policy:
        evidence = evidence_for(self.question)
        made = evidence.policy(given, Bounded(), None)
        evidence.check(made, self.question.problem(guess.arms, delta, Bounded()))
        return made

    def settings(self, guess: MeansGuess, problem: Problem) -> list[Setting]:
        return _looser(problem)

    def last_round(self, problem: Problem, draws: list[Floats]) -> int:
        return int(min(BOTH_SIDES * _cost(problem, draws), DEAREST))

    def runs(self, arms: int, last_round: int) -> int:
        return LIVE_RUNS if arms <= MANY else FEW_LIVE_RUNS

    def player(
        self, guess: MeansGuess, policy: Policy, runs: int, seed: int, workers: int, progress: Progress | None
    ) -> Player:
        return LivePlayer(guess, policy, runs, seed, workers, progress, question=self.question, references=[self.mean])

    def spent(self, draws: list[Floats], problem: Problem, chance: Generator) -> Floats:
        """An arm of mean mu, n samples and variance v, with N samples of the control (variance w), is decided when
            (mu - control - margin)^2 / (2 (v/n + w/N)) >= E.
        N is common to all arms. The N with the smallest sum is used, times `BEYOND` for overhead.
        """
        return np.array([self._spent(means, problem) for means in draws])

    def _spent(self, means: Floats, problem: Problem) -> list[float]:
        means = means[np.argsort(-np.abs(means - self.bar))]
        wanted = (means - self.bar) ** 2 / (2.0 * evidence_needed(problem))
        spread, of_control = means * (1.0 - means), self.mean * (1.0 - self.mean)
        return [_least(wanted[:many], spread[:many], of_control) for many in _counts(means.size)]


def planned_question(
    threshold: float | str | None, control: float | None, margin: float, cases: int | None = None
) -> PlannedQuestion:
    """The planned question: a threshold, or a control with its expected mean and margin."""
    if control is not None and threshold is not None:
        raise InvalidValue(
            "give `threshold`, or `control` with its `margin`, not both: leave `threshold` out to compare arms with "
            "the control."
        )
    if control is not None:
        if cases is not None:
            raise InvalidValue(
                f"no plan can be made against a control on {cases} cases: how many samples it takes depends on how "
                "often arm and control differ on the same case. Give a threshold, or leave `cases` out."
            )
        return PlannedControl(control, margin)
    if threshold is None or margin:
        raise InvalidValue(
            "give the bar that a good arm's mean reaches, `threshold`, or the mean of a control, `control`, with its "
            "`margin`."
        )
    return PlannedThreshold(percentage(threshold), cases)


class SimulatedPlayer(Player):
    """Campaigns with immediate rewards, by `goodarm.simulate`."""

    def __init__(self, *settings: Any, question: PlannedThreshold) -> None:
        super().__init__(*settings)
        self.question = question

    def play(self, problem: Problem, last_round: int) -> tuple[Sequence[Played], int]:
        played = simulate(
            self.policy,
            self.question.environment(self.guess, problem.threshold),
            horizon=last_round,
            runs=self.runs,
            seed=self.seed,
            delta=problem.delta,
            workers=self.workers,
            progress=self.report,
        )
        return played.runs, played.wrong_runs


class SimulatedCampaign(NamedTuple):
    """One simulated campaign, without its reference arms."""

    rounds: int
    open_arms: int
    verdicts: NDArray[np.int8]
    verdict_rounds: NDArray[np.int64]
    means: NDArray[np.float64]


class LivePlayer(Player):
    """Campaigns played by the question's live step, in blocks of a sixteenth of the samples before.

    All rewards of a block are told together. The reference arms have the means `references`.
    """

    def __init__(self, *settings: Any, question: Question, references: Sequence[float]) -> None:
        super().__init__(*settings)
        self.question, self.references = question, references

    def play(self, problem: Problem, last_round: int) -> tuple[Sequence[Played], int]:
        found, wrong = [], 0
        for run in range(self.runs):
            each = self._campaign(problem, last_round, default_rng((self.seed, run)))
            right = np.where(each.means >= problem.threshold, 1, -1)
            wrong += bool(((each.verdicts != 0) & (each.verdicts != right)).any())
            found.append(each)
            self.report(1)
        return found, wrong

    def _campaign(self, problem: Problem, last_round: int, chance: Generator) -> SimulatedCampaign:
        """Play blocks until every arm is decided or the last round is reached."""
        means, arms = self.guess.draw(chance), problem.arms
        seen = self.question.problem(arms, problem.delta, problem.rewards)
        ids = [*map(str, range(arms)), *self.question.references]
        step = evidence_for(self.question).step(Setup(self.policy, seen, ids, seed=self.seed))
        rates, rounds, at = np.append(means, self.references), 0, np.zeros(arms, dtype=np.int64)
        while rounds < last_round:
            counts = step.choose_block(min(max(1, int(GROWTH * rounds)), last_round - rounds))
            if not counts.any():
                break
            rounds += int(counts.sum())
            at[step.absorb_block(counts, chance.binomial(counts, rates).astype(np.float64))] = rounds
        verdicts = np.array([step.row(arm).verdict for arm in range(arms)], dtype=np.int8)
        return SimulatedCampaign(rounds, int((verdicts == 0).sum()), verdicts, at, means)


def median_bound(draws: list[Floats], problem: Problem) -> float:
    """The lower bound on the rounds of a campaign: its median over draws of the means; 0 on a fixed test set.

    The bound is for unlimited rewards. Drawing each case at most once needs fewer samples, and we know no bound for it.
    """
    if isinstance(problem.rewards, GradedCases):
        return 0.0
    return float(np.median([campaign_lower_bound(means, problem) for means in draws]))


def evidence_needed(problem: Problem) -> float:
    """E with E - log(1 + 2 E)/2 = log(K/delta); repeated substitution shrinks the error by 1/(1 + 2 E) each time."""
    needed = evidence = math.log(problem.arms / problem.delta)
    for _ in range(SUBSTITUTIONS):
        evidence = needed + 0.5 * math.log1p(2.0 * evidence)
    return evidence


def _looser(problem: Problem) -> list[Setting]:
    """The given setting, and twice the delta."""
    delta = min(2.0 * problem.delta, 0.5 + 0.5 * problem.delta)
    return [("as asked", problem), (f"delta {delta:g}", replace(problem, delta=delta))]


def _cost(problem: Problem, draws: list[Floats]) -> float:
    """Samples for the evidence on the easiest nine tenths of the arms."""
    divergence, needed = problem.rewards.divergence, math.log(problem.arms / problem.delta)
    information = np.sort([divergence(float(mean), problem.threshold) for mean in draws[0]])
    cheaper = information[information.size // 10 :]
    return float(np.sum(needed / np.maximum(cheaper, 1e-300)))


def _counts(arms: int) -> list[int]:
    return [math.ceil(share * arms) for share in (*SHARES, 1.0)]


def _least(wanted: Floats, spread: Floats, of_control: float) -> float:
    if not wanted[-1] > of_control / LIMIT:
        return LIMIT
    tried = CONTROL_PULLS * (of_control / wanted[-1])
    pulls = spread / (wanted - of_control / tried[:, None])
    return float(min(BEYOND * np.min(tried + np.ceil(pulls).sum(axis=1)), LIMIT))
