"""`uniform`: every open arm in turn."""

from __future__ import annotations

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.sampling._base import IndexRule


def index(arm: Arm, pool: Pool, bar: Bar) -> float:
    """Round robin over the open arms: the one with the fewest pulls."""
    return -arm.pulls


uniform = IndexRule(name="uniform", reference="the plain baseline", index=index, blind=True)
