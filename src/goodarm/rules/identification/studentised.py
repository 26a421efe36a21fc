"""`studentised`: a bound alpha on the studentised mean, learned, and certified by calibration."""

from __future__ import annotations

import math

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification._base import ANY_SUB_GAUSSIAN, EvidenceRule
from goodarm.verdict import Guarantee


def least_pulls(bar: Bar) -> float:
    """Pulls before the first verdict: 10/min(xi, 1 - xi) for rewards in [0, 1], 10 for others.

    At xi = 0.005 a single early success already gives a studentised mean of 14.
    """
    return math.ceil(10.0 / min(bar.threshold, 1.0 - bar.threshold)) if bar.bounded > 0.0 else 10.0


def observe(arm: Arm, reward: float, pool: Pool, bar: Bar, alpha: float = 4.0) -> tuple[float, float, float]:
    """Radius alpha sd0/sqrt(N), alpha learned: good once z = (mean - xi) sqrt(N)/sd0 has reached alpha, bad mirrored.

    Kept as evidence log(K/delta) (R/alpha)^2 with R the largest z so far: it reaches log(K/delta) exactly when R
    reaches alpha, grows like a log-likelihood ratio, and yields R for every arm at the end of a run. It is not an
    e-process and has no guarantee by itself: `goodarm learn --calibrate` measures its error rate and attaches the
    certificate.

    >>> from goodarm.problem import Problem
    >>> from goodarm.testing import arm_after
    >>> bar = Problem(threshold=0.5, arms=10).bar
    >>> good, bad, _ = observe(arm_after(pulls=99, total=69.0), 1.0, None, bar, alpha=4.0)
    >>> round(good / bar.budget, 6), bad
    (1.0, 0.0)
    """
    n = arm.pulls + 1.0
    if n < least_pulls(bar):
        return 0.0, 0.0, 0.0
    z = ((arm.total + reward) / n - bar.threshold) * math.sqrt(n) / bar.spread
    evidence = bar.budget * (z / alpha) * (z / alpha)
    if z > 0.0:
        return max(arm.for_good, evidence), arm.for_bad, 0.0
    return arm.for_good, max(arm.for_bad, evidence), 0.0


studentised = EvidenceRule(
    name="studentised",
    reference="docs/learning.md (learn, then test; Angelopoulos et al. 2021)",
    guarantee=Guarantee.HEURISTIC,
    families=ANY_SUB_GAUSSIAN,
    observe=observe,
    limits=(("alpha", 1e-6, math.inf),),
)
