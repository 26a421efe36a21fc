"""Problems: a threshold, an error probability, and the family of the rewards."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

from goodarm.arguments import check_real, check_whole, meant_percent, number_as_written, percentage, refuse_percentage
from goodarm.errors import InvalidValue
from goodarm.numerics import bernoulli_kl


class Bar(NamedTuple):
    """The problem as plain numbers, the form that every rule reads, in Python and compiled.

    threshold : xi, the bar that a good arm's mean must reach
    delta     : allowed probability of error
    arms      : K, the number of arms at the start
    sigma     : sub-Gaussian scale of a reward (1/2 for rewards in [0, 1])
    spread    : standard deviation of a reward of an arm at the threshold (sqrt(xi (1 - xi)) for rewards in [0, 1])
    budget    : log(K / delta), the evidence that a certified verdict needs
    bounded   : 1 if rewards lie in [0, 1], else 0
    modelled  : 0 if mean and width of an arm come from its own rewards, 1 if from a model of all arms, 2 if verdicts do
                as well
    purse     : 1 if error budget may be staked late (`goodarm.rules.identification.purse`), else 0
    cases     : N, the number of cases that an arm has, each drawn at most once; inf if rewards never run out
    ceiling   : the largest reward: 1 for rewards in [0, 1], a cap, or inf
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
    cases: float = math.inf
    ceiling: float = 1.0


def bar_at(bar: Bar, threshold: float) -> Bar:
    """The problem at another threshold: `Bar._replace` in a form that numba can compile."""
    spread = math.sqrt(threshold * (1.0 - threshold)) if bar.bounded > 0.0 else bar.spread
    kept = bar.bounded, bar.modelled, bar.purse, bar.cases, bar.ceiling
    return Bar(threshold, bar.delta, bar.arms, bar.sigma, spread, bar.budget, *kept)


def bar_with(bar: Bar, delta: float, budget: float) -> Bar:
    """The problem with another error probability and another evidence for a verdict."""
    kept = bar.bounded, bar.modelled, bar.purse, bar.cases, bar.ceiling
    return Bar(bar.threshold, delta, bar.arms, bar.sigma, bar.spread, budget, *kept)


LEAST_SCALE, LARGEST_SCALE = 1e-100, 1e100
"""Range of scales. Rules square sums of rewards. The largest sum, `MOST_PULLS` rewards of `LARGEST_REWARD` scales, is
1e24 scales, and its square is a float for scales up to 1e130. The square of a scale has all its digits from 1.5e-154.
The range leaves room for constant factors. At a scale of 1e140, squares of rewards are floats, but not of sums."""
LEAST_DELTA = 1e-200
"""Minimum of delta, so that K/delta is a float for any number of arms."""


def _too_fine(name: str, value: float) -> str:
    return (
        f"{name} must lie between {LEAST_SCALE:g} and {LARGEST_SCALE:g}, because squares of sums must be floats; got "
        f"{value:g}. Use another unit for the rewards and the threshold."
    )


OTHER_RANGE = (
    "If rewards have another range, declare it: rewards=Bounded(0, HIGH), or rewards=NonNegative() if they have no "
    "ceiling."
)
"""Advice for rewards or thresholds outside [0, 1]. `families_as_text` translates it."""
NEVER_LEFT_OUT = "Never leave rewards out because of their value: the verdicts would not hold."
NEGATIVE = (
    f"{NEVER_LEFT_OUT} If amounts can be negative, add a constant to every reward and to the threshold, in a new "
    "campaign with rewards=Bounded(0, HIGH), or tell net amounts of 0 or more (an order minus its refund). A log needs "
    "no constant: `judge` reads rewards bounded:-100,1600."
)
"""Advice for undeclared negative rewards."""


def _range_advice(reward: float, otherwise: str) -> str:
    """Advice for a reward outside the declared range."""
    return otherwise if math.isfinite(reward) and reward >= 0.0 else NEGATIVE if reward < 0.0 else NEVER_LEFT_OUT


