"""`none`: no verdicts. For policies that only collect rewards."""

from __future__ import annotations

import math

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification._base import ANY_SUB_GAUSSIAN, RadiusRule
from goodarm.verdict import Guarantee


def radius(arm: Arm, pool: Pool, bar: Bar) -> float:
    """Never decide: every arm stays open until the end."""
    return math.inf


none = RadiusRule(name="none", guarantee=Guarantee.NONE, families=ANY_SUB_GAUSSIAN, radius=radius, by_totals=True)
