"""Plans for each kind of question: words, simulation of campaigns, and a formula for the samples."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from goodarm.arguments import check_real, percentage
from goodarm.engine.evidence import evidence_for
from goodarm.engine.live.checks import check_costs
from goodarm.environments._base import Environment
from goodarm.environments.columns import Source
from goodarm.errors import InvalidValue
from goodarm.forecast import kl, waits
from goodarm.numerics import bernoulli_kl
from goodarm.planning.bounds import pulls_lower_bounds
from goodarm.planning.costs import Prices
from goodarm.planning.guess import MeansGuess, PerMetric, around, guess_means, guess_metrics
from goodarm.planning.players import Campaigns, LivePlayer, Player, Setting, SimulatedPlayer
from goodarm.planning.under_way import boundary_of
from goodarm.policies import DEFAULT_POLICY, LIVE_POLICY, Policy
from goodarm.problem import Bounded, Cases, GradedCases, Problem, Rewards
from goodarm.question import (
    PLAN,
    Bars,
    Control,
    Question,
    QuestionGiven,
    Threshold,
    kind_of,
    registered,
    told_of,
    whole,
)
from goodarm.rules.identification import EvidenceRule
from goodarm.rules.identification.gap_mixture import gap_mixture
from goodarm.simulation.specification import specify

Floats = NDArray[np.float64]

LIMIT = 1e12
"""Maximum number of samples in the formulas; larger numbers count as never."""
SHARES = (0.5, 0.8, 0.9)
"""Shares of decided arms for which the formulas give samples."""
SAMPLED = 1000
"""Maximum number of arms that a quick plan simulates in one draw of the means; they represent the rest."""
SUBSTITUTIONS = 60
ROUNDS_TO_SIMULATE = 2.5e7
"""Maximum rounds per setting with a threshold, unless the budget is larger: about a minute of one core with `value`."""
FEWEST_RUNS, MOST_RUNS = 10, 60
"""Minimum number of campaigns: a 90% quantile needs at least ten."""
MANY, LIVE_RUNS, FEW_LIVE_RUNS = 50, 20, 10
"""Number of live campaigns per setting, and the number with more than 50 arms."""
DEAREST = 1e9
"""Maximum number of samples of a live campaign that is simulated without a budget."""
BOTH_SIDES = 12.0
"""Horizon without a budget, as a multiple of the samples for nine tenths of the arms with a known control."""
OF_BARS = 6.0
"""Horizon without a budget with several bars, as a multiple of the evidence of nine tenths of the arms."""
BEYOND = 1.75
"""Samples of simulated campaigns against a control, as a multiple of the formula. It was chosen by hand after five
settings of 7 campaigns each, with multiples from 1.58 to 1.97. Two of the five are in the tests. No separate setting
was used to confirm it."""
CONTROL_PULLS = np.exp(np.linspace(0.02, 5.0, 60))
"""Candidate sample sizes of the control, as multiples of the minimum for the hardest arm."""


@dataclass(frozen=True)
class PlannedQuestion(ABC):
    """A question about arms with assumed means.

    question    : with placeholder ids for its reference arms
    cases       : number of cases of a fixed test set; None if rewards never run out
    control     : the expected mean of the control, if there is one
    bar         : the mean that an arm must reach; with several bars 0, for the smallest distance from a bar
    bar_words   : the bar as part of a sentence
    about       : plan fields specific to this kind
    knowing     : further assumption of the lower bounds, in words
    most_arms   : maximum number of simulated arms; None for the common limit of plans
    doubles     : whether an insufficient budget is simulated a second time, doubled
    """

    question: Question
    cases: int | None = None
    control: float | None = None

    bar_words: ClassVar[str] = "its bar"
    about: ClassVar[tuple[str, ...]] = ()
    knowing: ClassVar[str] = ""
    most_arms: ClassVar[int | None] = None
    doubles: ClassVar[bool] = False

    @classmethod
    def of(cls, kind: type[Question], given: Mapping[str, Any], cases: int | None) -> Self:
        """The planned question of these arguments."""
        return cls(kind.of(given), cases)

    @property
    def bar(self) -> float:
        return self.question.bar

    @property
    def threshold(self) -> float | None:
        """The mean that an arm must reach, if it is one number."""
        return self.bar

    @property
    def bars(self) -> list[dict[str, Any]]:
        """The bar of each metric if there are several bars."""
        return []

    @property
    def margin(self) -> float:
        """The margin over the control; 0 without one."""
        return 0.0

    @property
    def words(self) -> str:
        """The question in a sentence."""
        return self.question.setting

    @abstractmethod
    def check_rewards(self, rewards: Rewards) -> None:
        """Refuse rewards for which the question can't be answered."""

    def check_arms(self, arms: int) -> None:
        """Refuse more arms than can be simulated."""
        if self.most_arms is not None and arms > self.most_arms:
            raise InvalidValue(
                f"a plan with {self.question.field} simulates at most {self.most_arms:,} arms; got {arms:,}. "
                f"Plan for a sample, `arms={self.most_arms}`: the samples per arm grow only with the logarithm of the "
                "number."
            )

    def problem(self, arms: int, delta: float, rewards: Rewards) -> Problem:
        """The problem of the bounds and formulas: means against one number."""
        return Problem(threshold=self.bar, arms=arms, delta=delta, rewards=rewards)

    def guess(
        self, arms: int | None, gap: PerMetric | None, means: Source | None, prior: PerMetric | None
    ) -> MeansGuess:
        """The given guess at the means."""
        for name, value in (("gap", gap), ("prior", prior)):
            if isinstance(value, Mapping):
                raise InvalidValue(f"a {name} per metric requires several bars; got {value!r}. Give a single {name}.")
        return guess_means(self.bar, arms, gap=gap, means=means, prior=prior, bar_words=self.bar_words)  # type: ignore[arg-type]  # one value

    def around(self) -> PerMetric:
        """A prior around the bar, for plans without a guess."""
        return around(self.bar)

    # Information for players: `goodarm.planning.players.Planned`

    def asked(self, problem: Problem) -> Question:
        """The question in this setting."""
        return self.question

    def level(self, problem: Problem) -> float:
        """The smallest estimate of a good arm in this setting."""
        return problem.threshold

    def estimates(self, means: Floats) -> Floats:
        """The number of each arm that is compared with `level`, from its true means."""
        return means

    def with_references(self, means: Floats) -> Floats:
        """These means, followed by those of the reference arms."""
        return means

    # Bounds

    def pulls_bounds(self, means: Floats, problem: Problem) -> Floats:
        """Pulls of each arm that every policy needs on average (`goodarm.planning.bounds`)."""
        return pulls_lower_bounds(means, problem)

    def information(self, means: Floats, problem: Problem) -> Floats:
        """Expected information of one pull of each arm about whether it lies above or below the bar."""
        return np.array([problem.rewards.divergence(float(mean), problem.threshold) for mean in means])

    def median_bound(self, draws: list[Floats], problem: Problem, prices: Floats | None = None) -> float:
        """The lower bound on the rounds of a campaign: its median over draws of the means; 0 on a fixed test set.

        The bound is for unlimited rewards. Drawing each case at most once needs fewer samples, and no bound for it is
        known.

        prices : cost of a pull of each arm; then the bound is in money
        """
        if isinstance(problem.rewards, GradedCases):
            return 0.0
        each = np.ones(problem.arms) if prices is None else prices
        bounds = [float((each * self.pulls_bounds(means, problem)).sum()) for means in draws]
        return float(np.median(np.maximum(bounds, each.sum())))

    def _samples(self, problem: Problem, draws: list[Floats]) -> float:
        """Samples until the easiest nine tenths of the arms have enough evidence."""
        information, needed = np.sort(self.information(draws[0], problem)), math.log(problem.arms / problem.delta)
        cheaper = information[information.size // 10 :]
        return float(np.sum(needed / np.maximum(cheaper, 1e-300)))

    # Simulation

    @abstractmethod
    def policy(
        self, given: str | Policy, guess: MeansGuess, prices: Prices, last_round: int, seed: int, delta: float
    ) -> Policy:
        """The policy of the simulated campaigns."""

    def settings(self, guess: MeansGuess, problem: Problem) -> list[Setting]:
        """The given setting and looser ones; by default one with twice the delta."""
        delta = min(2.0 * problem.delta, 0.5 + 0.5 * problem.delta)
        return [("as asked", problem), (f"delta {delta:g}", replace(problem, delta=delta))]

    @abstractmethod
    def last_round(self, problem: Problem, draws: list[Floats]) -> int:
        """Last round of a simulation without a budget."""

    def runs(self, arms: int, last_round: int, prices: Prices) -> int:
        """Number of campaigns per setting that fit into a few seconds."""
        return LIVE_RUNS if arms <= MANY else FEW_LIVE_RUNS

    def player(self, campaigns: Campaigns) -> Player:
        """The simulator of campaigns."""
        return LivePlayer(self, campaigns)

    @abstractmethod
    def spent(self, draws: list[Floats], problem: Problem, prices: Prices, chance: Generator) -> tuple[Floats, Floats]:
        """Samples and money until each of `SHARES` of the arms, the cheapest first, and all of them are decided.

        draws : draws of the means. Returns one row per draw. Money equals samples if only samples are counted.
        """


@dataclass(frozen=True)
class PlannedThreshold(PlannedQuestion):
    """Means against one number."""

    bar_words: ClassVar[str] = "the threshold"
    doubles: ClassVar[bool] = True

    @property
    def rewards(self) -> Bounded:
        return Bounded() if self.cases is None else Cases(self.cases)

    def environment(self, guess: MeansGuess, threshold: float) -> Environment:
        """Arms with the means of the guess."""
        return guess.environment(threshold) if self.cases is None else guess.on_cases(threshold, self.cases)

    @property
    def words(self) -> str:
        on = "" if self.cases is None else f" of {self.cases:,} cases"
        return self.question.setting + on

    def check_rewards(self, rewards: Rewards) -> None:
        if not isinstance(rewards, Bounded):
            self.question.check_percentages(rewards)
        rewards.check_threshold(self.bar)

    def asked(self, problem: Problem) -> Question:
        return Threshold(problem.threshold)

    def estimates(self, means: Floats) -> Floats:
        return means if self.cases is None else np.round(means * self.cases) / self.cases

    def policy(
        self, given: str | Policy, guess: MeansGuess, prices: Prices, last_round: int, seed: int, delta: float
    ) -> Policy:
        if prices.each:
            made = _live_policy(self.question, given, prices, self.problem(guess.arms, delta, self.rewards))
            rule = made.identification
            if made.model is not None or not (isinstance(rule, EvidenceRule) and rule.by_totals):
                raise InvalidValue(
                    f"a plan with costs per arm needs a rule by totals, without a model of the arms; got {made.name}. "
                    "Use 'value+gap-mixture', or simulate with `goodarm.simulate(..., cost=...)`."
                )
            return made
        horizon = max(last_round, guess.arms)
        return specify(given, self.environment(guess, self.bar), horizon=horizon, seed=seed, delta=delta).policy

    def settings(self, guess: MeansGuess, problem: Problem) -> list[Setting]:
        """The given setting; twice the delta; and a slightly lower and a slightly higher bar with the same means."""
        xi = problem.threshold
        step = 0.1 * min(xi, 1.0 - xi)
        if guess.gap is not None:
            step = min(step, guess.gap / 2.0)  # no arm may change sides
        lower, higher = (float(f"{value:.6g}") for value in (xi - step, xi + step))
        return [
            *super().settings(guess, problem),
            (f"threshold {lower:g}", replace(problem, threshold=lower)),
            (f"threshold {higher:g}", replace(problem, threshold=higher)),
        ]

    def last_round(self, problem: Problem, draws: list[Floats]) -> int:
        """Three times the samples for nine tenths of the arms, up to a limit; all cells of a test set."""
        patience = ROUNDS_TO_SIMULATE / FEWEST_RUNS
        if self.cases is not None:
            return int(min(problem.arms * self.cases, max(patience, problem.arms)))
        return int(max(min(3.0 * self._samples(problem, draws), patience), 10.0 * problem.arms))

    def runs(self, arms: int, last_round: int, prices: Prices) -> int:
        if prices.each:
            return super().runs(arms, last_round, prices)
        return int(min(max(ROUNDS_TO_SIMULATE / last_round, FEWEST_RUNS), MOST_RUNS))

    def player(self, campaigns: Campaigns) -> Player:
        if campaigns.prices.each:
            return super().player(campaigns)
        return SimulatedPlayer(self, campaigns, self.environment)

    def spent(self, draws: list[Floats], problem: Problem, prices: Prices, chance: Generator) -> tuple[Floats, Floats]:
        """By `goodarm.forecast`: draw rewards for each arm until `gap-mixture` decides."""
        means, each = _sampled(draws, prices, problem.arms, chance)
        nothing = np.zeros(means.shape[1])
        levels = np.full(nothing.size, problem.bar.budget)
        boundary = boundary_of(gap_mixture, (), problem, levels, LIMIT)
        own = np.minimum(waits(means, nothing, nothing, problem, boundary, chance, LIMIT), LIMIT)
        return _in_turn(own, each, problem.arms, chance)


@dataclass(frozen=True)
class PlannedControl(PlannedQuestion):
    """Arms against a control's expected mean plus a margin. The lower bounds assume a known control."""

    question: Control

    bar_words: ClassVar[str] = "the control's mean plus the margin"
    about: ClassVar[tuple[str, ...]] = ("control", "margin")
    knowing: ClassVar[str] = ", even if it knows the mean of the control"
    most_arms: ClassVar[int | None] = 1000

    def __post_init__(self) -> None:
        if self.cases is not None:
            raise InvalidValue(
                f"no plan can be made against a control on {self.cases} cases: how many samples it takes depends on "
                "how often arm and control differ on the same case. Give a threshold, or leave `cases` out."
            )
        if self.control is None:
            raise InvalidValue(
                "a plan against a control needs the control's expected mean: give `control=0.3` and `margin=0.01` in "
                "place of a whole question."
            )
        check_real(control=self.control)
        if not (0.0 < self.control < 1.0 and 0.0 < self.control + self.question.margin < 1.0):
            raise InvalidValue(
                "the control's mean, and that plus the margin, must lie strictly between 0 and 1; got "
                f"control={self.control:g}, margin={self.question.margin:g}."
            )

    @classmethod
    def of(cls, kind: type[Question], given: Mapping[str, Any], cases: int | None) -> Self:
        question = Control.of({**given, "control": "control"})
        question.check_range()
        return cls(question, cases, percentage(given["control"]))

    @property
    def mean(self) -> float:
        """The expected mean of the control."""
        assert self.control is not None
        return self.control

    @property
    def bar(self) -> float:
        return float(f"{self.mean + self.question.margin:.12g}")

    @property
    def margin(self) -> float:
        return self.question.margin

    @property
    def words(self) -> str:
        return f"against a control of mean {self.control:g} by a margin of {self.question.margin:g}"

    def check_rewards(self, rewards: Rewards) -> None:
        if not isinstance(rewards, Bounded):
            raise InvalidValue(f"against a control, rewards lie between 0 and 1; got {rewards}.")

    def with_references(self, means: Floats) -> Floats:
        return np.append(means, self.mean)

    def policy(
        self, given: str | Policy, guess: MeansGuess, prices: Prices, last_round: int, seed: int, delta: float
    ) -> Policy:
        return _live_policy(self.question, given, prices, self.problem(guess.arms, delta, Bounded()))

    def last_round(self, problem: Problem, draws: list[Floats]) -> int:
        return int(min(BOTH_SIDES * self._samples(problem, draws), DEAREST))

    def spent(self, draws: list[Floats], problem: Problem, prices: Prices, chance: Generator) -> tuple[Floats, Floats]:
        """An arm of mean mu, n samples and variance v, with N samples of the control (variance w), is decided when
            (mu - control - margin)^2 / (2 (v/n + w/N)) >= E.
        N is common to all arms. The formula uses the N with the smallest total cost, times `BEYOND` for overhead.
        """
        found = np.array([self._spent(means, problem, prices) for means in draws])
        return found[:, 0], found[:, 1]

    def _spent(self, means: Floats, problem: Problem, prices: Prices) -> list[list[float]]:
        each = prices.of_arms(means.size)
        of_reference = float(next(iter(prices.of_references(means.size)), prices.equal or 1.0))
        order = np.argsort(-np.abs(means - self.bar) / np.sqrt(each), kind="stable")
        means, each = means[order], each[order]
        wanted = (means - self.bar) ** 2 / (2.0 * evidence_needed(problem))
        spread, of_control = means * (1.0 - means), self.mean * (1.0 - self.mean)
        found = [
            _least(wanted[:many], spread[:many], of_control, each[:many], of_reference) for many in _counts(means.size)
        ]
        return [[samples for samples, _ in found], [money for _, money in found]]


@dataclass(frozen=True)
class PlannedBars(PlannedQuestion):
    """Means of several metrics, each against its bar. Simulated metrics are independent of each other.

    Lower bounds: a good arm with means mu_j must be distinguished from arms with one metric on the other side of its
                  bar b_j, so one pull gives information of at most min_j d(mu_j, b_j). A bad arm must be distinguished
                  from arms that clear every bar and thus differ in all failing metrics F: sum over F of d(mu_j, b_j).
                  Lemma 1 of Kaufmann, Cappe and Garivier (2016) then applies as for one bar.
    """

    question: Bars

    about: ClassVar[tuple[str, ...]] = ("bars",)
    knowing: ClassVar[str] = ", if the metrics are independent"
    most_arms: ClassVar[int | None] = 1000
    doubles: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.cases is not None:
            raise InvalidValue(
                f"several bars are for rewards that never run out; got cases={self.cases}. Leave `cases` out, or plan "
                "for one bar."
            )

    @property
    def threshold(self) -> None:
        return None

    @property
    def bars(self) -> list[dict[str, Any]]:
        return [metric.as_json() for metric in self.question.metrics]

    def check_rewards(self, rewards: Rewards) -> None:
        if type(rewards) is not Bounded:
            raise InvalidValue(f"with several bars, each metric lies between 0 and 1; got {rewards}.")

    def problem(self, arms: int, delta: float, rewards: Rewards) -> Problem:
        return self.question.problem(arms, delta, rewards)

    def guess(
        self, arms: int | None, gap: PerMetric | None, means: Source | None, prior: PerMetric | None
    ) -> MeansGuess:
        return guess_metrics(self.question, arms, gap, means, prior)

    def around(self) -> PerMetric:
        return {metric.name: around(metric.bar) for metric in self.question.metrics}

    def level(self, problem: Problem) -> float:
        return self.bar

    def distances(self, means: Floats) -> Floats:
        """Distance of each mean from its bar, positive where it clears it; same shape as `means`."""
        each = [metric.turned(means[..., j]) - metric.threshold for j, metric in enumerate(self.question.metrics)]
        return np.stack(each, axis=-1)

    def estimates(self, means: Floats) -> Floats:
        return np.asarray(self.distances(means).min(axis=-1))

    def information(self, means: Floats, problem: Problem) -> Floats:
        each = np.stack([kl(means[:, j], metric.bar) for j, metric in enumerate(self.question.metrics)], axis=1)
        fails = self.distances(means) < 0.0
        found: Floats = np.where(fails.any(axis=1), np.where(fails, each, 0.0).sum(axis=1), each.min(axis=1))
        return found

    def pulls_bounds(self, means: Floats, problem: Problem) -> Floats:
        if problem.delta >= 0.5:
            return np.zeros(len(means))
        with np.errstate(divide="ignore"):
            bounds = bernoulli_kl(problem.delta, 1.0 - problem.delta) / self.information(means, problem)
        return np.asarray(bounds)

    def policy(
        self, given: str | Policy, guess: MeansGuess, prices: Prices, last_round: int, seed: int, delta: float
    ) -> Policy:
        return _live_policy(self.question, given, prices, self.problem(guess.arms, delta, Bounded()))

    def last_round(self, problem: Problem, draws: list[Floats]) -> int:
        return int(max(min(OF_BARS * self._samples(problem, draws), DEAREST), 10.0 * problem.arms))

    def spent(self, draws: list[Floats], problem: Problem, prices: Prices, chance: Generator) -> tuple[Floats, Floats]:
        """By `goodarm.forecast` for each metric: a good arm waits for its last metric, a bad one for its first.

        E_good = min_j E+_j, and E_bad = mean_j E-_j, which is nearly the largest E-_j divided by the number of metrics
        (`goodarm.engine.live.bars`).
        """
        means, each = _sampled(draws, prices, problem.arms, chance)
        clears, nothing = self.distances(means) >= 0.0, np.zeros(means.shape[0] * means.shape[1])
        own = np.empty(means.shape)
        for j, metric in enumerate(self.question.metrics):
            levels = problem.bar.budget + np.where(clears[..., j], 0.0, math.log(len(self.question.metrics))).ravel()
            alone = replace(problem, threshold=metric.threshold)
            boundary = boundary_of(gap_mixture, (), alone, levels, LIMIT)
            turned = np.asarray(metric.turned(means[..., j])).reshape(1, -1)
            found = waits(turned, nothing, nothing, alone, boundary, chance, LIMIT)
            own[..., j] = np.minimum(found, LIMIT).reshape(own.shape[:2])
        bad = np.where(clears, math.inf, own).min(axis=2)
        return _in_turn(np.where(clears.all(axis=2), own.max(axis=2), bad), each, problem.arms, chance)


PLANS: dict[type[Question], type[PlannedQuestion]] = {
    Threshold: PlannedThreshold,
    Control: PlannedControl,
    Bars: PlannedBars,
}


def planned_question(question: QuestionGiven | None = None, cases: int | None = None, **given: Any) -> PlannedQuestion:
    """The planned question: that of these arguments, or a whole one.

    given : as `goodarm.question.asked`; a control by its expected mean

    >>> planned_question(threshold=0.02).words, planned_question(control=0.3, margin=0.02).words
    ('threshold 0.02', 'against a control of mean 0.3 by a margin of 0.02')
    """
    told = told_of(given)
    if question is None:
        kind = kind_of(told, PLAN)
        return _plan_of(kind).of(kind, told, cases)
    asked = whole(question, told)
    return _plan_of(type(asked))(asked, cases)


def _plan_of(kind: type[Question]) -> type[PlannedQuestion]:
    return registered(PLANS, kind, "plan in `goodarm.planning.kinds.PLANS`")


def _live_policy(question: Question, given: str | Policy, prices: Prices, problem: Problem) -> Policy:
    """The policy of a live campaign with this question, checked; the default is that of live campaigns."""
    evidence = evidence_for(question, problem.rewards)
    made = evidence.policy(LIVE_POLICY if given == DEFAULT_POLICY else given, problem.rewards, None)
    evidence.check_simulated(made, question.problem(problem.arms, problem.delta, problem.rewards))
    check_costs(made, prices.each, None)
    return made


def _sampled(draws: list[Floats], prices: Prices, arms: int, chance: Generator) -> tuple[Floats, Floats]:
    """Means of all arms, or of a sample of them in each draw, and their prices; shape (draws, arms simulated, ...)."""
    each = prices.of_arms(arms)
    if arms <= SAMPLED:
        return np.stack(draws), np.broadcast_to(each, (len(draws), arms))
    which = [chance.choice(arms, SAMPLED, replace=False) for _ in draws]
    means = np.stack([draw[some] for draw, some in zip(draws, which, strict=True)])
    return means, np.stack([each[some] for some in which])


def _in_turn(own: Floats, prices: Floats, arms: int, chance: Generator) -> tuple[Floats, Floats]:
    """Samples and money until shares of the arms are decided, the cheapest first, from the samples of each arm.

    own : samples of each simulated arm, shape (draws, arms simulated); they represent `arms` arms
    """
    draws, simulated = own.shape
    order = np.argsort(own * prices, axis=1, kind="stable")
    others = None if simulated == arms else chance.integers(simulated, size=(draws, arms))
    found = []
    for each in (own, own * prices):
        sums = np.cumsum(np.take_along_axis(each, order, axis=1), axis=1) * (arms / simulated)
        columns = [sums[:, many - 1] for many in _counts(simulated)[:-1]]
        ends = (each if others is None else np.take_along_axis(each, others, axis=1)).sum(axis=1)
        found.append(np.minimum(np.stack([*columns, ends], axis=1), LIMIT))
    return found[0], found[1]


def evidence_needed(problem: Problem) -> float:
    """E with E - log(1 + 2 E)/2 = log(K/delta); repeated substitution shrinks the error by 1/(1 + 2 E) each time."""
    needed = evidence = math.log(problem.arms / problem.delta)
    for _ in range(SUBSTITUTIONS):
        evidence = needed + 0.5 * math.log1p(2.0 * evidence)
    return evidence


def _counts(arms: int) -> list[int]:
    return [math.ceil(share * arms) for share in (*SHARES, 1.0)]


def _least(
    wanted: Floats, spread: Floats, of_control: float, prices: Floats, of_reference: float
) -> tuple[float, float]:
    """Samples and money of the cheapest number of the control's samples."""
    if not wanted.min() > of_control / LIMIT:
        return LIMIT, LIMIT
    tried = CONTROL_PULLS * (of_control / wanted.min())
    pulls = np.ceil(spread / (wanted - of_control / tried[:, None]))
    money = of_reference * tried + pulls @ prices
    best = int(np.argmin(money))
    samples = float(tried[best] + pulls[best].sum())
    return min(BEYOND * samples, LIMIT), min(BEYOND * float(money[best]), LIMIT)
