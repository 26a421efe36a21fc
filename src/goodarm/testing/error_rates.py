"""Test that error rates are at most delta: exact tests of many runs, and the smallest excess that they detect."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from goodarm.environments import Environment, bernoulli, beta, gaussian
from goodarm.errors import InvalidValue
from goodarm.numerics import bernoulli_kl, binomial_tail
from goodarm.policies import Policy, policy
from goodarm.problem import Bar, Bounded, Gaussian
from goodarm.rules.beliefs import FOR_BAD, FOR_GOOD, MEAN, PULLS, Pool, Table, is_open
from goodarm.rules.identification import EvidenceRule, IdentificationRule
from goodarm.rules.sampling import ChoiceRule
from goodarm.simulation.run import play_runs
from goodarm.simulation.runs import Runs
from goodarm.simulation.specification import Specification
from goodarm.testing.checks import require
from goodarm.verdict import Criterion, Verdict

ERROR_LEVEL = 2e-9
"""Probability that a test of an error rate gives a false alarm."""
LAW_LEVEL = 1e-9
"""Probability that a test of a distribution (of a reward, or of an exact sampler) gives a false alarm."""


@dataclass(frozen=True)
class Trial:
    """Settings for the test of an error rate. `level` is the probability of a false alarm of one test."""

    level: float = ERROR_LEVEL
    runs: int = 3000
    horizon: int = 800
    delta: float = 0.1
    seed: int = 0

    @property
    def critical(self) -> int:
        """The fewest wrong runs at which the test fails: P(X >= critical) <= level for X ~ Binomial(runs, delta)."""
        low, high = 0, self.runs + 1
        while low < high:
            middle = (low + high) // 2
            if binomial_tail(middle, self.runs, self.delta) <= self.level:
                high = middle
            else:
                low = middle + 1
        return low

    def detectable(self, power: float = 0.9) -> float:
        """The smallest true error rate that fails the test with probability `power`.

        >>> round(Trial().detectable(), 3)
        0.142
        """
        low, high = self.delta, 1.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            if binomial_tail(self.critical, self.runs, middle) < power:
                low = middle
            else:
                high = middle
        return high


def play_adversary(rule: IdentificationRule, instance: HardInstance, trial: Trial, criterion: Criterion) -> Runs:
    """The runs of a trial: the rule under the worst sampling for it."""
    made = adversarial(rule, instance, criterion)
    problem = instance.environment.problem(trial.delta)
    spec = Specification(made, instance.environment, problem, trial.horizon, trial.seed)
    return Runs(spec, tuple(play_runs(spec, range(trial.runs))))


def wrong_runs(rule: IdentificationRule, instance: HardInstance, trial: Trial) -> int:
    """Runs with at least one wrong verdict."""
    return play_adversary(rule, instance, trial, Criterion.FWER).wrong_runs


def require_error_rate(rule: IdentificationRule, instance: HardInstance, trial: Trial) -> None:
    """P(any wrong verdict in a run) <= delta, by an exact binomial test."""
    require_few(wrong_runs(rule, instance, trial), trial, f"{rule.name} on {instance}")


def require_few(wrong: int, trial: Trial, where: str) -> None:
    """Raise a `Violation` if this many wrong runs are too unlikely at an error rate of delta."""
    require(
        wrong < trial.critical,
        f"{where}: {wrong} of {trial.runs} runs have a wrong verdict; at an error rate of {trial.delta} that has "
        f"probability {binomial_tail(wrong, trial.runs, trial.delta):.2g}",
    )


def false_discovery_shares(runs: Runs, verdict: Verdict) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """For each run, the share of wrong verdicts among the arms with this verdict; 0 if there are none."""
    threshold = runs.spec.problem.threshold
    shares = []
    for run in runs.runs:
        called = run.verdicts == verdict
        wrong = called & ((run.means < threshold) if verdict is Verdict.GOOD else (run.means >= threshold))
        shares.append(wrong.sum() / max(1, called.sum()))
    return np.array(shares)


def mean_share_p_value(mean: float, runs: int, delta: float) -> float:
    """A bound on P(the mean of `runs` shares is at least `mean`) when each has expectation at most delta.

    exp(-R kl(mean, delta)): the Chernoff bound, valid for any numbers in [0, 1] (Hoeffding 1963, Theorem 1).

    >>> mean_share_p_value(0.1, 1000, 0.1)
    1.0
    >>> round(mean_share_p_value(0.15, 1000, 0.1), 7)
    4.9e-06
    """
    return 1.0 if mean <= delta else math.exp(-runs * bernoulli_kl(mean, delta))


def require_false_discovery_rate(rule: IdentificationRule, instance: HardInstance, trial: Trial) -> None:
    """The expected share of wrong verdicts among the arms called good, and among those called bad, is at most delta."""
    runs = play_adversary(rule, instance, trial, Criterion.FDR)
    for verdict in (Verdict.GOOD, Verdict.BAD):
        mean = float(false_discovery_shares(runs, verdict).mean())
        p_value = mean_share_p_value(mean, trial.runs, trial.delta)
        require(
            p_value > trial.level / 2.0,
            f"{rule.name} on {instance}: {mean:.3f} of the arms called {verdict.name.lower()} are wrong; at a "
            f"false discovery rate of {trial.delta} that has probability {p_value:.2g}",
        )


def detectable_share(trial: Trial, power: float = 0.9) -> float:
    """The smallest false discovery rate that fails the test with probability `power`, at one discovery per run."""
    critical = next(
        wrong
        for wrong in range(math.ceil(trial.runs * trial.delta), trial.runs + 1)
        if mean_share_p_value(wrong / trial.runs, trial.runs, trial.delta) <= trial.level / 2.0
    )
    rate = trial.delta
    while binomial_tail(critical, trial.runs, rate) < power:
        rate += 1e-4
    return rate


# Hard instances for certified rules: arms near the threshold, pulled by an adversary that seeks a wrong verdict. The
# adversary knows which arms are good: an instance lists the good ones first, and `good` is their number.


def nearest_by_evidence(arms: Table, pool: Pool, bar: Bar, generator: Generator, good: float = 0.0) -> int:
    """The open arm with the most evidence for the wrong verdict; arms below `good` are good.

    Every other round goes to the open arm with the fewest pulls: a rule may stop betting on an arm, and an adversary
        that stays with it would find fewer errors than a random choice.
    """
    nearest = pool.round % 2.0 == 0.0
    best, leader = 0.0, -1
    for i in range(len(arms)):
        if is_open(arms, i):
            evidence = arms[i, FOR_BAD] if i < good else arms[i, FOR_GOOD]
            wanted = evidence if nearest else -arms[i, PULLS]
            if leader < 0 or wanted > best:
                best, leader = wanted, i
    return leader


def nearest_by_mean(arms: Table, pool: Pool, bar: Bar, generator: Generator, good: float = 0.0) -> int:
    """The open arm whose mean is the most standard errors on the wrong side; for rules without evidence."""
    best, leader = 0.0, -1
    for i in range(len(arms)):
        if is_open(arms, i):
            above = math.sqrt(arms[i, PULLS]) * (arms[i, MEAN] - bar.threshold)
            wrong = -above if i < good else above
            if leader < 0 or wrong > best:
                best, leader = wrong, i
    return leader


BY_EVIDENCE = ChoiceRule(name="adversary-by-evidence", choose=nearest_by_evidence)
BY_MEAN = ChoiceRule(name="adversary-by-mean", choose=nearest_by_mean)


@dataclass(frozen=True)
class HardInstance:
    """Arms on which an overconfident rule gives wrong verdicts. The good ones come first."""

    name: str
    environment: Environment

    @property
    def good(self) -> int:
        return int((self.means >= self.environment.threshold).sum())

    @property
    def means(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        return self.environment.draw(np.random.default_rng(0))

    def __post_init__(self) -> None:
        if (np.diff(self.means) > 0.0).any():
            raise InvalidValue(
                f"the means of {self.name} must be in decreasing order, because the adversary knows "
                "only the number of good arms."
            )

    def __str__(self) -> str:
        return self.name


def adversarial(rule: IdentificationRule, instance: HardInstance, criterion: Criterion = Criterion.FWER) -> Policy:
    """The rule with the worst sampling for it."""
    sampling = BY_EVIDENCE if isinstance(rule, EvidenceRule) else BY_MEAN
    rewards = instance.environment.rewards
    return policy(sampling, rule, rewards=rewards, criterion=criterion, good=float(instance.good))


def _zero_one(name: str, means: list[float], threshold: float) -> HardInstance:
    return HardInstance(name, bernoulli(means, threshold))


BOUNDED = (
    _zero_one("one arm at the threshold", [0.5], 0.5),
    _zero_one("one arm just below", [0.499], 0.5),
    _zero_one("one arm just above", [0.501], 0.5),
    _zero_one("two arms, just above and just below", [0.501, 0.499], 0.5),
    _zero_one("ten arms at the threshold", [0.5] * 10, 0.5),
    _zero_one("ten arms just below", [0.499] * 10, 0.5),
    _zero_one("tiny means, at and just below", [0.01] * 5 + [0.0099] * 5, 0.01),
    _zero_one("means near one, at and just below", [0.99] * 5 + [0.9899] * 5, 0.99),
    _zero_one("all good", [0.7, 0.65, 0.6, 0.55, 0.52], 0.5),
    _zero_one("all bad", [0.48, 0.45, 0.4, 0.35, 0.3], 0.5),
    _zero_one("constant rewards 1 and 0", [1.0, 1.0, 0.0, 0.0], 0.5),
    HardInstance("Beta rewards, at and just below", beta([0.5] * 4 + [0.499] * 4, 0.5, concentration=0.5)),
)
"""For rules that are valid for rewards in [0, 1]."""

GAUSSIAN = (
    HardInstance("Gaussian, one arm at the threshold", gaussian([1.0], 1.0, scale=2.0)),
    HardInstance("Gaussian, ten arms at and just below", gaussian([0.0] * 5 + [-0.001] * 5, 0.0)),
)
"""For rules that are valid for Gaussian rewards."""

AT_THE_THRESHOLD = BOUNDED[0]


def instances_for(rule: IdentificationRule) -> tuple[HardInstance, ...]:
    """Instances for a rule. A rule by totals needs few with 0/1 rewards: its error there is computed exactly."""
    drawn = [i for i in BOUNDED if not rule.by_totals or i.name.startswith(("ten arms at", "Beta"))]
    bounded = tuple(drawn) if rule.valid_for(Bounded()) else ()
    return bounded + (GAUSSIAN if rule.valid_for(Gaussian(1.0)) else ())
