"""Few labels and a cheap judge: evidence from the difference between a case's label and its score.

Every case of an arm has a score f in [0, 1] beforehand, say by a language model; the label x costs. Cases are
labelled in a uniformly random order. Let m = (N xi - S)/(N - n) be the mean label of the cases left if the arm's mean
is xi, and fbar the mean score of the cases left, which is known. A bet on x - f multiplies wealth by

    1 + l (x - f - m + fbar),     0 <= l < 1/(m - fbar + max f),

the maximum over the cases left. E+ is the average wealth of bets on means mu_g above xi, the ladder of `gap-mixture`:
if mu_g is the arm's mean, the labels left have mean m + D_g, D_g = N (mu_g - xi)/(N - n), and the bet is D_g/(v +
D_g^2), v the variance of x - f so far. E- is the same of 1 - x, 1 - f, 1 - xi.

**Proof.** Given the past the next case is uniform among those left. If the arm's mean is at most xi, its labels have
mean at most m there, and the scores have mean exactly fbar: the factor has mean at most 1. It is not negative,
because x - f >= -max f. So E+ is a supermartingale of start 1. Nothing is assumed of the scores but that they are
fixed before the draw: a bad judge costs labels, never validity. For the same reason the scores of the cases left may
be recalibrated after each draw, by any function of what was seen. Once S reaches N xi the arm is good for certain,
mirrored for bad.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from goodarm.rules.identification.bet_mixture import ROUNDING
from goodarm.rules.identification.gap_mixture import CERTAIN, GAPS, LOG_WEIGHTS

Floats = NDArray[np.float64]
Recalibration = Callable[[Floats, Floats, Floats], Floats]
"""(scores of all cases, scores seen, labels seen) -> scores of all cases from now on, in [0, 1]."""

BINS, FIRM, PATIENCE = 10, 2.0, 1.1
"""Scores are recalibrated in ten bins, whenever the number of labels has grown by the factor `PATIENCE`. Each bin
starts halfway between its score and 1/2, with the weight of `FIRM` labels."""
LARGEST = 0.99
"""Share of the wealth that one label may take at most."""


def by_bins(scores: Floats, seen: Floats, labels: Floats) -> Floats:
    """Mean label of the cases seen with a score in the same tenth, shrunk towards the score's half trust in itself.

    >>> by_bins(np.array([0.0, 1.0]), np.array([0.0, 1.0, 1.0]), np.array([0.0, 1.0, 1.0])).round(2).tolist()
    [0.17, 0.88]
    """
    bins = np.minimum((scores * BINS).astype(np.int64), BINS - 1)
    known = np.minimum((seen * BINS).astype(np.int64), BINS - 1)
    counts = np.bincount(known, minlength=BINS)
    totals = np.bincount(known, weights=labels, minlength=BINS)
    found: Floats = (totals[bins] + FIRM * (0.25 + 0.5 * scores)) / (counts[bins] + FIRM)
    return found


def bet_on_label(
    logs: Floats, gaps: Floats, variance: float, label: float, score: float, null: float, mean: float, most: float
) -> None:
    """Multiply the wealth of every bet, kept as logarithms, by its factor for one label.

    gaps       : D_g, by how much the mean label of the cases left exceeds `null` if the bet is right
    null       : m, the mean label of the cases left under the hypothesis
    mean, most : of the scores of the cases left
    """
    room = null - mean + most
    if room > 0.0:
        bets = np.minimum(gaps / (variance + gaps**2), LARGEST / room)
        logs += np.log1p(bets * (label - score - null + mean))


def evidence_with_scores(
    labels: Floats, scores: Floats, threshold: float, recalibrated: Recalibration | None = by_bins
) -> tuple[Floats, Floats]:
    """log E+ and log E- after each label, shapes (N,); `labels` and `scores` in the order of the draws.

    The cases left are those that come later in the arrays. Only the multiset of their scores is used.

    >>> labels = np.array([1.0, 1.0, 0.0, 1.0] * 25)
    >>> good, bad = evidence_with_scores(labels, labels, 0.5)
    >>> bool(good[30] > 4.0), bool(bad[30] < 0.0)
    (True, True)
    """
    cases, slack = labels.size, ROUNDING * labels.size
    logits = math.log(threshold / (1.0 - threshold)) + np.array([GAPS, -GAPS])
    apart = np.abs(1.0 / (1.0 + np.exp(-logits)) - threshold)
    wealth, found = np.zeros(apart.shape), (np.zeros(cases), np.zeros(cases))
    now, due, total, squares = scores, 0.0, 0.0, 0.25
    for n in range(cases):
        if recalibrated is not None and n >= due:
            now, due = recalibrated(scores, scores[:n], labels[:n]), max(n + 1.0, PATIENCE * n)
        left, rest = cases - n, now[n:]
        mean, highest, lowest = float(rest.mean()), float(rest.max()), float(rest.min())
        null, variance, gaps = (cases * threshold - total) / left, squares / (n + 1.0), cases / left * apart
        bet_on_label(wealth[0], gaps[0], variance, labels[n], now[n], null, mean, highest)
        bet_on_label(wealth[1], gaps[1], variance, 1.0 - labels[n], 1.0 - now[n], 1.0 - null, 1.0 - mean, 1.0 - lowest)
        total += labels[n]
        squares += (labels[n] - now[n]) ** 2
        good, bad = total >= cases * threshold - slack, total + left - 1 < cases * threshold - slack
        for side, certain, never in ((0, good, bad), (1, bad, good)):
            found[side][n] = CERTAIN if certain else -CERTAIN if never else _log_mean(wealth[side])
        if good or bad:
            found[0][n:], found[1][n:] = found[0][n], found[1][n]
            break
    return found


def _log_mean(logs: Floats) -> float:
    """log of the average wealth under the ladder's weights."""
    terms = logs + LOG_WEIGHTS
    top = float(terms.max())
    return top + math.log(float(np.exp(terms - top).sum()))
