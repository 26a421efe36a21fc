"""`linear`: mean = threshold + x'theta, by ridge regression kept exact with rank-1 updates, O(K d) per pull.

Each arm may also have a separate effect: mean = threshold + x'theta + e, e ~ N(0, tau2) (the mixed model of
`mixed.py`, and the residuals of a kernel that was cut off). ratio_i = tau2_i / noise variance, 0 for the plain model;
the formulas hold for both.

    D_i = 1 + ratio_i N_i,  h_i = N_i/D_i,  z_i = (S_i - N_i xi)/D_i
    V = ridge I + sum h_i x_i x_i',  theta = V^-1 sum x_i z_i,  line_i = x_i'theta,  spread_i = x_i' V^-1 x_i
    mean_i  = xi + line_i/D_i + ratio_i z_i
    width_i = sqrt( ratio_i/D_i + spread_i/D_i^2 )

Width is in units of one reward's standard deviation: the posterior of a mean is N(mean, (noise sd * width)^2) under
the prior theta ~ N(0, noise variance / ridge). It is the paper's ||x||_{V^-1}.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Self

import numpy as np

from goodarm.errors import InvalidValue, ModelWarning
from goodarm.models._base import LOG_DET, REGULARISER, Model, surplus_of
from goodarm.models.features import Floats, duplicate_rows
from goodarm.problem import Bar
from goodarm.rules.beliefs import MEAN, PULLS, WIDTH, Arm, Table
from goodarm.rules.parameters import Formula

INTERVAL, RATIO_DUE, PLAIN, REBUILT = 2, 3, 4, 5
NUMBERS = 6
SHORTEST, LONGEST = 64, 16384
TOLERANCE = 1e-11
"""Drift above which the interval between rebuilds shrinks: a hundredth of the stated accuracy."""
TINY = 1e-30
"""Minimum variance: rules divide by the width."""
LONGEST_FEATURES = 1e13
"""Maximum length of features in units of sqrt(ridge). At this length widths are right to 1e-7, and never too small."""
STEEP = math.log(100.0)
"""Growth of log det V since the last rebuild above which the next one is due. No variance shrinks by a larger factor
than det V grows, so at most two digits are lost. The growth is summed over all pulls, because ten pulls that each cost
two digits, along features of ten magnitudes, are as harmful as one pull that costs twenty."""


class LinearBelief(NamedTuple):
    """Belief of a linear model, in coordinates in which the features' columns are orthogonal."""

    columns: Floats  # (d, K): features, rotated; a column of features is contiguous
    inverse: Floats  # (d, d): V^-1
    theta: Floats  # (d,)
    line: Floats  # (K,): x_i'theta
    spread: Floats  # (K,): x_i'V^-1 x_i
    ratio: Floats  # (K,): variance of an arm's own effect / noise variance
    shrink: Floats  # (K,): 1/D_i
    own: Floats  # (K,): ratio_i z_i
    step: Floats  # (d,): scratch, V^-1 x_a
    along: Floats  # (K,): scratch, x_i'V^-1 x_a
    rotation: Floats  # (d, d): features = columns' rotation'
    numbers: Floats


def project(columns: Floats, step: Floats, along: Floats) -> None:
    """along_i = sum_j columns[j, i] step[j]: the only O(K d) step of a pull, four columns at a time."""
    dimension, count = columns.shape
    first, second, third, fourth = step[0], 0.0, 0.0, 0.0
    for i in range(count):
        along[i] = columns[0, i] * first
    j = 1
    while j + 3 < dimension:
        first, second, third, fourth = step[j], step[j + 1], step[j + 2], step[j + 3]
        a, b, c, d = columns[j], columns[j + 1], columns[j + 2], columns[j + 3]
        for i in range(count):
            along[i] += (a[i] * first + b[i] * second) + (c[i] * third + d[i] * fourth)
        j += 4
    while j < dimension:
        first = step[j]
        for i in range(count):
            along[i] += columns[j, i] * first
        j += 1


