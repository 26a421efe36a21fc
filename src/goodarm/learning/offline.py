"""Learn one parameter offline on the exploit score: by differences of runs, or by gradients of the learner.

`learn_parameter` uses differences under common random numbers. Every run is played twice on the same rewards, with a
slightly larger and a slightly smaller parameter. The difference shows the effect of the parameter. Score-function
gradients on the same runs have a standard deviation of 10 to 300 times the gradient; these differences do not
(docs/learning.md).

`learn_by_gradient` learns beta of `dgai` by gradient epochs. An epoch is one run at a fixed beta. During the run, the
learner evaluates the gradient of the expected rate of exploit score (`goodarm.rules.learners.gradient`); the epoch's
mean clipped gradient is one step of log beta. The gradient is a covariance over the arms, so it needs no second run
with another beta and no score-function estimate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

Score = Callable[[float, int], float]
"""(parameter, run number) -> score of that run."""

STEP, DECAY, LARGEST, DISTANCE = 0.7, 0.6, 0.3, 0.2
"""The step rule: theta += clip(0.7 (1+k)^-0.6 g, +-0.3), differences taken at theta +- 0.2 (theta = log parameter)."""


class LearningStep(NamedTuple):
    """One step of learning: the new parameter, the mean score of its runs, and their number."""

    parameter: float
    score: float
    runs: int
    bracket: bool


class Epoch(NamedTuple):
    """One trajectory: its parameters, its score, and its gradient."""

    alpha: float
    beta: float
    score: float  # exploit score
    wrong: int  # wrong verdicts
    decided: int  # verdicts
    rounds: int  # rounds until every arm was decided, or the horizon
    gradient_alpha: float
    gradient_beta: float


def learn_parameter(
    score: Score,
    candidates: Sequence[float],
    *,
    streams: int = 3,
    steps: int = 20,
    watch: Callable[[LearningStep], None] = lambda step: None,
) -> tuple[float, list[LearningStep]]:
    """The parameter with the largest score: the best of `candidates` on the same `streams` runs, then `steps` steps.

    theta = log parameter; g = (J+ - J-) / (c (J+ + J-)) at theta +- c; returns the mean of the second half. Needs
    len(candidates) * streams + 2 * steps runs. The candidates are needed: from a bad start, every gradient rule can end
    below 40% of the best score.

    >>> score = lambda beta, run: 10.0 - (math.log(beta) - 0.5) ** 2
    >>> beta, history = learn_parameter(score, [0.5, 1.0, 2.0, 4.0])
    >>> abs(math.log(beta) - 0.5) < 0.1, len(history)
    (True, 24)
    """
    history: list[LearningStep] = []

    def note(step: LearningStep) -> None:
        history.append(step)
        watch(step)

    for candidate in candidates:
        note(LearningStep(candidate, sum(score(candidate, run) for run in range(streams)) / streams, streams, True))
    theta = math.log(max(history, key=lambda step: step.score).parameter)
    path = []
    for k in range(steps):
        run = streams + k
        above = score(math.exp(theta + DISTANCE), run)
        below = score(math.exp(theta - DISTANCE), run)
        theta += _clip(STEP * (1.0 + k) ** -DECAY * relative_slope(above, below), LARGEST)
        path.append(theta)
        note(LearningStep(math.exp(theta), 0.5 * (above + below), 2, False))
    second_half = path[len(path) // 2 :] or [theta]
    return math.exp(sum(second_half) / len(second_half)), history


def relative_slope(above: float, below: float) -> float:
    """(J+ - J-) / (c (J+ + J-)): the slope of the score in units of the score; 0 if both scores are 0."""
    total = above + below
    return (above - below) / (DISTANCE * total) if total > 0.0 else 0.0


def _clip(value: float, limit: float) -> float:
    return min(max(value, -limit), limit)


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
    """One epoch: its beta, its score, its mean clipped gradient, and the last validation score.

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

    Every 5 epochs the same 3 validation runs are played. Learning stops after two validations that improve the best
    score by less than 0.5%, or when the budget of runs is spent.

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
