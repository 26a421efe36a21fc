"""What every rule must do by itself."""

import pytest

from goodarm.errors import UnsoundPairing
from goodarm.policies import policy
from goodarm.policies.names import identification_names, sampling_names
from goodarm.testing import Subject, rule_checks
from goodarm.testing.kit import properties
from goodarm.testing.subject import usual_environment

CHECKS = properties(rule_checks)
SLOW = {"evidence_is_a_fair_game"}  # it enumerates every sequence of rewards
CHOICES = [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in CHECKS]


@pytest.mark.parametrize("check", CHOICES)
@pytest.mark.parametrize("name", sampling_names())
def test_sampling_rule(name: str, check: str) -> None:
    made = policy(name, "none")
    CHECKS[check](Subject(made, usual_environment(made), compiled=False))


@pytest.mark.parametrize("check", CHOICES)
@pytest.mark.parametrize("name", identification_names())
def test_identification_rule(name: str, check: str) -> None:
    try:
        made = policy("uniform", name)
    except UnsoundPairing:
        pytest.skip("needs arms with features")
    CHECKS[check](Subject(made, usual_environment(made), compiled=False))
