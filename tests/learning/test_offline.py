"""Offline learning: the optimiser alone, then on a real environment, then broken on purpose."""

from __future__ import annotations

import math

import numpy as np
import pytest

from goodarm.errors import InvalidValue
from goodarm.learning import learn, offline
from goodarm.learning.train import MOST_RUNS
from goodarm.simulation.simulate import simulate

pytestmark = pytest.mark.slow

ENVIRONMENT, HORIZON = "synth-small", 100_000
GRID = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
LEARNING_SEED, GRID_SEED = 11, 12
"""Learning, and the runs that judge it, never share a seed; the grid is judged on the same runs as what was learned."""


@pytest.fixture(scope="module")
def best_of_grid() -> float:
    return max(score(f"ucb(beta={beta})+kt") for beta in GRID)


def score(policy: object) -> float:
    return simulate(policy, ENVIRONMENT, horizon=HORIZON, runs=12, seed=GRID_SEED).exploit_score.mean


@pytest.mark.parametrize("peak", [0.4, 1.0, 3.0])
def test_finds_the_peak_of_a_noisy_score(peak: float) -> None:
    noise = np.random.default_rng(1).normal(1.0, 0.3, 100)

    def noisy(value: float, run: int) -> float:
        return float(noise[run] ** 2 * math.exp(-((math.log(value / peak)) ** 2)))

    found, history = offline.learn_parameter(noisy, (0.5, 1.0, 2.0, 4.0))
    assert abs(math.log(found / peak)) < 0.25
    assert sum(step.runs for step in history) == 52 <= MOST_RUNS


def test_offline_dgai_reaches_95_percent_of_the_best_beta(best_of_grid: float) -> None:
    learned = learn(ENVIRONMENT, "dgai", horizon=HORIZON, seed=LEARNING_SEED)
    assert score(learned.policy) >= 0.95 * best_of_grid
    assert str(learned.policy.guarantee) == "certified"
    assert learned.learned_on["runs"] <= MOST_RUNS


def test_online_dgai_reaches_85_percent_and_value_98(best_of_grid: float) -> None:
    assert score("dgai") >= 0.85 * best_of_grid
    assert score("value") >= 0.98 * best_of_grid


def test_a_gradient_of_the_wrong_sign_is_caught(best_of_grid: float, monkeypatch: pytest.MonkeyPatch) -> None:
    right = offline.relative_slope
    monkeypatch.setattr(offline, "relative_slope", lambda above, below: -right(above, below))
    learned = learn(ENVIRONMENT, "ucb+kt", horizon=HORIZON, seed=LEARNING_SEED)
    assert score(learned.policy) < 0.95 * best_of_grid


def test_gradient_epochs_from_far_starts_meet() -> None:
    """From 0.5 and 6 within 20% of each other; with the wrong sign, both ends of the allowed values are reached."""
    found = []
    for start in (0.5, 6.0):
        learned = learn(ENVIRONMENT, f"dgai(beta={start})", horizon=HORIZON // 2, seed=LEARNING_SEED)
        found.append(learned.parameters["beta"])
        assert learned.history[0].parameter == start
        assert learned.learned_on["runs"] <= 52
    assert max(found) <= 1.2 * min(found)


def test_gradient_epochs_stop_when_validation_stops_improving_and_leave_with_a_wrong_sign() -> None:
    played: list[int] = []

    def play(beta: float, run: int, sign: float = 1.0) -> tuple[float, float]:
        played.append(run)
        gradient = max(-1.0, min(1.0, math.log(2.0 / beta)))
        return 10.0 - math.log(beta / 2.0) ** 2, sign * gradient

    found, history = offline.learn_by_gradient(play, 6.0, budget=100)
    assert found == pytest.approx(2.0, rel=0.02)
    assert len(played) == sum(each.runs for each in history) + offline.VALIDATION < 100
    assert set(played[offline.VALIDATION :: 1]) >= {0, 1, 2, 3}
    wrong, _ = offline.learn_by_gradient(lambda beta, run: play(beta, run, -1.0), 6.0, budget=100)
    assert wrong > 8.0


def test_same_seed_same_policy() -> None:
    first, second = (learn(ENVIRONMENT, "value", horizon=2000, budget=16, seed=5) for _ in range(2))
    assert first.parameters == second.parameters


def test_refuses_what_can_not_be_learned() -> None:
    with pytest.raises(InvalidValue, match="no parameter to learn"):
        learn("kano-1", "hdoc", horizon=1000)
    with pytest.raises(InvalidValue, match="budget must be at least 14"):
        learn("kano-1", "ucb", horizon=1000, budget=10)
    with pytest.raises(InvalidValue, match="budget must be at least 11"):
        learn("kano-1", "dgai", horizon=1000, budget=10)
    with pytest.raises(InvalidValue, match="number of arms"):
        learn("synth-small", "dgai", horizon=10)
    with pytest.raises(InvalidValue, match="every score was 0"):
        learn("synth-small-printed", "dgai", horizon=500, budget=14)
    with pytest.raises(InvalidValue, match="objective must be"):
        learn("kano-1", "dgai", horizon=1000, objective="luck")
