"""PostgreSQL: campaigns of several machines. psycopg 3, no ORM.

A writer first acquires an advisory lock of its campaign for the transaction. A second statement then reads new entries:
under READ COMMITTED it sees everything that was committed before the lock was granted.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from goodarm.campaign.journal import Event, Row
from goodarm.campaign.stores._base import BLOCK_OF_ROWS, FORMAT, Snapshot, Store
from goodarm.errors import InvalidValue, MissingExtra, UnusableStore

if TYPE_CHECKING:
    import psycopg

LOCKS = 0x600DA531 - 2**31
"""Our numbers among the server's advisory locks; the second key is the campaign."""
SCHEMA = """
CREATE TABLE goodarm_format (version INTEGER NOT NULL);
CREATE TABLE goodarm_campaigns (id SERIAL PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE goodarm_events (
    campaign INTEGER NOT NULL, number BIGINT NOT NULL, kind TEXT NOT NULL, ticket BIGINT, arm INTEGER,
    reward DOUBLE PRECISION, payload TEXT, at DOUBLE PRECISION NOT NULL, chain BYTEA NOT NULL, ending TEXT,
    PRIMARY KEY (campaign, number));
CREATE UNIQUE INDEX goodarm_endings ON goodarm_events (campaign, ticket, ending) WHERE ending IS NOT NULL;
CREATE TABLE goodarm_snapshots (
    campaign INTEGER PRIMARY KEY, number BIGINT NOT NULL, chain BYTEA NOT NULL, body BYTEA NOT NULL);
"""
COLUMNS = "number, kind, ticket, arm, reward, payload, at, chain"
INSERT = f"INSERT INTO goodarm_events (campaign, {COLUMNS}, ending) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
COPY = f"COPY goodarm_events (campaign, {COLUMNS}, ending) FROM STDIN"
NEWER = f"SELECT {COLUMNS} FROM goodarm_events WHERE campaign = %s AND number > %s ORDER BY number"
ENDING = f"SELECT {COLUMNS} FROM goodarm_events WHERE campaign = %s AND ticket = %s AND ending = %s"
KEEP = """
INSERT INTO goodarm_snapshots VALUES (%s, %s, %s, %s)
ON CONFLICT (campaign) DO UPDATE SET number = EXCLUDED.number, chain = EXCLUDED.chain, body = EXCLUDED.body
"""
MANY = 20
"""From this many rows on, COPY is quicker than INSERT."""


