"""SQLite, the default store: one file, shared by the processes of one machine. Every acknowledged write is on disk.

A transaction returns when its commit is on disk. SQLite's own flush (WAL with synchronous=FULL) would run under the
write lock, and the disk would do nothing while the next writer works. So SQLite commits without a flush
(synchronous=NORMAL), the lock is released, and then the log is flushed: `fdatasync` on the WAL, the same call that
SQLite makes. A flush covers all commits before it. Entries read from other processes are also flushed before they are
returned to a caller (`flush`).

SQLite lets waiting writers retry at random times, so one of four may starve for seconds. A `flock` before BEGIN
IMMEDIATE queues them. It is held through the checkpoint, which a commit may start, and through
closing: before SQLite 3.51.3, two connections that checkpoint at once can reset the WAL.

If the file is deleted or replaced while it is open, SQLite continues to write to the old one, which nobody can read any
more. Each operation therefore compares the files under their names with the ones that were opened (`Opened`).
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from goodarm.campaign.journal import Event, Row
from goodarm.campaign.stores._base import BLOCK_OF_ROWS, FORMAT, Snapshot, Store
from goodarm.campaign.stores.file_lock import FileLock, refuse_network
from goodarm.campaign.stores.opened import OF_A_DATABASE, Opened, create_private
from goodarm.errors import UPGRADE, UnusableStore

SCHEMA = """
CREATE TABLE campaigns (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE events (
    campaign INTEGER NOT NULL, number INTEGER NOT NULL, kind TEXT NOT NULL, ticket INTEGER, arm INTEGER, reward REAL,
    payload TEXT, at REAL NOT NULL, chain BLOB NOT NULL, ending TEXT, PRIMARY KEY (campaign, number)) WITHOUT ROWID;
CREATE UNIQUE INDEX endings ON events (campaign, ticket, ending) WHERE ending IS NOT NULL;
CREATE TABLE snapshots (
    campaign INTEGER PRIMARY KEY, number INTEGER NOT NULL, chain BLOB NOT NULL, body BLOB NOT NULL);
"""
COLUMNS = "number, kind, ticket, arm, reward, payload, at, chain"
INSERT = f"INSERT INTO events (campaign, {COLUMNS}, ending) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
NEWER = f"SELECT {COLUMNS} FROM events WHERE campaign = ? AND number > ? ORDER BY number"
RANGE = f"SELECT {COLUMNS} FROM events WHERE campaign = ? AND number > ? AND number <= ? ORDER BY number"
ENDING = f"SELECT {COLUMNS} FROM events WHERE campaign = ? AND ticket = ? AND ending = ?"
ENDINGS = f"""
SELECT ending, {COLUMNS} FROM json_each(?) CROSS JOIN events ON ending = json_each.value
WHERE campaign = ? AND ticket = ?
"""
"""CROSS JOIN: with the marks in the outer loop, each of them is found in the index."""
ENDLESS = 2**62
BUSY_SECONDS = 10.0
"""Maximum time to wait for a program that locks the database without our lock, such as the sqlite3 shell."""
PROBE = 0
"""A number that no campaign has, for the write of `probe`."""
flush_file = getattr(os, "fdatasync", os.fsync)
"""Flush a file; macOS has only the slower call."""
APPLICATION = 0x600DA531
"""Marks a file as goodarm's, so that a database of another program is never written to."""


class SqliteStore(Store):
    """One file; threads of one process may share the object; each process opens its own."""

    def __init__(self, path: str | Path, *, create: bool = True, read_only: bool = False) -> None:
        self.path = Path(path)
        self.address = f"sqlite:///{path}"
        self._lock = FileLock(Path(f"{os.path.realpath(path)}.lock"))
        self._thread = threading.RLock()
        self._read_only = read_only
        self._inside = False
        self._process = -1
        self._connection: sqlite3.Connection
        self._opened: Opened | None = None
        """The files of the database and the lock; None if it is only read."""
        self._log = -1
        """The log, opened a second time for flushing."""
        self._lost = False
        """Whether a flush has failed. Then committed entries may be lost, even if later flushes succeed."""
        refuse_network(self.path)
        if not create and not self.path.exists():
            raise UnusableStore(f"there is no file {self.path}. Check the name; creating a campaign makes the file.")
        try:
            with _explained(self.path):
                self._connect()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> None:
        self._process = os.getpid()
        if not self.path.parent.is_dir():
            raise UnusableStore(f"{self.path}: there is no folder {self.path.parent}. Create it first.")
        if self._read_only or (
            self.path.exists() and not (os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK))
        ):
            self._connect_to_read()
            return
        self._lock.open()
        self._lock.take()
        try:
            create_private(self.path)
            self._connection = sqlite3.connect(
                self.path, isolation_level=None, check_same_thread=False, timeout=BUSY_SECONDS
            )
            if not self._check_format():
                self._create()
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")  # `flush` flushes each commit
            self._connection.execute("SELECT count(*) FROM campaigns").fetchone()  # opens the log
            self._log = os.open(f"{os.path.realpath(self.path)}-wal", os.O_RDWR | os.O_CLOEXEC)
            self._opened = Opened(self.path, self._connection, (*OF_A_DATABASE, ".lock"))
        finally:
            self._lock.free()

    def _connect_to_read(self) -> None:
        """In a read-only folder SQLite can't create its shared index, and must be told that there are no writers."""
        alone = "&immutable=1" if not os.path.exists(f"{os.path.realpath(self.path)}-wal") else ""
        address = f"{self.path.absolute().as_uri()}?mode=ro{alone}"
        self._connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
        self._check_format()

    def _check_format(self) -> bool:
        """Does the file have goodarm's tables? Tables of another program or a newer version are refused."""
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        (application,) = self._connection.execute("PRAGMA application_id").fetchone()
        (tables,) = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application != APPLICATION and (tables or version):
            raise UnusableStore(f"{self.path} is a database of another program; name another file for campaigns.")
        if version > FORMAT:
            raise UnusableStore(
                f"{self.path} was written by a newer goodarm (format {version}, this one reads up to {FORMAT}). "
                + UPGRADE
            )
        return bool(tables)

    def _create(self) -> None:
        self._connection.executescript(
            f"BEGIN IMMEDIATE; {SCHEMA} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT}; COMMIT;"
        )

    def _here(self) -> sqlite3.Connection:
        """The connection of this process: one inherited through a fork belongs to the parent, and is left alone."""
        if self._process != os.getpid():
            self._thread = threading.RLock()
            self._lock = FileLock(self._lock._path)
            self._connect()
        if not self._inside:  # a transaction checks at its beginning and its end
            self._refuse_another_file()
        return self._connection

    def _refuse_another_file(self) -> None:
        """Refuse to continue if a file was replaced since it was opened, or a flush has failed."""
        if self._lost:
            raise UnusableStore(
                f"{self.path}: the disk failed to save written data. Writing to it has stopped. Check the disk, then "
                "restart this program. Unacknowledged data may be missing."
            )
        if self._opened is not None:
            self._opened.refuse_others()

    def names(self) -> list[str]:
        with self._thread, _explained(self.path):
            return [name for (name,) in self._here().execute("SELECT name FROM campaigns ORDER BY name")]

    def find(self, name: str) -> int | None:
        with self._thread, _explained(self.path):
            row = self._here().execute("SELECT id FROM campaigns WHERE name = ?", (name,)).fetchone()
        return None if row is None else int(row[0])

    @contextmanager
    def transaction(self, campaign: int | None) -> Iterator[None]:
        with self._thread, _explained(self.path):
            connection = self._here()
            if self._lock._file < 0:
                raise UnusableStore(f"{self.path} is read-only here. Make the file and its folder writable.")
            self._lock.take()
            try:
                connection.execute("BEGIN IMMEDIATE")
                self._inside = True
                try:
                    yield
                    connection.execute("COMMIT")
                    self._refuse_another_file()  # before acknowledging the write
                except BaseException:
                    with suppress(sqlite3.Error):
                        if connection.in_transaction:
                            connection.execute("ROLLBACK")
                    raise
            finally:
                self._inside = False
                self._lock.free()
            self.flush()

    def flush(self) -> None:
        with self._thread, _explained(self.path):
            if self._log < 0 or self._inside:
                return
            try:
                flush_file(self._log)
            except OSError:
                self._lost = True
                raise

    def add(self, name: str) -> int:
        return int(self._connection.execute("INSERT INTO campaigns (name) VALUES (?)", (name,)).lastrowid or 0)

    def append(self, campaign: int, events: Sequence[Event]) -> None:
        if not self._connection.in_transaction:  # SQLite rolls back by itself when the disk is full
            raise sqlite3.OperationalError("the transaction was rolled back")
        self._connection.executemany(INSERT, [(campaign, *event, event.ending) for event in events])

    def chunks(self, campaign: int, after: int = 0, until: int | None = None) -> Iterator[list[Row]]:
        last = ENDLESS if until is None else until
        while after < last:
            with self._thread, _explained(self.path):
                rows = (
                    self._here().execute(RANGE, (campaign, after, min(after + BLOCK_OF_ROWS, last))).fetchall()
                    if until is not None
                    else self._here().execute(f"{NEWER} LIMIT {BLOCK_OF_ROWS}", (campaign, after)).fetchall()
                )
            if not rows:
                return
            yield rows
            after = rows[-1][0]

    def newer(self, campaign: int, after: int) -> Iterable[Event]:
        with self._thread, _explained(self.path):
            rows = self._here().execute(NEWER, (campaign, after)).fetchall()
        return map(Event._make, rows)

    def ending(self, campaign: int, ticket: int, ending: str) -> Event | None:
        with self._thread, _explained(self.path):
            row = self._here().execute(ENDING, (campaign, ticket, ending)).fetchone()
        return None if row is None else Event(*row)

    def endings(self, campaign: int, ticket: int, endings: Sequence[str]) -> dict[str, Event]:
        with self._thread, _explained(self.path):
            rows = self._here().execute(ENDINGS, (json.dumps(endings), campaign, ticket)).fetchall()
        return {mark: Event(*row) for mark, *row in rows}

    def snapshot(self, campaign: int) -> Snapshot | None:
        with self._thread, _explained(self.path):
            row = (
                self._here()
                .execute("SELECT number, chain, body FROM snapshots WHERE campaign = ?", (campaign,))
                .fetchone()
            )
        return None if row is None else Snapshot(*row)

    def keep(self, campaign: int, snapshot: Snapshot | None) -> None:
        if snapshot is None:
            self._connection.execute("DELETE FROM snapshots WHERE campaign = ?", (campaign,))
        else:
            self._connection.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?)", (campaign, *snapshot))

    def guard(self) -> None:
        """Record permanently that the store has tokens. The tokens are in another file, which may be lost."""
        with self.transaction(None):
            self._connection.execute("CREATE TABLE IF NOT EXISTS guarded (note TEXT)")

    @property
    def is_guarded(self) -> bool:
        """Whether the store has ever had a token."""
        with self._thread, _explained(self.path):
            query = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'guarded'"
            return bool(self._here().execute(query).fetchone()[0])

    def probe(self) -> None:
        with self.transaction(None):
            self._connection.execute("SELECT 1 FROM events LIMIT 1")
            self.keep(PROBE, Snapshot(0, b"", b""))

    def close(self) -> None:
        if self._process != os.getpid():
            return
        with self._thread:
            if self._lock._file >= 0:
                with suppress(UnusableStore):  # another process has the file open, so this is not the last to close it
                    self._lock.take()
            if self._opened is not None:
                self._opened.close()
            elif hasattr(self, "_connection"):
                self._connection.close()
            if self._log >= 0:
                os.close(self._log)
                self._log = -1
            self._lock.close()
            self._process = -2


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Convert the errors of SQLite and the system into `UnusableStore` with advice."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise UnusableStore(f"{path}: {_reason(str(error))} ({error}).") from error


def _reason(message: str) -> str:
    text = message.lower()
    for sign, reason in _REASONS.items():
        if sign in text:
            return reason
    return "the store can't be used"


_REASONS = {
    "readonly": "the file or its folder is read-only; make it writable. Nothing was changed",
    "permission": "the file or its folder may not be written by this user. Nothing was changed",
    "full": "the disk is full; free some space and try again. Nothing was half-written",
    "disk i/o": "the disk refused to write, perhaps because it is full; try again. Nothing was half-written",
    "file too large": "the file may not grow any more; raise the limit. Nothing was half-written",
    "not a database": "this is not an SQLite database; name another file",
    "malformed": "the file is damaged; restore it from a backup",
    "unique": "a ticket can end only once, and another process has ended it. Nothing was changed",
    "is a directory": "a folder can't be opened as a store; name a file in it",
    "unable to open": "the file can't be opened. Does the folder exist, and may this user read it?",
}
