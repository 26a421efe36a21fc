"""`dgai-reward`: collect rewards when a threshold is known; `dgai-reward-printed`: the same as the paper prints it."""

from __future__ import annotations

from numpy.random import Generator

from goodarm.beliefs import Arm, Pool, Table
from goodarm.estimators.contenders import bound, contenders_learner, kept
from goodarm.estimators.learned_bounds import reward_bounds
from goodarm.estimators.objectives import kept_shares
from goodarm.estimators.prior import posterior_mean, posterior_scale
from goodarm.estimators.soft_index import Floats, best_lower_bound, gather, pick, scores_of, softmax
from goodarm.problem import Bar
from goodarm.sampling._base import ChoiceRule, IndexRule

PAPER = "Tsai, Tsai & Lin, Differentiable Good Arm Identification, section GAI with Cumulative Reward Maximization"


def index(arm: Arm, pool: Pool, bar: Bar) -> float:
    """Posterior mean + I_i bound s_i: optimism under a learned prior, softly withdrawn below the threshold.

    m_i, s_i: mean and scale under the prior learned from all arms; bound = sqrt(2 log(1 + beta/(N + k))), beta the
    pulls a contender can have; I_i = sigmoid(2 ((m_i - level)/s_i + bound)). See `goodarm.estimators.contenders`.
    """
    scale = posterior_scale(arm, pool, bar)
    return posterior_mean(arm, pool, bar) + kept(arm, pool, bar) * bound(arm, pool, bar) * scale


def exponents(means: Floats, widths: Floats, pool: Pool, bar: Bar, sharpness: float) -> Floats:
    """S_i I_i of every arm."""
    leader = best_lower_bound(means, widths, pool.beta)
    scores = scores_of(means, widths, pool.beta, leader)
    return scores * kept_shares(means, widths, pool.alpha, bar.threshold, sharpness)


def choose_printed(
    arms: Table, pool: Pool, bar: Bar, generator: Generator, sharpness: float = 10.0, ridge: float = 1.0
) -> int:
    """The arm of the largest p = softmax(S_i I_i), I_i = sigmoid(M (m_i - alpha U_i - xi)); both bounds learned."""
    numbers, means, widths = gather(arms, bar, ridge, False)
    return int(numbers[exponents(means, widths, pool, bar, sharpness).argmax()])


def draw_printed(
    arms: Table, pool: Pool, bar: Bar, generator: Generator, sharpness: float = 10.0, ridge: float = 1.0
) -> int:
    """An arm drawn from p = softmax(S_i I_i). Without a coldness the scores are small and p is nearly uniform."""
    numbers, means, widths = gather(arms, bar, ridge, False)
    return int(numbers[pick(softmax(exponents(means, widths, pool, bar, sharpness)), generator.random())])


dgai_reward = IndexRule(
    name="dgai-reward",
    reference="goodarm (docs/learning.md), after the paper; the bound after Audibert & Bubeck 2009 (MOSS)",
    learner=contenders_learner,
    index=index,
)
dgai_reward_printed = ChoiceRule(
    name="dgai-reward-printed", reference=PAPER, learner=reward_bounds, choose=choose_printed
)
dgai_reward_printed_softmax = ChoiceRule(
    name="dgai-reward-printed-softmax", reference=PAPER, learner=reward_bounds, choose=draw_printed
)
