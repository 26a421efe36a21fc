"""`ucb`: mean plus beta standard errors; beta is chosen by the user, or learned."""

from __future__ import annotations

import math

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.sampling._base import IndexRule


def index(arm: Arm, pool: Pool, bar: Bar, beta: float = 2.0) -> float:
    """Mean plus beta standard errors: mean + beta sd0 width, sd0 = sqrt(xi (1 - xi)) for rewards in [0, 1].

    >>> from goodarm.problem import Problem
    >>> from goodarm.testing import arm_after
    >>> index(arm_after(pulls=100, total=50.0), None, Problem(threshold=0.5, arms=10).bar, beta=2.0)
    0.6
    """
    return arm.mean + beta * bar.spread * arm.width


ucb = IndexRule(
    name="ucb",
    reference="Auer, Cesa-Bianchi & Fischer 2002, with a fixed multiple",
    index=index,
    upper_bound=True,
    limits=(("beta", 0.0, math.inf),),
)
