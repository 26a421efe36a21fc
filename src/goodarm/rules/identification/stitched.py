"""`stitched`: an iterated-logarithm boundary with practical constants."""

from __future__ import annotations

import math

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification._base import ANY_SUB_GAUSSIAN, RadiusRule
from goodarm.verdict import Guarantee


def radius(arm: Arm, pool: Pool, bar: Bar, tight_from: float = 16.0) -> float:
    """Polynomial stitching: |S - N xi| >= 1.7 sqrt( v (log log(2 v/v0) + 0.72 log(5.2 K/delta)) ).

    v = max(sigma^2 N, v0), v0 = sigma^2 n0, n0 = `tight_from`: the boundary is tight from about n0 pulls on, and valid
    for any number of pulls. Each direction crosses with probability at most delta/K at any time (Howard et al. 2021,
    eq. 2), and only one direction of an arm can be wrong.

    >>> from goodarm.problem import Problem
    >>> from goodarm.testing import arm_after
    >>> round(radius(arm_after(pulls=100, total=50.0), None, Problem(threshold=0.5, arms=10).bar), 4)
    0.207
    """
    n = max(arm.pulls, tight_from)
    rate = math.log(math.log(2.0 * n / tight_from)) + 0.72 * math.log(5.2 * bar.arms / bar.delta)
    return 1.7 * bar.sigma * math.sqrt(n * rate) / arm.pulls


stitched = RadiusRule(
    name="stitched",
    reference="Howard, Ramdas, McAuliffe & Sekhon 2021, Annals of Statistics 49(2), eq. 2",
    guarantee=Guarantee.CERTIFIED,
    families=ANY_SUB_GAUSSIAN,
    radius=radius,
    by_totals=True,
    limits=(("tight_from", 1e-8, 1e8),),
)
