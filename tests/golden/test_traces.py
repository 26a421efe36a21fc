"""Short runs that a person can check with a pencil. Rewards are constant: arms have mean 0 or 1."""

import math

import numpy as np
import pytest

from goodarm import bernoulli, beta, policy, simulate
from goodarm.simulation.runs import Runs


def play(name: str, means: list[float], rounds: int, *, delta: float = 0.05, criterion: str = "fwer") -> Runs:
    return simulate(name, bernoulli(means, 0.5), horizon=rounds, delta=delta, trace=True, criterion=criterion)


def test_uniform_goes_round() -> None:
    assert play("uniform+kt", [1.0, 0.0, 1.0], 9).runs[0].trace.tolist() == [0, 1, 2, 0, 1, 2, 0, 1, 2]


def test_kt_calls_eight_ones_good() -> None:
    """After n ones E+ = 2^n C(2n, n)/4^n: 26.8 at n = 7 and 50.3 at n = 8; K/delta = 2/0.05 = 40."""
    evidence = [2.0**n * math.comb(2 * n, n) / 4.0**n for n in (7, 8)]
    assert evidence[0] < 40.0 <= evidence[1]
    run = play("uniform+kt", [1.0, 0.0], 100).runs[0]
    assert run.pulls.tolist() == [8, 8]
    assert run.verdicts.tolist() == [1, -1]
    assert run.verdict_rounds.tolist() == [15, 16]
    assert run.rounds == 16


def test_hoeffding_needs_the_radius_below_one_half() -> None:
    """One arm of ones: good at the first N with log(4 N^2/0.05)/(2N) <= 1/4: N = 20 has 0.2593, N = 21 has 0.2493."""
    first = next(n for n in range(1, 100) if math.log(4 * n * n / 0.05) / (2 * n) <= 0.25)
    run = play("uniform+hoeffding", [1.0], 100).runs[0]
    assert run.verdict_rounds.tolist() == [first]
    assert first == 21


def test_hdoc_stays_on_the_ones_until_the_zero_is_due() -> None:
    """The one has the index 1 + sqrt(log t / 2N), the zero after its one pull sqrt(log t / 2) <= 1.15 for t <= 14."""
    run = play("hdoc", [1.0, 0.0], 14).runs[0]
    assert run.trace.tolist() == [0, 1] + [0] * 12


@pytest.mark.slow
def test_lucb_takes_the_ones_in_turn() -> None:
    """Equal means: the larger radius, that is the fewer pulls; ties to the lowest arm."""
    assert play("lucb-g", [1.0, 1.0, 0.0], 9).runs[0].trace.tolist() == [0, 1, 2, 0, 1, 0, 1, 0, 1]


@pytest.mark.slow
def test_apt_takes_the_arm_with_the_fewest_pulls() -> None:
    """Every mean is 1/2 away from the threshold: sqrt(N)/2 is smallest for the fewest pulls."""
    assert play("apt-g", [1.0, 0.0, 1.0], 8).runs[0].trace.tolist() == [0, 1, 2, 0, 1, 2, 0, 1]


@pytest.mark.slow
def test_apt_as_printed_stays_on_one_arm() -> None:
    """mean + sqrt(N)/2 grows with every pull of the arm."""
    assert play("apt-g-printed", [0.0, 1.0, 1.0], 9).runs[0].trace.tolist() == [0, 1, 2, 1, 1, 1, 1, 1, 1]


def test_apgai_pulls_the_surest_good_arm() -> None:
    """sqrt(N)(mean - 1/2) is largest for the first one, and grows with every pull of it."""
    assert play("apgai+kt", [0.0, 1.0, 1.0], 7).runs[0].trace.tolist() == [0, 1, 2, 1, 1, 1, 1]


@pytest.mark.slow
def test_false_discovery_rate_calls_two_arms_together() -> None:
    """Two arms of ones: E+ after 7 ones is 26.8 each. Alone 40 is needed, two together need 2/(2 * 0.05) = 20.

    After round 13 arm 0 has 7 ones (26.8) and arm 1 has 6 (14.4): j = 1 needs 40, j = 2 needs 20. After round 14 both
    have 26.8 and are called at once.
    """
    run = play("uniform+kt", [1.0, 1.0], 40, criterion="fdr").runs[0]
    assert run.verdict_rounds.tolist() == [14, 14]
    assert run.verdicts.tolist() == [1, 1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ucb", "thompson", "tt-ts", "murphy"])
def test_one_arm_is_pulled_until_it_is_decided(name: str) -> None:
    runs = simulate(policy(name, "kt"), beta([1.0], 0.5), horizon=30, trace=True)
    assert runs.runs[0].trace.tolist() == [0] * len(runs.runs[0].trace)
    assert np.array_equal(runs.runs[0].verdicts, [1])
