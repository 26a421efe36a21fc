"""Blocks: many pulls in one entry, told in parts, counted once, pending at their worst."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from goodarm import Campaign
from goodarm.errors import GoodarmError, InvalidValue, Refused, UnsoundPairing


@pytest.mark.slow
def test_a_block_is_asked_and_told_in_parts(address: str) -> None:
    with Campaign.create(address, "c", ["a", "b"], 0.5) as campaign:
        block = campaign.ask_block(1000)
        assert sum(block.pulls.values()) == 1000
        halves = {arm: (pulls // 2, float(pulls // 2) if arm == "a" else 0.0) for arm, pulls in block.pulls.items()}
        rest = {
            arm: (pulls - pulls // 2, float(pulls - pulls // 2) if arm == "a" else 0.0)
            for arm, pulls in block.pulls.items()
        }
        campaign.tell_block(block, halves, part="first machine")
        assert campaign.tally().pending == sum(count for count, _ in rest.values())
        before = list(campaign.history())
        campaign.tell_block(block, halves, part="first machine")
        assert list(campaign.history()) == before
        with pytest.raises(Refused, match="other numbers"):
            campaign.tell_block(block, {"a": (1, 0.0)}, part="first machine")
        told = campaign.tell_block(block, rest, part="second machine")
        assert {(row.arm, row.verdict) for row in told.verdicts} == {("a", "good"), ("b", "bad")}
        campaign.tell_block(block, rest, part="second machine")
        assert campaign.tally().pending == 0
        assert campaign.check().ok
    with Campaign.open(address, "c") as again:
        assert again.verdicts().good == 1


@pytest.mark.slow
def test_what_has_not_been_told_is_at_its_worst() -> None:
    campaign = Campaign.create("memory:", "c", ["a"], 0.5)
    block = campaign.ask_block(1000)
    campaign.tell_block(block, {"a": (100, 100.0)}, part="1")
    assert campaign.arm("a").verdict == "open"
    assert (campaign.arm("a").pulls, campaign.arm("a").pending) == (100, 900)
    campaign.tell_block(block, {"a": (900, 100.0)}, part="2")
    assert campaign.arm("a").verdict == "bad"


IMPOSSIBLE: list[Any] = [
    {"z": (1, 1.0)}, {"a": (2000, 1.0)}, {"a": (10, 11.0)}, {"a": (10, -1.0)}, {"a": (-1, 0.0)}, {"a": (1.5, 1.0)},
    {"a": (True, 1.0)}, {"a": 3}, {"a": (10, float("nan"))}, {"a": (10, "1")},
]  # fmt: skip


@pytest.mark.parametrize("part", IMPOSSIBLE, ids=repr)
def test_impossible_parts_change_nothing(part: Any) -> None:
    campaign = Campaign.create("memory:", "c", ["a", "b"], 0.5)
    block = campaign.ask_block(100)
    before = list(campaign.history())
    with pytest.raises(GoodarmError):
        campaign.tell_block(block, part, part="1")
    assert list(campaign.history()) == before
    assert campaign.check().ok


def test_a_block_is_no_ticket_and_a_ticket_no_block() -> None:
    campaign = Campaign.create("memory:", "c", ["a", "b"], 0.5)
    block, (ticket,) = campaign.ask_block(10), campaign.ask()
    with pytest.raises(Refused, match="tell_block"):
        campaign.tell(block.ticket, 1.0)
    with pytest.raises(Refused, match="is not a pending block"):
        campaign.tell_block(ticket.ticket, {"a": (1, 1.0)})


@pytest.mark.parametrize(("unanswered", "told", "void"), [("zero", 100, 0), ("void", 10, 90)])
def test_the_rest_of_a_block_lapses(unanswered: str, told: int, void: int, clock: Any) -> None:
    campaign = Campaign.create("memory:", "c", ["a"], 0.5, after="1h", unanswered=unanswered, clock=clock)
    block = campaign.ask_block(100)
    campaign.tell_block(block, {"a": (10, 5.0)}, part="1")
    clock.now += 3601.0
    (ticket,) = campaign.ask() or [None]
    row = campaign.arm("a")
    assert (row.pulls, row.void) == (told, void)
    if ticket is not None:
        campaign.tell(ticket, 1.0)
    assert campaign.check().ok


def test_a_block_can_be_voided() -> None:
    campaign = Campaign.create("memory:", "c", ["a", "b"], 0.5)
    block = campaign.ask_block(100)
    campaign.void(block, "the servers were down")
    assert campaign.tally().pending == 0
    with pytest.raises(Refused):
        campaign.tell_block(block, {"a": (1, 1.0)})
    assert campaign.check().ok


def test_blocks_are_refused_where_order_matters() -> None:
    campaign = Campaign.create("memory:", "c", ["a", "b"], 0.5, policy="uniform+kt")
    with pytest.raises(UnsoundPairing, match="order of asking"):
        campaign.ask_block(10)


def test_blocks_of_nothing_are_refused() -> None:
    campaign = Campaign.create("memory:", "c", ["a"], 0.5)
    with pytest.raises(InvalidValue):
        campaign.ask_block(0)
    with pytest.raises(InvalidValue):
        campaign.ask_block(10**13)


def test_a_block_equals_as_many_asks() -> None:
    """One block of n pulls, and n single asks: the same pulls of each arm."""
    blocks, singles = (Campaign.create("memory:", "c", [f"arm {i}" for i in range(7)], 0.3) for _ in range(2))
    for size in (7, 40, 100):
        block = blocks.ask_block(size)
        tickets = singles.ask(size)
        assert block.pulls == {arm: [t.arm for t in tickets].count(arm) for arm in block.pulls}
        blocks.tell_block(block, {arm: (n, float(n // 4)) for arm, n in block.pulls.items()}, part="1")
        for arm, n in block.pulls.items():
            mine = [ticket for ticket in tickets if ticket.arm == arm]
            singles.tell_many([(ticket, float(j < n // 4)) for j, ticket in enumerate(mine)])
        assert [(r.pulls, r.total) for r in blocks.arms()] == [(r.pulls, r.total) for r in singles.arms()]


PARTS_THAT_ARE_NONE = [
    None, [("a", (1, 1.0))], {"a": 5}, {"a": ()}, {"a": (1, 10**400)}, {"a": (True, 1.0)}, {"a": (1, "x")},
]  # fmt: skip


@pytest.mark.parametrize("part", PARTS_THAT_ARE_NONE, ids=range(len(PARTS_THAT_ARE_NONE)))
@pytest.mark.parametrize("name", ["new", "told"])
def test_parts_that_are_none(part: Any, name: str) -> None:
    campaign = Campaign.create("memory:", "c", ["a"], 0.5)
    block = campaign.ask_block(10)
    campaign.tell_block(block, {"a": (np.int64(2), np.float64(1.0))}, part="told")
    before = campaign.number
    with pytest.raises(InvalidValue):
        campaign.tell_block(block, part, part=name)
    campaign.tell_block(block, {"a": (2, 1.0)}, part="told")
    assert campaign.number == before
