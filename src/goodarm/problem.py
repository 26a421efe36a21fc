"""What is asked: a threshold, an error probability, and what is known of the rewards."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from goodarm.arguments import check_real, check_whole
from goodarm.errors import InvalidValue
from goodarm.numerics import bernoulli_kl


class Bar(NamedTuple):
    """The problem as plain numbers: the form in which every rule reads it, in Python and compiled.

    threshold : xi, the bar that a good arm's mean reaches
    delta     : probability of error that is allowed
    arms      : K, the number of arms at the start
    sigma     : sub-Gaussian scale of a reward (1/2 for rewards in [0, 1])
    spread    : standard deviation of a reward of an arm at the threshold (sqrt(xi (1 - xi)) for rewards in [0, 1])
    budget    : log(K / delta), the evidence that a certified verdict needs
    bounded   : 1 where rewards lie in [0, 1], otherwise 0
    modelled  : 1 where mean and width of an arm come from a model of all arms, 0 where from the arm's own rewards
    purse     : 1 where error budget may be staked on an arm late (`goodarm.rules.identification.purse`), otherwise 0
    """

    threshold: float
    delta: float
    arms: float
    sigma: float
    spread: float
    budget: float
    bounded: float
    modelled: float = 0.0
    purse: float = 0.0


def bar_at(bar: Bar, threshold: float) -> Bar:
    """The same problem at another threshold. numba compiles this, but not `Bar._replace`."""
    spread = math.sqrt(threshold * (1.0 - threshold)) if bar.bounded > 0.0 else bar.spread
    return Bar(threshold, bar.delta, bar.arms, bar.sigma, spread, bar.budget, bar.bounded, bar.modelled, bar.purse)


def bar_with(bar: Bar, delta: float, budget: float) -> Bar:
    """The same problem with another error probability and another evidence for a verdict; compiled like `bar_at`."""
    return Bar(bar.threshold, delta, bar.arms, bar.sigma, bar.spread, budget, bar.bounded, bar.modelled, bar.purse)


@dataclass(frozen=True)
class Bounded:
    """Rewards in [0, 1], 0/1 or anything between: 1/2-sub-Gaussian whatever their law."""

    def check_threshold(self, threshold: float) -> None:
        if not 0.0 < threshold < 1.0:
            raise InvalidValue(
                f"threshold must lie strictly between 0 and 1 for rewards in [0, 1]; got {threshold}. "
                "Rescale the rewards, or pass rewards=Gaussian(scale=...)."
            )

    def check_reward(self, reward: float) -> None:
        if not 0.0 <= reward <= 1.0:
            raise InvalidValue(
                f"a reward must lie in [0, 1]; got {reward}. Rescale the rewards, or pass rewards=Gaussian(scale=...)."
            )

    def sigma(self) -> float:
        return 0.5

    def spread(self, threshold: float) -> float:
        return math.sqrt(threshold * (1.0 - threshold))

    def divergence(self, mean: float, threshold: float) -> float:
        """Evidence that one reward can give at most: the relative entropy of two 0/1 rewards."""
        return bernoulli_kl(mean, threshold)

    def __str__(self) -> str:
        return "rewards in [0, 1]"


FARTHEST = 1e6
"""Largest |threshold| in scales. A sum of N rewards near xi is kept to about xi N 2^-53, and N additions lose about
xi N^1.5 2^-53/4 by chance, where sigma sqrt(N) is what luck moves it by: a share of xi/sigma N 2^-55, 0.3% at 1e14."""
MOST_SUMMED = 1e14
"""Largest |threshold|/scale times pulls: beyond it, the lost digits matter."""


@dataclass(frozen=True)
class SubGaussian:
    """Rewards on the real line with sub-Gaussian scale `scale`: E exp(l (X - mu)) <= exp(l^2 scale^2 / 2)."""

    scale: float

    def __post_init__(self) -> None:
        check_real(scale=self.scale)
        if not (math.isfinite(self.scale) and self.scale > 0.0):
            raise InvalidValue(f"scale, a reward's standard deviation, must be a positive number; got {self.scale}.")

    def check_threshold(self, threshold: float) -> None:
        if not math.isfinite(threshold):
            raise InvalidValue(f"threshold must be a finite number; got {threshold}.")
        if abs(threshold) > FARTHEST * self.scale:
            raise InvalidValue(
                f"threshold {threshold:g} is {abs(threshold) / self.scale:.2g} times the scale {self.scale:g}, more "
                f"than {FARTHEST:g}: sums of such rewards lose the digits that tell good from bad. Subtract a constant "
                "near the threshold from every reward and from the threshold."
            )

    def check_reward(self, reward: float) -> None:
        if not math.isfinite(reward):
            raise InvalidValue(f"a reward must be a finite number; got {reward}. Drop or impute it before telling.")

    def sigma(self) -> float:
        return self.scale

    def spread(self, threshold: float) -> float:
        return self.scale

    def divergence(self, mean: float, threshold: float) -> float:
        """Evidence that one reward gives: the relative entropy of two Gaussian rewards."""
        return (mean - threshold) ** 2 / (2.0 * self.scale**2)

    def __str__(self) -> str:
        return f"sub-Gaussian rewards of scale {self.scale:g}"


@dataclass(frozen=True)
class Gaussian(SubGaussian):
    """Gaussian rewards with known standard deviation `scale`."""

    def __str__(self) -> str:
        return f"Gaussian rewards of scale {self.scale:g}"


Rewards = Bounded | SubGaussian


@dataclass(frozen=True)
class Problem:
    """Which of `arms` options have a mean reward of at least `threshold`, wrong with probability at most `delta`?

    >>> problem = Problem(threshold=0.02, arms=200)
    >>> problem.delta
    0.05
    >>> round(problem.bar.budget, 3)
    8.294
    >>> Problem(threshold=1.5, arms=3)
    Traceback (most recent call last):
        ...
    goodarm.errors.InvalidValue: threshold must lie strictly between 0 and 1 for rewards in [0, 1]; got 1.5. \
