"""A store in memory, lost when the process ends: for tests, experiments, and campaigns of one script."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from goodarm.campaign.journal import Event, Row
from goodarm.campaign.stores._base import BLOCK_OF_ROWS, Snapshot, Store
from goodarm.errors import DamagedJournal


@dataclass
class _Kept:
    """One campaign."""

    name: str
    events: list[Event] = field(default_factory=list)
    endings: dict[tuple[int | None, str], int] = field(default_factory=dict)
    snapshot: Snapshot | None = None

    def cut(self, length: int) -> None:
        """Forget the entries after the first `length`."""
        for event in self.events[length:]:
            if event.ending is not None:
                del self.endings[event.ticket, event.ending]
        del self.events[length:]


class MemoryStore(Store):
    """Lists of entries; threads of one process may share it."""

    def __init__(self, address: str = "memory:") -> None:
        self.address = address
        self._kept: list[_Kept] = []
        self._lock = threading.RLock()

    def names(self) -> list[str]:
        with self._lock:
            return sorted(kept.name for kept in self._kept)

    def find(self, name: str) -> int | None:
        with self._lock:
            return next((number for number, kept in enumerate(self._kept) if kept.name == name), None)

    @contextmanager
    def transaction(self, campaign: int | None) -> Iterator[None]:
        with self._lock:
            lengths = [len(kept.events) for kept in self._kept]
            try:
                yield
            except BaseException:
                del self._kept[len(lengths) :]
                for kept, length in zip(self._kept, lengths, strict=True):
                    kept.cut(length)
                raise

    def add(self, name: str) -> int:
        self._kept.append(_Kept(name))
        return len(self._kept) - 1

    def append(self, campaign: int, events: Sequence[Event]) -> None:
        kept = self._kept[campaign]
        for event in events:
            if event.number != len(kept.events) + 1:
                raise DamagedJournal(f"entry {event.number} does not follow entry {len(kept.events)}.")
            ending = event.ending
            if ending is not None and kept.endings.setdefault((event.ticket, ending), event.number) != event.number:
                raise DamagedJournal(f"ticket {event.ticket} has ended before; it can't end twice.")
            kept.events.append(event)

    def chunks(self, campaign: int, after: int = 0, until: int | None = None) -> Iterator[list[Row]]:
        with self._lock:
            found = self._kept[campaign].events[after:until]
        for start in range(0, len(found), BLOCK_OF_ROWS):
            yield list(found[start : start + BLOCK_OF_ROWS])

    def newer(self, campaign: int, after: int) -> Iterable[Event]:
        with self._lock:
            return self._kept[campaign].events[after:]

    def ending(self, campaign: int, ticket: int, ending: str) -> Event | None:
        with self._lock:
            number = self._kept[campaign].endings.get((ticket, ending))
            return None if number is None else self._kept[campaign].events[number - 1]

    def snapshot(self, campaign: int) -> Snapshot | None:
        return self._kept[campaign].snapshot

    def keep(self, campaign: int, snapshot: Snapshot | None) -> None:
        self._kept[campaign].snapshot = snapshot

    def close(self) -> None:
        """Nothing to close: the campaigns exist as long as the object."""
