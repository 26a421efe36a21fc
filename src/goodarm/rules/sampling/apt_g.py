"""`apt-g` and `apt-g-printed`: the arm nearest to the threshold, and the formula printed in one paper."""

from __future__ import annotations

import math

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.sampling._base import IndexRule


def index(arm: Arm, pool: Pool, bar: Bar) -> float:
    """The least certain arm: the smallest sqrt(N) |mean - xi|."""
    return -math.sqrt(arm.pulls) * abs(arm.mean - bar.threshold)


def index_printed(arm: Arm, pool: Pool, bar: Bar) -> float:
    """The largest mean + sqrt(N) |xi - mean|, as printed by Tsai et al.; it stays on an arm until that is decided."""
    return arm.mean + math.sqrt(arm.pulls) * abs(bar.threshold - arm.mean)


apt_g = IndexRule(
    name="apt-g",
    reference="Kano et al. 2019, after Locatelli, Gutzeit & Carpentier 2016",
    index=index,
)
apt_g_printed = IndexRule(
    name="apt-g-printed",
    reference="Tsai, Tsai & Lin, Differentiable Good Arm Identification, section 'Sampling Bound'",
    index=index_printed,
)
