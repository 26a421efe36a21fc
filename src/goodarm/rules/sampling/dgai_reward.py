"""`dgai-reward`: collect rewards, given a threshold. `goodarm.paper.rules` has the version printed in the paper."""

from __future__ import annotations

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.learners.contenders import bound, contenders_learner, kept
from goodarm.rules.learners.prior import posterior_mean, posterior_scale
from goodarm.rules.sampling._base import IndexRule


def index(arm: Arm, pool: Pool, bar: Bar) -> float:
    """Posterior mean + I_i bound s_i: optimism under a learned prior, softly withdrawn below the threshold.

    m_i, s_i: mean and scale under the prior learned from all arms; bound = sqrt(2 log(1 + share/(N + k))), share the
    pulls a contender can have; I_i = sigmoid(2 ((m_i - level)/s_i + bound)). See `goodarm.rules.learners.contenders`.
    """
    scale = posterior_scale(arm, pool, bar)
    return posterior_mean(arm, pool, bar) + kept(arm, pool, bar) * bound(arm, pool, bar) * scale


dgai_reward = IndexRule(
    name="dgai-reward",
    reference="goodarm (docs/learning.md), after the paper; the bound after Audibert & Bubeck 2009 (MOSS)",
    learner=contenders_learner,
    index=index,
)
