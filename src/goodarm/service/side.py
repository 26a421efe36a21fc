"""The service's own tables: tokens, sessions, webhooks, and the lease of the sender. Campaigns are not stored here.

Beside a store sqlite:///FILE they are in FILE.service, a separate SQLite file, so that they never wait for the
journal's writer; with a store postgresql://… they are tables of the same database.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from goodarm.campaign.stores.opened import Opened, create_private
from goodarm.campaign.stores.postgresql import Patience, without_password
from goodarm.campaign.stores.sqlite import SqliteStore
from goodarm.errors import GoodarmError, InvalidValue, MissingExtra, UnusableStore
from goodarm.service.settings import sqlite_path

T = TypeVar("T")

TABLES = (
    """create table if not exists goodarm_tokens (
        id text primary key, name text not null, role text not null, hash text not null,
        created_at double precision not null, used_at double precision, revoked_at double precision)""",
    """create table if not exists goodarm_sessions (
        hash text primary key, token text not null, expires_at double precision not null)""",
    """create table if not exists goodarm_failures (address text not null, at double precision not null)""",
    """create table if not exists goodarm_webhooks (
        id text primary key, campaign text not null, url text not null, secret text not null,
        after_number bigint not null, created_at double precision not null, ended_at double precision)""",
    """create table if not exists goodarm_leases (
        name text primary key, holder text not null, until double precision not null)""",
)


SILENT_SECONDS = 4.0
"""Maximum time without an answer from PostgreSQL. These tables are small, and every request waits for them."""


class UnusableSide(GoodarmError):
    """The service's own tables can't be opened."""


class Side(Protocol):
    """The tables. Queries use `?` as the placeholder for a value."""

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows that a select finds."""

    def change(self, query: str, values: Sequence[Any] = ()) -> int:
        """Run one statement in a separate transaction; returns the number of rows that it changed."""

    def load(self, batches: Sequence[tuple[str, Sequence[Sequence[Any]]]]) -> None:
        """Run statements, each with all of its rows of values, in one transaction."""

    def guard(self) -> None:
        """Record in the store itself that it has tokens, so that it is never served without one again."""

    def is_guarded(self) -> bool:
        """Whether the store has ever had tokens, although these tables may be lost."""

    def close(self) -> None:
        """Close the connection."""


def open_side(store: str) -> Side:
    """The tables that belong to a store; missing ones are created."""
    path = sqlite_path(store)
    if path is not None:
        return SqliteSide(path)
    if store.startswith(("postgresql://", "postgres://")):
        return PostgresqlSide(store)
    raise InvalidValue(f"the store must be sqlite:///FILE or postgresql://…; got {without_password(store)!r}.")


class SqliteSide:
    """One connection, shared by the threads of a worker under a lock.

    If the file is replaced, for example by an older copy, tokens are revoked in the new file. A server that continued
    with the old one would still accept them, so it accepts none.
    """

    def __init__(self, store: str) -> None:
        self._store, path = store, f"{store}.service"
        self._lock = threading.Lock()
        try:
            create_private(Path(path))
            self._connection = sqlite3.connect(path, timeout=10.0, check_same_thread=False, isolation_level=None)
            self._connection.execute("pragma journal_mode=wal")
            for table in TABLES:
                self._connection.execute(table)
            self._opened = Opened(Path(path), self._connection)
        except (sqlite3.Error, OSError) as error:
            raise UnusableSide(
                f"the service's tables in {path} can't be opened: {error}. Does the folder exist, and is it writable?"
            ) from None

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._used() as connection:
            return connection.execute(query, values).fetchall()

    def change(self, query: str, values: Sequence[Any] = ()) -> int:
        with self._used() as connection:
            return connection.execute(query, values).rowcount

    def load(self, batches: Sequence[tuple[str, Sequence[Sequence[Any]]]]) -> None:
        with self._used() as connection:
            try:
                connection.execute("begin immediate")
                for query, rows in batches:
                    connection.executemany(query, rows)
                connection.execute("commit")
            finally:
                if connection.in_transaction:
                    connection.execute("rollback")

    def guard(self) -> None:
        with SqliteStore(self._store) as store:
            if not store.is_guarded:
                store.guard()

    def is_guarded(self) -> bool:
        if not os.path.exists(self._store):
            return False
        with SqliteStore(self._store, create=False) as store:
            return store.is_guarded

    @contextmanager
    def _used(self) -> Iterator[sqlite3.Connection]:
        """The connection. Raises an error if it can't be used, or if its file has been replaced."""
        try:
            with self._lock:
                yield self._connection
                self._opened.refuse_others()
        except sqlite3.Error as error:  # the disk is full, or another program holds the file
            raise UnusableSide(f"the service's tables can't be used: {error}.") from None
        except UnusableStore as error:
            raise UnusableSide(f"the service's tables can't be used: {error}") from None

    def close(self) -> None:
        with self._lock:
            self._opened.close()