def absorb(belief: LinearBelief, arms: Table, a: int, before: Arm, reward: float, bar: Bar) -> bool:
    """One reward: u = V^-1 x_a, q = x_a'u, c = dh/(1 + dh q), g = (dz - dh x_a'theta)/(1 + dh q), then

    theta += u g, V^-1 -= c u u', line += (X u) g, spread -= c (X u)^2, log det V += log(1 + dh q).
    """
    columns, inverse, theta, line, spread, ratio, shrink, own, step, along, _, numbers = belief
    dimension = len(theta)
    scale = 1.0 / (1.0 + ratio[a] * (before.pulls + 1.0))
    surplus = before.total - before.pulls * bar.threshold
    dh = (before.pulls + 1.0) * scale - before.pulls * shrink[a]
    z = (surplus + reward - bar.threshold) * scale
    dz = z - surplus * shrink[a]
    q = 0.0
    for j in range(dimension):
        total = 0.0
        for k in range(dimension):
            total += inverse[j, k] * columns[k, a]
        step[j] = total
        q += total * columns[j, a]
    c = dh / (1.0 + dh * q)
    g = (dz - dh * line[a]) / (1.0 + dh * q)
    project(columns, step, along)
    for j in range(dimension):
        theta[j] += step[j] * g
        for k in range(dimension):
            inverse[j, k] -= c * step[j] * step[k]
    numbers[LOG_DET] += math.log1p(dh * q)
    shrink[a] = scale
    own[a] = ratio[a] * z
    for i in range(len(line)):
        line[i] += along[i] * g
        spread[i] -= c * along[i] * along[i]
    write_columns(belief, arms, bar)
    return bool(numbers[LOG_DET] - numbers[REBUILT] > STEEP)


def write_columns(belief: LinearBelief, arms: Table, bar: Bar) -> None:
    """Mean and width of every arm into the table."""
    line, spread, ratio, shrink, own = belief.line, belief.spread, belief.ratio, belief.shrink, belief.own
    if belief.numbers[PLAIN] > 0.0:
        for i in range(len(line)):
            arms[i, MEAN] = bar.threshold + line[i]
            arms[i, WIDTH] = math.sqrt(max(spread[i], TINY))
    else:
        for i in range(len(line)):
            d = shrink[i]
            arms[i, MEAN] = bar.threshold + line[i] * d + own[i]
            arms[i, WIDTH] = math.sqrt(max(ratio[i] * d + spread[i] * d * d, TINY))


def rebuild(belief: LinearBelief, arms: Table, bar: Bar) -> float:
    """Recompute the belief from the counts and totals, by QR; returns the drift of means and widths.

    The QR factors of [sqrt(h) X; sqrt(ridge) I] never square the condition number, unlike the normal equations.
    """
    ridge = belief.numbers[REGULARISER]
    scale = 1.0 / (1.0 + belief.ratio * arms[:, PULLS])
    surplus = surplus_of(arms, bar)
    seen = np.flatnonzero(arms[:, PULLS] > 0.0)
    weights = np.sqrt(arms[seen, PULLS] * scale[seen])
    dimension = len(belief.theta)
    stacked = np.zeros((len(seen) + dimension, dimension + 1))
    stacked[: len(seen), :dimension] = belief.columns[:, seen].T * weights[:, None]
    stacked[: len(seen), dimension] = surplus[seen] * scale[seen] / weights
    stacked[len(seen) :, :dimension] = math.sqrt(ridge) * np.eye(dimension)
    triangle: Floats = np.linalg.qr(stacked, mode="r")  # type: ignore[assignment]  # with mode "r" it is one array
    factor, response = triangle[:dimension, :dimension], triangle[:dimension, dimension]
    solved = np.linalg.solve(factor.T, np.concatenate([belief.columns, np.eye(dimension)], axis=1))
    rooted, halves = solved[:, :-dimension], solved[:, -dimension:]
    before = arms[:, MEAN].copy(), arms[:, WIDTH].copy()
    belief.inverse[:] = halves.T @ halves
    belief.theta[:] = halves.T @ response
    belief.line[:] = response @ rooted
    belief.spread[:] = np.einsum("ji,ji->i", rooted, rooted)
    belief.shrink[:] = scale
    belief.own[:] = belief.ratio * surplus * scale
    belief.numbers[LOG_DET] = 2.0 * np.log(np.abs(np.diag(factor))).sum() - dimension * math.log(ridge)
    belief.numbers[REBUILT] = belief.numbers[LOG_DET]
    belief.numbers[PLAIN] = 0.0 if belief.ratio.any() else 1.0
    write_columns(belief, arms, bar)
    return float(max(np.abs(arms[:, MEAN] - before[0]).max(), np.abs(arms[:, WIDTH] - before[1]).max()))


