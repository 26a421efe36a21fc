"""`gap-mixture`: a likelihood ratio averaged over a ladder of gaps to the threshold; needs only the totals."""

from __future__ import annotations

import math

import numpy as np

from goodarm.numerics import log_choose_growth
from goodarm.problem import Bar, Bounded, Cases, SubGaussian
from goodarm.rules.beliefs import Row
from goodarm.rules.identification._base import EvidenceRule
from goodarm.verdict import Guarantee

SMALLEST, GROWTH, STEPS = 0.01, 2.0, 10
TYPICAL, BREADTH = 0.3, 1.2
"""The weight of a gap is largest at `TYPICAL` and falls by a factor e for each factor e^`BREADTH` away from it."""

GAPS = SMALLEST * GROWTH ** np.arange(STEPS)
"""Gaps from 0.01 to 5.12: in logits, or for unbounded rewards in halves of sigma (the same at a threshold of 1/2)."""

ODDS_UP, ODDS_DOWN = np.expm1(GAPS), np.expm1(-GAPS)
"""e^g - 1 and e^-g - 1."""

NEGLIGIBLE = 35.0
"""Terms e^35 times smaller than the largest are left out, because they don't change a sum of floats."""


def log_weights() -> Row:
    """Logarithms of the weights of the gaps, which sum to 1 on each side of the threshold."""
    weights = np.exp(-np.abs(np.log(GAPS / TYPICAL)) / BREADTH)
    return np.log(weights / weights.sum())  # type: ignore[no-any-return]  # numpy's operators return Any


LOG_WEIGHTS = log_weights()


def log_ratio(step: int, side: float, pulls: float, total: float, bar: Bar) -> float:
    """log L of the mean that lies one gap above the threshold (side 1) or below it (side -1), against the threshold."""
    gap = side * GAPS[step]
    if bar.bounded > 0.0:
        odds = ODDS_UP[step] if side > 0.0 else ODDS_DOWN[step]
        return total * gap - pulls * math.log1p(bar.threshold * odds)  # type: ignore[no-any-return]  # numpy's operators return Any
    gap *= 0.5
    return gap * (total - pulls * bar.threshold) / bar.sigma - 0.5 * pulls * gap * gap  # type: ignore[no-any-return]  # numpy's operators return Any


def log_average(side: float, pulls: float, total: float, bar: Bar) -> float:
    """log sum_g w_g L_g over the gaps of one side, +1 above the threshold and -1 below; sums that can't overflow."""
    if bar.cases < math.inf:
        return log_average_of_cases(side, pulls, total, bar)
    top, tail = -math.inf, 0.0
    for step in range(STEPS):
        term = LOG_WEIGHTS[step] + log_ratio(step, side, pulls, total, bar)
        if term > top:
            tail = tail * math.exp(top - term) + 1.0
            top = term
        elif term > top - NEGLIGIBLE:
            tail += math.exp(term - top)
        else:
            break  # log L_g is concave in g, so it keeps falling
    return float(top) + math.log(tail)


CERTAIN = 1e9
"""log E if the hypothesis has become impossible, and -log E if every alternative has. It is finite, unlike inf."""


def is_certain(evidence: float) -> bool:
    """Whether the evidence is unlimited: the remaining samples can't change the verdict."""
    return evidence >= 0.5 * CERTAIN


def smallest_good(threshold: float, cases: float) -> float:
    """The smallest total T with T/N >= threshold, compared as floats: 420 of 750 is 56%, although 0.56 * 750 > 420."""
    least = math.ceil(threshold * cases)
    while (least - 1.0) / cases >= threshold:
        least -= 1
    while least / cases < threshold:
        least += 1
    return float(least)


def log_average_of_cases(side: float, pulls: float, total: float, bar: Bar) -> float:
    """`log_average` for cases that are drawn at most once: hypergeometric likelihoods in place of binomial ones.

    E- is E+ of the failures: S, T, T0 and the means mirrored.
    """
    cases, xi = bar.cases, bar.threshold
    good = smallest_good(xi, cases)
    won, null = (total, good - 1.0) if side > 0.0 else (pulls - total, cases - good)
    lost = pulls - won
    if pulls > cases or lost > cases - null:  # too many failures for the null and every alternative
        return -CERTAIN
    if won > null:
        return CERTAIN
    top, tail = -CERTAIN, 0.0
    for step in range(STEPS):
        odds = ODDS_UP[step] if side > 0.0 else ODDS_DOWN[step]
        mean = xi * (1.0 + odds) / (1.0 + xi * odds)
        wanted = math.floor(cases * (mean if side > 0.0 else 1.0 - mean) + 0.5)
        other = min(max(wanted, null + 1.0), cases)
        if lost > cases - other:
            break  # impossible under this alternative and all larger ones
        more = other - null
        term = LOG_WEIGHTS[step] + log_choose_growth(null, won, more) - log_choose_growth(cases - other, lost, more)
        if term > top:
            tail = tail * math.exp(top - term) + 1.0
            top = term
        elif term > top - NEGLIGIBLE:
            tail += math.exp(term - top)
        else:
            break
    return float(top) + math.log(tail) if tail > 0.0 else -CERTAIN


