"""`betting`: bets sized by the estimated mean and variance; the tightest rule for bounded rewards that are not 0/1."""

from __future__ import annotations

import math

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification._base import EvidenceRule
from goodarm.verdict import Guarantee


def observe(arm: Arm, reward: float, pool: Pool, bar: Bar) -> tuple[float, float, float]:
    """Approximate Kelly bets: log E+ += log(1 + lam (x - xi)), lam = clip(d/(v + d^2), 0, 0.9/xi).

    Before the pull: estimate m = (1/2 + S)/(N+1), variance v = (1/4 + sum of past (x - m)^2)/(N+1) with the m
    that includes x, d = m - xi.
    E- mirrors it with the limit 0.9/(1-xi). Since 0 <= lam < 1/xi the factor is positive, its mean under mu <= xi is
    1 + lam (mu - xi) <= 1, and lam is fixed before the reward: a supermartingale under any sampling rule.
    """
    xi = bar.threshold
    estimate = (0.5 + arm.total) / (arm.pulls + 1.0)
    variance = (0.25 + arm.memory) / (arm.pulls + 1.0)
    distance = estimate - xi
    after = (0.5 + arm.total + reward) / (arm.pulls + 2.0)
    memory = arm.memory + (reward - after) * (reward - after)
    stake = abs(distance) / (variance + distance * distance)
    if distance > 0.0:
        return arm.for_good + math.log1p(min(stake, 0.9 / xi) * (reward - xi)), arm.for_bad, memory
    return arm.for_good, arm.for_bad + math.log1p(min(stake, 0.9 / (1.0 - xi)) * (xi - reward)), memory


betting = EvidenceRule(
    name="betting",
    reference="Waudby-Smith & Ramdas 2024, JRSS B 86(1)",
    guarantee=Guarantee.CERTIFIED,
    observe=observe,
)