@dataclass(frozen=True, init=False)
class Bounded:
    """Rewards in [0, 1], 0/1 or in between: 1/2-sub-Gaussian for any distribution.

    `Bounded(0, 1600)` is `UpTo(1600)`, rewards in another range that starts at 0.

    ceiling    : the largest reward
    assumption : assumption of a guarantee besides the range, which is checked; empty if none
    about_bad  : the subject of a bad verdict, if not the mean of the rewards
    """

    ceiling: ClassVar[float] = 1.0
    assumption: ClassVar[str] = ""
    about_bad: ClassVar[str] = ""

    def __new__(cls, *arguments: Any, **named: Any) -> Self:
        return _in_range(*arguments, **named) if cls is Bounded else super().__new__(cls)  # type: ignore[return-value]  # a family too

    def __init__(self, low: float = 0.0, high: float = 1.0) -> None:
        """Ignored here: `__new__` handles the range."""

    def check_threshold(self, threshold: float) -> None:
        if 0.0 < threshold < LEAST_SCALE:
            raise InvalidValue(_too_fine("threshold", threshold))
        if not 0.0 < threshold < 1.0:
            raise InvalidValue(
                f"threshold must lie strictly between 0 and 1 for rewards in [0, 1]; got {threshold}. "
                f"{meant_percent(threshold)}{OTHER_RANGE}"
            )

    def check_reward(self, reward: float) -> None:
        if not 0.0 <= reward <= 1.0:
            raise InvalidValue(f"a reward must lie in [0, 1]; got {reward}. {_range_advice(reward, OTHER_RANGE)}")

    def sigma(self) -> float:
        return 0.5

    def spread(self, threshold: float) -> float:
        return math.sqrt(threshold * (1.0 - threshold))

    def divergence(self, mean: float, threshold: float) -> float:
        """Maximum expected evidence of one reward: the relative entropy of two 0/1 rewards."""
        return bernoulli_kl(mean, threshold)

    def __str__(self) -> str:
        return "rewards in [0, 1]"


MOST_CASES = 10**9
"""Maximum number of cases for which counts and their log-binomials are sufficiently exact."""


@dataclass(frozen=True)
class GradedCases(Bounded):
    """Rewards in [0, 1] of a fixed set of `count` cases. Each arm draws each case at most once, in random order.

    An arm's mean is the mean over this set: total/count, once every case is drawn. The arm counts as good if that
    number, computed in floating point, is at least the threshold.
    """

    count: int

    def __post_init__(self) -> None:
        check_whole("count", self.count)
        if not 1 <= self.count <= MOST_CASES:
            raise InvalidValue(f"the number of cases must lie between 1 and {MOST_CASES:,}; got {self.count}.")

    def check_threshold(self, threshold: float) -> None:
        """Also refuse 0 and 1: every share reaches 0, and no share lies above 1."""
        if threshold in (0.0, 1.0):
            passed, between = (f"all {self.count:,}", self.count - 0.5) if threshold else ("at least one of the", 0.5)
            raise InvalidValue(
                f"threshold must lie strictly between 0 and 1; got {threshold:g}. For arms that pass {passed} cases, "
                f"write a bar between the last two values: {between:g}/{self.count} = {between / self.count:.6g}."
            )
        super().check_threshold(threshold)

    def __str__(self) -> str:
        return f"rewards in [0, 1] of {self.count:,} cases, each drawn once"


@dataclass(frozen=True)
class Cases(GradedCases):
    """0/1 rewards, failed or passed, of a fixed set of `count` cases that each arm draws at most once.

    >>> Problem(threshold=0.8, arms=40, rewards=Cases(500)).bar.cases
    500.0
    """

    def check_reward(self, reward: float) -> None:
        if reward not in (0.0, 1.0):
            raise InvalidValue(
                f"the reward of a case must be 0 (failed) or 1 (passed); got {reward}. "
                "For rewards in between, pass rewards=GradedCases(count)."
            )

    def __str__(self) -> str:
        return f"0/1 rewards of {self.count:,} cases, each drawn once"


@dataclass(frozen=True)
class ScoredCases(GradedCases):
    """Labels in [0, 1] of a fixed set of `count` cases, each of which has a cheap judge's score beforehand."""

    def __str__(self) -> str:
        return f"labels in [0, 1] of {self.count:,} cases with scores, each drawn once"


FARTHEST = 1e6
"""Maximum of |threshold|/scale. A sum of N rewards near xi has a precision of about xi N 2^-53, and the rounding errors
of N additions accumulate to about xi N^1.5 2^-53/4. The sum's standard deviation is sigma sqrt(N), so the share of
rounding in it is xi/sigma N 2^-55: 0.3% at xi/sigma N = 1e14."""
MOST_SUMMED = 1e14
"""Maximum of |threshold|/scale times pulls. Beyond it, rounding errors affect verdicts."""
MOST_PULLS = 10**15
"""Maximum number of pulls of an arm. Floats count up to 9e15; closer to that, a sum of rewards loses single rewards."""
LARGEST_REWARD = 1e9
"""Maximum of |reward|/scale. Larger rewards are errors in the data or in the declared scale. Without a limit, sums of
rewards near 1e308 overflow, and the rules fail."""