Rescale the rewards, or pass rewards=Gaussian(scale=...).
    """

    threshold: float
    arms: int
    delta: float = 0.05
    rewards: Rewards = Bounded()

    def __post_init__(self) -> None:
        check_real(threshold=self.threshold, delta=self.delta)
        check_whole("arms", self.arms)
        if not 0.0 < self.delta < 1.0:
            raise InvalidValue(
                f"delta must lie strictly between 0 and 1; got {self.delta}. "
                "It is the probability of a wrong verdict that you accept, for example 0.05."
            )
        if self.arms < 1:
            raise InvalidValue(f"a problem needs at least one arm; got {self.arms}.")
        self.rewards.check_threshold(self.threshold)

    def check_sums(self, pulls: int) -> None:
        """Refuse more pulls than sums of rewards can be kept exactly enough for; rewards in [0, 1] always can."""
        if isinstance(self.rewards, SubGaussian) and abs(self.threshold) / self.rewards.scale * pulls > MOST_SUMMED:
            most = int(MOST_SUMMED * self.rewards.scale / abs(self.threshold))
            raise InvalidValue(
                f"{pulls} pulls at threshold {self.threshold:g} and scale {self.rewards.scale:g} lose the digits that "
                f"tell good from bad; at most {most:,} do not. Subtract a constant near the threshold from every "
                "reward and from the threshold."
            )

    @property
    def bar(self) -> Bar:
        """The numbers that rules read."""
        return Bar(
            threshold=float(self.threshold),
            delta=float(self.delta),
            arms=float(self.arms),
            sigma=self.rewards.sigma(),
            spread=self.rewards.spread(self.threshold),
            budget=math.log(self.arms / self.delta),
            bounded=1.0 if isinstance(self.rewards, Bounded) else 0.0,
        )
