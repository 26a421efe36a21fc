"""Beta of `dgai` learned offline by gradient epochs.

An epoch is one run at a fixed beta. On the way the learner evaluates the gradient of the expected rate of exploit score
(`goodarm.rules.learners.gradient`); the epoch's mean clipped gradient is one step of log beta. The gradient is a
covariance over the arms, so it needs no second run with another beta and no score-function estimate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

EPOCHS = 5
"""Epochs between two looks at the validation runs."""
VALIDATION = 3
"""Number of validation runs. They are the same at every look, and no epoch plays them."""
PATIENCE = 2
"""Looks without an improvement after which learning stops."""
IMPROVED = 1.005
"""Smallest ratio to the best validation score so far that counts as an improvement."""

DISTANCE = 0.3
"""Distance in log beta between the three values at which the score has the last word."""

PlayEpoch = Callable[[float, int], tuple[float, float]]
"""(beta, run number) -> (exploit score of that run, its mean clipped gradient)."""


class GradientEpoch(NamedTuple):
    """One epoch: the beta it was played with, its score, its mean clipped gradient, the last validation score.

    runs : the epoch's own run and the validation runs that were played since the last epoch; of the last epoch, those
           after it too
    """

    parameter: float
    score: float
    gradient: float
    validation: float
    runs: int


def least_budget() -> int:
    """The smallest number of runs that learning can work with."""
    return VALIDATION + EPOCHS + VALIDATION


def learn_by_gradient(
    play: PlayEpoch,
    beta: float,
    *,
    budget: int,
    limits: tuple[float, float] = (0.1, 10.0),
    watch: Callable[[GradientEpoch], None] = lambda epoch: None,
) -> tuple[float, list[GradientEpoch]]:
    """log beta += (1 + n)^-1/2 times the mean clipped gradient of epoch n; returns the mean of the second half.

    Every 5 epochs the same 3 validation runs are played. Learning stops after two looks that improved the best
    validation score by less than 0.5%, or when the budget of runs is spent.

    The gradient follows a model of the score, so the score has the last word: the validation runs are played at the
    mean of the second half and at a distance of 0.3 in log beta on both sides, and the top of the parabola through the
    three scores is returned. A budget of less than 20 runs does not allow for this.

    >>> play = lambda beta, run: (1.0, max(-1.0, min(1.0, 0.5 - math.log(beta))))
    >>> beta, history = learn_by_gradient(play, 6.0, budget=52)
    >>> round(math.log(beta), 2), len(history)
    (0.5, 10)
    """
    theta, path, history = math.log(beta), [], list[GradientEpoch]()

    def validated(theta: float) -> float:
        return sum(play(math.exp(theta), run)[0] for run in range(VALIDATION)) / VALIDATION

    last = 3 * VALIDATION if budget >= least_budget() + 3 * VALIDATION else 0
    best, waited = validated(theta), 0
    latest, looked = best, VALIDATION
    for n in range((budget - VALIDATION - last) // (EPOCHS + VALIDATION) * EPOCHS):
        score, gradient = play(math.exp(theta), VALIDATION + n)
        epoch = GradientEpoch(math.exp(theta), score, gradient, latest, 1 + looked)
        theta = min(max(theta + gradient / math.sqrt(1.0 + n), math.log(limits[0])), math.log(limits[1]))
        path.append(theta)
        history.append(epoch)
        watch(epoch)
        looked = 0
        if n % EPOCHS == EPOCHS - 1:
            latest, looked = validated(theta), VALIDATION
            waited = 0 if latest > IMPROVED * best else waited + 1
            best = max(best, latest)
            if waited >= PATIENCE:
                break
    second_half = path[len(path) // 2 :]
    settled = sum(second_half) / len(second_half)
    history[-1] = history[-1]._replace(runs=history[-1].runs + looked + last)
    if last:
        settled += DISTANCE * top_of([validated(settled + step * DISTANCE) for step in (-1.0, 0.0, 1.0)])
    return min(max(math.exp(settled), limits[0]), limits[1]), history


def top_of(scores: Sequence[float]) -> float:
    """Where the parabola through the scores at -1, 0 and 1 is largest, within [-1, 1].

    >>> top_of([1.0, 3.0, 3.0]), top_of([3.0, 2.0, 4.0]), top_of([0.0, 0.0, 0.0])
    (0.5, 1.0, 0.0)
    """
    low, middle, high = scores
    bend = 2.0 * middle - low - high
    if bend > 0.0:
        return min(max(0.5 * (high - low) / bend, -1.0), 1.0)
    return 0.0 if low == high else 1.0 if high > low else -1.0
