"""`softucb`: the differentiable index, beta learned online. With `hoeffding` it is the paper's SoftUCB-G.

Two draws: the arm with the largest probability (`softucb`, as in the paper's experiments), or an arm drawn with its
probability (`softucb-softmax`, as in the paper's Algorithm 2).
"""

from __future__ import annotations

from numpy.random import Generator

from goodarm.paper.learned_bounds import sampling_bound
from goodarm.paper.soft_index import COLDNESS, RIDGE, gather, pick, shrunk_belief, soft_index
from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool, Table
from goodarm.rules.sampling._base import ChoiceRule, IndexRule


def upper_bound(arm: Arm, bar: Bar, beta: float, ridge: float) -> float:
    """m_i + beta U_i: the order of the scores S_i, and so of p_i.

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
    """Differentiable index, argmax of p: mean + beta width, beta learned online, means shrunk by the ridge."""
    return upper_bound(arm, bar, pool.learned.beta, ridge)


def learned_draw(
    arms: Table, pool: Pool, bar: Bar, generator: Generator, coldness: float = 0.99, ridge: float = 1.0
) -> int:
    """Differentiable index, drawn from p = softmax(gamma S), beta learned online."""
    return draw_arm(arms, bar, generator, pool.learned.beta, coldness, ridge)


REFERENCE = "Yang & Toni 2020 (SoftUCB); Tsai, Tsai & Lin, Differentiable Good Arm Identification"

softucb = IndexRule(
    name="softucb",
    reference=REFERENCE,
    each_first=True,
    learner=sampling_bound,
    index=learned_index,
    limits=(RIDGE,),
    shared=("ridge",),
)
softucb_softmax = ChoiceRule(
    name="softucb-softmax",
    reference=REFERENCE,
    each_first=True,
    learner=sampling_bound,
    choose=learned_draw,
    limits=(RIDGE, COLDNESS),
    shared=("ridge", "coldness"),
)
