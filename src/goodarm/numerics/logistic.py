"""The logistic function."""

from __future__ import annotations

import math


def sigmoid(x: float) -> float:
    """1/(1 + exp(-x)), without overflow."""
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    return math.exp(x) / (1.0 + math.exp(x))
