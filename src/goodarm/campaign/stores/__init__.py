"""Stores of journals: memory, SQLite, PostgreSQL, behind one small protocol."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from goodarm.campaign.stores._base import Snapshot, Store
from goodarm.campaign.stores.memory import MemoryStore
from goodarm.errors import InvalidValue, UnknownName

__all__ = ["MemoryStore", "Snapshot", "Store", "found_in", "held", "is_server", "open_store"]

_shared: dict[str, MemoryStore] = {}


def is_server(store: object) -> bool:
    """Whether this is the address of a goodarm server rather than of a store."""
    return isinstance(store, str) and store.startswith(("http://", "https://"))


def open_store(address: str | Path | Store, *, create: bool = True) -> Store:
    """The store at an address. With `create=False` a missing file is refused instead of created.

    memory:            a new store for one caller; memory:NAME is shared within the process
    sqlite:///FILE     a file on this machine's disk; a path that ends in .db means the same
    postgresql://...   a PostgreSQL server, for several machines

    >>> open_store("memory:").names()
    []
    """
    if isinstance(address, Store):
        return address
    if isinstance(address, Path):
        address = str(address)
    if isinstance(address, str):
        found = _named(address, create)
        if found is not None:
            return found
    from goodarm.campaign.stores.postgresql import without_password

    shown = without_password(address) if isinstance(address, str) else address
    slashes = "A file has three slashes. " if str(shown).startswith("sqlite:") else ""
    raise InvalidValue(
        f"can't tell what kind of store {shown!r} is. {slashes}Write sqlite:///banners.db for a file, "
        "postgresql://user@host/database for a server, http://host:port for a `goodarm serve`, or memory: for one that "
        "is lost when the process exits."
    )


@contextmanager
def held(store: str | Path | Store, *, create: bool = True) -> Iterator[Store]:
    """The store at an address. It is closed if the block raises."""
    opened = open_store(store, create=create)
    try:
        yield opened
    except BaseException:
        if opened is not store:
            opened.close()
        raise


def found_in(store: Store, name: str) -> int:
    """The number of an existing campaign; refuses an unknown name."""
    found = store.find(name)
    if found is None:
        raise UnknownName("campaign", name, store.names(), none="The store has no campaigns yet.")
    return found


def _named(address: str, create: bool) -> Store | None:
    if address in ("memory", "memory:", "memory://"):
        return MemoryStore()
    if address.startswith("memory:"):
        return _shared.setdefault(address, MemoryStore(address))
    if address.startswith("sqlite:///") or (address.endswith((".db", ".sqlite")) and "://" not in address):
        from goodarm.campaign.stores.sqlite import SqliteStore

        path = address.removeprefix("sqlite:///")
        return SqliteStore(path, create=create) if Path(path).name else None
    if address.startswith(("postgresql://", "postgres://")):
        from goodarm.campaign.stores.postgresql import PostgresqlStore

        return PostgresqlStore(address)
    return None
