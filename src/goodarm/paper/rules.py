"""The paper's rules as printed: `softucb`, `dgai-online`, `dgai-offline`, `dgai-reward-printed` and the learned radii.

`softucb` is the differentiable index with a beta that is learned online; with `hoeffding` it is the paper's SoftUCB-G.
`dgai-online` has the same index. It learns beta together with the alpha of the identification rule `learned-online`.
`dgai-offline` uses the beta, and `learned-printed` the alpha, that `goodarm.paper.training.train_paper` found.
`dgai-reward-printed` collects rewards, given a threshold.

Each sampling rule pulls the arm with the largest probability p, as in the paper's experiments. Its twin with `-softmax`
in the name draws an arm with probability p, as in the paper's Algorithm 2.
"""

from __future__ import annotations

import math
from dataclasses import replace

from numpy.random import Generator

from goodarm.paper.learned_bounds import both_bounds, reward_bounds, sampling_bound
from goodarm.paper.objectives import kept_shares
from goodarm.paper.soft_index import (
    COLDNESS,
    RIDGE,
    Floats,
    best_lower_bound,
    gather,
    pick,
    scores_of,
    shrunk_belief,
    soft_index,
    softmax,
)
from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool, Table
from goodarm.rules.identification import RadiusRule
from goodarm.rules.identification._base import ANY_SUB_GAUSSIAN
from goodarm.rules.sampling import ChoiceRule, IndexRule
from goodarm.verdict import Guarantee

PAPER = "Tsai, Tsai & Lin, Differentiable Good Arm Identification"
BETA = ("beta", 0.0, math.inf)

# Sampling


def upper_bound(arm: Arm, bar: Bar, beta: float, ridge: float) -> float:
    """m_i + beta U_i, which has the same order as the scores S_i, and hence as p_i.

    >>> from goodarm.problem import Problem
    >>> from goodarm.testing import arm_after
    >>> upper_bound(arm_after(pulls=3, total=3.0), Problem(threshold=0.5, arms=10).bar, beta=0.25, ridge=1.0)
    1.0
    """
    mean, width = shrunk_belief(arm, bar, ridge)
    return mean + beta * width


def draw_arm(arms: Table, bar: Bar, generator: Generator, beta: float, coldness: float, ridge: float) -> int:
    """An open arm drawn with probability p_i."""
    numbers, means, widths = gather(arms, bar, ridge, False)
    index = soft_index(means, widths, beta, coldness)
    return int(numbers[pick(index.probabilities, generator.random())])


def learned_index(arm: Arm, pool: Pool, bar: Bar, ridge: float = 1.0) -> float:
    """Differentiable index, argmax of p: mean + beta width, with beta learned online and means shrunk by the ridge."""
    return upper_bound(arm, bar, pool.learned.beta, ridge)


def learned_draw(
    arms: Table, pool: Pool, bar: Bar, generator: Generator, coldness: float = 0.99, ridge: float = 1.0
) -> int:
    """Differentiable index, drawn from p = softmax(gamma S), with beta learned online."""
    return draw_arm(arms, bar, generator, pool.learned.beta, coldness, ridge)


def trained_index(arm: Arm, pool: Pool, bar: Bar, beta: float = 1.0, ridge: float = 1.0) -> float:
    """Differentiable index, argmax of p: mean + beta width, with beta trained beforehand."""
    return upper_bound(arm, bar, beta, ridge)


def trained_draw(
    arms: Table,
    pool: Pool,
    bar: Bar,
    generator: Generator,
    beta: float = 1.0,
    coldness: float = 0.99,
    ridge: float = 1.0,
) -> int:
    """Differentiable index, drawn from p = softmax(gamma S), with beta trained beforehand."""
    return draw_arm(arms, bar, generator, beta, coldness, ridge)


