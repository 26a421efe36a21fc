"""Intervals of `bet-mixture`: they agree with the verdict, hold less than the evidence at other bars, and cover."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from goodarm import judge
from goodarm.judgement.by_sums import evidence, lower_end, upper_end
from goodarm.numerics import binomial_tail
from goodarm.problem import Bounded, NonNegative, Problem, Rewards
from goodarm.rules.identification.bet_mixture import STEPS, bets, log_shares, sums

SETTINGS = [(0.5, Bounded()), (0.1, Bounded()), (0.5, NonNegative(3.0)), (0.5, NonNegative())]


def added_up(rewards: Any, problem: Problem) -> Any:
    return np.array([np.sum([sums(float(x), problem.bar) for x in each], axis=0) for each in rewards])


@pytest.mark.parametrize(("xi", "family"), SETTINGS)
def test_an_interval_agrees_with_the_verdict_and_with_the_evidence_at_its_ends(xi: float, family: Rewards) -> None:
    """Twelve arms around the bar. At its lower end the same bets on the rewards themselves have enough evidence."""
    chance, problem = np.random.default_rng(1), Problem(threshold=xi, arms=12, rewards=family)
    rewards = chance.beta(20.0 * xi, 20.0 * (1.0 - xi), (12, 400)) * np.linspace(0.5, 1.4, 12)[:, None]
    rewards = np.minimum(rewards, 1.0)
    logs, n, level = added_up(rewards, problem), np.full(12, 400.0), np.full(12, problem.bar.budget)
    good, bad = evidence(logs, problem.bar)
    low, high = lower_end(logs, n, level, problem.bar), upper_end(logs, n, level, problem.bar)
    assert ((low >= xi) == (good >= level)).all()
    assert ((high <= xi) == (bad >= level)).all()
    assert (good >= level).any()
    assert (low <= rewards.mean(axis=1)).all()
    assert (high >= rewards.mean(axis=1)).all()
    grid = bets(problem.bar)[:STEPS]
    for each, end in zip(rewards, low, strict=True):
        if end > 0.0:
            fair = grid[grid * end < 1.0]
            exact = np.log1p(fair[:, None] * (each - end)).sum(axis=1) + log_shares(problem.bar)[grid * end < 1.0]
            assert np.logaddexp.reduce(exact) >= problem.bar.budget - 1e-6


def test_intervals_cover() -> None:
    """Means at many places, one arm each: an end misses with probability at most delta; false alarm below 1e-6."""
    chance, problem, runs = np.random.default_rng(2), Problem(threshold=0.4, arms=1, delta=0.1), 300
    mean = chance.uniform(0.1, 0.9, runs)
    rewards = chance.beta(4.0 * mean[:, None], 4.0 * (1.0 - mean[:, None]), (runs, 60))
    logs, n, level = added_up(rewards, problem), np.full(runs, 60.0), np.full(runs, problem.bar.budget)
    low, high = lower_end(logs, n, level, problem.bar), upper_end(logs, n, level, problem.bar)
    for missed in (int((low > mean).sum()), int((high < mean).sum())):
        assert binomial_tail(missed, runs, 0.1) > 1e-6
    assert np.median(high - low) < 0.5


def test_json_has_no_infinity() -> None:
    log = {"arm": ["a"] * 50 + ["b"] * 50, "reward": [3.0, 5.0] * 25 + [0.0, 1.0] * 25}
    found = judge(log, threshold=1.0, rewards="nonnegative")
    rows = {row["arm"]: row for row in json.loads(json.dumps(found.as_dict(), allow_nan=False))["arms"]}
    assert rows["a"]["verdict"] == "good"
    assert 1.0 <= rows["a"]["low"] <= rows["a"]["mean"]
    assert rows["a"]["high"] is None
    assert (rows["b"]["verdict"], rows["b"]["low"]) == ("open", 0.0)
    assert math.isinf(found.arms.high[0])
