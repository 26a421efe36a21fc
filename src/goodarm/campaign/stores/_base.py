"""A store keeps journals, and snapshots as a cache. It only writes and reads rows, and knows nothing about rules, arms
or time.

Writes happen within `transaction(campaign)`. It excludes all other writers to that campaign, and keeps either all or
none of the entries appended in it. They are on disk when the `with` block ends without an error.
`goodarm.testing.store_checks` tests your own store.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Self

from goodarm.campaign.journal import Event, Row

FORMAT = 1
"""Version of the tables; raised when an older goodarm would misread them."""
BLOCK_OF_ROWS = 10_000
"""Rows fetched at a time."""


class Snapshot(NamedTuple):
    """The state after entry `number`, whose chain is `chain`; a cache that may be thrown away."""

    number: int
    chain: bytes
    body: bytes


class Store(ABC):
    """Campaigns by number, journals by campaign."""

    address: str

    @abstractmethod
    def names(self) -> list[str]:
        """The names of all campaigns, sorted."""

    @abstractmethod
    def find(self, name: str) -> int | None:
        """The number of the campaign of that name."""

    @abstractmethod
    def transaction(self, campaign: int | None) -> AbstractContextManager[None]:
        """The right to write to a campaign; `None` for adding one."""

    @abstractmethod
    def add(self, name: str) -> int:
        """Add a campaign, within a transaction; returns its number."""

    @abstractmethod
    def append(self, campaign: int, events: Sequence[Event]) -> None:
        """Write entries, within a transaction."""

    @abstractmethod
    def chunks(self, campaign: int, after: int = 0, until: int | None = None) -> Iterator[list[Row]]:
        """The entries after one number, up to and including another, in order, many at a time."""

    def read(self, campaign: int, after: int = 0, until: int | None = None) -> Iterator[Event]:
        """The same entries, one by one."""
        for rows in self.chunks(campaign, after, until):
            yield from map(Event._make, rows)

    @abstractmethod
    def newer(self, campaign: int, after: int) -> Iterable[Event]:
        """All entries after a number, at once: the quick check at the start of each operation."""

    @abstractmethod
    def ending(self, campaign: int, ticket: int, ending: str) -> Event | None:
        """The entry that ended a ticket, or a part of a block."""

    def endings(self, campaign: int, ticket: int, endings: Sequence[str]) -> dict[str, Event]:
        """The entries of one ticket with these marks, by mark. Stores with a query language need one query."""
        found = ((mark, self.ending(campaign, ticket, mark)) for mark in endings)
        return {mark: event for mark, event in found if event is not None}

    @abstractmethod
    def snapshot(self, campaign: int) -> Snapshot | None:
        """The newest snapshot, if there is one."""

    @abstractmethod
    def keep(self, campaign: int, snapshot: Snapshot | None) -> None:
        """Replace the snapshot, within a transaction; None removes it."""

    def probe(self) -> None:
        """Raise `UnusableStore` if nothing can be written now. Stores on a disk write and flush something here."""
        with self.transaction(None):
            self.names()

    def flush(self) -> None:  # noqa: B027  most stores have nothing to do
        """Return when everything that was read from the store is on disk.

        Other processes may see a commit before it is on disk only if they run on the same machine: the failure that
            loses the commit then ends them, too. PostgreSQL's clients outlive its server, so its commits are on disk
            before others see them.
        """

    def give_up(self) -> None:  # noqa: B027  most stores have nothing to do
        """Abort, with an error, the operations of other threads that wait for a server."""

    @abstractmethod
    def close(self) -> None:
        """Close files and connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ignored: object) -> None:
        self.close()
