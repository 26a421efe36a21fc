"""`kt`: a likelihood ratio whose mean is predicted by the Krichevsky-Trofimov estimate."""

from __future__ import annotations

import math

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification._base import EvidenceRule
from goodarm.verdict import Guarantee


def bet(reward: float, guess: float, threshold: float) -> float:
    """x log(q/xi) + (1-x) log((1-q)/(1-xi)): the evidence that one reward x adds for the guess q, made before it."""
    won, lost = guess / threshold, (1.0 - guess) / (1.0 - threshold)
    # a 0/1 reward needs one logarithm, and choosing its argument costs no branch
    if reward * (1.0 - reward) == 0.0:
        return math.log(won if reward > 0.5 else lost)
    return reward * math.log(won) + (1.0 - reward) * math.log(lost)


def observe(arm: Arm, reward: float, pool: Pool, bar: Bar) -> tuple[float, float, float]:
    """Plug-in likelihood ratio: q = (S + 1/2)/(N + 1) before the pull, q+ = max(q, xi), q- = min(q, xi).

    log E+ += x log(q+/xi) + (1-x) log((1-q+)/(1-xi)), and log E- likewise with q-.

    Valid for every reward in [0, 1], not only 0/1. The factor (q/xi)^x ((1-q)/(1-xi))^(1-x) is convex in x, so its
    mean is at most its chord's, mu q/xi + (1-mu)(1-q)/(1-xi), which is at most 1 when q >= xi >= mu or q <= xi <= mu.
    q is fixed before the reward is seen, so E is a supermartingale that starts at 1 under any sampling rule.

    >>> from goodarm.testing import arm_after
    >>> from goodarm.problem import Problem
    >>> good, bad, _ = observe(arm_after(pulls=3, total=3.0), 1.0, None, Problem(threshold=0.5, arms=10).bar)
    >>> round(good, 4), bad
    (0.5596, 0.0)
    """
    q = (arm.total + 0.5) / (arm.pulls + 1.0)
    if q > bar.threshold:
        return arm.for_good + bet(reward, q, bar.threshold), arm.for_bad, 0.0
    return arm.for_good, arm.for_bad + bet(reward, q, bar.threshold), 0.0


kt = EvidenceRule(
    name="kt",
    reference="Krichevsky & Trofimov 1981, IEEE Trans. Information Theory 27(2); Robbins & Siegmund 1974",
    guarantee=Guarantee.CERTIFIED,
    observe=observe,
)
