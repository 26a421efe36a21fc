"""`learned-bets`: bets by two experts, one fixed and one learned from all arms, that land on the budget."""

from __future__ import annotations

import math

import numpy as np

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool, Row
from goodarm.rules.identification._base import ANY_SUB_GAUSSIAN, EvidenceRule
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
    write_likelihoods,
)
from goodarm.verdict import Guarantee

KEPT = 0.05
"""Share that no bet risks: q- >= 0.05 xi and 1 - q+ >= 0.05 (1 - xi), so that one reward costs at most 3 nats."""
PULLS_OF_KEPT, TOTAL_OF_KEPT = 3, 4
LANDING = 12.0
"""Number of successes before the verdict from which on bets are sized to reach it exactly."""
SHORT = 1e-12
"""Aim this far beyond the budget, so that rounding does not leave the last success short of it."""


def bet(reward: float, above: float, threshold: float) -> float:
    """What one reward x adds to the evidence when q = xi + `above` was guessed before it.

    x log(q/xi) + (1-x) log((1-q)/(1-xi)), by the distance q - xi: next to 0 and 1 the guess itself has no digits left.
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
    bet is on q = (r q_pi + q_w)/(r + 1), r the fixed expert's wealth over the learned one's: before landing
    E = (E_pi + E_w)/2, at most log 2 below the better one. The memory is r of both sides and what was staked.

    The budget: with many arms and few pulls for each, an arm's share of delta is staked when it looks promising
    (`goodarm.rules.identification.purse`, with its proof); `late=0` stakes 1/K on every arm beforehand.

    Deadline: with n rounds left, a side's experts count on those of its gaps that the missing evidence rem allows for,
    rem/kl(mu_g, xi) <= `deadline` * n; on all of them where no gap is large enough, or there is no horizon. A timid bet
    on a small gap can't pay any more before the end (what this is worth: docs/learning.md).

    Landing: with rem = log(K/delta) - log E+, if fewer than 12 successes are missing at bets on q, k of them, then
    q = xi e^(rem/k): the last success lands on the budget instead of jumping over it. Mirrored for E-.

    Rewards without bounds: an expert multiplies its wealth by sum v_g L_g e^(slope_g x + drift_g) / sum v_g L_g, and
    nothing lands. Where a model gives mean and width, the learned expert guesses as `learned-bets-normal` does.

    Why it is certified, however w was learned. Let F be everything seen before the pull, and the round. q+ is a
    function of F: a convex combination of numbers above xi, or xi e^(something positive), and below 1. So is q- below
    xi. By the convexity argument of `kt`, E[factor | F] <= 1 for every such q+ when mu <= xi, and q- when mu >= xi; a
    convex combination of the factors e^(slope_g x + drift_g) of `gap-mixture` has the same property. So E+ and E- are
    supermartingales of start 1 with respect to F, although F mixes all arms. What must not happen is that a bet, its
    landing, or the choice of its gaps sees its own reward; the tests break exactly this and watch the error rate rise.
    """
    ladder: Ladder = pool.learned
    for_good, for_bad, memory = arm.for_good, arm.for_bad, arm.memory
    if arm.pulls == 0.0:
        memory[0], memory[1] = 1.0, 1.0
    if memory[PULLS_OF_KEPT] != arm.pulls + 1.0 or memory[TOTAL_OF_KEPT] != arm.total:
        write_likelihoods(memory, LIKELIHOODS, arm.pulls, arm.total, ladder)
    soon = deadline * (pool.horizon - pool.round + 1.0)
    if bar.bounded <= 0.0:
        near, far = in_time(ladder, soon, bar.budget - for_good, bar.budget - for_bad)
        for_good, memory[0] = grown(for_good, memory[0], reward, memory, ladder, near, 2 * STEPS)
        for_bad, memory[1] = grown(for_bad, memory[1], reward, memory, ladder, 0, far)
    else:
        purse = late > 0.0 and staked_late(pool, bar)
        if purse:
            for_good, for_bad = stake(arm, memory, LIKELIHOODS, ladder, bar)
        xi, budget = bar.threshold, bar.budget
        near, far = in_time(ladder, soon, budget - for_good, budget - for_bad)
        (fixed, learned), (fixed_below, learned_below) = guesses(arm, memory, ladder, bar, near, far)
        for_good, memory[0] = bet_on(for_good, memory[0], reward, xi, fixed, learned, budget)
        for_bad, memory[1] = bet_on(for_bad, memory[1], 1.0 - reward, 1.0 - xi, fixed_below, learned_below, budget)
        if purse:
            refund(for_good, for_bad, ladder, bar)
    memory[PULLS_OF_KEPT], memory[TOTAL_OF_KEPT] = arm.pulls + 2.0, arm.total + reward
    write_likelihoods(memory, LIKELIHOODS, arm.pulls + 1.0, arm.total + reward, ladder)
    return for_good, for_bad, 0.0


