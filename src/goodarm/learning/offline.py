"""Learn one parameter offline on the exploit score, by differences under common random numbers.

Every run is played twice on the same rewards, with a slightly larger and a slightly smaller parameter. The difference
is the effect of the parameter. Score-function gradients on the same runs have a standard deviation of 10 to 300 times
the gradient; these differences do not (docs/learning.md).
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

    theta = log parameter; g = (J+ - J-) / (c (J+ + J-)) at theta +- c; returns the mean of the second half. Takes
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
    """(J+ - J-) / (c (J+ + J-)): the slope of the score in units of the score; 0 where there is none."""
    total = above + below
    return (above - below) / (DISTANCE * total) if total > 0.0 else 0.0


def _clip(value: float, limit: float) -> float:
    return min(max(value, -limit), limit)
