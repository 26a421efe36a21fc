"""`apgai`: anytime parameter-free good arm identification."""

from __future__ import annotations

import math

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.sampling._base import IndexRule


def index(arm: Arm, pool: Pool, bar: Bar) -> float:
    """The most certainly good arm, or else the least certainly bad one: the largest sqrt(N) (mean - xi).

    The published rule has two cases: if some mean exceeds xi, the largest sqrt(N)(mean - xi); otherwise the smallest
    sqrt(N)(xi - mean). Both are the largest sqrt(N)(mean - xi).
    """
    return math.sqrt(arm.pulls) * (arm.mean - bar.threshold)


apgai = IndexRule(
    name="apgai",
    reference="Jourdan, Delahaye-Duriez & Réda 2023, NeurIPS",
    index=index,
)