def new_belief(features: Floats, ridge: float, ratio: Floats) -> LinearBelief:
    """The belief before the first reward: theta = 0, V = ridge I.

    The features are rotated once to their principal axes. This does not change the ridge penalty, but it reduces
    rounding errors: nearly collinear features become one tiny column instead of a difference of large numbers.
    """
    check_ridge(features, ridge)
    count, dimension = features.shape
    rotation = np.linalg.svd(features, full_matrices=False)[2].T
    if rotation.shape != (dimension, dimension):  # fewer arms than features: only the span of the arms matters
        dimension = rotation.shape[1]
    columns = np.ascontiguousarray((features @ rotation).T)
    numbers = np.zeros(NUMBERS)
    numbers[REGULARISER] = ridge
    numbers[INTERVAL] = SHORTEST
    numbers[PLAIN] = 0.0 if ratio.any() else 1.0
    return LinearBelief(
        columns=columns,
        inverse=np.eye(dimension) / ridge,
        theta=np.zeros(dimension),
        line=np.zeros(count),
        spread=(columns**2).sum(axis=0) / ridge,
        ratio=ratio.copy(),
        shrink=np.ones(count),
        own=np.zeros(count),
        step=np.zeros(dimension),
        along=np.zeros(count),
        rotation=rotation,
        numbers=numbers,
    )


def check_ridge(features: Floats, ridge: float) -> None:
    """Refuse features that are too large compared with the ridge for floats to represent both."""
    longest = float(np.sqrt((features**2).sum(axis=1).max()))
    if not longest <= LONGEST_FEATURES * math.sqrt(ridge):
        raise InvalidValue(
            f"a ridge of {ridge:g} is too small for features of length {longest:g}: floats can't represent both, so "
            "widths would consist of rounding errors. Standardise the features, or use a larger ridge."
        )


def rebuild_in_time(belief: LinearBelief, arms: Table, now: int, bar: Bar) -> int:
    """Rebuild, and choose the round of the next rebuild by the drift; returns that round."""
    drift = rebuild(belief, arms, bar)
    interval = belief.numbers[INTERVAL]
    interval = min(2.0 * interval, LONGEST) if drift < TOLERANCE else max(interval / 4.0, SHORTEST)
    belief.numbers[INTERVAL] = interval
    return now + int(interval)


def checked_positive(owner: str, name: str, value: float, why: str) -> None:
    if not (math.isfinite(value) and value > 0.0):
        raise InvalidValue(f"{name} of @{owner} must be a positive number; got {value}. {why}")


@dataclass(frozen=True, eq=False)
class Linear(Model):
    """Linear model without separate effects of the arms: mean = threshold + x'theta.

    ridge     : V_0 = ridge I; the prior of theta has variance (noise variance)/ridge
    intercept : add a column of ones to the features
    """

    ridge: float = 1.0
    intercept: bool = field(default=False, kw_only=True)

    name: ClassVar[str] = "linear"
    parameters: ClassVar[tuple[str, ...]] = ("ridge", "intercept")
    absorb: ClassVar[Formula] = staticmethod(absorb)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.intercept not in (False, True):
            raise InvalidValue(f"intercept of @{self.name} must be 0 (without) or 1 (with); got {self.intercept}.")
        object.__setattr__(self, "intercept", bool(self.intercept))
        checked_positive(
            self.name, "ridge", self.ridge, "It keeps V invertible until every direction has been observed."
        )

    def bind(self, features: Floats | None, arms: int) -> Self:
        bound = super().bind(features, arms)
        bound._warn_of_duplicates()
        return bound

    def _warn_of_duplicates(self) -> None:
        pairs = duplicate_rows(self.features)
        if pairs:
            first, later = pairs[0]
            warnings.warn(
                f"arms {first} and {later} have equal features ({len(pairs)} such arms in all): @{self.name} assumes "
                "that their means are equal. If they may differ, use @mixed and decide by own evidence.",
                ModelWarning,
                stacklevel=4,
            )

    def design(self) -> Floats:
        """The features that the model works with."""
        ones = np.ones((len(self.features), 1 if self.intercept else 0))
        return np.concatenate([self.features, ones], axis=1)

    def start(self, bar: Bar) -> LinearBelief:
        return new_belief(self.design(), self.ridge, np.zeros(len(self.features)))

    def publish(self, belief: LinearBelief, arms: Table, bar: Bar) -> None:
        write_columns(belief, arms, bar)

    def upkeep(self, belief: LinearBelief, arms: Table, now: int, bar: Bar) -> int:
        return SHORTEST if now == 0 else rebuild_in_time(belief, arms, now, bar)

    def coefficients(self, belief: LinearBelief) -> Floats:
        """theta in the coordinates of the features."""
        return np.asarray(belief.rotation @ belief.theta)
