"""Rewards without bounds: what was declared of them, held against what was told; and how many pulls remain."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest

from goodarm import Campaign, Gaussian, gaussian, simulate
from goodarm.errors import InvalidValue, ScaleWarning
from goodarm.planning import remaining


def told(scale: float, rewards: int = 300, name: str = "memory:") -> Campaign:
    """Rewards of deviation `scale`, declared to be 1; told in the wrong order, large ones first."""
    rng = random.Random(1)
    campaign = Campaign.create(name, "c", ["a", "b", "c"], 0.0, delta=1e-9, rewards=Gaussian(1.0), policy="uniform")
    for _ in range(rewards // 30):
        pairs = [(ticket, rng.gauss(0.0, scale)) for ticket in campaign.ask(30)]
        campaign.tell_many(sorted(pairs, key=lambda pair: -abs(pair[1])))
    return campaign


def test_a_scale_that_is_true_is_not_doubted() -> None:
    campaign = told(1.0)
    assert campaign.tally().doubt == ""
    assert "warning" not in str(campaign)


def test_a_scale_that_is_contradicted_is_said(tmp_path: Any) -> None:
    with pytest.warns(ScaleWarning, match="declared to have scale 1") as caught:
        campaign = told(2.0, name=f"memory:{tmp_path}")
    assert len(caught) == 1, "once, not at every tell"
    assert "a standard deviation of 1.94" in campaign.tally().doubt
    assert f"warning: {campaign.tally().doubt}" in str(campaign)
    assert Campaign.open(f"memory:{tmp_path}", "c").tally().doubt == campaign.tally().doubt


def test_a_snapshot_remembers_the_scatter(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goodarm.campaign.session.SNAPSHOT_EVERY", 50)
    campaign = told(1.0, name=f"memory:{tmp_path}")
    with_snapshot = Campaign.open(f"memory:{tmp_path}", "c")
    assert with_snapshot._session.fold.scatter == campaign._session.fold.scatter > 100.0
    campaign.store.keep(0, None)
    assert Campaign.open(f"memory:{tmp_path}", "c")._session.fold.scatter == campaign._session.fold.scatter


def test_sums_that_would_lose_their_digits_are_refused() -> None:
    with pytest.raises(InvalidValue, match="lose the digits"):
        Campaign.create("memory:", "c", ["a"], 1e9, rewards=Gaussian(1e-3), horizon=10_000)


def test_rewards_in_range_are_not_asked_about() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        campaign = Campaign.create("memory:", "c", ["a"], 0.5)
        campaign.tell_many([(ticket, 1.0) for ticket in campaign.ask(5)])
    assert campaign.tally().doubt == ""


@pytest.mark.slow
def test_how_many_pulls_remain_for_gaussian_rewards() -> None:
    """Against simulated runs of arms of one known mean: `remaining` is about the drift, the runs scatter around it."""
    runs = simulate("value", gaussian([0.5] * 4, threshold=0.0, scale=1.0), horizon=4000, runs=200, seed=7)
    found = float(np.mean([run.pulls.mean() for run in runs.runs]))
    left = remaining([0] * 4, [0.0] * 4, threshold=0.0, prior=(0.5, 1e-9), scale=1.0)
    assert 0.75 < left.median.mean() / found < 1.25
    assert (left.good == 1.0).all()


def test_it_learns_from_the_other_arms_and_ends_at_a_verdict() -> None:
    campaign = Campaign.create("memory:", "c", ["far", "near", "new"], 0.0, rewards=Gaussian(1.0), policy="uniform")
    for arm, mean in (("far", 2.0), ("near", 0.1)):
        for j in range(40):
            campaign.tell_arm(arm, mean + (0.5 if j % 2 else -0.5))
    left = campaign.remaining()
    assert left.median[0] == 0.0, "decided"
    assert left.median[1] > 100.0
    assert left.median[2] > 0.0
    assert "more samples to finish" in str(campaign)


@pytest.mark.parametrize("options", [{"prior": (0.0, 0.0)}, {"prior": (float("nan"), 1.0)}, {"scale": -1.0}])
def test_what_remaining_refuses(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue):
        remaining([1], [0.5], threshold=0.0, **({"scale": 1.0} | options))
    with pytest.raises(InvalidValue):
        remaining([1], [float("nan")], threshold=0.0, scale=1.0)
