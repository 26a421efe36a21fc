"""`learned-bets`: bets by a fixed expert and one learned from all arms. The last bets aim exactly at the budget."""

from __future__ import annotations

import math

import numpy as np

from goodarm.problem import Bar, GradedCases
from goodarm.rules.beliefs import Arm, Pool, Row
from goodarm.rules.identification._base import ANY_SUB_GAUSSIAN, EvidenceRule
from goodarm.rules.identification.bet_mixture import ROUNDING
from goodarm.rules.identification.gap_mixture import CERTAIN
from goodarm.rules.identification.purse import refund, stake, staked_late
from goodarm.rules.learners.ladder import (
    COST,
    DRIFT,
    FIXED,
    LIKELIHOODS,
    SLOPE,
    STEPS,
    TINY,
    WEIGHTS,
    WORTH,
    Ladder,
    ladder_learner,
    likelihoods,
    sharpness,
    write_likelihoods,
)
from goodarm.verdict import Guarantee

KNOWN, KNOWN_TOTAL = 3, 4
"""Indices in `arm.memory` of N + 1 and S: pulls and total of the kept likelihoods; 0 if none are kept."""
KEPT = 0.05
"""Share of wealth that no bet risks: q- >= 0.05 xi and 1 - q+ >= 0.05 (1 - xi). One reward costs at most 3 nats."""
LANDING = 12.0
"""Maximum number of missing successes for which bets are sized to reach the verdict exactly."""
SHORT = 1e-12
"""Margin beyond the budget at which the last bets aim, so that rounding errors don't leave them short."""


def bet(reward: float, above: float, threshold: float) -> float:
    """The evidence that one reward x adds for the guess q = xi + `above`, made before it.

    x log(q/xi) + (1-x) log((1-q)/(1-xi)), computed from the distance q - xi, because near 0 and 1 the guess itself has
    no digits left.
    """
    won, lost = 1.0 + above / threshold, 1.0 - above / (1.0 - threshold)
    # a 0/1 reward needs one logarithm, and choosing its argument costs no branch
    if reward * (1.0 - reward) == 0.0:
        return math.log(won if reward > 0.5 else lost)
    return reward * math.log(won) + (1.0 - reward) * math.log(lost)


def observe(
    arm: Arm, reward: float, pool: Pool, bar: Bar, late: float = 1.0, deadline: float = 0.5
) -> tuple[float, float, float]:
    """Two experts per side, each predicting from a ladder of gaps: weights fixed beforehand, and weights learned.

    Each expert v guesses q_v = sum v_g L_g mu_g / sum v_g L_g over the means mu_g of the ladder on its side of the
    threshold (`goodarm.rules.learners.ladder`), L_g their likelihood ratios after the arm's N pulls with total S. The
    bet is on q = (r q_pi + q_w)/(r + 1), where r is the fixed expert's wealth divided by the learned one's. Before
    landing, E = (E_pi + E_w)/2, at most log 2 below the better one. The memory is r of both sides, the stakes, and the
    likelihoods for the next bet; the index of `value` also reads them.

    The budget: with many arms and few pulls for each, an arm's share of delta is staked when it looks promising
    (`goodarm.rules.identification.purse`, with its proof); `late=0` stakes 1/K on every arm beforehand.

    Deadline: with n rounds left, a side's experts use only gaps for which the missing evidence rem can be gained in
              time, rem/kl(mu_g, xi) <= `deadline` * n; they use all gaps if none is large enough, or without a horizon.
              A small bet
    on a small gap can't lead to a verdict before the end (docs/learning.md has the gain).

    Landing: with rem = log(K/delta) - log E+, if fewer than 12 successes are missing at bets on q, k of them, then
    q = xi e^(rem/k): the last success reaches the budget exactly instead of overshooting it. Mirrored for E-.

    Rewards without bounds: an expert multiplies its wealth by sum v_g L_g e^(slope_g x + drift_g) / sum v_g L_g, and
        there is no landing. If a model gives mean and width, the learned expert guesses like `learned-bets-normal`.

    Certified, however w was learned. Let F be everything seen before the pull, and the round. q+ is a
    function of F: a convex combination of numbers above xi, or xi e^(something positive), and below 1. So is q- below
    xi. By the convexity argument of `kt`, E[factor | F] <= 1 for every such q+ when mu <= xi, and q- when mu >= xi; a
    convex combination of the factors e^(slope_g x + drift_g) of `gap-mixture` has the same property. So E+ and E- are
    supermartingales that start at 1 with respect to F, although F mixes all arms. A bet, its landing, and the choice of
    its gaps must not depend on the bet's own reward. The tests contain variants that violate this, and check that their
    error rate rises.

    **Cases** drawn at most once: m = (N xi - S)/(N - n) replaces xi, and the guess of a step is the one for the total N
        mu_g, m + N (mu_g - xi)/(N - n). Given F the next result has mean at most m if the arm's mean is at most xi,
    so the same argument holds, as does that of `bet-mixture` for arms that have become certain. The likelihoods
    that weigh the guesses are those of `sharpness` times pulls and total; there is no deadline and no late stake.
    """
    if bar.cases < math.inf:
        return observe_case(arm, reward, pool.learned, bar)
    if bar.bounded > 0.0:
        return observe_bounded(arm, reward, pool, bar, late, deadline)
    return observe_unbounded(arm, reward, pool, bar, deadline)


