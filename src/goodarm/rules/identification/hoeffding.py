"""`hoeffding`: the radius of the paper and of all its baselines."""

from __future__ import annotations

import math

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification._base import ANY_SUB_GAUSSIAN, RadiusRule
from goodarm.verdict import Guarantee


def hoeffding_radius(pulls: float, bar: Bar) -> float:
    """sqrt( 2 sigma^2 log(4 K N^2 / delta) / N ), which is sqrt( log(4 K N^2/delta) / (2N) ) for rewards in [0, 1].

    >>> from goodarm.problem import Problem
    >>> round(hoeffding_radius(100.0, Problem(threshold=0.5, arms=10).bar), 4)
    0.2819
    """
    return math.sqrt(2.0 * bar.sigma * bar.sigma * math.log(4.0 * bar.arms * pulls * pulls / bar.delta) / pulls)


def radius(arm: Arm, pool: Pool, bar: Bar) -> float:
    """Hoeffding's inequality with a union over arms and pulls; certified and wide.

    By Hoeffding, P(|mean_N - mu| > r_N) <= 2 exp(-N r_N^2 / (2 sigma^2)) = delta / (2 K N^2) for each N, and
    sum_N 1/N^2 < 2: so the interval holds at all N and for all K arms at once with probability at least 1 - delta.
    """
    return hoeffding_radius(arm.pulls, bar)


hoeffding = RadiusRule(
    name="hoeffding",
    reference="Kano et al. 2019, Machine Learning 108, eq. for HDoC",
    guarantee=Guarantee.CERTIFIED,
    families=ANY_SUB_GAUSSIAN,
    radius=radius,
    by_totals=True,
)