def in_time(ladder: Ladder, rounds: float, missing_good: float, missing_bad: float) -> tuple[int, int]:
    """The steps near, ... above the threshold and ..., far - 1 below it that gain what is missing in the rounds left.

    All of a side if none of them does. Gaps grow away from the threshold, so that what is left out lies next to it.
    """
    most = rounds / max(missing_good, TINY)
    near = STEPS
    while near < 2 * STEPS and ladder.table[COST, near] > most:
        near += 1
    most = rounds / max(missing_bad, TINY)
    far = STEPS
    while far > 0 and ladder.table[COST, far - 1] > most:
        far -= 1
    return near if near < 2 * STEPS else STEPS, far if far > 0 else STEPS


def guesses(
    arm: Arm, memory: Row, ladder: Ladder, bar: Bar, near: int, far: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    """How far beyond the threshold the mean lies if it is above it, and if it is below: fixed expert, learned one.

    Both 0, and nothing is bet, where a side has no chance left. The two sides are summed in one pass: each addition
    waits for the one before it, and the sides do not wait for each other.
    """
    table = ladder.table
    fixed, fixed_mass, learned, learned_mass = 0.0, 0.0, 0.0, 0.0
    fixed_below, fixed_mass_below, learned_below, learned_mass_below = 0.0, 0.0, 0.0, 0.0
    for step in range(STEPS):
        g = STEPS + step
        chance = memory[LIKELIHOODS + g] if g >= near else 0.0
        weight = table[FIXED, g] * chance
        fixed_mass += weight
        fixed += weight * table[WORTH, g]
        weight = table[WEIGHTS, g] * chance
        learned_mass += weight
        learned += weight * table[WORTH, g]
        chance = memory[LIKELIHOODS + step] if step < far else 0.0
        weight = table[FIXED, step] * chance
        fixed_mass_below += weight
        fixed_below += weight * table[WORTH, step]
        weight = table[WEIGHTS, step] * chance
        learned_mass_below += weight
        learned_below += weight * table[WORTH, step]
    above, below = (0.0, 0.0), (0.0, 0.0)
    if fixed_mass > 0.0 and learned_mass > 0.0:
        above = fixed / fixed_mass, learned / learned_mass
    if fixed_mass_below > 0.0 and learned_mass_below > 0.0:
        below = fixed_below / fixed_mass_below, learned_below / learned_mass_below
    if bar.modelled > 0.0:
        d, s = arm.mean - bar.threshold, bar.spread * arm.width
        root = math.sqrt(d * d + s * s)
        if fixed_mass > 0.0 and learned_mass > 0.0:
            above = above[0], min(0.5 * (root + d), (1.0 - KEPT) * (1.0 - bar.threshold))
        if fixed_mass_below > 0.0 and learned_mass_below > 0.0:
            below = below[0], min(0.5 * (root - d), (1.0 - KEPT) * bar.threshold)
    return above, below


def bet_on(
    evidence: float, odds: float, reward: float, threshold: float, fixed: float, learned: float, budget: float
) -> tuple[float, float]:
    """Evidence and odds of the fixed expert after one reward; `fixed`, `learned` are guesses of q - xi, not negative.

    For E- everything is mirrored: 1 - x, 1 - xi, and how far below.
    """
    if fixed <= 0.0:
        return evidence, odds
    above = landed((odds * fixed + learned) / (odds + 1.0), budget - evidence + SHORT, threshold)
    return evidence + bet(reward, above, threshold), within(odds * outdone(reward, fixed, learned, threshold))


def outdone(reward: float, fixed: float, learned: float, threshold: float) -> float:
    """By which factor a reward multiplies the fixed expert's wealth more than the learned one's."""
    if reward * (1.0 - reward) == 0.0:
        side, sign = (threshold, 1.0) if reward > 0.5 else (1.0 - threshold, -1.0)
        return (side + sign * fixed) / (side + sign * learned)
    return math.exp(bet(reward, fixed, threshold) - bet(reward, learned, threshold))


def within(odds: float) -> float:
    """Odds that stay numbers: beyond 1e30 to one it makes no difference which expert is right."""
    return min(max(odds, 1e-30), 1e30)


def landed(above: float, missing: float, threshold: float) -> float:
    """The bet q - xi, sized so that a whole number of successes, at most 12, brings what is missing.

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
    evidence: float, odds: float, reward: float, memory: Row, ladder: Ladder, first: int, last: int
) -> tuple[float, float]:
    """The same for rewards without bounds: each expert's mean factor over its steps."""
    fixed, fixed_mass, learned, learned_mass = 0.0, 0.0, 0.0, 0.0
    for g in range(first, last):
        chance = memory[LIKELIHOODS + g]
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
    """log E+ of an arm whose bets were all made with the weights of now, before landing: log (E_pi + E_w)/2.

    It guides no verdict. It shows which mean a verdict would need (`goodarm.policies.bounds.deciding_bound`).
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
    families=ANY_SUB_GAUSSIAN,
    observe=observe,
    expected=expected,
    learner=ladder_learner,
    memory=LIKELIHOODS + 2 * STEPS,
    keeps_likelihoods=True,
    limits=(("late", 0.0, 1.0), ("deadline", 0.01, 1e9)),
)