def observe_bounded(
    arm: Arm, reward: float, pool: Pool, bar: Bar, late: float = 1.0, deadline: float = 0.5
) -> tuple[float, float, float]:
    """The bets on one reward in [0, 1]."""
    ladder: Ladder = pool.learned
    for_good, for_bad, memory = arm.for_good, arm.for_bad, arm.memory
    chances = likelihoods_before(arm, ladder)
    soon = deadline * (pool.horizon - pool.round + 1.0)
    purse = late > 0.0 and staked_late(pool, bar)
    if purse:
        for_good, for_bad = stake(arm, chances, ladder, bar)
    xi, budget = bar.threshold, bar.budget
    above, below = guesses(arm, chances, ladder, bar, longest(soon, budget - for_good), longest(soon, budget - for_bad))
    for_good, memory[0] = bet_on(for_good, memory[0], reward, xi, above[0], above[1], budget)
    for_bad, memory[1] = bet_on(for_bad, memory[1], 1.0 - reward, 1.0 - xi, below[0], below[1], budget)
    if purse:
        refund(for_good, for_bad, ladder, bar)
    keep_likelihoods(arm, reward, ladder)
    return for_good, for_bad, 0.0


def observe_unbounded(arm: Arm, reward: float, pool: Pool, bar: Bar, deadline: float) -> tuple[float, float, float]:
    """The bets on one reward without bounds."""
    ladder: Ladder = pool.learned
    memory, chances = arm.memory, likelihoods_before(arm, ladder)
    soon = deadline * (pool.horizon - pool.round + 1.0)
    first, last = in_time(ladder, STEPS, 2 * STEPS, soon, bar.budget - arm.for_good)
    for_good, memory[0] = grown(arm.for_good, memory[0], reward, chances, ladder, first, last)
    first, last = in_time(ladder, 0, STEPS, soon, bar.budget - arm.for_bad)
    for_bad, memory[1] = grown(arm.for_bad, memory[1], reward, chances, ladder, first, last)
    keep_likelihoods(arm, reward, ladder)
    return for_good, for_bad, 0.0


def likelihoods_before(arm: Arm, ladder: Ladder) -> Row:
    """The arm's likelihoods before a reward: the kept ones, or new ones. Before the first reward they are equal."""
    memory = arm.memory
    chances: Row = memory[LIKELIHOODS:]
    if arm.pulls == 0.0:
        memory[0], memory[1] = 1.0, 1.0
    if memory[KNOWN] != arm.pulls + 1.0 or memory[KNOWN_TOTAL] != arm.total:
        write_likelihoods(chances, arm.pulls, arm.total, ladder)
    return chances


def keep_likelihoods(arm: Arm, reward: float, ladder: Ladder) -> None:
    """Keep the likelihoods after a reward, for the next one and for the index."""
    memory = arm.memory
    write_likelihoods(memory[LIKELIHOODS:], arm.pulls + 1.0, arm.total + reward, ladder)
    memory[KNOWN], memory[KNOWN_TOTAL] = arm.pulls + 2.0, arm.total + reward


def observe_case(arm: Arm, reward: float, ladder: Ladder, bar: Bar) -> tuple[float, float, float]:
    """The bets on one case of a fixed set."""
    more, memory = sharpness(arm.pulls, bar), arm.memory
    chances = likelihoods(more * arm.pulls, more * arm.total, ladder)
    half, end = chances.size // 2, chances.size
    if arm.pulls == 0.0:
        memory[0], memory[1] = 1.0, 1.0
    xi, lost, slack = bar.threshold, arm.pulls - arm.total, ROUNDING * bar.cases
    for_good, memory[0] = bet_on_case(
        arm.for_good, memory[0], reward, arm.pulls, arm.total, xi, chances, ladder, half, end, bar, -slack
    )
    for_bad, memory[1] = bet_on_case(
        arm.for_bad, memory[1], 1.0 - reward, arm.pulls, lost, 1.0 - xi, chances, ladder, 0, half, bar, slack
    )
    return for_good, for_bad, 0.0


