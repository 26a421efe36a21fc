"""Tickets that never come back hold verdicts back, but do not stop the arm from being sampled."""

import random

import pytest

from goodarm import Campaign
from goodarm.campaign.views import MANY_TICKETS

ARMS = {f"arm {i}": 0.05 + 0.1 * i for i in range(10)}


@pytest.mark.parametrize("policy", ["value+gap-mixture", "settle+gap-mixture"])
def test_an_arm_is_sampled_again_when_its_tickets_are_lost(policy: str) -> None:
    """Nine in ten samples of the best arm are 1; five lost tickets must not keep it from a verdict."""
    chance = random.Random(2)
    with Campaign.create("memory:", "lost", list(ARMS), threshold=0.5, policy=policy, seed=2) as campaign:
        for _ in range(5):
            campaign.ask(len(ARMS))  # never told
        for _ in range(150):
            tickets = campaign.ask(10)
            campaign.tell_many([(ticket, float(chance.random() < ARMS[ticket.arm])) for ticket in tickets])
        found = {row.arm: row.verdict for row in campaign.arms()}
    assert found["arm 9"] == found["arm 8"] == "good"
    assert "bad" not in {found[f"arm {i}"] for i in range(5, 10)}


def test_tickets_without_a_time_limit_become_overdue_after_many_others() -> None:
    with Campaign.create("memory:", "old", ["a", "b"], threshold=0.5) as campaign:
        first = campaign.ask(1)[0]
        campaign.ask(MANY_TICKETS)
        assert campaign.tally().overdue == 0
        campaign.ask(1)
        assert campaign.tally().overdue == 1
        assert [row.ticket for row in campaign.waiting() if row.overdue] == [first.ticket]
        assert "1 of them overdue" in str(campaign)


def test_all_pending_tickets_are_listed() -> None:
    with Campaign.create("memory:", "many", ["a", "b"], threshold=0.5) as campaign:
        campaign.ask(1_200)
        assert len(campaign.waiting()) == 1_200
        assert len(campaign.waiting(limit=7)) == 7
