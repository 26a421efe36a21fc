"""`dgai-spread`: the paper's index with beta from a formula of the arms' spread. `dgai` learns it by gradients."""

from __future__ import annotations

import math
from dataclasses import replace

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.learners.prior import prior_learner
from goodarm.rules.sampling.dgai import dgai


def learned_beta(pool: Pool, bar: Bar) -> float:
    """beta = clip(1.5 log(1 + T/(K kappa))^0.4, 0.5, 3.5), kappa = sd0^2/tau2: from the spread of the arms' means.

    kappa is the number of pulls that distinguish an arm from the others; T/(K kappa) is the number of times that the
    horizon allows this. Before the spread is learned, beta = 1.5.

    >>> from goodarm.problem import Problem
    >>> from goodarm.rules.learners.prior import Prior
    >>> pool = Pool(0.0, 1e6, Prior(0.5, 1.0, 0.25 / 500.0, 0.9))
    >>> round(learned_beta(pool, Problem(threshold=0.5, arms=1000).bar), 4)
    1.5575
    """
    if pool.learned.prior_variance <= 0.0:
        return 1.5
    kappa = bar.spread * bar.spread / pool.learned.prior_variance
    return min(max(1.5 * math.pow(math.log1p(pool.horizon / (bar.arms * kappa)), 0.4), 0.5), 3.5)


def index(arm: Arm, pool: Pool, bar: Bar, beta: float = 0.0) -> float:
    """The differentiable index, mean + beta sd0 width; with beta learned offline, or online if it is 0.

    For a positive coldness the largest probability of the paper's softmax is the largest mean + beta width, so this
    is the paper's sampling rule with `draw="argmax"`. Online, beta follows from the fitted spread of the arms' means.
    """
    chosen = beta if beta > 0.0 else learned_beta(pool, bar)
    return arm.mean + chosen * bar.spread * arm.width


dgai_spread = replace(
    dgai,
    name="dgai-spread",
    reference="Tsai, Tsai & Lin, Differentiable Good Arm Identification; beta as in docs/learning.md",
    learner=prior_learner,
    index=index,
    limits=(("beta", 0.0, math.inf),),
)
