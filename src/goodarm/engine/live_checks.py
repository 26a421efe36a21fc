"""Which policies can be used where rewards come late, and each arm's share of the error probability."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goodarm.errors import InvalidValue, UnsoundPairing
from goodarm.policies import Policy
from goodarm.problem import Bounded, Problem
from goodarm.rules.identification import ModelRule, RadiusRule
from goodarm.verdict import Criterion

ROUNDING = 1e-9
"""How far above 1 the shares of all arms may add up."""


def check_live(policy: Policy, problem: Problem) -> None:
    """Refuse policies that can't be used where rewards come late."""
    rule = policy.identification
    if isinstance(rule, ModelRule) or (isinstance(rule, RadiusRule) and rule.by_model and policy.estimator):
        raise UnsoundPairing(
            f"{policy.name} decides by a model of the arms; in a live campaign a model may guide the pulls, and each "
            "arm's own rewards decide. Use own evidence, for example 'value+gap-mixture'."
        )
    if policy.criterion is Criterion.FDR and not by_totals(policy, problem):
        raise UnsoundPairing(
            f"{rule.name} folds rewards in the order of asking, and the false discovery rate needs evidence at a "
            "stopping time, which a moment chosen by which rewards are missing is not. Use a rule by totals for "
            "rewards in [0, 1], for example 'gap-mixture', or the criterion fwer."
        )


def by_totals(policy: Policy, problem: Problem) -> bool:
    """May rewards be absorbed in any order, pending ones counted at their worst? Otherwise in the order of asking."""
    return policy.identification.by_totals and isinstance(problem.rewards, Bounded)


def offsets_of(problem: Problem, weights: ArrayLike | None, spent: float = 0.0) -> NDArray[np.float64]:
    """log(w K) of each arm; 0 where all arms have the same share. `spent` is what earlier arms have of delta."""
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
