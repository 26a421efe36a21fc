"""`lucb-g`: the arm with the highest upper confidence bound."""

from __future__ import annotations

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification.hoeffding import hoeffding_radius
from goodarm.rules.sampling._base import IndexRule


def index(arm: Arm, pool: Pool, bar: Bar) -> float:
    """Highest upper confidence bound: mean + sqrt( log(4 K N^2/delta) / (2N) )."""
    return arm.mean + hoeffding_radius(arm.pulls, bar)


lucb_g = IndexRule(
    name="lucb-g",
    reference="Kano et al. 2019, after Kalyanakrishnan et al. 2012",
    index=index,
)
