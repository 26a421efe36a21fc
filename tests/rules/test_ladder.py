"""What is learned on the ladder of gaps, and who uses it."""

import numpy as np
import pytest

from goodarm import bernoulli, simulate
from goodarm.problem import Gaussian, Problem
from goodarm.rules.beliefs import Pool
from goodarm.rules.learners.ladder import COST, SLOPE, WEIGHTS, WORTH, Ladder, fit, grouped, start

BAR = Problem(threshold=0.3, arms=400).bar


def arms_of(means: np.ndarray, pulls: int, seed: int = 0) -> np.ndarray:
    table = np.zeros((means.size, 8))
    table[:, 0] = pulls
    table[:, 1] = np.random.default_rng(seed).binomial(pulls, means)
    return table


def fitted(table: np.ndarray) -> Ladder:
    return fit(table, Pool(1000.0, 5000.0, start(BAR)), BAR).learned


def test_weights_go_where_the_arms_are() -> None:
    """A twentieth of the arms far above, the others a little below: no normal law, and no trouble."""
    means = np.where(np.arange(400) < 20, 0.6, 0.25)
    ladder = fitted(arms_of(means, 200))
    reached = BAR.threshold + np.sign(ladder.table[SLOPE]) * ladder.table[WORTH]
    assert ladder.table[WEIGHTS].sum() == pytest.approx(1.0)
    assert ladder.table[WEIGHTS][reached > 0.45].sum() == pytest.approx(0.05, abs=0.02)
    assert ladder.table[WEIGHTS][(reached > 0.2) & (reached < 0.29)].sum() > 0.85
    assert ladder.left == 4000.0


def test_groups_are_the_arms() -> None:
    table = arms_of(np.full(300, 0.3), 5)
    table[:40, :2] = 0.0
    rows, counts = grouped(table, start(BAR), BAR)
    assert counts.sum() == 260.0
    assert len(rows) == len(np.unique(table[40:, 1]))
    assert sorted(counts) == sorted(np.unique(table[40:, 1], return_counts=True)[1])


def test_a_fit_leaves_what_was_learned_before_as_it_was() -> None:
    """A live campaign bets with the pool as of asking, which must not change afterwards."""
    before = start(BAR)
    kept = before.table.copy()
    fit(arms_of(np.full(50, 0.5), 40), Pool(100.0, 5000.0, before), BAR)
    assert (before.table == kept).all()


@pytest.mark.parametrize("threshold", [1e-12, 0.5, 1.0 - 1e-12])
def test_the_ladder_has_numbers_everywhere(threshold: float) -> None:
    ladder = start(Problem(threshold=threshold, arms=4).bar)
    assert np.isfinite(ladder.table).all()
    assert (np.diff(np.sign(ladder.table[SLOPE]) * ladder.table[WORTH]) >= 0.0).all()


def test_gaussian_gaps_are_in_halves_of_sigma() -> None:
    ladder = start(Problem(threshold=5.0, arms=4, rewards=Gaussian(scale=3.0)).bar)
    assert ladder.table[WORTH][-1] == pytest.approx(0.5 * 3.0 * 0.01 * 1.5**16)
    assert ladder.table[COST] == pytest.approx(2.0 * 9.0 / ladder.table[WORTH] ** 2, rel=1e-6)


@pytest.mark.slow
def test_settle_gives_many_verdicts_where_value_looks_for_good_ones() -> None:
    mixed = bernoulli(np.r_[np.full(6, 0.7), np.full(54, 0.25)], 0.5)
    settled, found = (simulate(name, mixed, horizon=3000, runs=10, seed=2) for name in ("settle", "value"))
    verdicts = [np.mean([(run.verdicts != 0).sum() for run in played.runs]) for played in (settled, found)]
    assert verdicts[0] > 1.05 * verdicts[1]
    assert found.exploit_score.low > settled.exploit_score.high
