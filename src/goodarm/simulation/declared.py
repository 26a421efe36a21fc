"""Check the declared scale of rewards: draw the rewards of a run again and measure their scatter."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from goodarm.engine.compile import compiled
from goodarm.errors import ScaleWarning
from goodarm.numerics import log_scale_evidence
from goodarm.numerics.scale import FALSE_ALARMS
from goodarm.problem import SubGaussian
from goodarm.rules.parameters import Formula
from goodarm.simulation.run import Run
from goodarm.simulation.specification import Specification
from goodarm.streams import reward_key, run_key

ENOUGH = 100_000
"""Number of rewards to check. It detects a standard deviation 1% too large and takes milliseconds."""


class Scatter(NamedTuple):
    """Number of rewards checked, number of their arms, and sum of squares around each arm's mean in declared scales."""

    rewards: int
    arms: int
    squares: float

    @property
    def deviation(self) -> float:
        """Standard deviation in units of the declared scale."""
        return math.sqrt(self.squares / max(self.rewards - self.arms, 1))


def _python_collector(reward: Formula) -> Callable[..., float]:
    def collect(means: Any, extra: Any, run: Any, pulls: Any, most: int) -> float:
        squares = 0.0
        for a in range(len(pulls)):
            mean = 0.0
            for j in range(min(pulls[a], most)):
                step = reward(a, means, extra, reward_key(run, a, float(j))) - mean
                mean += step / (j + 1.0)
                squares += step * step * j / (j + 1.0)
        return squares

    return collect


@cache
def _collector(reward: Formula) -> Callable[..., float]:
    return compiled(_python_collector(reward))  # type: ignore[no-any-return]  # numba's dispatcher


def scatter(spec: Specification, runs: tuple[Run, ...]) -> Scatter:
    """The scatter of the first rewards of every pulled arm, over enough runs to reach `ENOUGH` rewards.

    The number of rewards per arm is fixed beforehand, so the reasons for the pulls do not matter.
    """
    problem = spec.problem
    kept = min(problem.arms, ENOUGH // 2)
    most = max(2, ENOUGH // kept)
    collect = _collector(spec.environment.reward)
    extra = np.require(spec.environment.extra, requirements=["C", "W"])
    count, arms, squares = 0, 0, 0.0
    for run in runs:
        pulls = np.ascontiguousarray(run.pulls[:kept])
        means = np.require(run.means, requirements=["C", "W"])
        squares += collect(means, extra, run_key(spec.seed, run.number), pulls, most)
        count += int(np.minimum(pulls, most).sum())
        arms += int((pulls > 0).sum())
        if count >= ENOUGH:
            break
    return Scatter(count, arms, squares / problem.rewards.sigma() ** 2)


def warn_of_scale(spec: Specification, runs: tuple[Run, ...], stacklevel: int) -> None:
    """Warn if rewards scatter more than declared. At most one simulation in 10,000 gets a false alarm."""
    if not isinstance(spec.problem.rewards, SubGaussian):
        return
    found = scatter(spec, runs)
    if log_scale_evidence(found.rewards, found.squares) < math.log(1.0 / FALSE_ALARMS):
        return
    declared = spec.problem.rewards.scale
    warnings.warn(
        f"{spec.environment.name}: rewards are declared to have scale {declared:g}, but {found.rewards:,} of them have "
        f"a standard deviation of {declared * found.deviation:.3g}: verdicts may be wrong more often than delta. "
        "Declare at least that scale. (If the declaration is true, this warning appears once in "
        f"{1 / FALSE_ALARMS:,.0f} simulations.)",
        ScaleWarning,
        stacklevel=stacklevel,
    )
