"""`beta-mixture`: a likelihood ratio averaged over a truncated Beta prior; needs only the totals."""

from __future__ import annotations

import math

from goodarm.numerics import log_beta, log_beta_cdf, log_beta_sf
from goodarm.problem import Bar
from goodarm.rules.identification._base import EvidenceRule
from goodarm.verdict import Guarantee


def totals(pulls: float, total: float, bar: Bar, a0: float = 1.0, b0: float = 1.0) -> tuple[float, float]:
    """Likelihood ratio averaged over a Beta(a0, b0) prior cut at the threshold; a function of S and N alone.

    log E+ = log B(a,b) + log P(Beta(a,b) > xi) - log B(a0,b0) - log P(Beta(a0,b0) > xi) - S log xi - (N-S) log(1-xi),
    a = a0 + S, b = b0 + N - S; E- with "< xi". It is the average over q > xi of the valid bets of `kt`, so it is valid
    for all rewards in [0, 1] and does not depend on their order.
    """
    n, s = pulls, total
    a, b = a0 + s, b0 + n - s
    xi = bar.threshold
    ratio = log_beta(a, b) - log_beta(a0, b0) - s * math.log(xi) - (n - s) * math.log1p(-xi)
    for_good = ratio + log_beta_sf(xi, a, b) - log_beta_sf(xi, a0, b0)
    for_bad = ratio + log_beta_cdf(xi, a, b) - log_beta_cdf(xi, a0, b0)
    return for_good, for_bad


beta_mixture = EvidenceRule(
    name="beta-mixture",
    reference="Robbins 1970, Annals of Mathematical Statistics 41(5); Howard et al. 2021, Proposition 7",
    guarantee=Guarantee.CERTIFIED,
    totals=totals,
    limits=(("a0", 1e-3, 5e7), ("b0", 1e-3, 5e7)),
)
