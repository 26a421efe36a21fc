"""What every store must do, whatever is in it: rows in, rows out, whole or not at all."""

from __future__ import annotations

import pytest

from goodarm.campaign.journal import NOTE, TOLD, Event, chained
from goodarm.campaign.stores import Snapshot, Store, open_store
from goodarm.errors import GoodarmError


@pytest.fixture
def store(address: str) -> object:
    with open_store(address) as opened:
        yield opened


def chain_of(many: int) -> list[Event]:
    events: list[Event] = []
    for number in range(1, many + 1):
        previous = events[-1].chain if events else b""
        events.append(chained(previous, number, NOTE, 0.1 * number, payload='{"a":1}'))
    return events


def filled(store: Store, events: list[Event], name: str = "c") -> int:
    with store.transaction(None):
        campaign = store.add(name)
        store.append(campaign, events)
    return campaign


def test_rows_come_back_as_they_went_in(store: Store) -> None:
    odd = chained(b"", 1, TOLD, 1e9 + 1 / 3, ticket=2**40, arm=3, reward=5e-324, payload='{"a":"\\u0000|\\n"}')
    campaign = filled(store, [odd])
    assert list(store.read(campaign)) == [odd]
    assert store.ending(campaign, 2**40, "") == odd
    assert store.ending(campaign, 7, "") is None


def test_ranges(store: Store) -> None:
    events = chain_of(45)
    campaign = filled(store, events)
    assert list(store.read(campaign)) == events
    assert list(store.read(campaign, 10, 12)) == events[10:12]
    assert list(store.newer(campaign, 40)) == events[40:]
    assert list(store.newer(campaign, 45)) == []


def test_what_fails_leaves_nothing(store: Store) -> None:
    campaign = filled(store, chain_of(3))
    with pytest.raises(ZeroDivisionError):
        fail(store, campaign)
    assert len(list(store.read(campaign))) == 3
    assert store.names() == ["c"]
    filled(store, chain_of(1), "d")
    assert store.names() == ["c", "d"]


def fail(store: Store, campaign: int) -> None:
    with store.transaction(campaign):
        store.append(campaign, chain_of(5)[3:])
        store.add("d")
        raise ZeroDivisionError


def test_a_ticket_ends_once_whatever_the_code_does(store: Store) -> None:
    first = chained(b"", 1, TOLD, 0.0, ticket=5, arm=0, reward=1.0)
    again = chained(first.chain, 2, TOLD, 0.0, ticket=5, arm=0, reward=1.0)
    campaign = filled(store, [first])
    with pytest.raises(GoodarmError, match=r"once|twice|duplicate"), store.transaction(campaign):
        store.append(campaign, [again])
    assert list(store.read(campaign)) == [first]


def test_a_number_is_written_once(store: Store) -> None:
    if store.address.startswith("memory"):
        pytest.skip("a list has no numbers that could be taken twice")
    campaign = filled(store, chain_of(2))
    with pytest.raises(GoodarmError), store.transaction(campaign):
        store.append(campaign, chain_of(2)[1:])
    assert len(list(store.read(campaign))) == 2


def test_snapshots_are_replaced_and_removed(store: Store) -> None:
    campaign = filled(store, chain_of(1))
    assert store.snapshot(campaign) is None
    for snapshot in (Snapshot(1, b"chain", b"body"), Snapshot(2, b"chain 2", b"\x00\xff"), None):
        with store.transaction(campaign):
            store.keep(campaign, snapshot)
        assert store.snapshot(campaign) == snapshot


def test_campaigns_of_one_store_do_not_mix(store: Store) -> None:
    one, other = filled(store, chain_of(3), "one"), filled(store, chain_of(2), "other")
    assert (store.find("one"), store.find("other"), store.find("none")) == (one, other, None)
    assert len(list(store.read(one))) == 3