def bet_on_case(
    evidence: float,
    odds: float,
    reward: float,
    pulls: float,
    total: float,
    threshold: float,
    chances: Row,
    ladder: Ladder,
    first: int,
    last: int,
    bar: Bar,
    slack: float,
) -> tuple[float, float]:
    """Evidence of one side and odds of its fixed expert after one case. For E-, arguments are mirrored."""
    left, whole = bar.cases - pulls, bar.cases * threshold
    if left < 1.0:
        return -CERTAIN, odds  # more draws than cases
    if total + reward >= whole + slack:
        return CERTAIN, odds
    null = (whole - total) / left
    if not 0.0 < null < 1.0:
        return evidence, odds
    most, fixed, fixed_mass, learned, learned_mass = (1.0 - KEPT) * (1.0 - null), 0.0, 0.0, 0.0, 0.0
    for g in range(first, last):
        above = min(bar.cases / left * ladder.table[WORTH, g], most)
        weight = ladder.table[FIXED, g] * chances[g]
        fixed_mass += weight
        fixed += weight * above
        weight = ladder.table[WEIGHTS, g] * chances[g]
        learned_mass += weight
        learned += weight * above
    if not (fixed_mass > 0.0 and learned_mass > 0.0):
        return evidence, odds
    return bet_on(evidence, odds, reward, null, fixed / fixed_mass, learned / learned_mass, bar.budget)


def longest(rounds: float, missing: float) -> float:
    """Maximum pulls per nat of evidence with which the missing evidence can be gained in the rounds left."""
    return rounds / max(missing, TINY)


def in_time(ladder: Ladder, first: int, last: int, rounds: float, missing: float) -> tuple[int, int]:
    """The steps `first` to `last` - 1 of a side that gain the missing evidence in the rounds left; all if none do.

    Gaps grow away from the threshold, so the steps left out lie next to it.
    """
    most = longest(rounds, missing)
    near, far = first, last
    if first > 0:
        while near < last and ladder.table[COST, near] > most:
            near += 1
    else:
        while far > first and ladder.table[COST, far - 1] > most:
            far -= 1
    return (near, far) if near < far else (first, last)


