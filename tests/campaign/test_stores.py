"""Every store passes the checks that are shipped for other people's stores, and a broken one does not."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import pytest

from goodarm.campaign.journal import Event
from goodarm.campaign.stores import MemoryStore, Snapshot, Store, open_store
from goodarm.testing import StoreCheck, Violation, store_checks


@pytest.mark.parametrize("check", store_checks(), ids=str)
def test_our_stores_conform(check: StoreCheck, address: str) -> None:
    check(lambda: open_store(address))


class Forgetful(MemoryStore):
    """Keeps what a failed transaction has written."""

    @contextmanager
    def transaction(self, campaign: int | None) -> Iterator[None]:
        with self._lock:
            yield


class Careless(MemoryStore):
    """Writes whatever it is given."""

    def append(self, campaign: int, events: Sequence[Event]) -> None:
        self._kept[campaign].events += events


class Unlocked(MemoryStore):
    """Lets others write between two steps of a transaction."""

    @contextmanager
    def transaction(self, campaign: int | None) -> Iterator[None]:
        yield

    def newer(self, campaign: int, after: int) -> Iterable[Event]:
        found = list(super().newer(campaign, after))
        time.sleep(0.005)
        return found


class Inclusive(MemoryStore):
    """Begins a range with its start."""

    def newer(self, campaign: int, after: int) -> Iterable[Event]:
        return super().newer(campaign, max(after - 1, 0))


class Stale(MemoryStore):
    """Keeps the first snapshot."""

    def keep(self, campaign: int, snapshot: Snapshot | None) -> None:
        if self.snapshot(campaign) is None:
            super().keep(campaign, snapshot)


class Rounding(MemoryStore):
    """Keeps rewards in six digits."""

    def append(self, campaign: int, events: Sequence[Event]) -> None:
        rounded = [event._replace(reward=event.reward and round(event.reward, 6)) for event in events]
        super().append(campaign, rounded)


class Private(MemoryStore):
    """Its entries are not visible to others."""


BROKEN: list[tuple[type[Store], str]] = [
    (Forgetful, "a_transaction_that_fails_leaves_nothing"),
    (Careless, "a_ticket_ends_once"),
    (Careless, "a_number_is_written_once"),
    (Unlocked, "one_writes_at_a_time"),
    (Inclusive, "ranges_exclude_their_start_and_include_their_end"),
    (Stale, "snapshots_are_replaced_and_removed"),
    (Rounding, "rows_come_back_as_they_went_in"),
    (Private, "what_was_committed_is_seen_by_others_and_stays"),
]


@pytest.mark.parametrize(("kind", "name"), BROKEN, ids=[f"{kind.__name__} {name}" for kind, name in BROKEN])
def test_a_broken_store_is_caught(kind: type[Store], name: str) -> None:
    (check,) = (check for check in store_checks() if check.name == name)
    shared = kind()
    with pytest.raises(Violation):
        check(kind if kind is Private else lambda: shared)
