"""`bet-mixture`: a mixture over a fixed grid of bets, which adapts to the variance and needs only sums over rewards."""

from __future__ import annotations

import math

import numpy as np

from goodarm.problem import Bar, Bounded, GradedCases, NonNegative
from goodarm.rules.beliefs import Arm, Pool, Row
from goodarm.rules.identification._base import EvidenceRule
from goodarm.rules.identification.gap_mixture import CERTAIN, GAPS, ODDS_DOWN, ODDS_UP
from goodarm.rules.identification.gap_mixture import LOG_WEIGHTS as LOG_WEIGHTS_OF_GAPS
from goodarm.verdict import Guarantee

STEPS = len(GAPS)
SHARES = 0.99 * 2.0 ** (np.arange(STEPS) - STEPS + 1.0)
"""Bets on rewards without a range, as shares of the largest: 0.99, its half, ..., 0.0019."""
TYPICAL, BREADTH = 0.6, 1.6
"""The weight of a gap is largest at `TYPICAL` and falls by a factor e for each factor e^`BREADTH` away from it."""
ROUNDING = 1e-9
"""Share of the number of cases by which the sum of an arm's graded results may be rounded."""


def log_weights() -> Row:
    """Logarithms of the weights of the bets, which sum to 1 on each side."""
    weights = np.exp(-np.abs(np.log(GAPS / TYPICAL)) / BREADTH)
    return np.log(weights / weights.sum())  # type: ignore[no-any-return]  # numpy's operators return Any


LOG_WEIGHTS = log_weights()


def log_shares(bar: Bar) -> Row:
    """Logarithms of the bets' weights: those of `gap-mixture` for rewards in [0, 1], with which it shares its bets."""
    return LOG_WEIGHTS_OF_GAPS if bar.bounded > 0.0 and bar.cases == math.inf else LOG_WEIGHTS


def bets(bar: Bar) -> Row:
    """The bets l_j: first those on a mean above the threshold, all positive, then those below, all negative.

    Rewards in [0, 1]: the optimal bets for 0/1 rewards of mean mu_g, (mu_g - xi)/(xi (1 - xi)), mu_g as in
    `gap-mixture`. Others: shares of 1/xi and of 1/(ceiling - xi), the largest bets that can't lose more than
    everything; 0 without a ceiling.
    """
    found = np.empty(2 * STEPS)
    xi = bar.threshold
    for step in range(STEPS):
        if bar.bounded > 0.0:
            found[step] = ODDS_UP[step] / (1.0 + xi * ODDS_UP[step])
            found[STEPS + step] = ODDS_DOWN[step] / (1.0 + xi * ODDS_DOWN[step])
        else:
            found[step] = SHARES[step] / xi
            found[STEPS + step] = -SHARES[step] / (bar.ceiling - xi)
    return found


def sums(reward: float, bar: Bar) -> Row:
    """The terms that one reward adds to an arm's sums: log(1 + l_j (min(x, ceiling) - xi)) for each bet."""
    found = bets(bar)
    beyond = min(reward, bar.ceiling) - bar.threshold
    for j in range(found.size):
        found[j] = math.log1p(found[j] * beyond)
    return found


def from_sums(logs: Row, bar: Bar) -> tuple[float, float]:
    """(log E+, log E-) from the sums over an arm's rewards, in any order, from any number of machines.

    A pending reward at its worst adds `sums(0, bar)` to what E+ reads, and `sums(1, bar)` to what E- reads.
    Without a ceiling E- stays 1: no bet is possible, and no arm is called bad.
    """
    shares = log_shares(bar)
    return log_mixture(logs, 0, shares), log_mixture(logs, STEPS, shares)


def log_mixture(logs: Row, first: int, log_shares: Row) -> float:
    """log sum_j w_j e^(logs_j) over one side's bets, which begin at `first`."""
    top = -CERTAIN
    for step in range(log_shares.size):
        top = max(top, log_shares[step] + logs[first + step])
    tail = 0.0
    for step in range(log_shares.size):
        tail += math.exp(log_shares[step] + logs[first + step] - top)
    return float(top) + math.log(tail)


