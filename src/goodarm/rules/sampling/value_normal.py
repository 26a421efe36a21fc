"""`value-normal`: expected gain per pull of missing evidence, under a prior learned from all arms."""

from __future__ import annotations

import math

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.learners.prior import posterior, prior_learner, worth_per_pull
from goodarm.rules.sampling._base import IndexRule


def index(arm: Arm, pool: Pool, bar: Bar, boldness: float = 0.0) -> float:
    """Expected gain per pull: E[((mean - xi)+ / sd0)^3] / (missing evidence + 1/2) under the learned prior.

    A good arm gains mu - xi per round once certified, and needs about 2 sd0^2 rem/(mu - xi)^2 more pulls, where rem =
    log(K/delta) - log E+; gain per pull is proportional to (mu - xi)^3/rem (Smith's rule). With p = (S + k m0)/(N + k),
    s = b sd0/sqrt(N + k), z = (p - xi)/s the expectation is (s/sd0)^3 [ (z^3 + 3z) Phi(z) + (z^2 + 2) phi(z) ].
    `boldness` is b; 0 means the pool's value, which depends on the horizon
    (`goodarm.rules.learners.prior.boldness_for`). If a model gives mean and width, p = mean and s = b sd0 width.
    """
    b = boldness if boldness > 0.0 else pool.learned.boldness
    mean, width = posterior(arm, pool, bar)
    return worth_per_pull(mean, b * width, arm, bar)


value_normal = IndexRule(
    name="value-normal",
    reference="goodarm (docs/learning.md); Smith 1956 for the order of jobs",
    learner=prior_learner,
    index=index,
    limits=(("boldness", 0.0, math.inf),),
    prefers="good",
)
