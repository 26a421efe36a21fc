"""A stranger's rule that keeps several numbers per arm: bets by online Newton steps, one on each side."""

import math

import pytest

from goodarm import bernoulli, policy, simulate
from goodarm.rules.identification import EvidenceRule
from goodarm.testing import Subject, check_policy
from goodarm.testing.slow_checks import check_tree_and_scans_agree
from goodarm.testing.subject import usual_environment
from goodarm.verdict import Guarantee

STEP = 2.0 / (2.0 - math.log(3.0))


def newton_step(bet, curvature, surplus, most):
    """The next bet and the sum of squared gradients, after `surplus` was seen."""
    gradient = surplus / (1.0 + bet * surplus)
    curvature += gradient * gradient
    return min(max(bet + STEP * gradient / (1.0 + curvature), 0.0), most), curvature


def observe(arm, reward, pool, bar):
    """log E+ += log(1 + b (x - xi)), b from online Newton steps in [0, 1/(2 xi)]; E- mirrors it.

    Certified: b is fixed before the reward and at least 0, so that the mean factor is 1 + b (mu - xi) <= 1 if mu <= xi.
    Cutkosky & Orabona 2018, COLT.
    """
    kept, surplus = arm.memory, reward - bar.threshold
    for_good = arm.for_good + math.log1p(kept[0] * surplus)
    for_bad = arm.for_bad + math.log1p(-kept[2] * surplus)
    kept[0], kept[1] = newton_step(kept[0], kept[1], surplus, 0.5 / bar.threshold)
    kept[2], kept[3] = newton_step(kept[2], kept[3], -surplus, 0.5 / (1.0 - bar.threshold))
    return for_good, for_bad, 0.0


ONS = EvidenceRule(name="ons", guarantee=Guarantee.CERTIFIED, observe=observe, memory=4)


@pytest.mark.slow
@pytest.mark.parametrize("check", check_policy(policy("ucb", ONS), thorough=False, compiled=False), ids=str)
def test_it_conforms(check) -> None:
    check()


@pytest.mark.slow
def test_compiled_it_does_what_it_does_in_python() -> None:
    made = policy("ucb", ONS)
    check_tree_and_scans_agree(Subject(made, usual_environment(made)))


@pytest.mark.slow
def test_it_finds_the_good_arms() -> None:
    result = simulate(policy("ucb", ONS), bernoulli([0.2, 0.4, 0.7, 0.8], 0.5, horizon=5000), runs=10)
    assert all(run.verdicts.tolist() == [-1, -1, 1, 1] for run in result.runs)
