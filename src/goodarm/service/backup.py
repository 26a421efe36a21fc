"""Back up a store to one file, and restore it: journals, snapshots, tokens and webhooks, while servers write.

A journal only grows, and each entry is chained to the one before. Any prefix of it is therefore a consistent state, and
a copy needs no lock. Tokens and webhooks are read first: a webhook names the entry after which it gets verdicts, so
that entry is always in the copy.

The file is an SQLite database with the tables of a store and of the service. It has the same form for every kind of
store, so a backup of one kind can be restored to another.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from goodarm.campaign.journal import Event
from goodarm.campaign.replay import verified_columns
from goodarm.campaign.stores import Store, open_store
from goodarm.campaign.stores.postgresql import without_password
from goodarm.campaign.stores.sqlite import SqliteStore
from goodarm.errors import DamagedJournal, InvalidValue, Refused, UnusableStore
from goodarm.service.side import TABLES, Side, open_side
from goodarm.whole_files import is_database, refuse_replacing

KEPT = {
    "goodarm_tokens": ("id", "name", "role", "hash", "created_at", "used_at", "revoked_at"),
    "goodarm_webhooks": ("id", "campaign", "url", "secret", "after_number", "created_at", "ended_at"),
}
"""The service's tables in a backup, with their columns. Sessions are left out: browsers log in again."""


ROLLBACK = b"\x01\x01"
"""Bytes 18 and 19 of an SQLite database without a write-ahead log."""


class Copied(NamedTuple):
    """Numbers of copied rows."""

    campaigns: int
    entries: int
    tokens: int
    webhooks: int


def backup(store: str, file: str | Path) -> Copied:
    """Copy a store to a file, completely or not at all. The copy verifies every chain."""
    target = Path(file)
    _refuse_store(target)
    with _opened(store, create=False) as (source, side), _whole(target) as part:
        rows = {table: _read(side, table) for table in KEPT}
        with SqliteStore(part) as kept, kept.transaction(None):
            campaigns, entries = _copy(source, kept)
        with closing(sqlite3.connect(part, isolation_level=None)) as connection:
            connection.execute("pragma journal_mode = delete")  # a single file, without a separate log
            for statement in TABLES:
                connection.execute(statement)
            for table, found in rows.items():
                connection.executemany(_insert(table), found)
    return Copied(campaigns, entries, *map(len, rows.values()))


def _refuse_store(target: Path) -> None:
    """Refuse to replace a store, which is a database with a write-ahead log. An earlier backup has none."""
    refused = f"{target} is a store, and a backup would replace it. Give the backup another file."
    if is_database(target):
        with target.open("rb") as file:
            if file.read(20)[18:] != ROLLBACK:
                raise InvalidValue(refused)
    else:
        refuse_replacing(target)  # the files of a store


def restore(file: str | Path, store: str) -> Copied:
    """Copy a backup into an empty store, in one transaction."""
    source = Path(file)
    if not source.is_file():
        raise InvalidValue(f"there is no backup {str(file)!r}. Name a file that `goodarm backup` has written.")
    with SqliteStore(source, read_only=True) as kept:
        rows = {table: _rows(source, table) for table in KEPT}
        with _opened(store, create=True) as (target, side):
            if target.names() or any(_read(side, table) for table in KEPT):
                shown = without_password(store)
                raise Refused(f"{shown} has campaigns, tokens or webhooks already. Restore to an empty store.")
            if rows["goodarm_tokens"]:
                side.guard()  # before any server can use the store
            with target.transaction(None):
                campaigns, entries = _copy(kept, target)
                side.load([(_insert(table), found) for table, found in rows.items()])
    return Copied(campaigns, entries, *map(len, rows.values()))


@contextmanager
def _opened(store: str, *, create: bool) -> Iterator[tuple[Store, Side]]:
    """A store and the service's tables."""
    with open_store(store, create=create) as opened:
        side = open_side(store)
        try:
            yield opened, side
        finally:
            side.close()


def _copy(source: Store, target: Store) -> tuple[int, int]:
    """Copy all campaigns in one transaction of the target; returns the numbers of campaigns and entries."""
    names, entries = source.names(), 0
    for name in names:
        found, made = source.find(name), target.add(name)
        if found is None:
            raise UnusableStore(
                f"the campaign {name!r} was removed from {source.address} during the backup. Try again."
            )
        snapshot, last = source.snapshot(found), 0
        try:
            for columns in verified_columns(source.chunks(found), 0, b""):
                target.append(made, [Event._make(row) for row in columns.rows])
                last = columns.rows[-1][0]
        except DamagedJournal as error:
            raise DamagedJournal(f"the campaign {name!r} can't be copied: {error}") from None
        if snapshot is not None and snapshot.number <= last:
            target.keep(made, snapshot)
        entries += last
    return len(names), entries


def _read(side: Side, table: str) -> list[tuple[Any, ...]]:
    return side.rows(f"select {', '.join(KEPT[table])} from {table}")


def _rows(file: Path, table: str) -> list[tuple[Any, ...]]:
    """Rows of one of the service's tables in a backup."""
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        try:
            return connection.execute(f"select {', '.join(KEPT[table])} from {table}").fetchall()
        except sqlite3.Error as error:
            raise InvalidValue(
                f"{file} is a store, not a backup ({error}). Name a file that `goodarm backup` has written."
            ) from None


def _insert(table: str) -> str:
    columns = KEPT[table]
    return f"insert into {table} ({', '.join(columns)}) values ({', '.join('?' for _ in columns)})"


@contextmanager
def _whole(target: Path) -> Iterator[Path]:
    """A temporary file that replaces the target on success. It contains secrets, so its mode is 0600."""
    if not target.absolute().parent.is_dir():
        raise InvalidValue(f"there is no folder {str(target.absolute().parent)!r} for the backup. Create it first.")
    try:
        with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.absolute().parent) as folder:
            part = Path(folder) / "part.db"
            yield part
            with part.open("rb") as file:
                os.fsync(file.fileno())
            os.replace(part, target)
    except OSError as error:
        raise UnusableStore(f"{target} can't be written: {error}. No partial file was left.") from None
