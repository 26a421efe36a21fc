"""`design`: intervals for sampling that ignores rewards, checked at geometric times, under a linear model."""

from __future__ import annotations

import math

from goodarm.problem import Bar
from goodarm.rules.beliefs import Pool
from goodarm.rules.identification._base import ANY_SUB_GAUSSIAN, ModelRule
from goodarm.rules.identification.self_normalised import CONSTANTS, noise_scale
from goodarm.verdict import Guarantee


def check_number(now: float, first: float, growth: float) -> float:
    """k if round `now` is the k-th check, the first round at or after first * growth^(k-1); otherwise 0.

    >>> [check_number(float(t), 50.0, 1.1) for t in (49, 50, 54, 55, 61)]
    [0.0, 1.0, 0.0, 2.0, 3.0]
    """
    if now < first:
        return 0.0
    # the nearest check, corrected by one step where the logarithm was rounded
    k = math.floor(math.log(now / first) / math.log(growth)) + 1.0
    for candidate in (k - 1.0, k, k + 1.0):
        if candidate >= 1.0 and math.ceil(first * growth ** (candidate - 1.0) - 1e-9) == now:
            return candidate
    return 0.0


def factor(
    log_det: float,
    regulariser: float,
    pool: Pool,
    bar: Bar,
    norm: float = math.nan,
    sigma: float = 0.0,
    first: float = 50.0,
    growth: float = 1.1,
) -> float:
    """sigma sqrt(2 log(K k(k+1)/delta)) + sqrt(ridge) S at the k-th check, no verdict between the checks.

    Certified when mean_i = xi + x_i'theta with ||theta|| <= S (`norm`, must be given) and sigma-sub-Gaussian noise
    (`sigma`, 0 for the reward family's), if the pulls do not depend on the rewards. Then x_i'(theta_hat - theta) is a
    fixed linear combination of the noises: sigma w_i-sub-Gaussian around a bias of at most sqrt(ridge) S w_i. One
    direction of one arm fails at check k with probability at most delta/(K k(k+1)); only one direction of an arm can
    be wrong, and sum 1/(k(k+1)) = 1. Verdicts must not change the pulls either, so decided arms stay in the design.

    >>> from goodarm.problem import Problem
    >>> from goodarm.rules.beliefs import Pool
    >>> at_first_check = Pool(50.0, 1e6)
    >>> round(factor(0.0, 1.0, at_first_check, Problem(threshold=0.5, arms=10).bar, norm=1.0), 4)
    2.7308
    """
    k = check_number(pool.round, first, growth)
    if k == 0.0:
        return math.inf
    rate = 2.0 * (bar.budget + math.log(k * (k + 1.0)))
    return noise_scale(sigma, bar) * math.sqrt(rate) + math.sqrt(regulariser) * norm


design = ModelRule(
    name="design",
    reference="Lattimore & Szepesvári 2020, Bandit Algorithms, chapter 20; goodarm (docs/structured.md)",
    guarantee=Guarantee.CERTIFIED_UNDER_MODEL,
    families=ANY_SUB_GAUSSIAN,
    factor=factor,
    models=("linear",),
    blind=True,
    limits=(*CONSTANTS, ("first", 1.0, math.inf), ("growth", 1.01, math.inf)),
)
