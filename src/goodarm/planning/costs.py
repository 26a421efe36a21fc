"""Costs of samples in a plan: none, the same for every arm, or a cost per arm."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goodarm.arguments import checked_number, exact
from goodarm.errors import InvalidValue
from goodarm.planning.guess import MeansGuess
from goodarm.question import Question
from goodarm.simulation.specification import CostsGiven, costs_by_name

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Prices:
    """The cost of a sample.

    equal : cost of every arm; None if only samples are counted, or if the costs differ
    each  : cost of each arm, reference arms last; empty unless the costs differ
    """

    equal: float | None = None
    each: tuple[float, ...] = ()

    @property
    def known(self) -> bool:
        """Whether the plan also shows money."""
        return self.equal is not None or bool(self.each)

    def of_arms(self, arms: int) -> Floats:
        """The cost of each arm, without reference arms; 1 if only samples are counted."""
        return np.array(self.each[:arms]) if self.each else np.full(arms, self.equal or 1.0)

    def of_references(self, arms: int) -> Floats:
        """The costs of the reference arms, which come after this many arms; empty if the costs do not differ."""
        return np.array(self.each[arms:])

    def samples(self, budget: float | None) -> int | None:
        """Number of samples that a budget covers; None without a budget, or if the costs differ.

        Without costs the budget is in samples.

        >>> Prices(equal=0.02).samples(100), Prices().samples(100), Prices(each=(1.0, 2.0)).samples(100)
        (5000, 100, None)
        """
        if budget is None or self.each:
            return None
        if self.equal is None:
            return budget  # type: ignore[return-value]  # checked as a number of samples
        return int(exact(_enough(budget, self.equal)) / exact(self.equal))

    def money(self, budget: float | None) -> float | None:
        """The checked budget if costs differ; otherwise None."""
        return None if budget is None or not self.each else _enough(budget, min(self.each))


def _enough(budget: float, price: float) -> float:
    money = float(checked_number("budget", budget))
    if not math.isfinite(money) or money < price:
        raise InvalidValue(f"a budget of {budget!r} does not cover one sample, which costs {price:g}.")
    return money


def prices_of(cost: CostsGiven | None, guess: MeansGuess, question: Question) -> Prices:
    """The given costs, or those of the table of means. Arms that are not named cost 1.

    >>> from goodarm.planning.guess import guess_means
    >>> from goodarm.question import Threshold
    >>> prices_of({"1": 20}, guess_means(0.5, 3), Threshold(0.5))
    Prices(equal=None, each=(1.0, 20.0, 1.0))
    """
    if cost is None and not guess.costs:
        return Prices()
    if not isinstance(cost, Mapping) and cost is not None and np.ndim(cost) == 0:
        price = checked_number("cost", cost)
        if not 0.0 < price < math.inf:
            raise InvalidValue(f"cost, the cost of a sample, must be a positive number; got {cost!r}.")
        return Prices(equal=float(price))
    names = [*(guess.labels or map(str, range(guess.arms))), *question.references]
    if question.references and isinstance(cost, Sequence) and len(cost) == guess.arms:
        raise InvalidValue(f"cost must have {len(names)} numbers, the {names[-1]}'s as the last; got {len(cost)}.")
    own = (*(guess.costs or (1.0,) * guess.arms), *(1.0 for _ in question.references))
    each = costs_by_name(names, own, cost)
    return Prices(equal=each[0]) if len(set(each)) == 1 else Prices(each=each)
