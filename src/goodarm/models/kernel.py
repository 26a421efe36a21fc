"""`kernel`: a Gaussian process over the arms' features, with any scikit-learn kernel.

Up to `EXACT_ARMS` arms the posterior is exact (`gram.py`). Above, the kernel is approximated by pivoted Cholesky. The
model is then linear in the columns, and the residual variance of each arm is an effect of that arm alone (`linear.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from goodarm.errors import InvalidValue, MissingExtra
from goodarm.models import gram, linear
from goodarm.models._base import Model
from goodarm.models.features import Floats
from goodarm.models.gram import GramBelief, flush, rebuild
from goodarm.models.linear import checked_positive, rebuild_in_time
from goodarm.problem import Bar
from goodarm.rules.beliefs import Table
from goodarm.rules.parameters import Formula

EXACT_ARMS = 2000
"""Maximum number of arms with an exact K x K posterior; above, a few hundred columns cost less."""
MOST_COLUMNS = 256
CUT = 1e-4
LEAST_GAMMA = 1e-10
"""Minimum gamma in units of the kernel's largest variance: half of a float's digits are lost at 1e-8, all at 1e-16."""
REBUILD_AFTER = 4096
"""Pulls between two rebuilds from the counts: O(K^3) against O(K^2) per pull, and drift far below 1e-9."""


@dataclass(frozen=True, eq=False)
class Kernel(Model):
    """Gaussian process: means vary smoothly over the features, as described by a scikit-learn kernel.

    kernel : any scikit-learn kernel object; None is RBF(length)
    gamma  : noise variance in units of the kernel's own variance; the paper's gamma
    length : length scale of the default kernel
    """

    kernel: Any = field(default=None, repr=False)
    gamma: float = 1.0
    length: float = 0.15

    name: ClassVar[str] = "kernel"
    parameters: ClassVar[tuple[str, ...]] = ("gamma", "length")
    absorb: ClassVar[Formula] = staticmethod(gram.absorb)

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_positive(self.name, "gamma", self.gamma, "It is the noise variance over the kernel's variance.")
        checked_positive(self.name, "length", self.length, "It is the distance over which arms are similar.")
        if self.kernel is not None and not (callable(self.kernel) and hasattr(self.kernel, "diag")):
            raise InvalidValue(
                f"kernel must be a scikit-learn kernel object; got {self.kernel!r}. "
                "For example: sklearn.gaussian_process.kernels.Matern(length_scale=0.2, nu=2.5)."
            )

    def bind(self, features: Floats | None, arms: int) -> Any:
        bound = super().bind(features, arms)
        return bound if arms <= EXACT_ARMS else CutKernel.of(bound)

    def chosen(self) -> Any:
        """The kernel object."""
        if self.kernel is not None:
            return self.kernel
        try:
            from sklearn.gaussian_process.kernels import RBF
        except ImportError:
            raise MissingExtra("@kernel", "kernel") from None
        return RBF(self.length)

    def start(self, bar: Bar) -> GramBelief:
        prior = checked_gram(self.chosen()(self.features))
        check_gamma(self.gamma, np.diag(prior))
        return gram.new_belief(prior, self.gamma)

    def publish(self, belief: GramBelief, arms: Table, bar: Bar) -> None:
        gram.write_columns(belief, arms, bar)

    def upkeep(self, belief: GramBelief, arms: Table, now: int, bar: Bar) -> int:
        if belief.numbers[gram.UPDATES] >= REBUILD_AFTER:
            rebuild(belief, arms, bar)
        elif belief.numbers[gram.PENDING] > 0.0:
            flush(belief)
        return now + REBUILD_AFTER


def checked_gram(matrix: Any) -> Floats:
    """The kernel matrix, checked to be finite and symmetric with positive variances."""
    checked: Floats = np.asarray(matrix, dtype=np.float64)
    if not np.isfinite(checked).all():
        raise InvalidValue("the kernel gives values that are not finite for these features. Standardise the features.")
    if np.abs(checked - checked.T).max() > 1e-8 * np.abs(checked).max() or np.diag(checked).min() < 0.0:
        raise InvalidValue("the kernel's matrix of these features is not a covariance. Use a positive definite kernel.")
    return 0.5 * (checked + checked.T)


def check_gamma(gamma: float, variances: Floats) -> None:
    """Refuse a gamma too small for the kernel's variances: the covariance of a pulled arm would cancel to 0."""
    largest = float(variances.max())
    if gamma < LEAST_GAMMA * largest:
        raise InvalidValue(
            f"gamma {gamma:g} is {gamma / largest:.2g} of the kernel's variance {largest:g}, less than "
            f"{LEAST_GAMMA:g}: widths would consist of rounding errors. Use a larger gamma; it is the noise variance "
            "in units of the kernel's."
        )


