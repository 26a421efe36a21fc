"""Common base of sampling and identification rules: a name, a docstring, parameters with defaults.

A rule's formula is a plain function. Its first arguments are beliefs and the bar; every argument after those is a
parameter of the rule, and its default is the rule's default: `"ucb(beta=1.5)"` sets the argument `beta`.

A parameter belongs to its owner: the sampling rule, the identification rule, or the learner of either. Two owners that
    use the same name have two values, unless both declare the name as `shared`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, ClassVar, Protocol
from weakref import WeakKeyDictionary

from goodarm.errors import InvalidValue

Formula = Callable[..., Any]
Limits = tuple[tuple[str, float, float], ...]
"""(parameter, low, high): values outside [low, high] are refused; an infinite end means no limit."""


def parameters_of(formula: Formula, skip: int) -> dict[str, float]:
    """The parameters of a formula with their defaults: all arguments after the first `skip`.

    >>> parameters_of(lambda arm, pool, bar, beta=2.0: 0.0, skip=3)
    {'beta': 2.0}
    """
    return dict(_parameters(formula, skip))


@lru_cache(maxsize=4096)
def _parameters(formula: Formula, skip: int) -> tuple[tuple[str, float], ...]:
    if not isinstance(getattr(formula, "py_func", formula), FunctionType):
        raise InvalidValue(
            f"a rule's function must be a plain one, because it is compiled; got {formula!r}. Write it with `def`, "
            "outside a class, and pass constants as arguments with a default."
        )
    return tuple(_with_default(formula, each) for each in list(inspect.signature(formula).parameters.values())[skip:])


def _with_default(formula: Formula, argument: inspect.Parameter) -> tuple[str, float]:
    name, default = argument.name, argument.default
    if default is inspect.Parameter.empty:
        raise InvalidValue(
            f"parameter {name!r} of {formula.__qualname__} has no default; "
            f"write it as {name}=1.0 so that the rule can be named without it."
        )
    if argument.kind is inspect.Parameter.KEYWORD_ONLY or not isinstance(default, int | float):
        raise InvalidValue(
            f"parameter {name!r} of {formula.__qualname__} must be a number that can be passed by position; its "
            f"default is {default!r}. Write it as {name}=1.0, without a * before it."
        )
    return name, float(default)


_owners: WeakKeyDictionary[Formula, str] = WeakKeyDictionary()


def name_owner(owner: str, *formulas: Formula) -> None:
    """Record the owner of these functions, for messages about them."""
    for formula in formulas:
        _owners[formula] = owner


def owner_of(code: CodeType, reachable: Callable[[list[Any]], list[Any]]) -> str | None:
    """The rule whose function has this code or calls a function with it; `reachable` lists the called functions."""
    found = [(owner, reachable([formula])) for formula, owner in list(_owners.items())]
    own = (owner for owner, functions in found if functions and functions[0].__code__ is code)
    calls = (owner for owner, functions in found if any(each.__code__ is code for each in functions))
    return next(own, None) or next(calls, None)


def first_line(formula: Formula) -> str:
    """The first line of a formula's docstring, which lists of rules show."""
    return (inspect.getdoc(formula) or "").partition("\n")[0]


