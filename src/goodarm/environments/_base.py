"""Environments: arms with means, a law of rewards around each mean, and a bar.

A reward is a plain function reward(arm, means, extra, key) of the arm's number, the true means, a table of
numbers that the environment provides, and the key of this one reward (see `goodarm.streams`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from goodarm.arguments import check_real, check_whole, number, shown
from goodarm.errors import InvalidValue
from goodarm.fingerprint import fingerprint, functions_in, package_of
from goodarm.problem import Bounded, Problem, Rewards, threshold_of
from goodarm.question import BarsGiven, Question, Reward, Threshold
from goodarm.rules.parameters import Formula

Floats = NDArray[np.float64]
BOUNDED = Bounded()


class Instance(NamedTuple):
    """One draw of an environment for one run."""

    means: Floats  # (K,) true means
    extra: Floats  # other data of the reward function
    streams: NDArray[np.int64]  # (K,) each arm's reward stream; 0 .. K-1 unless arms were permuted
    columns: int = 0  # the first `columns` * K numbers of `extra` belong to the arms: blocks of K, one number per arm

    def permuted(self, order: NDArray[np.int64]) -> Instance:
        """The same arms in another order, with their rewards and their columns of `extra`."""
        count = self.columns * self.means.size
        moved = self.extra[:count].reshape(self.columns, self.means.size)[:, order].ravel()
        extra = np.concatenate([moved, self.extra[count:]]) if count else self.extra
        return self._replace(means=self.means[order], extra=extra, streams=self.streams[order])


@dataclass(frozen=True)
class Environment:
    """A named source of rewards.

    draw    : generator -> means; an environment with fixed means ignores the generator
    columns : the number of values of an arm in `extra`: its first `columns` * K are blocks of K, in the arms' order
    reading : the environment's interpretation of its source, printed with every result
    labels  : names of the arms in order; empty if arms have only numbers
    describe: () -> features of the arms, shape (K, d); None without features
    costs   : cost of a pull of each arm; empty if every pull costs 1
    """

    name: str
    arms: int
    threshold: float
    draw: Callable[[Generator], Floats] = field(repr=False, compare=False)
    reward: Formula = field(repr=False)
    rewards: Rewards = BOUNDED
    horizon: int = 1_000_000
    extra: Floats = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)
    reading: str = ""
    reference: str = ""
    columns: int = 0
    labels: Sequence[str] = field(default=(), repr=False)
    describe: Callable[[], Floats] | None = field(default=None, repr=False, compare=False)
    costs: tuple[float, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", threshold_of(self.threshold, self.rewards))
        check_real(threshold=self.threshold)
        check_whole("horizon", self.horizon)
        self.rewards.check_threshold(self.threshold)

    def instance(self, generator: Generator) -> Instance:
        """Means for one run, drawn from the run's own stream."""
        means = self.draw(generator)
        return Instance(means, self.extra, np.arange(self.arms, dtype=np.int64), self.columns)

    @property
    def features(self) -> Floats | None:
        """Features of the arms, one row per arm; None without features."""
        return self.describe() if self.describe else None

    @cached_property
    def fingerprint(self) -> str:
        """Identity of the environment, as a hash.

        It covers the code of its rewards and of its draw of means, two such draws, the reward family, the features, and
        the other fields.

        >>> from goodarm.environments import bernoulli
        >>> bernoulli([0.4, 0.6], 0.5).fingerprint == bernoulli([0.4, 0.6], 0.5).fingerprint
        True
        >>> bernoulli([0.4, 0.6], 0.5).fingerprint == bernoulli([0.499, 0.501], 0.5).fingerprint
        False
        """
        return self._hash(ours=True)

    @property
    def description(self) -> str:
        """The fingerprint without goodarm's own code, to distinguish the environments of two calls."""
        return self._hash(ours=False)

    def _hash(self, ours: bool) -> str:
        written = [*functions_in(self.reward), *functions_in(self.draw)]
        written = [function for function in written if ours or package_of(function) != "goodarm"]
        code = fingerprint(written, {*map(package_of, written), *(["goodarm"] if ours else [])})
        digest = hashlib.sha256(f"{code} {self.rewards!r} {self.columns}".encode())
        for seed in range(2):
            digest.update(self.draw(np.random.default_rng(seed)).tobytes())
        for array in (self.extra, self.features):
            digest.update(b"" if array is None else repr(array.shape).encode() + np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def __getstate__(self) -> dict[str, Any]:
        """Pickle functions by value, lambdas included."""
        import cloudpickle

        kept = {name: value for name, value in self.__dict__.items() if name != "fingerprint"}
        functions = {name: kept.pop(name) for name in ("draw", "reward", "describe")}
        return {**kept, "functions": cloudpickle.dumps(functions)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        import cloudpickle

        functions = cloudpickle.loads(state.pop("functions"))
        self.__dict__.update(state, **functions)

    def problem(self, delta: float = 0.05) -> Problem:
        """The problem of this environment."""
        return Problem(threshold=self.threshold, arms=self.arms, delta=delta, rewards=self.rewards)

    @property
    def question(self) -> Question:
        """The question about its arms."""
        return Threshold(self.threshold)

    def with_threshold(self, threshold: float) -> Environment:
        """The same arms under another bar."""
        return replace(self, threshold=threshold)

    def with_bars(self, bars: BarsGiven) -> Environment:
        """The same arms under other bars, one per metric."""
        raise InvalidValue(
            f"{self.name} gives one number per pull, but several bars need one per metric. Use table:FILE or "
            "replay:FILE with a column per metric, or several_metrics(...)."
        )

    # Results of a pull: a number, or a record of several

    @property
    def metrics(self) -> tuple[Environment, ...]:
        """The source of each number of a reward."""
        return (self,)

    @property
    def together(self) -> bool:
        """Whether all numbers of a reward come from the same random numbers."""
        return False

    def reward_of(self, values: tuple[float, ...]) -> Reward:
        """The reward with these numbers, one per metric, in the question's form."""
        return values[0]


MeansOrDraw = ArrayLike | Callable[[Generator], ArrayLike]
"""The means, or a function that draws them for each run with a numpy generator."""


class Means(NamedTuple):
    """Checked means of an environment: their number, how they are drawn, and a description."""

    arms: int
    draw: Callable[[Generator], Floats]
    words: str


def means_of(means: MeansOrDraw, bounded: bool) -> Means:
    """Fixed means, or a function that is called with each run's generator.

    >>> means_of(lambda rng: rng.beta(2, 8, size=100), bounded=True)[0]
    100
    """
    if not callable(means):
        array = checked_means(means, bounded)
        return Means(array.size, fixed(array), "given means")
    drawn = means

    def draw(generator: Generator) -> Floats:
        values = drawn(generator)
        found = checked_means(values, bounded)
        if found.size != arms:
            raise InvalidValue(
                f"the function that draws the means returned {found.size} in one run and {arms} in another. It must "
                "return the same number in every run."
            )
        return found

    arms = checked_means(_first(drawn), bounded).size
    return Means(arms, draw, "means drawn anew in each run")


def _first(draw: Callable[[Generator], ArrayLike]) -> ArrayLike:
    """Draw once to check the function."""
    try:
        return draw(np.random.default_rng(0))
    except Exception as error:  # a user's function may raise anything
        raise InvalidValue(
            f"the function that draws the means failed with {type(error).__name__}: {error}. It is called with a numpy "
            "generator and returns one mean per arm, for example lambda rng: rng.beta(2, 8, size=100)."
        ) from error


def checked_means(means: ArrayLike, bounded: bool) -> Floats:
    """Means as a read-only float array; an empty list, a NaN or a mean outside [0, 1] is an error that names it."""
    try:
        array = np.array(means, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidValue(
            f"means must be a list of numbers, one per arm, or a function that draws them; got {shown(means)}."
        ) from None
    if array.ndim != 1 or array.size == 0:
        raise InvalidValue(f"means must be a list of at least one number, one per arm; got {shown(means)}.")
    wrong = ~np.isfinite(array)
    if bounded:
        wrong |= (array < 0.0) | (array > 1.0)
    if wrong.any():
        i = int(np.argmax(wrong))
        allowed = "between 0 and 1" if bounded else "a finite number"
        raise InvalidValue(f"mean of arm {i} must be {allowed}; got {array[i]}. Correct or drop that arm.")
    array.setflags(write=False)
    return array


LEAST_COST, LARGEST_COST = 1e-100, 1e100


def checked_costs(costs: Sequence[float], names: Sequence[str]) -> tuple[float, ...]:
    """Costs of the arms of these names as floats, each positive.

    >>> checked_costs([1, 20], ["small", "large"])
    (1.0, 20.0)
    """
    for name, cost in zip(names, costs, strict=True):
        if not LEAST_COST <= (number(cost) or 0.0) <= LARGEST_COST:
            raise InvalidValue(
                f"the cost of arm {name!r} must be a positive number, from {LEAST_COST:g} to {LARGEST_COST:g}; got "
                f"{shown(cost)}."
            )
    return tuple(float(cost) for cost in costs)


def fixed(means: Floats) -> Callable[[Generator], Floats]:
    """A constant draw."""
    return lambda generator: means
