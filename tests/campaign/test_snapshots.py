"""A snapshot is a cache: with it, without it, or with a damaged one, a campaign is the same."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from goodarm import Campaign
from goodarm.campaign import replay, session
from goodarm.campaign.stores import Snapshot


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Snapshots after every 50 entries instead of 10,000, so that a short campaign has some."""
    monkeypatch.setattr(session, "SNAPSHOT_EVERY", 50)
    return


def busy(address: str, policy: str, criterion: str = "fwer") -> Campaign:
    """A campaign in the middle of everything: tickets out, some void, arms paused, a verdict, arms added."""
    rng = random.Random(3)
    campaign = Campaign.create(
        address, "c", [f"arm {i}" for i in range(6)], 0.5, policy=policy, criterion=criterion, reserve=0.1, delta=0.3
    )
    waiting: list[Any] = []
    for turn in range(40):
        waiting += campaign.ask(5)
        rng.shuffle(waiting)
        for _ in range(4):
            ticket = waiting.pop()
            campaign.tell(ticket, float(rng.random() < 0.15 * int(ticket.arm[-1])))
        if turn == 10:
            campaign.add_arms(["arm 7"])
        if turn == 12:
            campaign.pause("arm 2")
        if turn % 9 == 0:
            campaign.void(waiting.pop(), "lost")
    return campaign


def future(campaign: Campaign) -> list[Any]:
    """What a campaign does next when the same is told to it."""
    tickets = campaign.ask(8)
    campaign.tell_many([(ticket, float(j % 2)) for j, ticket in enumerate(tickets)])
    return [[ticket.arm for ticket in tickets], [row[2:] for row in campaign.arms()]]


POLICIES = [
    ("value+gap-mixture", "fwer"), ("value+gap-mixture", "fdr"), ("hdoc", "fwer"), ("uniform+kt", "fwer"),
    ("value+learned-bets", "fwer"), ("thompson+beta-mixture", "fwer"),
]  # fmt: skip


@pytest.mark.parametrize(("policy", "criterion"), POLICIES)
def test_with_and_without(policy: str, criterion: str, tmp_path: Any) -> None:
    address = f"memory:{tmp_path}"
    campaign = busy(address, policy, criterion)
    store, number = campaign.store, campaign.store.find("c") or 0
    snapshot = store.snapshot(number)
    assert snapshot is not None
    campaign.export(tmp_path / "c.jsonl")
    with_one = Campaign.open(address, "c")
    assert with_one._session.snapshot_at == snapshot.number
    without = Campaign.import_from("memory:", tmp_path / "c.jsonl")
    assert without._session.store.snapshot(0) is None
    rows = campaign.arms()
    assert with_one.arms() == rows
    assert without.arms() == rows
    assert future(with_one) == future(without)
    assert with_one.check().ok


@pytest.mark.parametrize(
    "damage",
    [
        lambda kept: Snapshot(kept.number, b"another chain", kept.body),
        lambda kept: Snapshot(kept.number + 10**6, kept.chain, kept.body),
        lambda kept: Snapshot(kept.number, kept.chain, b"\x00" * 8 + b"nonsense"),
    ],
)
def test_a_snapshot_that_does_not_fit_is_not_used(damage: Any, tmp_path: Any) -> None:
    address = f"memory:{tmp_path}"
    campaign = busy(address, "value+gap-mixture")
    store, number = campaign.store, campaign.store.find("c") or 0
    kept = store.snapshot(number)
    with store.transaction(number):
        store.keep(number, damage(kept))
    assert Campaign.open(address, "c").arms() == campaign.arms()


@pytest.mark.parametrize("policy", ["value+gap-mixture", "hdoc"])
def test_a_compiled_replay_is_the_same_to_the_bit(policy: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = busy(f"memory:{tmp_path}", policy)
    campaign.export(tmp_path / "c.jsonl")
    one_by_one = Campaign.import_from("memory:", tmp_path / "c.jsonl")
    one_by_one.arms()
    monkeypatch.setattr(replay, "LONG", 2)
    compiled = Campaign.import_from("memory:", tmp_path / "c.jsonl")
    assert compiled.arms() == one_by_one.arms()
    assert compiled._session.fold.disagreement == ""
    assert future(compiled) == future(one_by_one)
    assert compiled.check().ok
