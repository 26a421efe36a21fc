"""`dgai-reward-printed`: collect rewards when a threshold is known, as the paper prints it."""

from __future__ import annotations

from numpy.random import Generator

from goodarm.paper.learned_bounds import reward_bounds
from goodarm.paper.objectives import kept_shares
from goodarm.paper.soft_index import RIDGE, Floats, best_lower_bound, gather, pick, scores_of, softmax
from goodarm.problem import Bar
from goodarm.rules.beliefs import Pool, Table
from goodarm.rules.sampling import ChoiceRule

PAPER = "Tsai, Tsai & Lin, Differentiable Good Arm Identification, section GAI with Cumulative Reward Maximization"


def exponents(means: Floats, widths: Floats, pool: Pool, bar: Bar, sharpness: float) -> Floats:
    """S_i I_i of every arm."""
    leader = best_lower_bound(means, widths, pool.learned.beta)
    scores = scores_of(means, widths, pool.learned.beta, leader)
    return scores * kept_shares(means, widths, pool.learned.alpha, bar.threshold, sharpness)


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


dgai_reward_printed = ChoiceRule(
    name="dgai-reward-printed",
    reference=PAPER,
    learner=reward_bounds,
    choose=choose_printed,
    limits=(RIDGE,),
    shared=("ridge", "sharpness"),
)
dgai_reward_printed_softmax = ChoiceRule(
    name="dgai-reward-printed-softmax",
    reference=PAPER,
    learner=reward_bounds,
    choose=draw_printed,
    limits=(RIDGE,),
    shared=("ridge", "sharpness"),
)
