"""`widest`: the arm with the largest uncertainty."""

from __future__ import annotations

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.sampling._base import IndexRule


def index(arm: Arm, pool: Pool, bar: Bar) -> float:
    """The largest width: with a model, a greedy G-optimal design; without one, the same as round robin.

    >>> from goodarm.testing import arm_after
    >>> index(arm_after(pulls=4, total=3.0), None, None)
    0.5
    """
    return arm.width


widest = IndexRule(name="widest", reference="Kiefer & Wolfowitz 1960 for G-optimality", index=index, blind=True)