softucb = IndexRule(
    name="softucb",
    reference=f"Yang & Toni 2020 (SoftUCB); {PAPER}",
    each_first=True,
    learner=sampling_bound,
    index=learned_index,
    limits=(RIDGE,),
    shared=("ridge",),
)
softucb_softmax = ChoiceRule(
    name="softucb-softmax",
    reference=softucb.reference,
    each_first=True,
    learner=sampling_bound,
    choose=learned_draw,
    limits=(RIDGE, COLDNESS),
    shared=("ridge", "coldness"),
)
ALGORITHM = f"{PAPER}, Algorithm 2"
dgai_online = replace(softucb, name="dgai-online", reference=ALGORITHM, learner=both_bounds)
dgai_online_softmax = replace(softucb_softmax, name="dgai-online-softmax", reference=ALGORITHM, learner=both_bounds)
dgai_offline = replace(
    dgai_online, name="dgai-offline", learner=None, index=trained_index, limits=(BETA, *dgai_online.limits)
)
dgai_offline_softmax = replace(
    dgai_online_softmax,
    name="dgai-offline-softmax",
    learner=None,
    choose=trained_draw,
    limits=(BETA, *dgai_online_softmax.limits),
)

# Collecting rewards


def exponents(means: Floats, widths: Floats, pool: Pool, bar: Bar, sharpness: float) -> Floats:
    """S_i I_i of every arm."""
    leader = best_lower_bound(means, widths, pool.learned.beta)
    scores = scores_of(means, widths, pool.learned.beta, leader)
    return scores * kept_shares(means, widths, pool.learned.alpha, bar.threshold, sharpness)


def choose_printed(
    arms: Table, pool: Pool, bar: Bar, generator: Generator, sharpness: float = 10.0, ridge: float = 1.0
) -> int:
    """The arm of the largest p = softmax(S_i I_i), I_i = sigmoid(M (m_i - alpha U_i - xi)); learned bounds."""
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
    reference=f"{PAPER}, section GAI with Cumulative Reward Maximization",
    learner=reward_bounds,
    choose=choose_printed,
    limits=(RIDGE,),
    shared=("ridge", "sharpness"),
)
dgai_reward_printed_softmax = replace(dgai_reward_printed, name="dgai-reward-printed-softmax", choose=draw_printed)

# Identification


def ridge_radius(arm: Arm, bar: Bar, alpha: float, ridge: float) -> float:
    """alpha w sqrt(1 + ridge w^2), the radius around the plain mean that corresponds to alpha U around the shrunk mean.

    m' - alpha U >= xi with m' = xi + (m - xi)/(1 + ridge w^2), U = w/sqrt(1 + ridge w^2), solved for m.
    A model of the arms has its own V_0, and the radius is alpha w.

    >>> from goodarm.problem import Problem
    >>> from goodarm.testing import arm_after
    >>> bar = Problem(threshold=0.5, arms=10).bar
    >>> round(ridge_radius(arm_after(pulls=3, total=3.0), bar, alpha=1.5, ridge=1.0), 4)
    1.0
    """
    if bar.modelled > 0.0:
        return alpha * arm.width
    return alpha * arm.width * math.sqrt(1.0 + ridge * arm.width * arm.width)


def printed_radius(arm: Arm, pool: Pool, bar: Bar, alpha: float = 2.0, ridge: float = 1.0) -> float:
    """The paper's bound alpha ||x||_{V^-1}, with alpha trained beforehand."""
    return ridge_radius(arm, bar, alpha, ridge)


def online_radius(arm: Arm, pool: Pool, bar: Bar, ridge: float = 1.0) -> float:
    """The paper's bound alpha ||x||_{V^-1}, with alpha learned online."""
    return ridge_radius(arm, bar, pool.learned.alpha, ridge)


learned_printed = RadiusRule(
    name="learned-printed",
    reference=PAPER,
    guarantee=Guarantee.HEURISTIC,
    families=ANY_SUB_GAUSSIAN,
    radius=printed_radius,
    by_model=True,
    waits=True,
    limits=(RIDGE,),
    shared=("ridge",),
)
learned_online = replace(learned_printed, name="learned-online", learner=both_bounds, radius=online_radius)
