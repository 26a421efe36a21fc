"""Live campaigns under an adversary who decides when rewards are told, and whose batches share a draw."""

from __future__ import annotations

import pytest

from goodarm.testing import LiveAdversary, require_live_error_rate
from goodarm.testing.error_rates import Trial

MANY, FEW = Trial(runs=200, delta=0.3), Trial(runs=60, delta=0.3)
"""Bets that see the rest of their batch through a model err in three runs of five; rewards that are counted as they are
told, or left out because they are late, err in nearly every run, and need fewer runs to show."""
SHARED = LiveAdversary()
LATE = LiveAdversary(batches=30, wrong="good", late=0.5, never=0.2)
CASES = [
    ("uniform+gap-mixture", LATE, FEW),
    ("uniform+learned-bets", LATE, FEW),
    ("uniform+learned-bets-normal", LATE, FEW),
    ("uniform+gap-mixture@linear", LATE, FEW),
    ("uniform+learned-bets@linear", SHARED, FEW),
    ("uniform+learned-bets-normal@linear", SHARED, MANY),
]

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("policy", "adversary", "trial"), CASES, ids=[policy for policy, *_ in CASES])
def test_a_live_campaign_keeps_its_error_rate(policy: str, adversary: LiveAdversary, trial: Trial) -> None:
    """With bets on the model as of telling, `learned-bets-normal@linear` was wrong in 24 of 40 runs."""
    require_live_error_rate(policy, adversary, trial)


def test_what_these_tests_can_detect() -> None:
    assert (MANY.critical, FEW.critical) == (101, 41)
    assert round(MANY.detectable(), 2) == 0.55
    assert round(FEW.detectable(), 2) == 0.75
