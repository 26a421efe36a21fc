"""`normal-mixture`: a one-sided mixture of Gaussian likelihood ratios, for unbounded rewards."""

from __future__ import annotations

import math

from goodarm.numerics import log_normal_cdf
from goodarm.problem import Bar
from goodarm.rules.identification._base import ANY_SUB_GAUSSIAN, EvidenceRule
from goodarm.verdict import Guarantee


def log_mixture(surplus: float, variance: float, rho: float) -> float:
    """log E = 1/2 log(4 rho/(V+rho)) + s^2/(2(V+rho)) + log Phi(s/sqrt(V+rho)) for the surplus s = S - N xi.

    It is the average of exp(l s - l^2 V/2) over l > 0 with a half-normal weight of variance 1/rho.
    """
    scale = variance + rho
    z = surplus / math.sqrt(scale)
    return 0.5 * math.log(4.0 * rho / scale) + 0.5 * z * z + log_normal_cdf(z)


def totals(pulls: float, total: float, bar: Bar, best_at: float = 500.0) -> tuple[float, float]:
    """One-sided normal mixture; its boundary is tightest when an arm has about `best_at` pulls.

    Each exp(l s - l^2 V/2) with l >= 0 is a supermartingale that starts at 1 if mu <= xi, and so is their average. The
    mirror image is for "mu >= xi". rho = sigma^2 best_at / (2 L + log(1 + 2 L)), L = log(K/delta).
    """
    surplus = total - pulls * bar.threshold
    variance = bar.sigma * bar.sigma * pulls
    rho = bar.sigma * bar.sigma * best_at / (2.0 * bar.budget + math.log1p(2.0 * bar.budget))
    return log_mixture(surplus, variance, rho), log_mixture(-surplus, variance, rho)


normal_mixture = EvidenceRule(
    name="normal-mixture",
    reference="Howard et al. 2021, Annals of Statistics 49(2), Proposition 6",
    guarantee=Guarantee.CERTIFIED,
    families=ANY_SUB_GAUSSIAN,
    totals=totals,
    limits=(("best_at", 1e-3, 1e8),),
)
