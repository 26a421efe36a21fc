"""Hard instances for certified rules: arms near the threshold, pulled by an adversary that seeks a wrong verdict.

The adversary knows which arms are good: an instance lists the good ones first, and `good` is their number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from goodarm.environments import Environment, bernoulli, beta, gaussian
from goodarm.errors import InvalidValue
from goodarm.policies import Policy, policy
from goodarm.problem import Bar, Bounded, Gaussian
from goodarm.rules.beliefs import FOR_BAD, FOR_GOOD, MEAN, PULLS, Pool, Table, is_open
from goodarm.rules.identification import EvidenceRule, IdentificationRule
from goodarm.rules.sampling import ChoiceRule
from goodarm.verdict import Criterion


def nearest_by_evidence(arms: Table, pool: Pool, bar: Bar, generator: Generator, good: float = 0.0) -> int:
    """The open arm with the most evidence for the wrong verdict; arms below `good` are good.

    Every other round goes to the open arm with the fewest pulls: a rule may stop betting on an arm, and an adversary
    that stayed there would find fewer errors than one who picks at random.
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
    """The open arm whose mean is most standard errors on the wrong side; for rules that keep no evidence."""
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
    """Arms on which a rule that is too bold gives wrong verdicts; the good ones come first."""

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
            raise InvalidValue(f"the means of {self.name} must not rise: the adversary is told only how many are good.")

    def __str__(self) -> str:
        return self.name


def adversarial(rule: IdentificationRule, instance: HardInstance, criterion: Criterion = Criterion.FWER) -> Policy:
    """The rule with the sampling that is worst for it."""
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
    """Instances for a rule. A rule by totals needs few with 0/1 rewards, since its error there is computed exactly."""
    drawn = [i for i in BOUNDED if not rule.by_totals or i.name.startswith(("ten arms at", "Beta"))]
    bounded = tuple(drawn) if rule.valid_for(Bounded()) else ()
    return bounded + (GAUSSIAN if rule.valid_for(Gaussian(1.0)) else ())
