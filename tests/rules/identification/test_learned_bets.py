"""`learned-bets` where its bets once had absolute floors: thresholds next to 0 and 1, and early successes.

That it is a fair game down to 1e-15 is asked of every evidence rule, in tests/conformance.
"""

import math

import numpy as np
import pytest

from goodarm import bernoulli, policy, simulate
from goodarm.engine.assemble import start_pool
from goodarm.problem import Problem
from goodarm.rules.identification.learned_bets import observe
from goodarm.testing.rule_checks import NOTHING


def test_an_arm_that_always_pays_0_is_never_good() -> None:
    """At 1 - 1e-14 the guess for a good arm once lay below the threshold, and every 0 was evidence for good."""
    result = simulate("uniform+learned-bets", bernoulli([0.0], 1.0 - 1e-14), horizon=2000, runs=1)
    assert result.runs[0].verdicts.tolist() == [-1]


@pytest.mark.parametrize("threshold", [0.2, 0.05, 1e-3, 1e-15])
def test_one_reward_costs_at_most_three_nats(threshold: float) -> None:
    """Below 0.2 the first bet was once everything, and an early success cost 24 nats."""
    bar = Problem(threshold=threshold, arms=10).bar
    pool = start_pool(policy("uniform+learned-bets"), bar, 1e6)
    assert min(observe(NOTHING, reward, pool, bar)[side] for reward in (0.0, 1.0) for side in (0, 1)) > math.log(0.049)


def test_few_runs_wait_long_for_bad_below_a_small_threshold() -> None:
    """The 90% quantile of pulls was 4800 when an early success could cost 24 nats; it is 1400."""
    result = simulate("uniform+learned-bets", bernoulli([0.15], 0.2), horizon=20_000, runs=400, seed=3)
    assert np.quantile([run.rounds for run in result.runs], 0.9) < 2000
