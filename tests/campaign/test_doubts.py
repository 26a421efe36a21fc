"""Rewards without bounds: what was declared of them, held against what was told; and how many pulls remain."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest

from goodarm import Campaign, Gaussian, gaussian, simulate
from goodarm.campaign.doubts import Scatter
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
    known = scatter_in(campaign)
    assert scatter_in(with_snapshot) == known
    assert known["total"] > 100.0
    campaign.store.keep(0, None)
    assert scatter_in(Campaign.open(f"memory:{tmp_path}", "c")) == known


def scatter_in(campaign: Campaign) -> dict[str, Any]:
    scatter = campaign._session.fold.scatter
    assert scatter is not None
    return scatter.as_json()


def revenue(arm: str, rng: random.Random) -> float:
    """99.9% zeros: no Gaussian of any scale near its standard deviation, 2.5, has such a tail."""
    return 80.0 if rng.random() < 0.001 else 0.0


def fed(draw: Any, arms: int, each: int, scale: float, **options: Any) -> Campaign:
    """A campaign whose arms have this many rewards each, declared Gaussian."""
    rng, names = random.Random(4), [f"arm {j}" for j in range(arms)]
    campaign = Campaign.create("memory:", "c", names, 0.0, delta=1e-9, rewards=Gaussian(scale), **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)
        with campaign.transaction():
            for j in range(each * arms):
                campaign.tell_arm(names[j % arms], draw(names[j % arms], rng))
    return campaign


@pytest.mark.slow
def test_the_spread_of_one_arm_among_many_is_noticed() -> None:
    """All arms together spread less than was declared; one of them spreads twice as much."""

    def draw(arm: str, rng: random.Random) -> float:
        return rng.gauss(0.0, 2.0 if arm == "arm 3" else 0.5)

    campaign = fed(draw, 20, 100, 1.0, policy="uniform")
    assert "of arm 'arm 3' have a standard deviation of" in campaign.tally().doubt
    assert "rescaled to [0, 1]" in campaign.tally().doubt
    assert campaign.arm("arm 0").guarantee == (
        "certified if rewards are Gaussian with scale 1, which the rewards refute"
    )


def test_the_tail_of_an_arm_is_noticed_and_no_scale_is_suggested() -> None:
    """The standard deviation of this revenue is less than half of the declared scale; a sale lies 10 scales away."""
    campaign = fed(revenue, 3, 1500, 8.0, policy="uniform")
    assert "their tail is heavier" in campaign.tally().doubt
    assert "rewards=NonNegative()" in campaign.tally().doubt


def test_a_verdict_after_the_refutation_says_so_in_its_audit() -> None:
    def draw(arm: str, rng: random.Random) -> float:
        return rng.gauss(0.6, 3.0)

    campaign = fed(draw, 2, 200, 1.0, policy="uniform")
    audit = campaign.audit("arm 1")
    assert audit is not None
    assert any("declared to have scale 1" in note for note in audit["notes"])
    assert campaign.check().ok


def test_a_true_declaration_is_refuted_in_at_most_one_of_10_000_campaigns() -> None:
    """400 campaigns of 5 arms with 60 rewards each: a single false alarm has probability below 4%, two below 0.1%.

    The broken twin declares half of the scale and is refuted every time.
    """
    chance = np.random.default_rng(11)
    for scale, least, most in ((1.0, 0, 1), (0.5, 400, 400)):
        refuted = 0
        for rewards in chance.normal(0.0, 1.0, (400, 60, 5)):
            scatter, totals = Scatter(5, scale), np.zeros(5)
            for n, row in enumerate(rewards):
                for arm, reward in enumerate(row):
                    scatter.note(arm, float(n), totals[arm], reward)
                    totals[arm] += reward
                    if scatter.refuted:
                        break
                if scatter.refuted:
                    break
            refuted += bool(scatter.refuted)
        assert least <= refuted <= most


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
