"""`learned`, `learned-printed`, `learned-online`: a bound whose size alpha was learned, not proved.

Three rules, by the unit of alpha and by where it comes from:

`learned`          alpha standard errors of an arm at the threshold, alpha sd0 width;
`learned-printed`  the paper's alpha ||x||_{V^-1}, without sd0 and with V_0 = ridge * I; alpha trained offline;
`learned-online`   the same, alpha learned while the policy runs.

All are `heuristic`. `studentised` has alpha in the unit of `learned`, and can be calibrated (`goodarm.learning`).
"""

from __future__ import annotations

import math

from goodarm.beliefs import Arm, Pool
from goodarm.estimators.learned_bounds import both_bounds
from goodarm.identification._base import ANY_SUB_GAUSSIAN, RadiusRule
from goodarm.problem import Bar
from goodarm.verdict import Guarantee


def standard_errors(arm: Arm, pool: Pool, bar: Bar, alpha: float = 4.0, minimum_pulls: float = 1.0) -> float:
    """alpha sd0 width, from `minimum_pulls` on; before that no verdict.

    At a small threshold a minimum is needed: at xi = 0.005 a single early success is 14 standard errors.

    >>> from goodarm.problem import Problem
    >>> from goodarm.testing import arm_after
    >>> standard_errors(arm_after(pulls=100, total=50.0), None, Problem(threshold=0.5, arms=10).bar, alpha=4.0)
    0.2
    """
    return alpha * bar.spread * arm.width if arm.pulls >= minimum_pulls else math.inf


def ridge_radius(arm: Arm, bar: Bar, alpha: float, ridge: float) -> float:
    """alpha w sqrt(1 + ridge w^2): around the plain mean what alpha U is around the mean shrunk towards the threshold.

    m' - alpha U >= xi with m' = xi + (m - xi)/(1 + ridge w^2), U = w/sqrt(1 + ridge w^2), solved for m.
    A model of the arms has its own V_0: there alpha w.

    >>> from goodarm.problem import Problem
    >>> from goodarm.testing import arm_after
    >>> bar = Problem(threshold=0.5, arms=10).bar
    >>> round(ridge_radius(arm_after(pulls=3, total=3.0), bar, alpha=1.5, ridge=1.0), 4)
    1.0
    """
    if bar.modelled > 0.0:
        return alpha * arm.width
    return alpha * arm.width * math.sqrt(1.0 + ridge * arm.width * arm.width)


def printed_radius(arm: Arm, pool: Pool, bar: Bar, alpha: float = 2.0, ridge: float = 1.0) -> float:
    """The paper's bound alpha ||x||_{V^-1}, alpha trained beforehand."""
    return ridge_radius(arm, bar, alpha, ridge)


def online_radius(arm: Arm, pool: Pool, bar: Bar, ridge: float = 1.0) -> float:
    """The paper's bound alpha ||x||_{V^-1}, alpha learned online."""
    return ridge_radius(arm, bar, pool.alpha, ridge)


PAPER = "Tsai, Tsai & Lin, Differentiable Good Arm Identification"

learned = RadiusRule(
    name="learned",
    reference="goodarm (docs/learning.md), after the paper's learned alpha",
    guarantee=Guarantee.HEURISTIC,
    families=ANY_SUB_GAUSSIAN,
    radius=standard_errors,
    by_model=True,
)
learned_printed = RadiusRule(
    name="learned-printed",
    reference=PAPER,
    guarantee=Guarantee.HEURISTIC,
    families=ANY_SUB_GAUSSIAN,
    radius=printed_radius,
    by_model=True,
)
learned_online = RadiusRule(
    name="learned-online",
    reference=PAPER,
    guarantee=Guarantee.HEURISTIC,
    families=ANY_SUB_GAUSSIAN,
    learner=both_bounds,
    radius=online_radius,
    by_model=True,
)