@dataclass(frozen=True)
class SubGaussian:
    """Rewards on the real line with sub-Gaussian scale `scale`: E exp(l (X - mu)) <= exp(l^2 scale^2 / 2)."""

    scale: float

    law: ClassVar[str] = "sub-Gaussian"
    ceiling: ClassVar[float] = math.inf
    about_bad: ClassVar[str] = ""

    def __post_init__(self) -> None:
        check_real(scale=self.scale)
        if not (math.isfinite(self.scale) and self.scale > 0.0):
            raise InvalidValue(f"scale, a reward's standard deviation, must be a positive number; got {self.scale}.")
        if not LEAST_SCALE <= self.scale <= LARGEST_SCALE:
            raise InvalidValue(_too_fine("scale", self.scale))

    def check_threshold(self, threshold: float) -> None:
        if not math.isfinite(threshold):
            raise InvalidValue(f"threshold must be a finite number; got {threshold}.")
        if abs(threshold) > FARTHEST * self.scale:
            raise InvalidValue(
                f"threshold {threshold:g} is {abs(threshold) / self.scale:.2g} times the scale {self.scale:g}, more "
                f"than {FARTHEST:g}: sums of such rewards lose the digits that distinguish good from bad. Subtract a "
                "constant "
                "near the threshold from every reward and from the threshold."
            )

    def check_reward(self, reward: float) -> None:
        if not math.isfinite(reward):
            raise InvalidValue(f"a reward must be a finite number; got {reward}. {NEVER_LEFT_OUT}")
        if abs(reward) > LARGEST_REWARD * self.scale:
            raise InvalidValue(
                f"a reward must lie within {LARGEST_REWARD:g} times the declared scale {self.scale:g}; got {reward:g}. "
                "Check its unit, or declare the true scale of the rewards."
            )

    def sigma(self) -> float:
        return self.scale

    def spread(self, threshold: float) -> float:
        return self.scale

    def divergence(self, mean: float, threshold: float) -> float:
        """Expected evidence of one reward: the relative entropy of two Gaussian rewards."""
        return (mean - threshold) ** 2 / (2.0 * self.scale**2)

    @property
    def assumption(self) -> str:
        """Assumption of a guarantee, which data can refute but not confirm."""
        return f"rewards are {self.law} with scale {self.scale:g}"

    def __str__(self) -> str:
        return f"{self.law} rewards of scale {self.scale:g}"


@dataclass(frozen=True)
class Gaussian(SubGaussian):
    """Gaussian rewards with known standard deviation `scale`."""

    law: ClassVar[str] = "Gaussian"


@dataclass(frozen=True)
class NonNegative:
    """Rewards of 0 or more, without a known ceiling: revenue, counts, durations.

    A good verdict needs no ceiling. A bad verdict needs `cap`: rewards above it count as `cap`, and *bad* means that
    the mean of min(reward, cap) lies below the threshold. Without a cap no arm is called bad.
    """

    cap: float | None = None

    assumption: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if self.cap is not None:
            check_real(cap=self.cap)
            if not (math.isfinite(self.cap) and self.cap > 0.0):
                raise InvalidValue(f"cap must be a positive number, or None for no cap; got {self.cap}.")

    @property
    def ceiling(self) -> float:
        return math.inf if self.cap is None else float(self.cap)

    @property
    def about_bad(self) -> str:
        """The subject of a bad verdict.

        >>> NonNegative().about_bad, NonNegative(100).about_bad
        ('below is not judged, since rewards have no ceiling', 'below applies to rewards cut at 100')
        """
        if self.cap is None:
            return "below is not judged, since rewards have no ceiling"
        return f"below applies to rewards cut at {self.cap:g}"

    def check_threshold(self, threshold: float) -> None:
        if not (math.isfinite(threshold) and threshold > 0.0):
            raise InvalidValue(f"threshold must be a positive number for rewards of 0 or more; got {threshold}.")
        if not LEAST_SCALE <= threshold <= LARGEST_SCALE:
            raise InvalidValue(_too_fine("threshold", threshold))
        if threshold >= self.ceiling:
            raise InvalidValue(
                f"threshold {threshold:g} is not below the cap {self.ceiling:g}: no capped mean can reach it. Raise "
                "the cap, or leave it out."
            )

    def check_reward(self, reward: float) -> None:
        if not (math.isfinite(reward) and reward >= 0.0):
            raise InvalidValue(
                f"a reward must be a finite number of 0 or more; got {reward}. {_range_advice(reward, '')}"
            )

    def sigma(self) -> float:
        """NaN: no sub-Gaussian scale is known, and rules that need one are refused."""
        return math.nan

    def spread(self, threshold: float) -> float:
        """Assumed deviation for sampling rules, that of an exponential law. No verdict depends on it."""
        return threshold

    def divergence(self, mean: float, threshold: float) -> float:
        """Evidence of one reward, of an exponential law: mean/threshold - 1 - log(mean/threshold)."""
        if mean <= 0.0:
            return math.inf
        return mean / threshold - 1.0 - math.log(mean / threshold)

    def __str__(self) -> str:
        return "rewards of 0 or more" + ("" if self.cap is None else f", capped at {self.cap:g}")


