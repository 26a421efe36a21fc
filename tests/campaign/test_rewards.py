"""Live campaigns with rewards of 0 or more and with declared scales: what is decided, and what is said about it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from goodarm import Bounded, Campaign, Gaussian, NonNegative, Problem
from goodarm.cli import app
from goodarm.errors import InvalidValue, UnsoundPairing
from goodarm.problem import UpTo


def told(address: str, means: dict[str, float], cap: float | None, most: int = 900) -> Campaign:
    """Exponential rewards, in batches of 6 that come back in reverse."""
    chance = np.random.default_rng(3)
    campaign = Campaign.create(address, "revenue", list(means), 1.0, rewards=NonNegative(cap), policy="ucb+bet-mixture")
    for _ in range(most // 6):
        tickets = campaign.ask(6)
        campaign.tell_many([(each, float(chance.exponential(means[each.arm]))) for each in reversed(tickets)])
    return campaign


def test_without_a_cap_only_good_is_certified_and_the_sentence_says_so(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'c.db'}"
    with told(address, {"high": 2.5, "low": 0.1}, None) as campaign:
        assert [(row.arm, row.verdict) for row in campaign.arms()] == [("high", "good"), ("low", "open")]
        assert "; below is not judged, since rewards have no ceiling" in campaign.headline()
        assert campaign.check().ok
        before = campaign.arms()
    with Campaign.open(address, "revenue") as again:
        assert again.terms.rewards == NonNegative()
        np.testing.assert_equal(again.arms(), before)


def test_with_a_cap_bad_is_about_cut_rewards() -> None:
    with told("memory:", {"high": 2.5, "low": 0.1}, 5.0) as campaign:
        assert [row.verdict for row in campaign.arms()] == ["good", "bad"]
        assert "; below applies to rewards cut at 5" in campaign.headline()
        assert campaign.audit("low")["notes"] == ["below applies to rewards cut at 5"]  # type: ignore[index]
        assert "notes" not in campaign.audit("high")  # type: ignore[operator]


def test_what_is_refused() -> None:
    campaign = Campaign.create("memory:", "c", ["a"], 1.0, rewards=NonNegative())
    assert campaign.terms.policy == "value+bet-mixture"
    (ticket,) = campaign.ask()
    with pytest.raises(InvalidValue, match="0 or more; got -1"):
        campaign.tell(ticket, -1.0)
    with pytest.raises(UnsoundPairing, match="rewards of 0 or more"):
        Campaign.create("memory:", "d", ["a"], 1.0, rewards=NonNegative(), policy="ucb+gap-mixture")
    with pytest.raises(InvalidValue, match="not below the cap"):
        Campaign.create("memory:", "e", ["a"], 1.0, rewards=NonNegative(0.5))


@pytest.mark.parametrize("rewards", ["bounded", "nonnegative", "nonnegative:100", "bounded:0,1600"])
def test_no_message_advises_to_leave_out_negative_rewards(rewards: str) -> None:
    campaign = Campaign.create("memory:", "c", ["a"], 0.5, rewards=rewards)
    (ticket,) = campaign.ask()
    with pytest.raises(InvalidValue, match="got -3") as raised:
        campaign.tell(ticket, -3.0)
    message = str(raised.value)
    assert "Never leave rewards out because of their value" in message
    assert "add a constant to every reward and to the threshold" in message
    assert "NonNegative" not in message
    assert "Drop" not in message


def test_rewards_may_be_text_as_on_the_command_line() -> None:
    same = {
        "nonnegative:100": NonNegative(100.0),
        "bounded:0,1600": UpTo(1600.0),
        "bounded:0,1": Bounded(),
        "gaussian:2": Gaussian(2.0),
    }
    for text, family in same.items():
        campaign = Campaign.create("memory:", "c", ["a"], 0.5, rewards=text)
        assert campaign.terms.rewards == family
        assert Problem(0.5, 1, rewards=text).rewards == family  # type: ignore[arg-type]  # text is read
    for wrong in ("nonneg", "bounded:0,x", "gaussian"):
        with pytest.raises(InvalidValue, match="can't read the rewards"):
            Campaign.create("memory:", "c", ["a"], 0.5, rewards=wrong)
    with pytest.raises(InvalidValue, match=r"Add 100 to the rewards.*declare Bounded\(0, 1700\)"):
        Campaign.create("memory:", "c", ["a"], 0.5, rewards="bounded:-100,1600")


def test_the_assumption_is_part_of_the_label() -> None:
    campaign = Campaign.create("memory:", "c", ["a", "b"], 0.0, rewards=Gaussian(2.0), policy="ucb+gap-mixture")
    assert {row.guarantee for row in campaign.arms()} == {"certified if rewards are Gaussian with scale 2"}


def test_the_command_line_creates_such_a_campaign(tmp_path: Path) -> None:
    named = ["campaign", "create", f"sqlite:///{tmp_path / 'c.db'}", "shop", "--arms", "a,b", "--json"]
    made = CliRunner().invoke(app, [*named, "--threshold", "5", "--rewards", "nonnegative:100"])
    assert made.exit_code == 0, made.output
    assert "below applies to rewards cut at 100" in json.loads(made.output)["headline"]
