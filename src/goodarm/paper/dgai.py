"""`dgai-online`, `dgai-offline`: the paper's sampling rules as printed, beta learned online or trained beforehand.

Both are the differentiable index of `softucb`. They differ in where beta comes from: `dgai-online` learns it, together
with the alpha of the identification rule `learned-online`, while it runs; `dgai-offline` is given what
`goodarm.paper.training.train_paper` found. The names with `-softmax` draw an arm with probability p instead of taking
the arm of the largest p.
"""

from __future__ import annotations

import math

from numpy.random import Generator

from goodarm.paper.learned_bounds import both_bounds
from goodarm.paper.soft_index import COLDNESS, RIDGE
from goodarm.paper.soft_ucb import draw_arm, learned_draw, learned_index, upper_bound
from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool, Table
from goodarm.rules.sampling._base import ChoiceRule, IndexRule

REFERENCE = "Tsai, Tsai & Lin, Differentiable Good Arm Identification, Algorithm 2"
BETA = ("beta", 0.0, math.inf)


def trained_index(arm: Arm, pool: Pool, bar: Bar, beta: float = 1.0, ridge: float = 1.0) -> float:
    """Differentiable index, argmax of p: mean + beta width, beta trained beforehand."""
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
    """Differentiable index, drawn from p = softmax(gamma S), beta trained beforehand."""
    return draw_arm(arms, bar, generator, beta, coldness, ridge)


dgai_online = IndexRule(
    name="dgai-online",
    reference=REFERENCE,
    each_first=True,
    learner=both_bounds,
    index=learned_index,
    limits=(RIDGE,),
    shared=("ridge",),
)
dgai_online_softmax = ChoiceRule(
    name="dgai-online-softmax",
    reference=REFERENCE,
    each_first=True,
    learner=both_bounds,
    choose=learned_draw,
    limits=(RIDGE, COLDNESS),
    shared=("ridge", "coldness"),
)
dgai_offline = IndexRule(
    name="dgai-offline",
    reference=REFERENCE,
    each_first=True,
    index=trained_index,
    limits=(BETA, RIDGE),
    shared=("ridge",),
)
dgai_offline_softmax = ChoiceRule(
    name="dgai-offline-softmax",
    reference=REFERENCE,
    each_first=True,
    choose=trained_draw,
    limits=(BETA, RIDGE, COLDNESS),
    shared=("ridge", "coldness"),
)
