"""`learned-printed`, `learned-online`: the paper's bound alpha ||x||_{V^-1}, V_0 = ridge I, learned but not proved.

`learned-printed` takes an alpha that was trained offline, `learned-online` learns it while the policy runs.
"""

from __future__ import annotations

import math

from goodarm.paper.learned_bounds import both_bounds
from goodarm.paper.soft_index import RIDGE
from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification import RadiusRule
from goodarm.rules.identification._base import ANY_SUB_GAUSSIAN
from goodarm.verdict import Guarantee


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
    return ridge_radius(arm, bar, pool.learned.alpha, ridge)


PAPER = "Tsai, Tsai & Lin, Differentiable Good Arm Identification"

learned_printed = RadiusRule(
    name="learned-printed",
    reference=PAPER,
    guarantee=Guarantee.HEURISTIC,
    families=ANY_SUB_GAUSSIAN,
    radius=printed_radius,
    by_model=True,
    waits=True,
    limits=(RIDGE,),
    shared=("ridge",),
)
learned_online = RadiusRule(
    name="learned-online",
    reference=PAPER,
    guarantee=Guarantee.HEURISTIC,
    families=ANY_SUB_GAUSSIAN,
    learner=both_bounds,
    radius=online_radius,
    by_model=True,
    waits=True,
    limits=(RIDGE,),
    shared=("ridge",),
)