def observe(arm: Arm, reward: float, pool: Pool, bar: Bar) -> tuple[float, float, float]:
    """E+ = sum_j w_j prod_i (1 + l_j (x_i - xi)) over a fixed grid of bets l_j > 0; E- over bets l_j < 0.

    The logarithm of each product is a sum over the rewards, so neither their order nor the machine that adds them up
    matters. If rewards vary little, the larger l_j gain most, although they would lose on 0/1 rewards of the same mean.

    Certified, for rewards in [0, 1] and for rewards x >= 0. Each factor has mean 1 + l_j (mu - xi): at most 1 for
    l_j > 0 and mu <= xi, and for l_j < 0 and mu >= xi. No factor is negative, since 0 < l_j < 1/xi, and
    -1/(ceiling - xi) < l_j < 0. A mixture of these supermartingales with fixed weights of sum 1 is a supermartingale
    that starts at 1. With a cap, the bets are on min(x, cap). Its mean is at most that of x, so *good* holds for the
    mean of x, and *bad* is a statement about the mean of min(x, cap). Without a ceiling every l_j < 0 is 0, and E- = 1.

    **Against `gap-mixture`.** For rewards in [0, 1] bets and weights are those of `gap-mixture`: its factor
    e^(g x)/(1 + xi (e^g - 1)) is convex in x, and 1 + l (x - xi) is its chord between x = 0 and x = 1. So the evidence
    is at least that of `gap-mixture` for any rewards, and the same if all of them are 0 or 1. Choosing between the two
    after looking at the rewards costs nothing: either one is at most this supermartingale.

    **Cases** drawn at most once, with results in [0, 1] and the total T over all N of them: if T = N xi, the next
    result has mean m = (N xi - S)/(N - n). Each bet is then on the total N mu_j against the total N xi: with
    q_j = (N mu_j - S)/(N - n), clipped to [m, 1], its factor is x q_j/m + (1 - x)(1 - q_j)/(1 - m), linear in x. Its
    mean is 1 if the next result has mean m, and at most 1 if T <= N xi, since q_j >= m. m and q_j are known before the
    draw; so the products are supermartingales here too, but depend on the order. E+ is infinite once S >= N xi: the arm
    is certainly good. E- is infinite once S + N - n < N xi. E- mirrors this. Sums are compared to within 1e-9 N.

    >>> from goodarm.problem import Problem
    >>> bar = Problem(threshold=0.5, arms=10).bar
    >>> good, bad = from_sums(100.0 * sums(0.6, bar), bar)
    >>> round(good, 2), round(bad, 2)
    (14.65, -1.76)
    """
    memory = arm.memory
    if arm.pulls == 0.0:  # every bet starts at the arm's share of delta, like its evidence
        for step in range(STEPS):
            memory[step], memory[STEPS + step] = arm.for_good, arm.for_bad
    if bar.cases < math.inf:
        for_good = after_case(memory, 0, arm.pulls, arm.total, reward, bar.threshold, bar)
        for_bad = after_case(memory, STEPS, arm.pulls, arm.pulls - arm.total, 1.0 - reward, 1.0 - bar.threshold, bar)
        return for_good, for_bad, 0.0
    more = sums(reward, bar)
    for j in range(more.size):
        memory[j] += more[j]
    for_good, for_bad = from_sums(memory, bar)
    return for_good, for_bad, 0.0


def after_case(memory: Row, first: int, pulls: float, total: float, reward: float, threshold: float, bar: Bar) -> float:
    """log E+ after one more case, or log E- with everything mirrored. Writes the logarithms of the bets' wealth.

    At the bar itself the arm is good: E+ is certain from N xi on, E- only beyond N (1 - xi).
    """
    whole, left = bar.cases * threshold, bar.cases - pulls
    slack = -ROUNDING * bar.cases if first == 0 else ROUNDING * bar.cases
    if left < 1.0:
        return -CERTAIN  # more draws than cases
    if total + reward >= whole + slack:
        return CERTAIN
    null = (whole - total) / left
    if 0.0 < null < 1.0:
        for step in range(STEPS):
            odds = ODDS_UP[step] if first == 0 else -ODDS_DOWN[step] / (1.0 + ODDS_DOWN[step])
            mean = threshold * (1.0 + odds) / (1.0 + threshold * odds)
            guess = min(max((bar.cases * mean - total) / left, null), 1.0)
            factor = reward * guess / null + (1.0 - reward) * (1.0 - guess) / (1.0 - null)
            memory[first + step] += math.log(factor) if factor > 0.0 else -CERTAIN
    return log_mixture(memory, first, LOG_WEIGHTS)


bet_mixture = EvidenceRule(
    name="bet-mixture",
    reference="goodarm; Waudby-Smith & Ramdas 2024, JRSS B 86(1), for bets, Robbins 1970 for mixtures",
    guarantee=Guarantee.CERTIFIED,
    families=(Bounded, NonNegative, GradedCases),
    observe=observe,
    sums=sums,
    from_sums=from_sums,
    memory=2 * STEPS,
)
