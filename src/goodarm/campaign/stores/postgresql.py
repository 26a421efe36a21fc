"""PostgreSQL, for campaigns of several machines. Uses psycopg 3, no ORM.

A writer first acquires an advisory lock of its campaign for the transaction. A second statement then reads new entries:
under READ COMMITTED it sees everything that was committed before the lock was granted.

No call waits for a server longer than a few seconds. The server ends long statements itself, TCP probes detect machines
that are gone, and `Patience` closes the connection to a server that accepts data and never replies.
"""

from __future__ import annotations

import math
import os
import re
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from goodarm.campaign.journal import Event, Row
from goodarm.campaign.stores._base import BLOCK_OF_ROWS, FORMAT, Snapshot, Store
from goodarm.errors import UPGRADE, InvalidValue, MissingExtra, UnusableStore

if TYPE_CHECKING:
    import psycopg

LOCKS = 0x600DA531 - 2**31
"""First keys of goodarm's advisory locks; the second key is the campaign."""
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
ENDINGS = f"""
SELECT mark, found.* FROM unnest(%s::text[]) AS mark
CROSS JOIN LATERAL ({ENDING.replace("ending = %s", "ending = mark")} LIMIT 1) AS found
"""
"""One index lookup per mark. For `ending = ANY(...)`, PostgreSQL may read all entries of the ticket."""
KEEP = """
INSERT INTO goodarm_snapshots VALUES (%s, %s, %s, %s)
ON CONFLICT (campaign) DO UPDATE SET number = EXCLUDED.number, chain = EXCLUDED.chain, body = EXCLUDED.body
"""
MANY = 20
"""Number of rows from which COPY is quicker than INSERT."""
PROBE = 0
"""A number that no campaign has, for the write of `probe`."""
CONNECT_SECONDS = 5
STATEMENT_SECONDS = 8
"""Maximum time of a statement at the server, including waits for locks."""
SILENT_SECONDS = STATEMENT_SECONDS + 2.0
"""Maximum time without an answer. It is longer than the server's own limit for statements."""
AWAY_SECONDS = 1.0
"""Seconds after a failed connection during which no new attempt is made, so that waiting requests fail at once."""
CONNECTION = {
    "connect_timeout": str(CONNECT_SECONDS),
    "keepalives_idle": "10",
    "keepalives_interval": "3",
    "keepalives_count": "3",
    "tcp_user_timeout": str(1000 * STATEMENT_SECONDS),
}
"""Settings of a connection, unless the address overrides them."""


