"""Effects of unanswered tickets, and where they are reported."""

from __future__ import annotations

from typing import Any

import pytest

from goodarm import Campaign


def with_overdue(policy: str, clock: Any, criterion: str = "fwer") -> Campaign:
    """An arm with 120 successes in a row, and tickets that were asked before them and never came back."""
    campaign = Campaign.create(
        "memory:", "c", ["a", "b"], 0.5, policy=policy, after="1h", clock=clock, criterion=criterion
    )
    campaign.suspend("b")
    stuck = campaign.ask(80)
    clock.now += 3601.0
    for ticket in campaign.ask(120):
        campaign.tell(ticket, 1.0)
    assert {ticket.arm for ticket in stuck} == {"a"}
    return campaign


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["value+gap-mixture", "uniform+beta-mixture", "uniform+hoeffding"])
def test_they_hold_back_a_verdict(policy: str, clock: Any) -> None:
    campaign = with_overdue(policy, clock)
    row, tally = campaign.arm("a"), campaign.tally()
    assert (row.verdict, row.overdue, row.held_back) == ("open", 80, "good")
    assert (tally.overdue, tally.held_back, tally.waiting) == (80, 1, 0)
    assert "overdue tickets hold back 1 verdict" in str(campaign)
    assert campaign.arm("b").overdue == 0


def test_voiding_them_gives_it(clock: Any) -> None:
    campaign = Campaign.create("memory:", "c", ["a"], 0.5, after="1h", clock=clock)
    stuck = campaign.ask(80)
    clock.now += 3601.0
    campaign.tell_many([(ticket, 1.0) for ticket in campaign.ask(120)])
    assert campaign.arm("a").held_back == "good"
    for ticket in stuck:
        campaign.void(ticket, "the server that held them burnt down")
    row = campaign.arm("a")
    assert (row.verdict, row.overdue, row.held_back) == ("good", 0, "")
    assert "hold back" not in str(campaign)


def test_young_tickets_and_little_evidence_hold_back_nothing(clock: Any) -> None:
    campaign = Campaign.create("memory:", "c", ["a"], 0.5, after="1h", clock=clock)
    campaign.ask(80)
    campaign.tell_many([(ticket, 1.0) for ticket in campaign.ask(120)])
    assert (campaign.arm("a").overdue, campaign.arm("a").held_back, campaign.tally().held_back) == (0, "", 0)
    few = Campaign.create("memory:", "c", ["a"], 0.5, after="1h", clock=clock)
    few.ask(80)
    clock.now += 3601.0
    few.tell_many([(ticket, 1.0) for ticket in few.ask(3)])
    assert (few.arm("a").overdue, few.arm("a").held_back) == (80, "")
    assert "hold back" not in str(few)


def test_in_order_rewards_wait_behind_them(clock: Any) -> None:
    campaign = with_overdue("uniform+kt", clock)
    tally = campaign.tally()
    assert (tally.overdue, tally.held_back, tally.waiting) == (80, 0, 120)
    assert "120 told rewards wait behind overdue tickets" in str(campaign)


def test_blocks_are_counted_too(clock: Any) -> None:
    campaign = Campaign.create("memory:", "c", ["a"], 0.5, after="1h", clock=clock)
    block = campaign.ask_block(200)
    campaign.tell_block(block, {"a": (120, 120.0)}, part="1")
    assert campaign.arm("a").verdict == "open"
    clock.now += 3601.0
    assert (campaign.arm("a").overdue, campaign.arm("a").held_back) == (80, "good")


def test_with_fdr_what_is_certain(clock: Any) -> None:
    assert with_overdue("value+gap-mixture", clock, "fdr").arm("a").held_back == "good"