def guesses(
    arm: Arm, chances: Row, ladder: Ladder, bar: Bar, most_above: float, most_below: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Guesses of the (fixed, learned) experts: distance of the mean above the threshold if good, below it if bad.

    If a side has no chance left, both are 0 and nothing is bet. A side uses only steps that need at most `most_above`
    or `most_below` pulls per nat, or all if there are none, as in `in_time`. Eight sums in one loop without branches
    are hardly slower than two.
    """
    table = ladder.table
    if table[COST, 2 * STEPS - 1] > most_above:
        most_above = math.inf
    if table[COST, 0] > most_below:
        most_below = math.inf
    fixed_above, fixed_mass_above, learned_above, learned_mass_above = 0.0, 0.0, 0.0, 0.0
    fixed_below, fixed_mass_below, learned_below, learned_mass_below = 0.0, 0.0, 0.0, 0.0
    for g in range(STEPS):
        h = STEPS + g
        chance = 0.0 if table[COST, h] > most_above else chances[h]
        weight = table[FIXED, h] * chance
        fixed_mass_above += weight
        fixed_above += weight * table[WORTH, h]
        weight = table[WEIGHTS, h] * chance
        learned_mass_above += weight
        learned_above += weight * table[WORTH, h]
        chance = 0.0 if table[COST, g] > most_below else chances[g]
        weight = table[FIXED, g] * chance
        fixed_mass_below += weight
        fixed_below += weight * table[WORTH, g]
        weight = table[WEIGHTS, g] * chance
        learned_mass_below += weight
        learned_below += weight * table[WORTH, g]
    above, below = (0.0, 0.0), (0.0, 0.0)
    if fixed_mass_above > 0.0 and learned_mass_above > 0.0:
        above = fixed_above / fixed_mass_above, learned_above / learned_mass_above
    if fixed_mass_below > 0.0 and learned_mass_below > 0.0:
        below = fixed_below / fixed_mass_below, learned_below / learned_mass_below
    if bar.modelled > 0.0:
        d, s = arm.mean - bar.threshold, bar.spread * arm.width
        reach = math.sqrt(d * d + s * s)
        if above[0] > 0.0:
            above = above[0], min(0.5 * (reach + d), (1.0 - KEPT) * (1.0 - bar.threshold))
        if below[0] > 0.0:
            below = below[0], min(0.5 * (reach - d), (1.0 - KEPT) * bar.threshold)
    return above, below


def bet_on(
    evidence: float, odds: float, reward: float, threshold: float, fixed: float, learned: float, budget: float
) -> tuple[float, float]:
    """Evidence and odds of the fixed expert after one reward; `fixed`, `learned` are guesses of q - xi, not negative.

    For E- everything is mirrored: 1 - x, 1 - xi, and the distance below.
    """
    if fixed <= 0.0:
        return evidence, odds
    above = landed((odds * fixed + learned) / (odds + 1.0), budget - evidence + SHORT, threshold)
    return evidence + bet(reward, above, threshold), within(odds * outdone(reward, fixed, learned, threshold))


def outdone(reward: float, fixed: float, learned: float, threshold: float) -> float:
    """Ratio of the factors by which a reward multiplies the fixed expert's and the learned expert's wealth."""
    if reward * (1.0 - reward) == 0.0:
        side, sign = (threshold, 1.0) if reward > 0.5 else (1.0 - threshold, -1.0)
        return (side + sign * fixed) / (side + sign * learned)
    return math.exp(bet(reward, fixed, threshold) - bet(reward, learned, threshold))


def within(odds: float) -> float:
    """Odds clipped to finite values. Beyond 1e30 to one the difference between the experts does not matter."""
    return min(max(odds, 1e-30), 1e30)


def landed(above: float, missing: float, threshold: float) -> float:
    """The bet q - xi, sized so that a whole number of successes, at most 12, gains the missing evidence.

    >>> round(landed(0.1, 0.5, 0.5), 6), round(math.log(1.0 + landed(0.1, 0.5, 0.5) / 0.5), 6)
    (0.09068, 0.166667)
    """
    if missing <= 0.0 or missing >= LANDING * above / threshold:
        return above
    won = math.log1p(above / threshold)
    if missing >= LANDING * won:
        return above
    sized = threshold * math.expm1(missing / math.ceil(missing / won))
    return sized if sized <= (1.0 - KEPT) * (1.0 - threshold) else above


def grown(
    evidence: float, odds: float, reward: float, chances: Row, ladder: Ladder, first: int, last: int
) -> tuple[float, float]:
    """Evidence and odds after one unbounded reward: each expert's factor is the mean over its steps."""
    fixed, fixed_mass, learned, learned_mass = 0.0, 0.0, 0.0, 0.0
    for g in range(first, last):
        chance = chances[g]
        if chance > 0.0:
            factor = math.exp(ladder.table[SLOPE, g] * reward + ladder.table[DRIFT, g])
            weight = ladder.table[FIXED, g] * chance
            fixed_mass += weight
            fixed += weight * factor
            weight = ladder.table[WEIGHTS, g] * chance
            learned_mass += weight
            learned += weight * factor
    if not (fixed > 0.0 and learned > 0.0):
        return evidence, odds
    fixed, learned = fixed / fixed_mass, learned / learned_mass
    return evidence + math.log((odds * fixed + learned) / (odds + 1.0)), within(odds * fixed / learned)


def expected(pulls: float, total: float, pool: Pool, bar: Bar) -> float:
    """log E+ of an arm if all of its bets had been made with the present weights, before landing: log (E_pi + E_w)/2.

    It does not affect verdicts, but shows the mean that a verdict would need
    (`goodarm.policies.bounds.deciding_bound`).
    """
    steps = pool.learned.table
    half = steps.shape[1] // 2
    logs = total * steps[SLOPE, half:] + pulls * steps[DRIFT, half:]
    top = float(logs.max())
    sizes = np.exp(logs - top)
    fixed, learned = steps[FIXED, half:], steps[WEIGHTS, half:]
    mixed = 0.5 * (fixed @ sizes) / fixed.sum() + 0.5 * (learned @ sizes) / max(float(learned.sum()), TINY)
    return top + math.log(max(float(mixed), TINY))


learned_bets = EvidenceRule(
    name="learned-bets",
    reference="goodarm (docs/learning.md); validity by Ville 1939",
    guarantee=Guarantee.CERTIFIED,
    families=(*ANY_SUB_GAUSSIAN, GradedCases),
    observe=observe,
    usual=observe_bounded,
    expected=expected,
    learner=ladder_learner,
    memory=LIKELIHOODS + 2 * STEPS,
    keeps_likelihoods=True,
    limits=(("late", 0.0, 1.0), ("deadline", 0.01, 1e9)),
)