class PostgresqlStore(Store):
    """One connection; threads of one process take turns. It reconnects after a lost connection."""

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
        self._patience = Patience()
        try:
            with self._explained():
                self._create(self._here())
        except BaseException:
            self.close()
            raise

    def _here(self) -> psycopg.Connection[Any]:
        """A working connection of this process; within a transaction, the connection that began it."""

        if self._inside and self._connection is not None:
            return self._connection
        gone = self._connection is None or self._connection.closed or self._connection.broken
        if gone or self._process != os.getpid():
            if self._process != os.getpid():
                self._thread = threading.RLock()
            self._connection = self._patience.connected(self._url, prepare_threshold=2)
            self._process = os.getpid()
        assert self._connection is not None
        return self._connection

    def _run(self, query: str, values: Sequence[Any] = (), *, binary: bool = False) -> psycopg.Cursor[Any]:
        """Run one statement and return its result."""
        connection = self._here()
        with self._patience.awaiting(connection):
            return connection.execute(query, values, binary=binary)

    def _create(self, connection: psycopg.Connection[Any]) -> None:
        with self._patience.awaiting(connection), connection.transaction():
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
                + UPGRADE
            )

    def names(self) -> list[str]:
        with self._thread, self._explained():
            return sorted(name for (name,) in self._run("SELECT name FROM goodarm_campaigns"))

    def find(self, name: str) -> int | None:
        with self._thread, self._explained():
            row = self._run("SELECT id FROM goodarm_campaigns WHERE name = %s", (name,)).fetchone()
        return None if row is None else int(row[0])

    @contextmanager
    def transaction(self, campaign: int | None) -> Iterator[None]:
        with self._thread, self._explained():
            connection = self._here()
            try:
                with self._patience.awaiting(connection), connection.pipeline():
                    connection.execute("BEGIN")
                    connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (LOCKS, campaign or 0))
                self._inside = True
                yield
                # where a statement has failed, the server answers COMMIT with a plain ROLLBACK
                with self._patience.awaiting(connection):
                    if connection.execute("COMMIT").statusmessage != "COMMIT":
                        raise self._error("a statement of the transaction failed")
            except BaseException:
                with suppress(self._error), self._patience.awaiting(connection):
                    connection.execute("ROLLBACK")
                raise
            finally:
                self._inside = False

    def add(self, name: str) -> int:
        row = self._run("INSERT INTO goodarm_campaigns (name) VALUES (%s) RETURNING id", (name,)).fetchone()
        if row is None:
            raise UnusableStore(f"{self.address} did not number the new campaign.")
        return int(row[0])

    def append(self, campaign: int, events: Sequence[Event]) -> None:
        connection = self._here()
        with self._patience.awaiting(connection), connection.cursor() as cursor:
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
                rows = self._run(f"{NEWER} LIMIT {many}", (campaign, after), binary=True).fetchall()
            if not rows:
                return
            yield rows
            after = rows[-1][0]

    def newer(self, campaign: int, after: int) -> Iterable[Event]:
        with self._thread, self._explained():
            rows = self._run(NEWER, (campaign, after), binary=True).fetchall()
        return map(Event._make, rows)

    def ending(self, campaign: int, ticket: int, ending: str) -> Event | None:
        with self._thread, self._explained():
            row = self._run(ENDING, (campaign, ticket, ending), binary=True).fetchone()
        return None if row is None else Event(*row)

    def endings(self, campaign: int, ticket: int, endings: Sequence[str]) -> dict[str, Event]:
        with self._thread, self._explained():
            rows = self._run(ENDINGS, (list(endings), campaign, ticket), binary=True).fetchall()
        return {mark: Event(*row) for mark, *row in rows}

    def snapshot(self, campaign: int) -> Snapshot | None:
        with self._thread, self._explained():
            query = "SELECT number, chain, body FROM goodarm_snapshots WHERE campaign = %s"
            row = self._run(query, (campaign,), binary=True).fetchone()
        return None if row is None else Snapshot(*row)

    def keep(self, campaign: int, snapshot: Snapshot | None) -> None:
        if snapshot is None:
            self._run("DELETE FROM goodarm_snapshots WHERE campaign = %s", (campaign,))
        else:
            self._run(KEEP, (campaign, *snapshot))

    def probe(self) -> None:
        with self.transaction(None):
            self._run("SELECT 1 FROM goodarm_events LIMIT 1")
            self.keep(PROBE, Snapshot(0, b"", b""))

    def give_up(self) -> None:
        self._patience.give_up(self._connection)

    def close(self) -> None:
        self._patience.end()
        if self._connection is not None and self._process == os.getpid():
            self._connection.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Convert psycopg's errors into `UnusableStore` with advice."""
        try:
            yield
        except self._error as error:
            first = str(error).strip().partition("\n")[0]
            raise UnusableStore(
                f"{self.address}: the server can't be used ({first or type(error).__name__}). Acknowledged rewards are "
                "safe. Try again: repeating a reward has no effect."
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
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    try:
        missing = CONNECTION.keys() - conninfo_to_dict(address).keys()
        made = make_conninfo(address, **{name: CONNECTION[name] for name in missing})
        connection = psycopg.connect(made, autocommit=True, **options)
    except psycopg.ProgrammingError:
        raise InvalidValue(
            "the PostgreSQL server's address can't be read. Write it like postgresql://user:password@host/database, "
            "with %XX for special characters in the password, such as %2F for a slash."
        ) from None
    try:
        connection.execute(TIMEOUT, (f"{STATEMENT_SECONDS}s",))
    except BaseException:
        connection.close()
        raise
    return connection


TIMEOUT = """
SELECT set_config('statement_timeout', %s, false) WHERE current_setting('statement_timeout') = '0'
"""
"""Leaves a limit that the user or the database has set."""


class Patience:
    """Disconnects from a server that has not answered for `seconds`.

    psycopg waits for an answer without limit, and the kernel of a hanging server still answers TCP probes.
    One thread per store checks the time; each wait costs only two assignments.
    """

    def __init__(self, seconds: float = SILENT_SECONDS) -> None:
        self._seconds = seconds
        self._waiting: tuple[float, Any] | None = None
        self._process = -1
        self._ended = threading.Event()
        self._away_until = -math.inf
        self.gave_up = False
        """Whether the last wait ended because the server was silent. Another attempt would probably wait as long."""

    def connected(self, address: str, **options: Any) -> psycopg.Connection[Any]:
        """A new connection. If the last attempt failed a moment ago, this raises without trying."""
        import psycopg

        if time.monotonic() < self._away_until:
            raise psycopg.OperationalError("the server could not be reached a moment ago")
        try:
            return connected(address, **options)
        except psycopg.OperationalError:
            self._away_until = time.monotonic() + AWAY_SECONDS
            raise

    @contextmanager
    def awaiting(self, connection: Any) -> Iterator[None]:
        """Watch the server while the block waits for it."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._ended = threading.Event()
            threading.Thread(target=self._watch, args=(self._ended,), name="goodarm-patience", daemon=True).start()
        self._waiting = (time.monotonic() + self._seconds, connection)
        self.gave_up = False
        try:
            yield
        finally:
            self._waiting = None

    def give_up(self, connection: Any) -> None:
        """Disconnect now, and do not connect again."""
        self._away_until = math.inf
        if connection is not None:
            hang_up(connection)

    def end(self) -> None:
        """Stop watching."""
        self._ended.set()
        self._process = -1

    def _watch(self, ended: threading.Event) -> None:
        while not ended.wait(self._seconds / 8.0):
            waiting = self._waiting
            if waiting is not None and time.monotonic() > waiting[0]:
                self._waiting = None
                self.gave_up = True
                self._away_until = time.monotonic() + AWAY_SECONDS
                hang_up(waiting[1])


def hang_up(connection: Any) -> None:
    """End a connection from another thread. Calls that wait for it raise at once."""
    import psycopg

    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as held:
        held.shutdown(socket.SHUT_RDWR)
