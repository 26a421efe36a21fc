"""A snapshot is a cache: with it, without it, or with a damaged one, a campaign is the same."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from goodarm import Campaign
from goodarm.campaign import replay, session
from goodarm.campaign.snapshot import BOOK_FIELDS
from goodarm.campaign.stores import Snapshot, memory
from goodarm.engine.compile import Patience
from goodarm.engine.live import threshold
from goodarm.errors import DamagedJournal


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
            campaign.suspend("arm 2")
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


@pytest.mark.slow
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
        lambda kept: Snapshot(kept.number, kept.chain, b""),
        lambda kept: Snapshot(kept.number, kept.chain, kept.body[:-100]),
        lambda kept: Snapshot(kept.number, kept.chain, kept.body.replace(b'"late":0', b'"late":7')),
    ],
)
def test_a_snapshot_that_does_not_fit_is_not_used(damage: Any, tmp_path: Any) -> None:
    address = f"memory:{tmp_path}"
    campaign = busy(address, "value+gap-mixture")
    store, number = campaign.store, campaign.store.find("c") or 0
    kept = store.snapshot(number)
    with store.transaction(number):
        store.keep(number, damage(kept))
    again = Campaign.open(address, "c")
    assert again.arms() == campaign.arms()
    assert (again._session.snapshot_at, again.tally().late) == (0, 0)


def test_two_processes_keep_one_snapshot_between_them(tmp_path: Any) -> None:
    address = f"sqlite:///{tmp_path}/c.db"
    with Campaign.create(address, "c", ["a", "b", "c"], 0.5) as one, Campaign.open(address, "c") as other:
        kept: list[Any] = []
        for _ in range(100):
            for campaign in (one, other):
                (ticket,) = campaign.ask()
                campaign.tell(ticket, 0.5)
                kept.append(campaign.store.snapshot(campaign._session.campaign))
        numbers = sorted({each.number for each in kept if each is not None})
        assert len(numbers) >= 3
        assert all(later - earlier >= 49 for earlier, later in pairwise(numbers)), numbers
        with Campaign.open(address, "c") as again:
            assert again._session.snapshot_at == numbers[-1]
            assert again.arms() == one.arms()


MODELS = ["ucb+gap-mixture@linear", "ucb+beta-mixture@mixed", "thompson+gap-mixture@kernel", "ucb+kt@linear"]


@pytest.mark.slow
@pytest.mark.parametrize("policy", MODELS)
def test_a_model_of_the_arms_is_kept_to_the_bit(policy: str, tmp_path: Any) -> None:
    """Its belief after a snapshot and 30 more rewards is that of a replay from the first entry."""
    rng, address = random.Random(4), f"memory:{tmp_path}"
    arms = [{"id": f"arm {i}", "features": [rng.gauss(0, 1) for _ in range(3)]} for i in range(7)]
    campaign = Campaign.create(address, "c", arms, 0.5, policy=policy, delta=1e-6)
    waiting: list[Any] = []
    for _ in range(110):
        waiting += campaign.ask(2)
        rng.shuffle(waiting)
        campaign.tell_many([(waiting.pop(), float(rng.random() < 0.5)) for _ in range(2 - (len(waiting) < 5))])
    campaign.export(tmp_path / "c.jsonl")
    with_one, without = Campaign.open(address, "c"), Campaign.import_from("memory:", tmp_path / "c.jsonl")
    assert with_one._session.snapshot_at > 100
    assert repr(future(with_one)) == repr(future(without))  # an arm without a reward has the mean nan
    kept, replayed = with_one._session.fold.step.state, without._session.fold.step.state
    for name in kept.belief._fields:
        assert getattr(kept.belief, name).tobytes() == getattr(replayed.belief, name).tobytes(), name
    assert kept.arms.tobytes("A") == replayed.arms.tobytes("A")
    assert kept.tables.progress.tolist() == replayed.tables.progress.tolist()
    assert with_one.check().ok


@pytest.mark.slow
def test_a_belief_that_is_too_large_is_not_written_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threshold, "LARGEST_BELIEF", 100)
    arms = [{"id": f"arm {i}", "features": [float(i), float(i % 2)]} for i in range(4)]
    campaign = Campaign.create("memory:", "c", arms, 0.5, policy="ucb+gap-mixture@linear")
    campaign.ask(120)
    assert campaign.store.snapshot(0) is None


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["value+gap-mixture", "hdoc", "uniform+beta-mixture"])
def test_a_compiled_replay_is_the_same_to_the_bit(policy: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = busy(f"memory:{tmp_path}", policy)
    campaign.export(tmp_path / "c.jsonl")
    one_by_one = Campaign.import_from("memory:", tmp_path / "c.jsonl")
    one_by_one.arms()
    monkeypatch.setattr(replay, "JOURNAL", Patience(1))
    compiled = Campaign.import_from("memory:", tmp_path / "c.jsonl")
    assert compiled.arms() == one_by_one.arms()
    assert compiled._session.fold.disagreement == ""
    assert future(compiled) == future(one_by_one)
    assert compiled.check().ok


def test_what_is_kept_of_tickets_is_the_same_too(tmp_path: Any, clock: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rewards without tickets, tickets whose time has passed, keys of asks, totals that are no whole numbers."""
    rng = random.Random(5)
    campaign = Campaign.create(
        "memory:", "c", [f"arm {i}" for i in range(5)], 0.5, after=100.0, unanswered="zero", delta=0.3, clock=clock
    )
    for turn in range(60):
        tickets = campaign.ask(4, key=f"turn {turn}")
        campaign.tell_arm(f"arm {turn % 5}", rng.random())
        campaign.tell_many([(ticket, rng.random() ** 3) for ticket in tickets[rng.randrange(4) :]])
        clock.now += 10.0
    campaign.export(tmp_path / "c.jsonl")
    one_by_one = Campaign.import_from("memory:", tmp_path / "c.jsonl", clock=clock)._session.fold
    monkeypatch.setattr(replay, "JOURNAL", Patience(1))
    monkeypatch.setattr(replay, "MOST", 40)
    monkeypatch.setattr(memory, "BLOCK_OF_ROWS", 7)
    at_once = Campaign.import_from("memory:", tmp_path / "c.jsonl", clock=clock)._session.fold
    assert any(book.missing for book in at_once.books)
    assert any(book.decision for book in at_once.books)
    for one, other in zip(one_by_one.books, at_once.books, strict=True):
        assert [getattr(one, name) for name in BOOK_FIELDS] == [getattr(other, name) for name in BOOK_FIELDS]
    assert (one_by_one.pending, one_by_one.tickets) == (at_once.pending, at_once.tickets)
    assert (one_by_one.number, one_by_one.chain, one_by_one.at) == (at_once.number, at_once.chain, at_once.at)
    assert {ticket for _, ticket in at_once.deadlines} >= set(at_once.pending)


@pytest.mark.parametrize("entry", [2, 40, 333])
def test_the_first_damaged_entry_is_named(entry: int, tmp_path: Any) -> None:
    """Whichever way it is read: all columns at once when a campaign is opened, or one by one by `check`."""
    store = busy(f"memory:{tmp_path}", "value+gap-mixture").store
    events = store._kept[0].events  # type: ignore[attr-defined]  # this is the damage
    events[entry - 1] = events[entry - 1]._replace(at=1.0)
    events[350] = events[350]._replace(at=1.0)
    store.keep(0, None)
    with pytest.raises(DamagedJournal, match=f"entry {entry} of the journal"):
        Campaign.open(store, "c")
    del events[entry - 1]
    with pytest.raises(DamagedJournal, match=f"entry {entry} of the journal is missing"):
        Campaign.open(store, "c")
