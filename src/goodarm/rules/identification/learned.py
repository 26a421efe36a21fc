"""`learned`: a bound whose size alpha, in standard errors, is learned, without a proof.

The paper's own bounds are in `goodarm.paper.rules`. `studentised` has alpha in the same unit, and can be
calibrated (`goodarm.learning`).
"""

from __future__ import annotations

import math

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification._base import ANY_SUB_GAUSSIAN, RadiusRule
from goodarm.verdict import Guarantee


def standard_errors(arm: Arm, pool: Pool, bar: Bar, alpha: float = 4.0, minimum_pulls: float = 1.0) -> float:
    """alpha sd0 width; no verdict before `minimum_pulls`.

    Small thresholds need a minimum: at xi = 0.005, a single early success is 14 standard errors.

    >>> from goodarm.problem import Problem
    >>> from goodarm.testing import arm_after
    >>> standard_errors(arm_after(pulls=100, total=50.0), None, Problem(threshold=0.5, arms=10).bar, alpha=4.0)
    0.2
    """
    return alpha * bar.spread * arm.width if arm.pulls >= minimum_pulls else math.inf


learned = RadiusRule(
    name="learned",
    reference="goodarm (docs/learning.md), after the paper's learned alpha",
    guarantee=Guarantee.HEURISTIC,
    families=ANY_SUB_GAUSSIAN,
    radius=standard_errors,
    by_model=True,
)