class PostgresqlStore(Store):
    """One connection; threads of one process take turns. It reconnects after the server was gone."""

    def __init__(self, address: str) -> None:
        try:
            import psycopg
        except ImportError:
            raise MissingExtra("a store on a PostgreSQL server", "postgresql") from None
        self._error: type[Exception] = psycopg.Error
        self._url = address
        self.address = without_password(address)
        self._thread = threading.RLock()
        self._process = -1
        self._connection: psycopg.Connection[Any] | None = None
        self._inside = False
        self._last_rows: list[Event] = []
        try:
            with self._explained():
                self._create(self._here())
        except BaseException:
            self.close()
            raise

    def _here(self) -> psycopg.Connection[Any]:
        """A working connection of this process; within a transaction it must be the one that began it."""

        if self._inside and self._connection is not None:
            return self._connection
        gone = self._connection is None or self._connection.closed or self._connection.broken
        if gone or self._process != os.getpid():
            if self._process != os.getpid():
                self._thread = threading.RLock()
            self._connection = connected(self._url, prepare_threshold=2)
            self._process = os.getpid()
        assert self._connection is not None
        return self._connection

    def _create(self, connection: psycopg.Connection[Any]) -> None:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s, 0)", (LOCKS,))
            row = connection.execute("SELECT to_regclass('goodarm_format')").fetchone()
            if row is None or row[0] is None:
                connection.execute(SCHEMA)
                connection.execute("INSERT INTO goodarm_format VALUES (%s)", (FORMAT,))
                return
            found = connection.execute("SELECT version FROM goodarm_format").fetchone()
        if found is None or found[0] > FORMAT:
            version = None if found is None else found[0]
            raise UnusableStore(
                f"{self.address} was written by a newer goodarm (format {version}, this one reads up to {FORMAT}). "
                "Upgrade goodarm: pip install --upgrade goodarm."
            )

    def names(self) -> list[str]:
        with self._thread, self._explained():
            return sorted(name for (name,) in self._here().execute("SELECT name FROM goodarm_campaigns"))

    def find(self, name: str) -> int | None:
        with self._thread, self._explained():
            row = self._here().execute("SELECT id FROM goodarm_campaigns WHERE name = %s", (name,)).fetchone()
        return None if row is None else int(row[0])

    @contextmanager
    def transaction(self, campaign: int | None) -> Iterator[None]:
        with self._thread, self._explained():
            connection = self._here()
            with connection.pipeline():
                connection.execute("BEGIN")
                connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (LOCKS, campaign or 0))
            self._inside = True
            try:
                yield
                # where a statement has failed, the server answers COMMIT with a plain ROLLBACK
                if connection.execute("COMMIT").statusmessage != "COMMIT":
                    raise self._error("a statement of the transaction failed")
            except BaseException:
                with suppress(self._error):
                    connection.execute("ROLLBACK")
                raise
            finally:
                self._inside = False

    def add(self, name: str) -> int:
        row = self._here().execute("INSERT INTO goodarm_campaigns (name) VALUES (%s) RETURNING id", (name,)).fetchone()
        if row is None:
            raise UnusableStore(f"{self.address} did not number the new campaign.")
        return int(row[0])

    def append(self, campaign: int, events: Sequence[Event]) -> None:
        with self._here().cursor() as cursor:
            if len(events) < MANY:
                cursor.executemany(INSERT, [(campaign, *event, event.ending) for event in events])
                return
            with cursor.copy(COPY) as copy:
                for event in events:
                    copy.write_row((campaign, *event, event.ending))

    def chunks(self, campaign: int, after: int = 0, until: int | None = None) -> Iterator[list[Row]]:
        while until is None or after < until:
            many = BLOCK_OF_ROWS if until is None else min(BLOCK_OF_ROWS, until - after)
            with self._thread, self._explained():
                rows = self._here().execute(f"{NEWER} LIMIT {many}", (campaign, after), binary=True).fetchall()
            if not rows:
                return
            yield rows
            after = rows[-1][0]

    def newer(self, campaign: int, after: int) -> Iterable[Event]:
        with self._thread, self._explained():
            rows = self._here().execute(NEWER, (campaign, after), binary=True).fetchall()
        return map(Event._make, rows)

    def ending(self, campaign: int, ticket: int, ending: str) -> Event | None:
        with self._thread, self._explained():
            row = self._here().execute(ENDING, (campaign, ticket, ending), binary=True).fetchone()
        return None if row is None else Event(*row)

    def snapshot(self, campaign: int) -> Snapshot | None:
        with self._thread, self._explained():
            row = (
                self._here()
                .execute(
                    "SELECT number, chain, body FROM goodarm_snapshots WHERE campaign = %s", (campaign,), binary=True
                )
                .fetchone()
            )
        return None if row is None else Snapshot(*row)

    def keep(self, campaign: int, snapshot: Snapshot | None) -> None:
        if snapshot is None:
            self._here().execute("DELETE FROM goodarm_snapshots WHERE campaign = %s", (campaign,))
        else:
            self._here().execute(KEEP, (campaign, *snapshot))

    def close(self) -> None:
        if self._connection is not None and self._process == os.getpid():
            self._connection.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """psycopg's errors, with what can be done about them."""
        try:
            yield
        except self._error as error:
            first = str(error).strip().partition("\n")[0]
            raise UnusableStore(
                f"{self.address}: the server can't be used ({first or type(error).__name__}). What was acknowledged is "
                "safe; try again: telling the same reward again is fine."
            ) from error


PASSWORD = re.compile(r"(?<=://)([^:/?#@]*):.*@", re.DOTALL)
"""From the user's name to the last @: a password that is not percent-encoded may contain any character."""
IN_QUERY = re.compile(r"(?<=password=)[^&\s]*", re.IGNORECASE)


def without_password(address: str) -> str:
    """An address that may be shown.

    >>> without_password("postgresql://ann:secret@db.example.org/campaigns")
    'postgresql://ann@db.example.org/campaigns'
    >>> without_password("postgresql://ann:p/#@x@db/c?sslpassword=secret&password=secret")
    'postgresql://ann@db/c?sslpassword=***&password=***'
    """
    return IN_QUERY.sub("***", PASSWORD.sub(r"\1@", address))


def connected(address: str, **options: Any) -> psycopg.Connection[Any]:
    """A connection. If the address can't be read, the error quotes none of it: any part may belong to the password."""
    import psycopg

    try:
        return psycopg.connect(address, autocommit=True, **options)
    except psycopg.ProgrammingError:
        raise InvalidValue(
            "the PostgreSQL server's address can't be read. Write it like postgresql://user:password@host/database, "
            "with %XX for special characters in the password, such as %2F for a slash."
        ) from None
