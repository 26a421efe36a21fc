"""What sampling and identification rules have in common: a name, a docstring, parameters with defaults.

A rule's formula is a plain function. Its first arguments are beliefs and the bar; every argument after those is a
parameter of the rule, and its default is the rule's default: `"ucb(beta=1.5)"` sets the argument `beta`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from goodarm.errors import InvalidValue

Formula = Callable[..., Any]


def parameters_of(formula: Formula, skip: int) -> dict[str, float]:
    """The parameters of a formula with their defaults: all arguments after the first `skip`.

    >>> parameters_of(lambda arm, pool, bar, beta=2.0: 0.0, skip=3)
    {'beta': 2.0}
    """
    arguments = list(inspect.signature(formula).parameters.values())[skip:]
    for argument in arguments:
        if argument.default is inspect.Parameter.empty:
            raise InvalidValue(
                f"parameter {argument.name!r} of {formula.__qualname__} has no default; "
                f"write it as {argument.name}=1.0 so that the rule can be named without it."
            )
    return {argument.name: float(argument.default) for argument in arguments}


def first_line(formula: Formula) -> str:
    """The first line of a formula's docstring: what lists of rules show."""
    return (inspect.getdoc(formula) or "").partition("\n")[0]


@dataclass(frozen=True)
class Learner:
    """Something learned from all arms together while the rewards come in; it moves the `Pool`.

    start(bar) -> what is believed at first: a named tuple of the learner's own, read by rules as `pool.learned`
    fit(arms, pool, bar) -> Pool: a new belief from the table of arms
    next_round(round, bar) -> the round after which `fit` is called next; geometric times cost next to nothing

    Each may have parameters of its own after these arguments.
    """

    name: str
    start: Formula
    fit: Formula
    next_round: Formula

    @property
    def defaults(self) -> dict[str, float]:
        return parameters_of(self.start, 1) | parameters_of(self.fit, 3) | parameters_of(self.next_round, 2)


RANGES = {
    "batch": (1.0, math.inf),
    "beta": (0.0, math.inf),
    "boldness": (0.0, math.inf),
    "caution": (0.0, math.inf),
    "coldness": (0.01, 0.999999),
    "edge": (0.0, math.inf),
    "first": (1.0, math.inf),
    "growth": (1.01, math.inf),
    "leader": (0.0, 1.0),
    "rate": (0.0, math.inf),
    "ridge": (0.0, math.inf),
}
"""Values of parameters outside of which a rule makes no sense, whatever the rule; a proof may ask for more."""


@dataclass(frozen=True)
class Setting:
    """Values for a rule's parameters, checked against the parameters that the rule has."""

    values: Mapping[str, float] = field(default_factory=dict)

    @staticmethod
    def of(owner: str, defaults: Mapping[str, float], given: Mapping[str, float]) -> Setting:
        """`defaults` overridden by `given`; an unknown name or a value that is no number is an error."""
        for name, value in given.items():
            if name not in defaults:
                known = ", ".join(defaults) or "none"
                raise InvalidValue(f"{owner} has no parameter {name!r}; it has: {known}.")
            if not math.isfinite(value):
                raise InvalidValue(f"parameter {name} of {owner} must be a finite number; got {value}.")
            low, high = RANGES.get(name, (-math.inf, math.inf))
            if not low <= value <= high:
                raise InvalidValue(f"parameter {name} of {owner} must lie in [{low:g}, {high:g}]; got {value:g}.")
        return Setting({name: float(given.get(name, default)) for name, default in defaults.items()})

    def take(self, names: Mapping[str, float]) -> tuple[float, ...]:
        """The values of `names` in order: the tuple that compiled code is given."""
        return tuple(self.values[name] for name in names)