def totals(pulls: float, total: float, bar: Bar) -> tuple[float, float]:
    """Likelihood ratio averaged over small and large gaps to the threshold; a function of S and N alone.

    E+ = sum_g w_g L_g over the gaps g = 0.01, 0.02, ..., 5.12 (each twice the one before), E- over -g, with weights w_g
    proportional to exp(-|log(g/0.3)|/1.2) that sum to 1. Rewards in [0, 1]: the mean mu_g has
    logit mu_g = logit xi + g, and L_g = (mu_g/xi)^S ((1-mu_g)/(1-xi))^(N-S) = exp(S g - N log(1 + xi (e^g - 1))).
    Other rewards: mu_g = xi + g sigma/2, and L_g = exp(l (S - N xi) - N l^2 sigma^2/2) with l = g/(2 sigma).

    Certified. A mixture with fixed weights of sum 1 is a supermartingale that starts at 1 if each L_g is one, since it
    is their average. It therefore suffices that one reward multiplies L_g by at most 1 on average, under every
    hypothesis of its side.
    - Rewards in [0, 1], g > 0, mean mu <= xi: the factor e^(g x) / (1 + xi (e^g - 1)) is convex in x, so its mean is at
      most its chord's, (1 + mu (e^g - 1)) / (1 + xi (e^g - 1)), which is at most 1 as e^g - 1 > 0. For g < 0 and
      mu >= xi likewise, as e^g - 1 < 0. The denominator is positive for every xi in (0, 1).
    - sigma-sub-Gaussian rewards: with l = g/(2 sigma) the factor is exp(l (x - xi) - l^2 sigma^2/2), whose mean is at
      most exp(l (mu - xi)) by the definition of sub-Gaussian: at most 1 when l > 0 and mu <= xi, or l < 0 and mu >= xi.
    The gaps and weights are fixed before the first reward, so the proof holds for every rule that chooses the pulls. E
    is a function of (N, S), so the order of the rewards does not matter.

    **Cases.** If an arm has N cases, each drawn at most once, its mean is T/N, where T is the total over all of them.
    After n draws with S successes the likelihood of T is H(S; n, T) = C(T, S) C(N-T, n-S). With T0 the largest bad
    total,

    E+ = sum_g w_g H(S; n, T_g) / H(S; n, T0),  T_g = N mu_g rounded, in [T0 + 1, N];

    E- is the same for the failures, with the smallest good total T0 + 1 as the null. For N = infinity it is the E+
    above. E+ is infinite if S > T0: the arm is certainly good. E+ is 0 if n - S > N - T0: too many failures make T0 and
    every T_g impossible.

    Certified for 0/1 rewards. Given n and S the next draw is a success with probability (T - S)/(N - n). It multiplies
    H(.; T_g)/H(.; T0) by (T_g - S)/(T0 - S), a failure by (N - T_g - n + S)/(N - T0 - n + S). The first is at least the
    second as T_g > T0, so the expected factor grows with T; at T = T0 it is 1, or less if H(.; T_g) has become 0.
    So under every T <= T0 each ratio is a supermartingale that starts at 1, and so is their average. E+ becomes
    infinite with probability 0. This needs each arm's order of the cases to be uniformly random, and no case drawn
    twice. After the last case, either S > T0 or n - S > N - T0 - 1: every arm is decided.

    >>> from goodarm.problem import Gaussian, Problem
    >>> good, bad = totals(1000.0, 35.0, Problem(threshold=0.02, arms=200).bar)
    >>> round(good, 4), round(bad, 4)
    (3.3955, -2.1972)
    >>> good, bad = totals(100.0, 40.0, Problem(threshold=0.0, arms=10, rewards=Gaussian(scale=1.0)).bar)
    >>> round(good, 4), round(bad, 4)
    (6.0262, -2.4713)
    >>> good, bad = totals(250.0, 220.0, Problem(threshold=0.8, arms=40, rewards=Cases(500)).bar)
    >>> round(good, 4), round(bad, 4)
    (9.1088, -3.1518)
    """
    return log_average(1.0, pulls, total, bar), log_average(-1.0, pulls, total, bar)


gap_mixture = EvidenceRule(
    name="gap-mixture",
    reference="Robbins 1970, Annals of Mathematical Statistics 41(5), for mixtures; the ladder is goodarm's "
    "(docs/learning.md)",
    guarantee=Guarantee.CERTIFIED,
    families=(Bounded, SubGaussian, Cases),
    totals=totals,
    one_side=log_average,
)
