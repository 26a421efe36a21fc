"""`lil-hdoc`: HDoC after an initial phase of several pulls per arm."""

from __future__ import annotations

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm
from goodarm.rules.identification.hoeffding import hoeffding_radius
from goodarm.rules.identification.lil import lil_radius
from goodarm.rules.sampling._base import LineRule
from goodarm.rules.sampling.hdoc import clock

FIRST = 1e6
"""Slope of an arm in its initial phase, divided by its pulls: larger than any mean and any width."""


def slope(arm: Arm, bar: Bar, epsilon: float = 0.01) -> float:
    """Pull each arm, the least pulled first, until its iterated-logarithm bound is below HDoC's; then like HDoC.

    The paper first samples every arm T times, where T is the smallest number of pulls from which on the radius of `lil`
    is at most that of `hoeffding`. From there on, lil'HDoC decides whenever HDoC does. Comparing the two radii shows
    whether an arm has fewer than T pulls, so T need not be computed.

    >>> from goodarm.problem import Problem
    >>> from goodarm.testing import arm_after
    >>> bar = Problem(threshold=0.5, arms=10).bar
    >>> slope(arm_after(pulls=1300, total=650.0), bar) > 1.0, slope(arm_after(pulls=1600, total=800.0), bar)
    (True, 0.025)
    """
    if lil_radius(arm.pulls, bar, epsilon) > hoeffding_radius(arm.pulls, bar):
        return FIRST / arm.pulls
    return arm.width


lil_hdoc = LineRule(
    name="lil-hdoc",
    reference="Tsai, Tsai & Lin 2024 (lil'HDoC, arXiv 2401.15879)",
    slope=slope,
    clock=clock,
    limits=(("epsilon", 1e-6, 1.0 - 1e-6),),
    shared=("epsilon",),
)
