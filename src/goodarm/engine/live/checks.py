"""Which policies can run live, and each arm's share of the error probability."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goodarm.errors import InvalidValue, UnsoundPairing
from goodarm.policies import Policy
from goodarm.problem import Bounded, Problem, Rewards
from goodarm.rules.learners.prior import prior_learner
from goodarm.rules.sampling import IndexRule
from goodarm.verdict import Basis, Criterion

ROUNDING = 1e-9
"""Largest amount by which the shares of all arms may exceed 1 in total."""


def check_live(policy: Policy, rewards: Rewards) -> None:
    """Refuse policies that can't run with late rewards."""
    if policy.decided_by is Basis.MODEL:
        raise UnsoundPairing(
            f"{policy.name} decides by a model of all arms, which late rewards could mislead. In a live campaign, a "
            "model may guide the pulls while each arm's own rewards decide, as in 'ucb+gap-mixture@linear'."
        )
    if policy.criterion is Criterion.FDR and not by_totals(policy, rewards):
        raise UnsoundPairing(
            f"{policy.name} counts rewards in the order of asking, so it can't control the false discovery rate live: "
            "the missing rewards would influence the time of each verdict. Use a rule by totals, "
            "for example 'value+gap-mixture', or criterion='fwer'."
        )


def by_totals(policy: Policy, rewards: Rewards) -> bool:
    """Whether rewards count in any order, with pending ones at their worst, or only in the order of asking.

    Only bounded rewards have a worst value.
    """
    return policy.identification.by_totals and isinstance(rewards, Bounded) and policy.decided_by is Basis.OWN


def check_costs(policy: Policy, costs: Sequence[float], budget: float | None) -> None:
    """Refuse costs that the policy can't use, and a budget that does not cover one sample.

    costs : cost of a sample of each arm; empty if each costs 1
    """
    prices = costs or [1.0]
    if len(set(prices)) > 1 and not isinstance(policy.sampling, IndexRule):
        raise InvalidValue(
            f"{policy.name} has no index per arm to divide by its cost. Use 'value+gap-mixture', or leave the costs "
            "out."
        )
    if budget is None:
        return
    if not 0.0 < budget < math.inf:
        raise InvalidValue(f"budget must be a positive number; got {budget!r}.")
    if budget < min(prices):
        raise InvalidValue(f"a budget of {budget:g} does not cover one sample, which costs at least {min(prices):g}.")


def check_against_control(policy: Policy, problem: Problem) -> None:
    """Refuse policies that can't compare arms with a control."""
    if not isinstance(problem.rewards, Bounded):
        raise UnsoundPairing(
            f"comparisons with a control are proved only for rewards in [0, 1]; these are {problem.rewards}. Rescale "
            "bounded rewards, or pair each reward with one of the control and compare their difference with a "
            "threshold."
        )
    if policy.criterion is Criterion.FDR:
        raise UnsoundPairing(
            "comparisons with a control use the criterion fwer: the control's rewards change the evidence of all arms "
            "at once but arms are examined one by one, and control of the false discovery rate is not proved for this. "
            "Leave criterion out."
        )
    rule = policy.sampling
    if policy.model is not None or not isinstance(rule, IndexRule) or rule.learner not in (None, prior_learner):
        raise UnsoundPairing(
            f"{policy.name} can't choose in a comparison with a control. The bar moves with the control's mean, which "
            "requires a rule with a separate index for each arm, without a model or bounds learned for one threshold. "
            "Use one of "
            "value-normal, lucb-g, dgai-spread, apt-g, ucb, uniform."
        )


def offsets_of(problem: Problem, weights: ArrayLike | None, spent: float = 0.0) -> NDArray[np.float64]:
    """log(w K) of each arm; 0 if all arms have the same share. `spent` is the share of delta of earlier arms."""
    if weights is None:
        return np.zeros(problem.arms)
    shares = np.asarray(weights, dtype=np.float64)
    if shares.ndim != 1 or not (np.isfinite(shares) & (shares > 0.0)).all():
        raise InvalidValue("weights, the arms' shares of the error probability, must be positive numbers.")
    if shares.sum() + spent > 1.0 + ROUNDING:
        raise InvalidValue(
            "weights, the arms' shares of the error probability, must add up to at most 1; got "
            f"{shares.sum() + spent:g}. Divide them by their sum."
        )
    offsets: NDArray[np.float64] = np.log(shares * problem.arms)
    return offsets
