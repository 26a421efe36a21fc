"""The base class of models. A model receives (arm, reward) and computes the mean and width of every arm.

Independent arms need no model: the loop keeps S/N and 1/sqrt(N) itself. A model shares information between arms, so
each pull changes the belief about every arm. It consists of two parts:

absorb   a plain function that the engine compiles, called after every pull; rewrites the columns `mean` and `width`
upkeep   Python, called in rounds that the model chooses, and whenever `absorb` requests it: rebuild the belief from the
         counts to remove rounding errors, learn parameters, retrain

A belief is a named tuple of arrays whose last field is `numbers`; rules that decide by the model read the first two:
log det V - log det V_0, and the regulariser (ridge of a linear model, gamma of a kernel).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from goodarm.errors import InvalidValue
from goodarm.models.features import Floats, checked_features
from goodarm.problem import Bar
from goodarm.rules.beliefs import ARM_FIELDS, PULLS, TOTAL, Table
from goodarm.rules.parameters import Formula

LOG_DET, REGULARISER = 0, 1
"""Indices into a belief's `numbers` that every model fills."""


@dataclass(frozen=True, eq=False)
class Model:
    """Base class of models. It checks features from the caller or from the environment.

    features    : array (K, d) or dataframe; None uses those of the environment
    columns     : which columns of a dataframe
    standardise : columns to mean 0 and standard deviation 1
    """

    features: Any = field(default=None, repr=False)
    columns: Sequence[str] | None = field(default=None, kw_only=True)
    standardise: bool = field(default=False, kw_only=True)

    name: ClassVar[str]
    parameters: ClassVar[tuple[str, ...]] = ()
    """Parameters that a policy's name may set, as in `@linear(ridge=0.1)`."""
    absorb: ClassVar[Formula]
    """absorb(belief, arms, a, before, reward, bar) -> bool: arm a, in row `before`, gave a reward; True: upkeep now."""

    def __post_init__(self) -> None:
        if self.features is not None:
            checked = checked_features(self.features, columns=self.columns, standardise=self.standardise)
            object.__setattr__(self, "features", checked)
            object.__setattr__(self, "columns", None)
            object.__setattr__(self, "standardise", False)

    def bind(self, features: Floats | None, arms: int) -> Self:
        """The model with features: its own or those of the environment."""
        if self.features is None and features is None:
            raise InvalidValue(
                f"@{self.name} needs features, and this environment has none. "
                f"Give them: policy(..., model={type(self).__name__}(features))."
            )
        bound = replace(self, features=features) if self.features is None else self
        checked_features(bound.features, arms)
        return bound

    @property
    def exact(self) -> bool:
        """Whether the belief is the exact posterior of the model rather than an approximation."""
        return True

    @property
    def blind_widths(self) -> bool:
        """Whether the widths depend only on the pulls and never on the rewards."""
        return True

    @property
    def testable(self) -> bool:
        """Whether a lack of fit gives a warning. Models without certified rules give none."""
        return True

    def start(self, bar: Bar) -> Any:
        """The belief before the first reward."""
        raise NotImplementedError

    def publish(self, belief: Any, arms: Table, bar: Bar) -> None:
        """Write mean and width of every arm into the table."""
        raise NotImplementedError

    def upkeep(self, belief: Any, arms: Table, now: int, bar: Bar) -> int:
        """Remove rounding errors and learn; returns the round of the next upkeep."""
        raise NotImplementedError

    def spelled(self) -> str:
        """The model in the name of a policy, `linear(ridge=0.1)`; parameters at their defaults are left out."""
        defaults = {entry.name: entry.default for entry in fields(self)}
        told = [(name, getattr(self, name)) for name in self.parameters if getattr(self, name) != defaults[name]]
        written = ", ".join(f"{name}={shortest(value)}" for name, value in told)
        return f"{self.name}({written})" if told else self.name


def shortest(value: float) -> str:
    """The shortest text that is read back as the same number.

    >>> shortest(1.0), shortest(0.1), shortest(1e6), shortest(1.0 / 3.0), shortest(True)
    ('1', '0.1', '1000000', '0.3333333333333333', '1')
    """
    return repr(float(value)).removesuffix(".0")


def new_table(arms: int, columns: int = ARM_FIELDS) -> Table:
    """An empty table of arms stored by columns, so the columns that a model rewrites are contiguous."""
    return np.zeros((arms, columns), order="F")


def first_upkeep(model: Model, belief: Any, arms: Table, bar: Bar) -> int:
    """Publish the belief before the first reward; returns the round of the first upkeep."""
    model.publish(belief, arms, bar)
    return model.upkeep(belief, arms, 0, bar)


def surplus_of(arms: Table, bar: Bar) -> NDArray[np.float64]:
    """S_i - N_i xi of every arm: the residuals for a model centred at the threshold."""
    return arms[:, TOTAL] - arms[:, PULLS] * bar.threshold