@dataclass(frozen=True)
class UpTo(NonNegative):
    """Rewards between 0 and `cap`. A larger reward is refused, so a bad verdict concerns the mean itself.

    >>> Bounded(0, 1600)
    UpTo(cap=1600.0)
    """

    cap: float = 1.0

    @property
    def about_bad(self) -> str:
        return ""

    def check_reward(self, reward: float) -> None:
        if not 0.0 <= reward <= self.cap:
            larger = "Declare a larger range, or NonNegative() if there is no ceiling."
            raise InvalidValue(f"a reward must lie in [0, {self.cap:g}]; got {reward}. {_range_advice(reward, larger)}")

    def __str__(self) -> str:
        return f"rewards in [0, {self.cap:g}]"


def _in_range(low: float = 0.0, high: float = 1.0) -> Bounded | UpTo:
    """The family of rewards between `low` and `high`."""
    check_real(low=low, high=high)
    if low != 0.0 or not 0.0 < high < math.inf:
        shift = f"Subtract {low:g} from the rewards and from the threshold."
        if low < 0.0:
            shift = f"Add {-low:g} to the rewards and to the threshold, and declare Bounded(0, {high - low:g})."
        raise InvalidValue(
            f"rewards must lie between 0 and a positive number; got the range {low:g} to {high:g}. {shift} Logs need "
            "no such change: rewards='bounded:LOW,HIGH'."
        )
    return object.__new__(Bounded) if high == 1.0 else UpTo(float(high))


Rewards = Bounded | SubGaussian | NonNegative


def threshold_of(given: Any, rewards: Rewards) -> Any:
    """A number or a percentage as a number. A percentage is refused for rewards in another range than [0, 1].

    >>> threshold_of("80%", Bounded()), threshold_of(0.8, Bounded())
    (0.8, 0.8)
    """
    if isinstance(given, str) and given.strip().endswith("%") and not isinstance(rewards, Bounded):
        refuse_percentage("threshold", number_as_written("threshold", given), rewards)
    return percentage(given)


FAMILIES: dict[str, type[Rewards]] = {
    "bounded": Bounded,
    "gaussian": Gaussian,
    "sub-gaussian": SubGaussian,
    "nonnegative": NonNegative,
    "up-to": UpTo,
    "cases": Cases,
    "graded-cases": GradedCases,
    "scored-cases": ScoredCases,
}
"""Reward families by name."""


def rewards_from_text(text: str) -> Rewards:
    """Parse a reward family from its text form.

    >>> rewards_from_text("bounded"), rewards_from_text("gaussian:0.5"), rewards_from_text("nonnegative:100")
    (Bounded(), Gaussian(scale=0.5), NonNegative(cap=100.0))
    """
    name, _, number = text.strip().lower().partition(":")
    if name == "bounded" and number.count(",") == 1:
        try:
            return _in_range(*map(float, number.split(",")))
        except ValueError as error:
            if isinstance(error, InvalidValue):
                raise
    family: Callable[..., Rewards] | None = FAMILIES.get("sub-gaussian" if name == "subgaussian" else name)
    if family is not None:
        try:
            read = int if family in (Cases, GradedCases, ScoredCases) else float
            return family(read(number)) if number else family()
        except InvalidValue:
            raise
        except (TypeError, ValueError):
            pass
    raise InvalidValue(
        f"can't read the rewards {text!r}. Write bounded, bounded:0,HIGH, gaussian:SCALE, sub-gaussian:SCALE, "
        "nonnegative, nonnegative:CAP, cases:COUNT or graded-cases:COUNT, as in gaussian:1.5."
    ) from None


