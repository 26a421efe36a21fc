"""`ucb-v`: the highest upper confidence bound by the empirical Bernstein inequality."""

from __future__ import annotations

import math

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.sampling._base import IndexRule


def index(arm: Arm, pool: Pool, bar: Bar) -> float:
    """mean + sqrt(2 V L/N) + 3 L/N with V = mean (1 - mean) and L = log(4 K N^2/delta), the level of `lucb-g`.

    |S/N - mu| <= sqrt(2 V x/N) + 3 x/N with probability at least 1 - 3 exp(-x) (Audibert, Munos & Szepesvári 2009,
    Theorem 1). V is the empirical variance. A rule sees pulls and total only, so it uses mean (1 - mean), which is the
    empirical variance of 0/1 rewards and an upper bound for other rewards in [0, 1]. Rewards without bounds have the
    variance sigma^2 and no second term. Where a mean is near 0 or 1 the bound is much narrower than Hoeffding's, which
    has V = 1/4.

    >>> from goodarm.problem import Problem
    >>> from goodarm.testing import arm_after
    >>> bar = Problem(threshold=0.05, arms=10).bar
    >>> round(index(arm_after(pulls=10_000, total=200.0), None, bar), 4)
    0.0375
    """
    level = math.log(4.0 * bar.arms * arm.pulls * arm.pulls / bar.delta)
    if bar.bounded > 0.0:
        variance = max(arm.mean * (1.0 - arm.mean), 0.0)
        return arm.mean + math.sqrt(2.0 * variance * level / arm.pulls) + 3.0 * level / arm.pulls
    return arm.mean + bar.sigma * math.sqrt(2.0 * level / arm.pulls)


ucb_v = IndexRule(
    name="ucb-v",
    reference="Audibert, Munos & Szepesvári 2009 (UCB-V); Mnih, Szepesvári & Audibert 2008",
    index=index,
)
