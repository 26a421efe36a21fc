"""Beta of `dgai` learned offline by gradient epochs.

An epoch is one run at a fixed beta. On the way the learner evaluates the gradient of the expected rate of exploit score
(`goodarm.rules.learners.gradient`); the epoch's mean clipped gradient is one step of log beta. The gradient is a
covariance over the arms, so it needs no second run with another beta and no score-function estimate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

EPOCHS = 5
"""Number of epochs between two validations."""
VALIDATION = 3
"""Number of validation runs. They are the same in every validation, and no epoch plays them."""
PATIENCE = 2
"""Number of validations without an improvement after which learning stops."""
IMPROVED = 1.005
"""Smallest ratio to the best validation score so far that counts as an improvement."""

PlayEpoch = Callable[[float, int], tuple[float, float]]
"""(beta, run number) -> (exploit score of that run, its mean clipped gradient)."""


class GradientEpoch(NamedTuple):
    """One epoch: the beta it was played with, its score, its mean clipped gradient, the last validation score.

    runs : the epoch's own run and the validation runs that were played since the last epoch
    """

    parameter: float
    score: float
    gradient: float
    validation: float
    runs: int


def least_budget() -> int:
    """Minimum number of runs for learning."""
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

    >>> play = lambda beta, run: (1.0, max(-1.0, min(1.0, 0.5 - math.log(beta))))
    >>> beta, history = learn_by_gradient(play, 6.0, budget=52)
    >>> round(math.log(beta), 2), len(history)
    (0.5, 10)
    """
    theta, path, history = math.log(beta), [], list[GradientEpoch]()

    def validated() -> float:
        return sum(play(math.exp(theta), run)[0] for run in range(VALIDATION)) / VALIDATION

    best, waited = validated(), 0
    latest, looked = best, VALIDATION
    for n in range((budget - VALIDATION) // (EPOCHS + VALIDATION) * EPOCHS):
        score, gradient = play(math.exp(theta), VALIDATION + n)
        epoch = GradientEpoch(math.exp(theta), score, gradient, latest, 1 + looked)
        theta = min(max(theta + gradient / math.sqrt(1.0 + n), math.log(limits[0])), math.log(limits[1]))
        path.append(theta)
        history.append(epoch)
        watch(epoch)
        looked = 0
        if n % EPOCHS == EPOCHS - 1:
            latest, looked = validated(), VALIDATION
            waited = 0 if latest > IMPROVED * best else waited + 1
            best = max(best, latest)
            if waited >= PATIENCE:
                break
    second_half = path[len(path) // 2 :]
    return math.exp(sum(second_half) / len(second_half)), history