def read_rewards(given: Any) -> Rewards:
    """Convert a reward family from an object or text.

    >>> read_rewards("nonnegative:100"), read_rewards(Gaussian(2.0))
    (NonNegative(cap=100.0), Gaussian(scale=2.0))
    >>> read_rewards("nonneg")
    Traceback (most recent call last):
        ...
    goodarm.errors.InvalidValue: can't read the rewards 'nonneg'. Write bounded, ...
    """
    if isinstance(given, str):
        return rewards_from_text(given)
    if type(given) not in FAMILIES.values():
        raise InvalidValue(
            f"rewards must be Bounded(), NonNegative(cap), Gaussian(scale) or SubGaussian(scale); got {given!r}."
        )
    return given  # type: ignore[no-any-return]  # one of the families


def rewards_text(rewards: Rewards) -> str:
    """The inverse of `rewards_from_text`.

    >>> rewards_text(Gaussian(0.5)), rewards_text(NonNegative()), rewards_text(Cases(500))
    ('gaussian:0.5', 'nonnegative', 'cases:500')
    """
    name = next(name for name, family in FAMILIES.items() if family is type(rewards))
    numbers = [number for number in vars(rewards).values() if number is not None]
    return ":".join([name, *map(repr, numbers)])


@dataclass(frozen=True)
class Problem:
    """Which of `arms` options have a mean reward of at least `threshold`? Errors have probability at most `delta`.

    >>> problem = Problem(threshold=0.02, arms=200)
    >>> problem.delta
    0.05
    >>> round(problem.bar.budget, 3)
    8.294
    >>> Problem(threshold=1.5, arms=3)
    Traceback (most recent call last):
        ...
    goodarm.errors.InvalidValue: threshold must lie strictly between 0 and 1 for rewards in [0, 1]; got 1.5. \
Did you mean 1.5%? Write '1.5%' or 0.015. If rewards have another range, declare it: \
rewards=Bounded(0, HIGH), or rewards=NonNegative() if they have no ceiling.
    """

    threshold: float
    arms: int
    delta: float = 0.05
    rewards: Rewards = Bounded()

    def __post_init__(self) -> None:
        if isinstance(self.rewards, str):
            object.__setattr__(self, "rewards", read_rewards(self.rewards))
        object.__setattr__(self, "delta", percentage(self.delta))
        object.__setattr__(self, "threshold", threshold_of(self.threshold, self.rewards))
        check_real(threshold=self.threshold, delta=self.delta)
        check_whole("arms", self.arms)
        if 0.0 < self.delta < LEAST_DELTA:
            raise InvalidValue(
                f"delta must be at least {LEAST_DELTA:g}, since K/delta must be a float; got {self.delta:g}. No "
                "experiment can support that much certainty."
            )
        if not 0.0 < self.delta < 1.0:
            raise InvalidValue(
                f"delta must lie strictly between 0 and 1; got {self.delta}. {meant_percent(self.delta)}"
                "It is the probability of a wrong verdict that you accept, for example 0.05."
            )
        if self.arms < 1:
            raise InvalidValue(f"a problem needs at least one arm; got {self.arms}.")
        self.rewards.check_threshold(self.threshold)

    def check_sums(self, pulls: int) -> None:
        """Refuse a number of pulls at which sums of rewards lose too many digits."""
        if pulls > MOST_PULLS:
            raise InvalidValue(
                f"at most {MOST_PULLS:,} pulls can be counted, because sums of more rewards lose digits; got {pulls:,}."
            )
        if isinstance(self.rewards, SubGaussian) and abs(self.threshold) / self.rewards.scale * pulls > MOST_SUMMED:
            most = int(MOST_SUMMED * self.rewards.scale / abs(self.threshold))
            raise InvalidValue(
                f"{pulls} pulls at threshold {self.threshold:g} and scale {self.rewards.scale:g} lose the digits that "
                f"distinguish good from bad; at most {most:,} are possible. Subtract a constant near the threshold "
                "from every "
                "reward and from the threshold."
            )

    @property
    def bar(self) -> Bar:
        """The problem as numbers for the rules."""
        return Bar(
            threshold=float(self.threshold),
            delta=float(self.delta),
            arms=float(self.arms),
            sigma=self.rewards.spread(self.threshold)
            if isinstance(self.rewards, NonNegative)
            else self.rewards.sigma(),
            spread=self.rewards.spread(self.threshold),
            budget=math.log(self.arms / self.delta),
            bounded=1.0 if isinstance(self.rewards, Bounded) else 0.0,
            cases=float(self.rewards.count) if isinstance(self.rewards, GradedCases) else math.inf,
            ceiling=self.rewards.ceiling,
        )
