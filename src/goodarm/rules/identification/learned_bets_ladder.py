"""`learned-bets-ladder`: bets by two experts, one fixed and one learned from all arms, that land on the budget."""

from __future__ import annotations

import math

from goodarm.numerics import sigmoid
from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool, Row
from goodarm.rules.identification._base import ANY_SUB_GAUSSIAN, EvidenceRule
from goodarm.rules.identification.learned_bets import KEPT, bet
from goodarm.rules.learners.ladder import DRIFT, FIXED, SLOPE, WORTH, Ladder, ladder_learner, likelihoods
from goodarm.verdict import Guarantee

LANDING = 12.0
"""From so many successes before the verdict on, bets are sized to land on it."""
SHORT = 1e-12
"""Aim this far beyond the budget, so that rounding does not leave the last success short of it."""


def observe(arm: Arm, reward: float, pool: Pool, bar: Bar) -> tuple[float, float, float]:
    """Two experts per side, each predicting from a ladder of gaps: weights fixed beforehand, and weights learned.

    Each expert v guesses q_v = sum v_g L_g mu_g / sum v_g L_g over the means mu_g of the ladder on its side of the
    threshold (`goodarm.rules.learners.ladder`), L_g their likelihood ratios after the arm's N pulls with total S. The
    bet is on q = s q_pi + (1 - s) q_w, s = 1/(1 + e^-r), r the log of what the fixed expert has won over what the
    learned one has: before landing E = (E_pi + E_w)/2, at most log 2 below the better one. The two r are the memory.

    Landing: with rem = log(K/delta) - log E+, if fewer than 12 successes are missing at bets on q, k of them, then
    q = xi e^(rem/k): the last success lands on the budget instead of jumping over it. Mirrored for E-.

    Rewards without bounds: an expert multiplies its wealth by sum v_g L_g e^(slope_g x + drift_g) / sum v_g L_g, and
    nothing lands. Where a model gives mean and width, the learned expert guesses as `learned-bets` does.

    Why it is certified, however w was learned. Let F be everything seen before the pull. q+ is a function of F: a
    convex combination of numbers above xi, or xi e^(something positive), and below 1. So is q- below xi. By the
    convexity argument of `kt`, E[factor | F] <= 1 for every such q+ when mu <= xi, and q- when mu >= xi; a convex
    combination of the factors e^(slope_g x + drift_g) of `gap-mixture` has the same property. So E+ and E- are
    supermartingales of start 1 with respect to F, although F mixes all arms. What must not happen is that a bet, or its
    landing, sees its own reward; the tests break exactly this and watch the error rate rise.
    """
    ladder: Ladder = pool.learned
    chances = likelihoods(arm.pulls, arm.total, ladder)
    half, end = chances.size // 2, chances.size
    if bar.bounded > 0.0:
        fixed, learned = guesses(arm, chances, ladder, bar, half, end)
        for_good, arm.memory[0] = bet_on(
            arm.for_good, arm.memory[0], reward, bar.threshold, fixed, learned, bar.budget
        )  # fmt: skip
        fixed, learned = guesses(arm, chances, ladder, bar, 0, half)
        for_bad, arm.memory[1] = bet_on(
            arm.for_bad, arm.memory[1], 1.0 - reward, 1.0 - bar.threshold, fixed, learned, bar.budget
        )  # fmt: skip
        return for_good, for_bad, 0.0
    for_good, arm.memory[0] = grown(arm.for_good, arm.memory[0], reward, chances, ladder, half, end)
    for_bad, arm.memory[1] = grown(arm.for_bad, arm.memory[1], reward, chances, ladder, 0, half)
    return for_good, for_bad, 0.0


def guesses(arm: Arm, chances: Row, ladder: Ladder, bar: Bar, first: int, last: int) -> tuple[float, float]:
    """How far beyond the threshold the mean lies if it is on this side of it: the fixed expert, the learned one.

    Both 0, and nothing is bet, where this side has no chance left.
    """
    fixed, fixed_mass, learned, learned_mass = 0.0, 0.0, 0.0, 0.0
    for g in range(first, last):
        if chances[g] > 0.0:
            weight = ladder.steps[FIXED, g] * chances[g]
            fixed_mass += weight
            fixed += weight * abs(ladder.steps[WORTH, g])
            weight = ladder.weights[g] * chances[g]
            learned_mass += weight
            learned += weight * abs(ladder.steps[WORTH, g])
    if not (fixed_mass > 0.0 and learned_mass > 0.0):
        return 0.0, 0.0
    if bar.modelled > 0.0:
        d, s = arm.mean - bar.threshold, bar.spread * arm.width
        d, room = (d, 1.0 - bar.threshold) if first > 0 else (-d, bar.threshold)
        return fixed / fixed_mass, min(0.5 * (math.sqrt(d * d + s * s) + d), (1.0 - KEPT) * room)
    return fixed / fixed_mass, learned / learned_mass


def bet_on(
    evidence: float, lead: float, reward: float, threshold: float, fixed: float, learned: float, budget: float
) -> tuple[float, float]:
    """Evidence and the fixed expert's lead after one reward; `fixed` and `learned` are guesses of q - xi, not negative.

    For E- everything is mirrored: 1 - x, 1 - xi, and how far below.
    """
    if fixed <= 0.0:
        return evidence, lead
    share = sigmoid(lead)
    above = landed(share * fixed + (1.0 - share) * learned, budget - evidence + SHORT, threshold)
    lead += bet(reward, fixed, threshold) - bet(reward, learned, threshold)
    return evidence + bet(reward, above, threshold), lead


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
    evidence: float, lead: float, reward: float, chances: Row, ladder: Ladder, first: int, last: int
) -> tuple[float, float]:
    """The same for rewards without bounds: each expert's mean factor over its steps."""
    fixed, fixed_mass, learned, learned_mass = 0.0, 0.0, 0.0, 0.0
    for g in range(first, last):
        if chances[g] > 0.0:
            factor = math.exp(ladder.steps[SLOPE, g] * reward + ladder.steps[DRIFT, g])
            weight = ladder.steps[FIXED, g] * chances[g]
            fixed_mass += weight
            fixed += weight * factor
            weight = ladder.weights[g] * chances[g]
            learned_mass += weight
            learned += weight * factor
    if not (fixed > 0.0 and learned > 0.0):
        return evidence, lead
    share = sigmoid(lead)
    fixed, learned = fixed / fixed_mass, learned / learned_mass
    return evidence + math.log(share * fixed + (1.0 - share) * learned), lead + math.log(fixed / learned)


learned_bets_ladder = EvidenceRule(
    name="learned-bets-ladder",
    reference="goodarm (docs/learning.md); validity by Ville 1939",
    guarantee=Guarantee.CERTIFIED,
    families=ANY_SUB_GAUSSIAN,
    observe=observe,
    learner=ladder_learner,
    memory=2,
)