@dataclass(frozen=True, eq=False)
class CutKernel(Kernel):
    """A kernel on many arms: pivoted Cholesky columns as features, the residual as an effect of each arm."""

    cut: tuple[Floats, Floats] | None = field(default=None, repr=False)

    absorb: ClassVar[Formula] = staticmethod(linear.absorb)

    @classmethod
    def of(cls, whole: Kernel) -> Self:
        """Approximate a kernel by a few columns, and log a message about it."""
        import logging

        kernel, features = whole.chosen(), whole.features
        check_gamma(whole.gamma, kernel.diag(features))
        columns, residual = pivoted_cholesky(
            kernel.diag(features), lambda i: kernel(features, features[i : i + 1])[:, 0], MOST_COLUMNS, CUT
        )
        logging.getLogger("goodarm").warning(
            "@kernel: %d arms are more than %d; continuing with %d columns of a pivoted Cholesky decomposition, "
            "largest "
            "residual variance %.1e of the prior's, added to the widths.",
            len(features),
            EXACT_ARMS,
            columns.shape[1],
            float((residual / kernel.diag(features)).max()),
        )
        return cls(features, kernel=kernel, gamma=whole.gamma, length=whole.length, cut=(columns, residual))

    @property
    def exact(self) -> bool:
        return False

    def bind(self, features: Floats | None, arms: int) -> Self:
        return self

    def start(self, bar: Bar) -> Any:
        assert self.cut is not None
        return linear.new_belief(self.cut[0], self.gamma, self.cut[1] / self.gamma)

    def publish(self, belief: Any, arms: Table, bar: Bar) -> None:
        linear.write_columns(belief, arms, bar)

    def upkeep(self, belief: Any, arms: Table, now: int, bar: Bar) -> int:
        return linear.SHORTEST if now == 0 else rebuild_in_time(belief, arms, now, bar)


def pivoted_cholesky(
    diagonal: Floats, column: Callable[[int], Floats], most: int, tolerance: float
) -> tuple[Floats, Floats]:
    """Features F (K, r) and residuals (K,) with k(x, x') = F F' + residual, the residual's diagonal as given.

    Greedy: the arm with the largest residual comes next, until none exceeds `tolerance` times the largest variance or
    `most` columns are made. The residual is also a covariance, so adding its diagonal to the variances never
    understates them. Random features and Nystroem's method do.

    >>> points = np.linspace(0.0, 1.0, 50)
    >>> kernel = np.exp(-0.5 * (points[:, None] - points) ** 2 / 0.3**2)
    >>> features, residual = pivoted_cholesky(np.diag(kernel), lambda i: kernel[:, i], 20, 1e-8)
    >>> features.shape[1], bool(np.abs(features @ features.T + np.diag(residual) - kernel).max() < 1e-7)
    (11, True)

    Reference: Harbrecht, Peters & Schneider 2012, Applied Numerical Mathematics 62(4).
    """
    residual = np.array(diagonal, dtype=np.float64)
    stop = tolerance * residual.max()
    columns: list[Floats] = []
    while len(columns) < min(most, residual.size):
        pivot = int(np.argmax(residual))
        if residual[pivot] <= stop:
            break
        fresh = np.asarray(column(pivot), dtype=np.float64).copy()
        for earlier in columns:
            fresh -= earlier[pivot] * earlier
        fresh /= np.sqrt(residual[pivot])
        columns.append(fresh)
        residual = np.maximum(residual - fresh**2, 0.0)
        residual[pivot] = 0.0
    return np.stack(columns, axis=1), residual
