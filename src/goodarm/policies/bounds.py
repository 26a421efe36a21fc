"""The two bounds of a policy as numbers: beta for sampling, alpha for deciding.

Both count standard errors sd0/sqrt(N) of an arm. beta: the policy pulls the arm with the largest mean + beta sd0 U.
alpha: an arm is called good when its mean reaches threshold + alpha sd0/sqrt(N). Evidence is not a bound of this form;
its alpha is the value that a verdict would presently need.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from goodarm.policies.policy import Policy
from goodarm.problem import Bar
from goodarm.rules.beliefs import PULLS, VERDICT, Arm, Nothing, Pool, Table, read_arm
from goodarm.rules.identification import EvidenceRule, RadiusRule
from goodarm.rules.parameters import parameters_of, take
from goodarm.rules.sampling import ChoiceRule, IndexRule, LineRule

HALVINGS = 60
"""Steps of the bisection for the total at which evidence reaches the budget."""
FARTHEST = 50.0
"""Maximum alpha in the search for unbounded rewards."""


def sampling_bound(policy: Policy, arm: Arm, pool: Pool, bar: Bar) -> float:
    """beta_t: standard errors that the sampling rule adds to the arm's mean; NaN for an index of another form.

    For an index that shrinks the mean (`dgai-offline`), or a draw by such indices (`dgai-offline-softmax`), this is the
    parameter `beta`.

    >>> from goodarm.policies import policy
    >>> from goodarm.problem import Problem
    >>> arm = Arm(100.0, 50.0, 0.5, 0.1, 0.0, 0.0, 0.0, 0.0)
    >>> round(sampling_bound(policy("ucb(beta=1.5)"), arm, Pool(1000.0), Problem(threshold=0.5, arms=10).bar), 6)
    1.5
    """
    rule, own = policy.sampling, policy.setting.sampling
    step = bar.spread * arm.width
    if not 0.0 < step < math.inf:
        return math.nan
    if isinstance(rule, IndexRule) and rule.upper_bound:
        return (float(rule.index(arm, pool, bar, *take(own, rule.defaults))) - arm.mean) / step
    if isinstance(rule, IndexRule | ChoiceRule) and "beta" in own:
        return float(own["beta"])
    if isinstance(rule, LineRule):
        slope = rule.slope(arm, bar, *take(own, parameters_of(rule.slope, skip=2)))
        return float(rule.clock(pool.round, bar, *take(own, parameters_of(rule.clock, skip=2))) * slope) / step
    return math.nan


def deciding_bound(policy: Policy, pulls: float, pool: Pool, bar: Bar) -> float:
    """alpha_t: the (mean - threshold) sqrt(N)/sd0 at which an arm is called good after N = `pulls` rewards.

    inf if no mean is large enough yet; NaN for rules whose evidence is not a function of the totals.

    >>> from goodarm.policies import policy
    >>> from goodarm.problem import Problem
    >>> bar = Problem(threshold=0.5, arms=10).bar
    >>> round(deciding_bound(policy("hdoc"), 1000.0, Pool(1000.0), bar), 3)
    6.403
    >>> round(deciding_bound(policy("ucb+gap-mixture"), 1000.0, Pool(1000.0), bar), 3)
    3.696
    """
    rule, own = policy.identification, policy.setting.identification
    if pulls < 1.0:
        return math.inf
    if "alpha" in own:
        return float(own["alpha"])
    given = take(own, rule.defaults)
    if isinstance(rule, RadiusRule):
        arm = Arm(pulls, pulls * bar.threshold, bar.threshold, pulls**-0.5, 0.0, 0.0, 0.0, 0.0)
        return float(rule.radius(arm, pool, bar, *given)) * math.sqrt(pulls) / bar.spread
    if not isinstance(rule, EvidenceRule):
        return math.nan
    if rule.totals is not None:
        totals = rule.totals
        return _needed(lambda total: float(totals(pulls, total, bar, *given)[0]), pulls, bar)
    if rule.expected is not None:
        expected = rule.expected
        return _needed(lambda total: float(expected(pulls, total, pool, bar)), pulls, bar)
    return math.nan


def bounds_now(policy: Policy, arms: Table, pool: Pool, bar: Bar, arm: int | None = None) -> dict[str, float]:
    """Current alpha and beta of the policy, and other learned scalars.

    Both bounds are those of `arm`, by default of the undecided arm with the most pulls (after the last verdict, of the
    arm with the most). If the learner has an alpha or beta, those are returned instead.
    """
    undecided = arms[:, VERDICT] == 0.0
    most = int(np.argmax(np.where(undecided | ~undecided.any(), arms[:, PULLS], -1.0)))
    i = most if arm is None else arm
    alpha = deciding_bound(policy, float(arms[i, PULLS]), pool, bar)
    beta = sampling_bound(policy, read_arm(arms, i), pool, bar)
    return {"alpha": alpha, "beta": beta} | numbers_of(pool.learned)


def numbers_of(learned: Any) -> dict[str, float]:
    """Learned scalars by name; empty if nothing is learned."""
    if isinstance(learned, Nothing):
        return {}
    return {name: float(value) for name, value in learned._asdict().items() if np.ndim(value) == 0}


def _needed(evidence: Callable[[float], float], pulls: float, bar: Bar) -> float:
    """alpha by bisection over the total at which the evidence for good reaches the budget."""
    error = bar.spread * math.sqrt(pulls)
    low = pulls * bar.threshold
    high = pulls if bar.bounded > 0.0 else low + FARTHEST * error
    if evidence(high) < bar.budget:
        return math.inf
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if evidence(middle) < bar.budget:
            low = middle
        else:
            high = middle
    return (high - pulls * bar.threshold) / error
