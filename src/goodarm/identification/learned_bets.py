"""`learned-bets`: bets predicted from a prior that is learned from all arms, and certified all the same."""

from __future__ import annotations

from goodarm.beliefs import Arm, Pool
from goodarm.estimators.prior import posterior_mean, posterior_scale, prior_learner
from goodarm.identification._base import EvidenceRule
from goodarm.identification.kt import bet
from goodarm.numerics import mills_ratio, normal_pdf
from goodarm.problem import Bar

FLOOR = 1e-12
SURE = 4.0
"""Beyond so many standard errors nothing is bet on the other side: the bet would be tiny, and costs a logarithm."""


def observe(arm: Arm, reward: float, pool: Pool, bar: Bar, edge: float = 0.8) -> tuple[float, float, float]:
    """Likelihood ratio whose guesses come from the prior learned online: q+ = E[mean | good], q- = E[mean | bad].

    With the pool's prior (m0, k): N' = N + k, p = (S + k m0)/N', s = edge sd0/sqrt(N'), z = (p - xi)/s;
    q+ = p + s phi(z)/Phi(z), q- = p - s phi(z)/Phi(-z), clipped to q+ >= xi >= q-; then the bets of `kt`.
    edge = 1 is the conditional mean itself; slightly smaller bets lose less on few arms (docs/learning.md).

    Why it is certified however the prior was learned. Let F be everything seen before the pull: all rewards of all
    arms so far. q+ and q- are functions of F, and the reward x of an arm with mean mu has E[x | F] = mu. By the
    convexity argument of `kt`, E[factor | F] <= 1 for every q+ >= xi when mu <= xi, and for every q- <= xi when
    mu >= xi. So E+ and E- are supermartingales of start 1 with respect to F, for each arm, although F mixes all
    arms: learning decides how fast the evidence grows when it should, never whether it is valid. What must not happen
    is that a bet sees its own reward; the tests break exactly this and watch the error rate rise.
    """
    p = posterior_mean(arm, pool, bar)
    s = edge * posterior_scale(arm, pool, bar)
    z = (p - bar.threshold) / s
    for_good, for_bad = arm.for_good, arm.for_bad
    density = normal_pdf(z)
    tail = density * mills_ratio(abs(z))
    if z > -SURE:
        above = density / (1.0 - tail if z > 0.0 else tail)
        for_good += bet(reward, min(max(p + s * above, bar.threshold), 1.0 - FLOOR), bar.threshold)
    if z < SURE:
        below = density / (tail if z > 0.0 else 1.0 - tail)
        for_bad += bet(reward, max(min(p - s * below, bar.threshold), FLOOR), bar.threshold)
    return for_good, for_bad, 0.0


learned_bets = EvidenceRule(
    name="learned-bets",
    reference="goodarm (docs/learning.md); validity by Ville 1939",
    observe=observe,
    learner=prior_learner,
)
