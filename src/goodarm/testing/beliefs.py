"""Beliefs made by hand, for examples and tests."""

from __future__ import annotations

import math

from goodarm.rules.beliefs import Arm


def arm_after(pulls: float, total: float, *, for_good: float = 0.0, for_bad: float = 0.0, memory: float = 0.0) -> Arm:
    """An open, independent arm after `pulls` rewards that add up to `total`.

    >>> arm_after(pulls=4, total=3.0).mean
    0.75
    """
    return Arm(float(pulls), total, total / pulls, 1.0 / math.sqrt(pulls), for_good, for_bad, memory, 0.0)
