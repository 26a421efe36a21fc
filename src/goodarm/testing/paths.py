"""How often a radius is crossed on the wrong side within a million pulls: many paths of one arm, compiled.

For radius rules whose verdict needs more than the totals; those that need only the totals are computed exactly
(`goodarm.testing.exact_error`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from goodarm.engine.compile import compiled
from goodarm.problem import Problem
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification import RadiusRule
from goodarm.rules.identification._base import decide_by_radius
from goodarm.testing.error_rates import Trial, require_few


def require_few_crossings(rule: RadiusRule, trial: Trial, threshold: float = 0.5) -> None:
    """P(an arm at the threshold is ever called bad) <= delta, by an exact binomial test over paths."""
    bar = Problem(threshold=threshold, arms=1, delta=trial.delta).bar
    draws = np.random.default_rng(trial.seed)
    wrong = _loop(rule)(trial.runs, trial.horizon, bar, tuple(rule.defaults.values()), draws)
    require_few(wrong, trial, f"{rule.name} on one arm at the threshold, {trial.horizon:,} pulls")


@cache
def _loop(rule: RadiusRule) -> Callable[..., int]:
    radius = rule.radius

    def loop(paths: int, pulls: int, bar: Any, parameters: Any, draws: Any) -> int:
        wrong = 0
        for _ in range(paths):
            total, verdict, n = 0.0, 0.0, 0.0
            while n < pulls and verdict == 0.0:
                n += 1.0
                total += 1.0 if draws.random() < bar.threshold else 0.0
                arm = Arm(n, total, total / n, n**-0.5, 0.0, 0.0, 0.0, 0.0)
                pool = Pool(n, float(pulls))
                verdict = decide_by_radius(arm, radius(arm, pool, bar, *parameters), bar)
            if verdict < 0.0:
                wrong += 1
        return wrong

    built: Callable[..., int] = compiled(loop)
    return built
