"""The differentiable index: beliefs (mean, width) of the open arms -> scores S, coldness gamma, probabilities p.

Everything here is a function of two arrays, the means and the widths of the open arms, so independent, linear, kernel
and neural models can all use it. Reference: the paper, section "Differentiable UCB index", after Yang & Toni 2020
(SoftUCB). Unspecified details of the printed text are interpreted as follows.

- The confidence bound of arm i is beta U_i, also in i*: U_i is the width ||x_i||_{V^-1} without beta.
- delta in gamma is not the error probability but a separate level, `coldness` (0.99); an empty L counts as one arm,
  and gamma is never negative.
- V_0 = ridge * I shrinks every mean; here towards the threshold, because shrinking towards 0 would bias every arm.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Table, read_arm

Floats = NDArray[np.float64]

FLOOR = 1e-3
"""The smallest beta: at beta = 0 the largest score is 0, and gamma = log(...)/0."""

TINY = 1e-12
"""Minimum distance of the level `coldness` from 0 and 1."""

COLDNESS = ("coldness", 0.01, 0.999999)
RIDGE = ("ridge", 0.0, math.inf)
"""Limits of the parameters that the rules and their learners share."""


class SoftIndex(NamedTuple):
    """The index of all open arms in one round; arrays have one entry per open arm."""

    leader: int  # i* = argmax m_i - beta U_i
    scores: Floats  # S_i = beta phi_i - gap_i
    coldness: float  # gamma
    probabilities: Floats  # p_i = softmax(gamma S_i)


def shrunk_belief(arm: Arm, bar: Bar, ridge: float) -> tuple[float, float]:
    """Mean and width under V_0 = ridge * I, centred at the threshold: xi + (S - N xi)/(N + ridge), 1/sqrt(N + ridge).

    Written in the arm's own mean and width w, so that it holds for every model: the ridge divides the distance
    from the threshold by 1 + ridge w^2 and the width by its square root. An arm without a pull lies at the threshold.
    A model of the arms (`bar.modelled`) has its own V_0: its mean and width are used unchanged.

    >>> from goodarm.problem import Problem
    >>> from goodarm.testing import arm_after
    >>> shrunk_belief(arm_after(pulls=3, total=3.0), Problem(threshold=0.5, arms=10).bar, ridge=1.0)
    (0.875, 0.5)
    """
    if bar.modelled > 0.0:
        return arm.mean, arm.width
    if arm.width == 0.0:
        return bar.threshold, 1.0 / math.sqrt(ridge) if ridge > 0.0 else math.inf
    shrink = 1.0 + ridge * arm.width * arm.width
    return bar.threshold + (arm.mean - bar.threshold) / shrink, arm.width / math.sqrt(shrink)


def gather(arms: Table, bar: Bar, ridge: float, decided: bool) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Numbers, means and widths of the open arms (`decided`: of all arms); arms with infinite width are left out."""
    numbers = np.empty(len(arms), dtype=np.int64)
    means = np.empty(len(arms))
    widths = np.empty(len(arms))
    count = 0
    for i in range(len(arms)):
        arm = read_arm(arms, i)
        if decided or arm.verdict == 0.0:
            mean, width = shrunk_belief(arm, bar, ridge)
            if width < math.inf:
                numbers[count], means[count], widths[count] = i, mean, width
                count += 1
    return numbers[:count], means[:count], widths[:count]


def best_lower_bound(means: Floats, widths: Floats, beta: float) -> int:
    """i* = argmax (m_i - beta U_i); ties go to the lowest number."""
    best = 0
    for i in range(1, len(means)):
        if means[i] - beta * widths[i] > means[best] - beta * widths[best]:
            best = i
    return best


def score(mean: float, width: float, leader_mean: float, leader_width: float, beta: float) -> float:
    """S_i = beta phi_i - gap_i, phi_i = U_i + U_i*, gap_i = m_i* - m_i: upper bound of i minus lower bound of i*.

    >>> round(score(0.5, 0.1, 0.75, 0.05, beta=2.0), 12)
    0.05
    """
    return beta * (width + leader_width) - (leader_mean - mean)


def scores_of(means: Floats, widths: Floats, beta: float, leader: int) -> Floats:
    """S_i of every arm."""
    scores = np.empty(len(means))
    for i in range(len(means)):
        scores[i] = score(means[i], widths[i], means[leader], widths[leader], beta)
    return scores


def gamma_of(scores: Floats, coldness: float) -> float:
    """gamma = log(c |L| / (1 - c)) / max S, L = {S_i < 0}: the probability of the other arms is then at least c.

    Proof: an arm of L has weight exp(gamma S) < 1 and the best other arm has exp(gamma max S) = c |L|/(1 - c), so that
    P(L)/P(not L) < |L| (1 - c)/(c |L|) = (1 - c)/c.

    >>> round(float(gamma_of(np.array([0.5, -0.1, -0.2]), coldness=0.99)), 4)
    10.5765
    """
    suboptimal, largest = 0, 0.0
    for i in range(len(scores)):
        if scores[i] < 0.0:
            suboptimal += 1
        largest = max(largest, scores[i])
    if largest <= 0.0:
        return 0.0
    level = min(max(coldness, TINY), 1.0 - TINY)
    return max(math.log(level * max(suboptimal, 1) / (1.0 - level)), 0.0) / largest


def softmax(exponents: Floats) -> Floats:
    """exp(x_i) / sum exp(x_j), safe for any size of x."""
    largest = exponents.max()
    weights = np.exp(exponents - largest)
    return weights / weights.sum()  # type: ignore[no-any-return]  # numpy's operators return Any


def soft_index(means: Floats, widths: Floats, beta: float, coldness: float) -> SoftIndex:
    """i*, S, gamma and p of the open arms.

    For gamma > 0 (always so at a coldness above 1/2) argmax p is argmax m_i + beta U_i: gamma shapes only the gradient
    and the softmax draw.

    >>> found = soft_index(np.array([0.75, 0.5, 0.25]), np.array([0.05, 0.1, 0.1]), beta=1.0, coldness=0.99)
    >>> found.leader, found.scores.round(2).tolist(), round(float(found.probabilities[0]), 5)
    (0, [0.1, -0.1, -0.35], 0.99997)
    """
    leader = best_lower_bound(means, widths, beta)
    scores = scores_of(means, widths, beta, leader)
    gamma = gamma_of(scores, coldness)
    return SoftIndex(leader, scores, gamma, softmax(gamma * scores))


def pick(probabilities: Floats, uniform: float) -> int:
    """The index into which a uniform number falls."""
    running = 0.0
    for i in range(len(probabilities)):
        running += probabilities[i]
        if uniform < running:
            return i
    return int(probabilities.argmax())
