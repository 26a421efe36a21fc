"""`mixed`: a linear model with an effect of each arm, for features that explain the means only partly.

mean = threshold + x'theta + e, e ~ N(0, tau2), tau2 given or learned from the rewards. The updates are those of
`linear.py` with ratio = tau2 / noise variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from goodarm.errors import InvalidValue
from goodarm.models._base import REGULARISER, surplus_of
from goodarm.models.features import Floats
from goodarm.models.linear import RATIO_DUE, SHORTEST, Linear, LinearBelief, new_belief, rebuild, rebuild_in_time
from goodarm.problem import Bar
from goodarm.rules.beliefs import PULLS, Table

GRID = np.concatenate([[0.0], np.geomspace(1e-5, 10.0, 25)])
"""Candidate values of tau2 / noise variance, a factor 1.8 apart."""
FIRST_GUESS = 0.01
GROWTH = 1.3


def log_likelihood(ratio: float, columns: Floats, pulls: Floats, response: Floats, ridge: float) -> float:
    """log p(means | ratio) up to a constant, with theta and the arms' effects integrated out.

    response_i = (S_i/N_i - xi)/noise sd ~ N(x_i'theta, 1/N_i + ratio), theta ~ N(0, I/ridge):
    -1/2 [ sum log v_i + log det(I + X'WX/ridge) + y'Wy - y'WX V^-1 X'Wy ], with v_i = 1/N_i + ratio, W = 1/v and
    V = ridge I + X'WX.
    """
    variance = 1.0 / pulls + ratio
    weighted = columns / variance
    precision = ridge * np.eye(len(columns)) + weighted @ columns.T
    moment = weighted @ response
    explained = moment @ np.linalg.solve(precision, moment)
    log_det = np.linalg.slogdet(precision)[1] - len(columns) * math.log(ridge)
    return float(-0.5 * (np.log(variance).sum() + log_det + (response**2 / variance).sum() - explained))


def learned_ratio(belief: LinearBelief, arms: Table, bar: Bar) -> float:
    """The likeliest ratio plus one standard error: the largest one within 1/2 of the highest log-likelihood.

    If the effect is learned too small, the model is overconfident; if it is too large, arms share less information.
    """
    seen = np.flatnonzero(arms[:, PULLS] > 0.0)
    pulls, columns = arms[seen, PULLS], belief.columns[:, seen]
    response = surplus_of(arms, bar)[seen] / (pulls * bar.spread)
    ridge = float(belief.numbers[REGULARISER])
    heights = np.array([log_likelihood(ratio, columns, pulls, response, ridge) for ratio in GRID])
    return float(GRID[np.flatnonzero(heights >= heights.max() - 0.5)[-1]])


@dataclass(frozen=True, eq=False)
class Mixed(Linear):
    """Linear model with an effect of each arm: mean = threshold + x'theta + e, e ~ N(0, tau2).

    ridge : V_0 = ridge I; the prior of theta has variance (noise variance)/ridge
    tau2  : variance of an arm's own effect, in units of squared reward; None learns it at geometric times
    """

    tau2: float | None = None

    name: ClassVar[str] = "mixed"
    parameters: ClassVar[tuple[str, ...]] = ("ridge", "intercept", "tau2")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tau2 is not None and not (math.isfinite(self.tau2) and self.tau2 >= 0.0):
            raise InvalidValue(f"tau2 of @mixed must be 0 or larger, or None to learn it; got {self.tau2}.")

    @property
    def blind_widths(self) -> bool:
        return self.tau2 is not None

    @property
    def testable(self) -> bool:
        return self.tau2 is not None  # a learned effect absorbs every deviation from the line

    def _warn_of_duplicates(self) -> None:
        """Arms with equal features differ by their own effects."""

    def start(self, bar: Bar) -> LinearBelief:
        ratio = FIRST_GUESS if self.tau2 is None else self.tau2 / bar.spread**2
        belief = new_belief(self.design(), self.ridge, np.full(len(self.features), ratio))
        belief.numbers[RATIO_DUE] = max(4 * len(belief.theta), SHORTEST) if self.tau2 is None else math.inf
        return belief

    def upkeep(self, belief: LinearBelief, arms: Table, now: int, bar: Bar) -> int:
        if now == 0:
            return SHORTEST
        due = rebuild_in_time(belief, arms, now, bar)
        if now >= belief.numbers[RATIO_DUE]:
            belief.ratio[:] = learned_ratio(belief, arms, bar)
            rebuild(belief, arms, bar)
            belief.numbers[RATIO_DUE] = math.ceil(GROWTH * now)
        return int(min(due, belief.numbers[RATIO_DUE]))
