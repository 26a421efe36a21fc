"""Costs and a budget: what is sampled, when the campaign ends, and that the money is counted exactly."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from goodarm import Campaign
from goodarm.arguments import exact
from goodarm.campaign.snapshot import pack, unpack
from goodarm.campaign.terms import COSTS_FORMAT
from goodarm.cli import app
from goodarm.engine.live.threshold import ThresholdStep
from goodarm.errors import InvalidValue, Refused, UnknownName
from goodarm.policies import policy
from goodarm.problem import Problem

COST = {"a": 0.1, "b": 0.7, "c": 3.0}


def played(store: Any = "memory:", rounds: int = 100, **more: Any) -> Campaign:
    chance = random.Random(2)
    campaign = Campaign.create(store, "c", list(COST), 0.5, **{"cost": COST, "budget": 30.0, **more})
    for _ in range(rounds):
        for ticket in campaign.ask(4):
            campaign.tell(ticket, float(chance.random() < 0.5))
    return campaign


def test_the_campaign_ends_when_the_next_sample_would_exceed_the_budget(address: str) -> None:
    with played(address) as campaign:
        tally = campaign.tally()
        spent = sum(row.pulls * exact(COST[row.arm]) for row in campaign.arms())
        assert tally.spent == float(spent) <= 30.0
        assert (tally.budget, tally.used_up, tally.ended) == (30.0, True, True)
        assert campaign.ask(5) == []
        assert campaign.ask_block(5).pulls == {}
        assert campaign._session.fold.step.choose() >= 0  # an arm is open, and its sample costs too much
        assert "the budget of 30 is used up, so the campaign has ended" in str(campaign)
        assert f"{tally.spent:,.2f} spent of 30" in str(campaign)
        assert campaign.check().ok
    with Campaign.open(address, "c") as again:
        assert again.tally() == tally
        assert again.terms.format == COSTS_FORMAT


def test_money_is_the_decimal_number_that_was_written() -> None:
    """As floats, three times 0.1 exceed 0.3."""
    for asks in (3, 30):
        campaign = Campaign.create("memory:", "c", ["a"], 0.5, cost=0.1, budget=asks / 10)
        assert len(campaign.ask(100)) == asks
        block = Campaign.create("memory:", "c", ["a"], 0.5, cost=0.1, budget=asks / 10).ask_block(100)
        assert block.pulls == {"a": asks}


@pytest.mark.parametrize(("cost", "budget", "samples"), [(0.02, 4, 200), (0.1, 1, 10), (0.01, 1, 100), (0.3, 0.9, 3)])
def test_a_budget_is_used_to_its_last_sample(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cost: float, budget: float, samples: int
) -> None:
    """Live, as a block, from a snapshot, and replayed one by one or compiled; sums of floats fall one sample short."""
    from goodarm.campaign import replay
    from goodarm.engine.compile import Patience

    store, terms = f"sqlite:///{tmp_path}/a.db", {"cost": cost, "budget": budget}
    with Campaign.create(store, "c", ["a", "b"], 0.5, **terms) as campaign:
        tickets = campaign.ask(samples - 1)
        assert (len(tickets), campaign.tally().used_up) == (samples - 1, False)
        for opened in (10**9, 2):
            monkeypatch.setattr(replay, "JOURNAL", Patience(opened))
            with Campaign.open(store, "c") as again:
                fold = again._session.fold
                first = next(iter(again.store.read(again._session.campaign, 0, 1)))
                kept = unpack(first, fold.chain, pack(fold))
                assert kept is not None
                assert not fold.used_up
                assert not kept.used_up
                assert kept.choose() >= 0
        assert len(campaign.ask(5)) == 1
        assert (campaign.tally().spent, campaign.tally().used_up) == (budget, True)
    block = Campaign.create("memory:", "b", ["a", "b"], 0.5, **terms).ask_block(10 * samples)
    assert sum(block.pulls.values()) == samples


def test_a_block_is_cut_at_the_budget() -> None:
    campaign = Campaign.create("memory:", "c", list(COST), 0.5, cost=COST, budget=20.0)
    block = campaign.ask_block(10**6)
    spent = sum(count * exact(COST[arm]) for arm, count in block.pulls.items())
    assert campaign.tally().spent == float(spent) <= 20.0
    assert campaign.tally().used_up
    assert campaign.check().ok
    one_by_one = Campaign.create("memory:", "c", list(COST), 0.5, cost=COST, budget=20.0)
    assert len(one_by_one.ask(1000)) == sum(block.pulls.values())
    campaign.void(block, "nobody came")
    assert campaign.tally().spent == 0.0
    assert campaign.ask()
    assert campaign.check().ok


def test_void_tickets_give_their_cost_back() -> None:
    campaign = Campaign.create("memory:", "c", ["a", "b"], 0.5, cost=2.0, budget=4.0)
    first, _ = campaign.ask(5)
    assert campaign.tally().used_up
    campaign.void(first, "lost")
    assert not campaign.tally().used_up
    assert len(campaign.ask(5)) == 1


def test_a_snapshot_keeps_the_money() -> None:
    campaign = played(rounds=5)
    fold = campaign._session.fold
    first = next(iter(campaign.store.read(campaign._session.campaign, 0, 1)))
    again = unpack(first, fold.chain, pack(fold))
    assert again is not None
    assert (again.spent, again.choose()) == (fold.spent, fold.choose())


@pytest.mark.slow
def test_a_long_journal_is_replayed_with_its_money(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from goodarm.campaign import replay
    from goodarm.engine.compile import Patience

    monkeypatch.setattr(replay, "JOURNAL", Patience(10))
    store = f"sqlite:///{tmp_path}/a.db"
    with played(store) as campaign, Campaign.open(store, "c") as again:
        assert again._session.fold.spent == campaign._session.fold.spent
        assert again.arms() == campaign.arms()


def test_of_two_equal_arms_the_cheaper_is_sampled() -> None:
    for name in ("value+gap-mixture", "settle+gap-mixture", "apt-g+gap-mixture"):
        step = ThresholdStep(policy(name), Problem(0.5, 2), costs=[20.0, 1.0])
        for arm in (0, 1):
            step.ask(arm, 4)
            step.absorb_block([4.0 * (arm == 0), 4.0 * (arm == 1)], [3.0 * (arm == 0), 3.0 * (arm == 1)])
        assert step.choose() == 1


def test_equal_costs_change_no_choice() -> None:
    def arms(**more: Any) -> list[str]:
        campaign, chance, found = Campaign.create("memory:", "c", ["a", "b", "c"], 0.5, **more), random.Random(1), []
        for _ in range(80):
            (ticket,) = campaign.ask()
            found.append(ticket.arm)
            campaign.tell(ticket, float(chance.random() < 0.5))
        return found

    assert arms() == arms(cost=8.0) == arms(budget=1000)


def test_later_arms_have_costs_only_where_others_have() -> None:
    with_costs = Campaign.create("memory:", "c", ["a"], 0.5, cost=2.0, reserve=0.2)
    with_costs.add_arms([{"id": "b", "cost": 50}])
    assert with_costs.arm("b").cost == 50
    without = Campaign.create("memory:", "c", ["a"], 0.5, reserve=0.2)
    with pytest.raises(Refused, match="cost"):
        without.add_arms([{"id": "b", "cost": 50}])


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"cost": {"a": 0}}, InvalidValue),
        ({"cost": {"a": -1}}, InvalidValue),
        ({"cost": {"a": float("nan")}}, InvalidValue),
        ({"cost": {"a": "dear"}}, InvalidValue),
        ({"cost": {"z": 1}}, UnknownName),
        ({"budget": 0}, InvalidValue),
        ({"budget": float("inf")}, InvalidValue),
        ({"budget": 0.5}, InvalidValue),
        ({"cost": {"a": 2}, "policy": "thompson+gap-mixture"}, InvalidValue),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        Campaign.create("memory:", "c", ["a", "b"], 0.5, **given)


def test_from_the_shell(tmp_path: Path) -> None:
    run, store = CliRunner(), f"sqlite:///{tmp_path}/a.db"
    arms = tmp_path / "arms.csv"
    arms.write_text("id,cost\na,1\nb,20\n", encoding="utf-8")
    given = ["--threshold", "0.5", "--budget", "25"]
    made = run.invoke(app, ["campaign", "create", store, "c", "--arms", str(arms), *given])
    assert made.exit_code == 0, made.output
    assert "0 spent of 25, 25 left" in made.output
    run.invoke(app, ["campaign", "ask", store, "c", "-n", "2"])
    assert "21 spent of 25, 4 left" in run.invoke(app, ["campaign", "verdicts", store, "c"]).output
    pairs = run.invoke(app, ["campaign", "create", store, "d", "--arms", "a,b", "--cost", "a=1,b=20", *given])
    assert pairs.exit_code == 0, pairs.output
    wrong = run.invoke(app, ["campaign", "create", store, "e", "--arms", "a,b", "--cost", "a=x", *given])
    assert wrong.exit_code == 2
    assert "a=1,b=20" in wrong.output
