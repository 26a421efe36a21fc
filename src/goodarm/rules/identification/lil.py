"""`lil`: the law-of-the-iterated-logarithm bound of lil'HDoC."""

from __future__ import annotations

import math

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification._base import ANY_SUB_GAUSSIAN, RadiusRule
from goodarm.verdict import Guarantee


def lil_radius(pulls: float, bar: Bar, epsilon: float) -> float:
    """(1+sqrt e) sqrt( 2 sigma^2 (1+e)/N log( log((1+e)N)/w ) ) after N pulls, e = `epsilon`; see `radius`."""
    e = epsilon
    constant = (2.0 + e) / e * (1.0 / math.log(1.0 + e)) ** (1.0 + e)
    w = bar.delta / (bar.arms * constant)
    rate = math.log(math.log((1.0 + e) * pulls) / w)
    return (1.0 + math.sqrt(e)) * bar.sigma * math.sqrt(2.0 * (1.0 + e) * rate / pulls)


def radius(arm: Arm, pool: Pool, bar: Bar, epsilon: float = 0.01) -> float:
    """Law of the iterated logarithm: (1+sqrt e) sqrt( 2 sigma^2 (1+e)/N log( log((1+e)N)/w ) ).

    e is `epsilon` in (0, 1); w = delta/(K c) with c = ((2+e)/e) (1/log(1+e))^(1+e). By Lemma 1 of Jamieson et al.
    (2014) one direction of one arm is crossed with probability at most c w^(1+e) <= c w = delta/K.
    """
    return lil_radius(arm.pulls, bar, epsilon)


lil = RadiusRule(
    name="lil",
    reference="Tsai, Tsai & Lin 2024 (lil'HDoC); Jamieson et al. 2014, Lemma 1",
    guarantee=Guarantee.CERTIFIED,
    families=ANY_SUB_GAUSSIAN,
    radius=radius,
    by_totals=True,
    limits=(("epsilon", 1e-6, 1.0 - 1e-6),),
    shared=("epsilon",),
)
