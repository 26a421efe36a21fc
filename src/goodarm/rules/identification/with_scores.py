"""`score-bets`: few labels and a cheap judge. Evidence from the difference between a case's label and its score.

Every case of an arm has a score in [0, 1] beforehand, for example from a language model; only the label x is expensive.
Cases are labelled in a uniformly random order. Scores are read in tenths (`tenth`), and f_b, the predicted label of a
case in tenth b, is learned from the labels seen so far (`predicted`). Let m = (N xi - S)/(N - n) be the mean label of
the cases left if the arm's mean is xi, and fbar the mean of f over the cases left, which is known. A bet multiplies
wealth by

    1 + l (x - f - m + fbar),     0 <= l < 1/A,     A = m - fbar + max f,

the maximum over the tenths of the cases left. E+ is the average wealth of ten bets, one for each mean mu_g above xi on
the ladder of `gap-mixture`: if mu_g is the arm's mean, the labels left have mean m + D_g, D_g = N (mu_g - xi)/(N - n),
and the bet is l = D_g/(v + A D_g), v the mean of f (1 - f) over the cases left. This is Kelly's bet on an outcome that
loses A with probability about v/A^2. E- is the same of 1 - x, 1 - f, 1 - xi.

**Proof.** Given the past the next case is uniform among those left. If the arm's mean is at most xi, its labels have
mean at most m there, and f has mean exactly fbar: the factor has mean at most 1. It is not negative, because x - f >=
    -max f. So E+ is a supermartingale that starts at 1. The scores need only be fixed before the draw: a bad judge
    costs
labels, never validity. f, l and v are functions of the labels seen before the draw, so learning them does not affect
the proof. Once S reaches N xi the arm is certainly good; mirrored for bad.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from goodarm.problem import Bar, ScoredCases
from goodarm.rules.beliefs import Arm, Pool, Row
from goodarm.rules.identification._base import EvidenceRule
from goodarm.rules.identification.bet_mixture import ROUNDING, log_mixture
from goodarm.rules.identification.gap_mixture import CERTAIN, LOG_WEIGHTS, ODDS_DOWN, ODDS_UP, STEPS
from goodarm.verdict import Guarantee

Floats = NDArray[np.float64]
BINS, FIRM, TRUST = 10, 2.0, 0.5
"""A tenth's predicted label starts at the fraction `TRUST` of the way from 1/2 to its score, with the weight of `FIRM`
labels."""
LARGEST = 0.99
"""Maximum share of the wealth that one label can cost."""
LEFT, SEEN, PASSED = 2 * STEPS, 2 * STEPS + BINS, 2 * STEPS + 2 * BINS
"""Indices in the arm's memory, after the logarithms of the wealth of both sides: cases left, labels seen and their sum,
for each tenth."""
DRAWN = 2 * STEPS + 3 * BINS
"""The last index: the tenth of the case whose label comes next, written by the code that draws the case."""


def tenth(score: float) -> int:
    """The tenth of [0, 1] in which a score lies, 0 to 9.

    >>> tenth(0.0), tenth(0.35), tenth(1.0)
    (0, 3, 9)
    """
    return min(int(BINS * score), BINS - 1)


def first_memory(tenths: Sequence[int] | NDArray[np.int64]) -> Floats:
    """The memory of an arm before its first label, from the tenths of the scores of all its cases."""
    memory = np.zeros(DRAWN + 1)
    memory[LEFT:SEEN] = np.bincount(np.asarray(tenths, dtype=np.int64), minlength=BINS)
    return memory


def predicted(memory: Row, b: int) -> float:
    """f_b: the mean label of the cases seen in this tenth, shrunk towards the average of 1/2 and the score."""
    prior = 0.5 + TRUST * (b / (BINS - 1.0) - 0.5)
    return (memory[PASSED + b] + FIRM * prior) / (memory[SEEN + b] + FIRM)  # type: ignore[no-any-return]  # numpy


def bet_on_label(logs: Row, first: int, gaps: Row, spread: float, surprise: float, loss: float) -> None:
    """Multiply the wealth of every bet of a side, kept as logarithms from `first` on, by its factor for one label.

    gaps     : D_g, the excess of the mean label of the cases left over m if the bet is right
    spread   : v, the variance of a label around its prediction
    surprise : x - f - m + fbar
    loss     : A, the largest shortfall of a label
    """
    if loss > 0.0:
        for g in range(STEPS):
            stake = min(gaps[g] / (spread + loss * gaps[g]), LARGEST / loss)
            logs[first + g] += math.log1p(stake * surprise)


def observe(arm: Arm, reward: float, pool: Pool, bar: Bar) -> tuple[float, float, float]:
    """E+ and E- of bets on the difference between label and score; the proof is at the top of this file.

    The memory is that of `first_memory`; its last entry is the tenth of the labelled case.
    """
    memory, cases, xi = arm.memory, bar.cases, bar.threshold
    if arm.pulls == 0.0:  # every bet starts at the arm's share of delta, like its evidence
        for g in range(STEPS):
            memory[g], memory[STEPS + g] = arm.for_good, arm.for_bad
    left, drawn = cases - arm.pulls, int(memory[DRAWN])
    if left < 1.0 or memory[LEFT + drawn] < 1.0:
        return -CERTAIN, -CERTAIN, 0.0  # more draws than cases
    mean, spread, highest, lowest = 0.0, 0.0, 0.0, 1.0
    for b in range(BINS):
        if memory[LEFT + b] > 0.0:
            f = predicted(memory, b)
            mean += memory[LEFT + b] * f / left
            spread += memory[LEFT + b] * f * (1.0 - f) / left
            highest, lowest = max(highest, f), min(lowest, f)
    null = (cases * xi - arm.total) / left
    up, down = np.empty(STEPS), np.empty(STEPS)
    for g in range(STEPS):
        up[g] = cases / left * xi * (1.0 - xi) * ODDS_UP[g] / (1.0 + xi * ODDS_UP[g])
        down[g] = -cases / left * xi * (1.0 - xi) * ODDS_DOWN[g] / (1.0 + xi * ODDS_DOWN[g])
    surprise = reward - predicted(memory, drawn) - null + mean
    bet_on_label(memory, 0, up, spread, surprise, null - mean + highest)
    bet_on_label(memory, STEPS, down, spread, -surprise, mean - null + 1.0 - lowest)
    memory[LEFT + drawn] -= 1.0
    memory[SEEN + drawn] += 1.0
    memory[PASSED + drawn] += reward
    total, slack = arm.total + reward, ROUNDING * cases
    if total >= cases * xi - slack:
        return CERTAIN, -CERTAIN, 0.0
    if total + left - 1.0 < cases * xi - slack:
        return -CERTAIN, CERTAIN, 0.0
    return log_mixture(memory, 0, LOG_WEIGHTS), log_mixture(memory, STEPS, LOG_WEIGHTS), 0.0


score_bets = EvidenceRule(
    name="score-bets",
    reference="goodarm (docs/cases.md); Waudby-Smith & Ramdas 2020, NeurIPS, for bets without replacement",
    guarantee=Guarantee.CERTIFIED,
    families=(ScoredCases,),
    observe=observe,
    memory=DRAWN + 1,
)


def evidence_with_scores(labels: Floats, scores: Floats, bar: Bar) -> tuple[Floats, Floats]:
    """log E+ and log E- after each label, shapes (n,).

    labels : n labels in the order of the draws, at most as many as there are scores
    scores : scores of all cases, those of the labels first
    bar    : bar of a problem with `ScoredCases(len(scores))`

    >>> from goodarm.problem import Problem
    >>> labels = np.array([1.0, 1.0, 0.0, 1.0] * 25)
    >>> good, bad = evidence_with_scores(labels, labels, Problem(0.5, 1, rewards=ScoredCases(100)).bar)
    >>> bool(good[30] > 4.0), bool(bad[30] < 0.0)
    (True, True)
    """
    tenths = np.minimum((BINS * scores).astype(np.int64), BINS - 1)
    memory, total = first_memory(tenths), 0.0
    found, pool = np.zeros((2, labels.size)), Pool(1.0, math.inf, None)
    for n in range(labels.size):
        memory[DRAWN] = tenths[n]
        arm = Arm(float(n), total, 0.0, 0.0, 0.0, 0.0, memory, 0.0)
        good, bad, _ = observe(arm, labels[n], pool, bar)
        total += labels[n]
        found[0, n], found[1, n] = good, bad
        if abs(good) == CERTAIN:
            found[:, n:] = found[:, n : n + 1]
            break
    return found[0], found[1]