class Owner(Protocol):
    """Anything that has parameters."""

    @property
    def name(self) -> str: ...
    @property
    def defaults(self) -> dict[str, float]: ...
    @property
    def limits(self) -> Limits: ...
    @property
    def shared(self) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class Learner:
    """Learns from all arms together as rewards come in, and updates the `Pool`.

    start(bar) -> initial beliefs: a named tuple that the learner defines, read by rules as `pool.learned`
    fit(arms, pool, bar) -> Pool: a new belief from the table of arms
    next_round(round, bar) -> the round after which `fit` is called next; geometric spacing costs almost nothing

    Each may have parameters after these arguments; a name used by two of them is one parameter.

    limits : (parameter, low, high), the closed interval of valid values
    shared : parameters whose value is shared with rules that declare the same name as shared
    native : whether rules that read the learned values are slow in Python (more than about 50 µs); live campaigns then
             run them compiled
    extends : a learner whose beliefs this one includes, under the same names: rules that read either can be paired
    fit_belief : fit(belief, arms, pool, bar) used in place of `fit` with one of `models`, if the arms' features matter;
                 it has the parameters of `fit`. A learner with this function can't learn with other models
    models     : names of the models whose belief `fit_belief` reads
    """

    name: str
    start: Formula
    fit: Formula
    next_round: Formula
    limits: Limits = ()
    shared: tuple[str, ...] = ()
    native: bool = False
    extends: Learner | None = None
    fit_belief: Formula | None = None
    models: tuple[str, ...] = ()

    @property
    def defaults(self) -> dict[str, float]:
        return parameters_of(self.start, 1) | parameters_of(self.fit, 3) | parameters_of(self.next_round, 2)


@dataclass(frozen=True)
class Rule:
    """Fields of every sampling and every identification rule.

    learner : the learner that the rule reads, if any
    limits  : (parameter, low, high), the closed interval of valid values; for a certified rule, those for which its
              proof holds, including in floating point. Other values are refused
    shared  : parameters whose value is shared with the policy's other owners, if these also declare the name as shared;
              otherwise each owner has a separate value, even if several use the name
    """

    name: str
    reference: str = ""
    learner: Learner | None = None
    limits: Limits = ()
    shared: tuple[str, ...] = ()

    beliefs: ClassVar[int] = 3
    """Number of the formula's arguments that are not parameters: arm, pool and bar."""

    @property
    def formula(self) -> Formula:
        """The function that carries the rule's docstring and parameters."""
        raise NotImplementedError

    @property
    def defaults(self) -> dict[str, float]:
        """Parameters of the rule itself, with their defaults."""
        return parameters_of(self.formula, self.beliefs)

    @property
    def summary(self) -> str:
        return first_line(self.formula)


@dataclass(frozen=True)
class Setting:
    """The value of every parameter of a policy, by owner."""

    sampling: Mapping[str, float] = field(default_factory=dict)
    identification: Mapping[str, float] = field(default_factory=dict)
    learner: Mapping[str, float] = field(default_factory=dict)


def take(values: Mapping[str, float], names: Iterable[str]) -> tuple[float, ...]:
    """The values of `names` in order, as the tuple of a formula's parameters.

    >>> take({"rate": 0.1, "batch": 10.0}, ["batch"])
    (10.0,)
    """
    return tuple(values[name] for name in names)


def values_of(owner: Owner, given: Mapping[str, float]) -> dict[str, float]:
    """The owner's parameters: `given`, and defaults for the rest; unknown names and bad values are refused."""
    for name, value in given.items():
        if name not in owner.defaults:
            raise InvalidValue(
                f"{owner.name} has no parameter {name!r}. Its parameters: {', '.join(owner.defaults) or 'none'}."
            )
        if not math.isfinite(value):
            raise InvalidValue(f"parameter {name} of {owner.name} must be a finite number; got {value}.")
    values = owner.defaults | {name: float(value) for name, value in given.items()}
    check_limits(owner, values)
    return values


def check_limits(owner: Owner, values: Mapping[str, float], why: str = "") -> None:
    """Refuse values outside the owner's limits. NaN means "must be given" and is not checked here."""
    for name, low, high in owner.limits:
        value = values[name]
        if not (low <= value <= high or math.isnan(value)):
            ends = ((f"at least {low:g}", math.isfinite(low)), (f"at most {high:g}", math.isfinite(high)))
            allowed = " and ".join(text for text, counts in ends if counts)
            default = owner.defaults[name]
            hint = "" if math.isnan(default) else f" Its default is {default:g}."
            raise InvalidValue(f"parameter {name} of {owner.name} must be {allowed}{why}; got {value:g}.{hint}")
