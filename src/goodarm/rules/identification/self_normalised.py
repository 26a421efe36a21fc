"""`self-normalised`: one confidence ellipsoid for theta, hence simultaneous intervals for all arms; linear models."""

from __future__ import annotations

import math

from goodarm.problem import Bar
from goodarm.rules.beliefs import Pool
from goodarm.rules.identification._base import ANY_SUB_GAUSSIAN, ModelRule
from goodarm.verdict import Guarantee

CONSTANTS = (("norm", 0.0, math.inf), ("sigma", 0.0, math.inf))


def noise_scale(sigma: float, bar: Bar) -> float:
    """`sigma` if given, otherwise the scale of the reward family: 1/2 for rewards in [0, 1]."""
    return sigma if sigma > 0.0 else bar.sigma


def factor(
    log_det: float, regulariser: float, pool: Pool, bar: Bar, norm: float = math.nan, sigma: float = 0.0
) -> float:
    """sigma sqrt(2 log(1/delta) + log(det V/det V_0)) + sqrt(ridge) S: half-width in units of an arm's width.

    Certified when mean_i = xi + x_i'theta with ||theta|| <= S and sigma-sub-Gaussian noise, under any sampling rule.
    `norm` is S and must be given; `sigma` is the noise scale, 0 for that of the reward family. With probability at
    least 1 - delta, |x'(theta_hat - theta)| <= ||x||_{V^-1} * factor for all x and all rounds at once (Theorem 2), so
    no union over the arms is needed.

    >>> from goodarm.problem import Problem
    >>> round(factor(4.0, 1.0, None, Problem(threshold=0.5, arms=10).bar, norm=1.0), 4)
    2.5805
    """
    rate = 2.0 * math.log(1.0 / bar.delta) + log_det
    return noise_scale(sigma, bar) * math.sqrt(rate) + math.sqrt(regulariser) * norm


self_normalised = ModelRule(
    name="self-normalised",
    reference="Abbasi-Yadkori, Pál & Szepesvári 2011, NeurIPS, Theorem 2",
    guarantee=Guarantee.CERTIFIED_UNDER_MODEL,
    families=ANY_SUB_GAUSSIAN,
    factor=factor,
    models=("linear",),
    limits=CONSTANTS,
)