class PostgresqlSide:
    """One connection, reopened when the server has ended it."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._connection: Any = None
        self._patience = Patience(SILENT_SECONDS)
        for table in TABLES:
            self.change(table)

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._run(query, values, lambda cursor: list(cursor.fetchall()))

    def change(self, query: str, values: Sequence[Any] = ()) -> int:
        return self._run(query, values, lambda cursor: int(cursor.rowcount))

    def load(self, batches: Sequence[tuple[str, Sequence[Sequence[Any]]]]) -> None:
        self.rows("select 1")  # connects
        try:
            with self._lock, self._connection.transaction(), self._connection.cursor() as cursor:
                for query, rows in batches:
                    cursor.executemany(query.replace("?", "%s"), rows)
        except Exception as error:
            raise UnusableSide(f"the service's tables can't be written: {error}".rstrip() + ".") from None

    def guard(self) -> None:
        """Nothing to do: tokens are in the same database as the journals, and are lost only with them."""

    def is_guarded(self) -> bool:
        return False

    def close(self) -> None:
        self._patience.give_up(self._connection)  # a thread may wait for a server that does not answer
        with self._lock:
            self._patience.end()
            if self._connection is not None:
                self._connection.close()

    def _run(self, query: str, values: Sequence[Any], answer: Callable[[Any], T]) -> T:
        try:
            import psycopg
        except ImportError:
            raise MissingExtra("a PostgreSQL store", "postgresql") from None
        with self._lock:
            for last in (False, True):
                try:
                    if self._connection is None or self._connection.closed:
                        self._connection = self._patience.connected(self._address)
                    with self._patience.awaiting(self._connection):
                        return answer(self._connection.execute(query.replace("?", "%s"), values))
                except (psycopg.OperationalError, psycopg.errors.UniqueViolation) as error:
                    # Two workers that create a table at the same time collide in PostgreSQL's catalogue.
                    if last or self._patience.gave_up:
                        raise UnusableSide(f"the service's tables can't be reached: {error}".rstrip() + ".") from None
        raise AssertionError("unreachable")


LEASE_SECONDS = 5.0
"""Seconds for which a lease lasts if it is not renewed."""


class Lease:
    """The right to do a job for a short time.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     side = open_side(f"sqlite:///{folder}/a.db")
    ...     first, second = Lease(side, "sender"), Lease(side, "sender")
    ...     held = first.take(), second.take(), first.take()
    ...     first.release()
    ...     print(held, second.take())
    (True, False, True) True
    """

    def __init__(self, side: Side, job: str, clock: Callable[[], float] = time.time) -> None:
        self._side, self._job, self._clock = side, job, clock
        self._me = secrets.token_hex(8)

    def take(self) -> bool:
        """Take or renew the lease; False while another holds it."""
        now = self._clock()
        self._side.change(
            "insert into goodarm_leases (name, holder, until) values (?, ?, ?) on conflict (name) do nothing",
            (self._job, self._me, now + LEASE_SECONDS),
        )
        return bool(
            self._side.change(
                "update goodarm_leases set holder = ?, until = ? where name = ? and (holder = ? or until < ?)",
                (self._me, now + LEASE_SECONDS, self._job, self._me, now),
            )
        )

    def release(self) -> None:
        """Release the lease, so that another holder can take it at once."""
        self._side.change("delete from goodarm_leases where name = ? and holder = ?", (self._job, self._me))
