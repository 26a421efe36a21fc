"""Several bars: the minimum and the mean keep the promise, and the mean of both does not."""

import math

import numpy as np
import pytest

from goodarm.engine.totals import evidence_from_totals
from goodarm.problem import Problem
from goodarm.rules.identification.gap_mixture import gap_mixture
from goodarm.rules.identification.several_bars import evidence_for_all, failing_bar

BARS, MEANS = (0.7, 0.5, 0.6), (0.9, 0.5, 0.9)
"""The second metric lies at its bar: a good verdict may be wrong with probability delta at most."""


def runs(combine, count: int = 600, pulls: int = 300) -> float:
    """Share of the runs in which an arm of these means is called good, at delta = 0.1, looking after every reward."""
    rng = np.random.default_rng(8)
    shared = rng.random((count, pulls, 1))  # metrics of one reward move together
    rewards = (np.where(rng.random((count, pulls, 3)) < 0.7, shared, rng.random((count, pulls, 3))) < MEANS).astype(
        float
    )
    totals, n = rewards.cumsum(axis=1), np.broadcast_to(np.arange(1.0, pulls + 1), (count, pulls))
    evidence = [
        evidence_from_totals(gap_mixture, n, totals[:, :, j], Problem(threshold=BARS[j], arms=1, delta=0.1).bar)
        for j in range(3)
    ]
    for_good = np.stack([each[0] for each in evidence])
    return float((combine(for_good).max(axis=1) >= math.log(10.0)).mean())


@pytest.mark.slow
def test_the_minimum_is_wrong_in_at_most_delta_of_the_runs() -> None:
    """P(87 or more of 600 at a rate of 0.1) is below 0.001."""
    assert runs(lambda logs: logs.min(axis=0)) <= 0.145


def test_the_mean_of_metrics_is_not() -> None:
    """The broken twin: metrics that are far above their bars outvote the one that is not."""
    assert runs(lambda logs: logs.mean(axis=0)) > 0.9


def bad_runs(combine, metrics: int = 10, count: int = 600, pulls: int = 300) -> float:
    """Share of the runs in which an arm with every metric at its bar of 0.5 is called bad, at delta = 0.1."""
    totals = (np.random.default_rng(9).random((count, pulls, metrics)) < 0.5).cumsum(axis=1).astype(float)
    n = np.broadcast_to(np.arange(1.0, pulls + 1)[:, None], totals.shape)
    for_bad = evidence_from_totals(gap_mixture, n, totals, Problem(threshold=0.5, arms=1, delta=0.1).bar)[1]
    return float((combine(for_bad).max(axis=1) >= math.log(10.0)).mean())


@pytest.mark.slow
def test_the_average_of_the_bad_is_wrong_in_at_most_delta_of_the_runs() -> None:
    """P(87 or more of 600 at a rate of 0.1) is below 0.001."""
    assert bad_runs(lambda logs: np.logaddexp.reduce(logs, axis=2) - math.log(10.0)) <= 0.145


@pytest.mark.slow
def test_without_log_j_it_is_not() -> None:
    """The broken twin: the sum of ten metrics' evidence, and even the largest of them, is wrong too often."""
    assert bad_runs(lambda logs: np.logaddexp.reduce(logs, axis=2)) > 0.2
    assert bad_runs(lambda logs: logs.max(axis=2)) > 0.145


def test_the_mean_of_the_bad_costs_at_most_log_j() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        for_good, for_bad = rng.normal(0.0, 20.0, size=(2, 4)).tolist()
        good, bad = evidence_for_all(for_good, for_bad)
        assert good == min(for_good)
        assert max(for_bad) - math.log(4.0) - 1e-12 <= bad <= max(for_bad) + 1e-12
        assert for_bad[failing_bar(for_bad)] == max(for_bad)


def test_far_apart_logarithms_do_not_overflow() -> None:
    assert evidence_for_all([-1e9, 1e9], [1e9, -1e9]) == (-1e9, pytest.approx(1e9))
