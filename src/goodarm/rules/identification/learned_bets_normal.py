"""`learned-bets-normal`: certified bets that are predicted from a prior learned from all arms."""

from __future__ import annotations

import math

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification._base import EvidenceRule
from goodarm.rules.identification.learned_bets import KEPT, bet
from goodarm.rules.learners.prior import posterior, prior_learner
from goodarm.verdict import Guarantee

SURE = 1.5
"""Distance from the threshold, in standard errors, beyond which the other side's bet is left out as negligible."""


def observe(arm: Arm, reward: float, pool: Pool, bar: Bar, edge: float = 1.0) -> tuple[float, float, float]:
    """Likelihood ratio with guesses from the prior learned online.

    Under the pool's prior (m0, k) the arm's mean is about p = (S + k m0)/(N + k), with standard deviation s =
    sd0/sqrt(N + k). With d = p - xi, q+ = xi + (sqrt(d^2 + e^2 s^2) + d)/2 and q- = xi - (sqrt(d^2 + e^2 s^2) - d)/2, e
    = `edge`: smooth approximations of the mean given that the arm is good, or bad, without special functions. The bets
    are those of `kt`, with q+ at most 1 - 0.05 (1 - xi) and q- at least 0.05 xi.

    Certified, however the prior was learned. Let F be everything seen before the pull: all rewards of all
    arms so far. q+ and q- are functions of F, and the reward x of an arm with mean mu has E[x | F] = mu. By the
    convexity argument of `kt`, E[factor | F] <= 1 for every q+ >= xi when mu <= xi, and for every q- <= xi when
    mu >= xi. So E+ and E- are supermartingales that start at 1 with respect to F, for each arm, although F mixes all
    arms. Learning affects the speed at which evidence grows, never its validity. A bet must not depend on its own
    reward. The tests contain a variant that violates this, and check that its error rate rises.
    """
    mean, width = posterior(arm, pool, bar)
    xi = bar.threshold
    d = mean - xi
    s = bar.spread * width
    root = math.sqrt(d * d + edge * edge * s * s)
    for_good, for_bad = arm.for_good, arm.for_bad
    if d > -SURE * s:
        for_good += bet(reward, min(0.5 * (root + d), (1.0 - KEPT) * (1.0 - xi)), xi)
    if d < SURE * s:
        for_bad += bet(reward, -min(0.5 * (root - d), (1.0 - KEPT) * xi), xi)
    return for_good, for_bad, 0.0


learned_bets_normal = EvidenceRule(
    name="learned-bets-normal",
    reference="goodarm (docs/learning.md); validity by Ville 1939",
    guarantee=Guarantee.CERTIFIED,
    observe=observe,
    learner=prior_learner,
    limits=(("edge", 0.0, 1e8),),
)
