"""The files of an open SQLite database. If one of them is deleted or replaced, SQLite continues with the old one.

Data written to the old database or its log is never read again. Without the old shared index (`-shm`), the next
process creates another one, and the two overwrite each other's commits in the log.
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from weakref import WeakSet

from goodarm.errors import UnusableStore

OF_A_DATABASE = ("-wal", "-shm")
"""Endings of the names of a database's other files."""
RESTORE = "Writing to it has stopped. Put the file back or restore a backup, then restart this program."


def create_private(path: Path) -> None:
    """Create an empty file with mode 0600, unless it exists.

    An existing file is left alone, because closing it would drop the locks that SQLite holds on it in this process.
    Another process could then remove the log of a database that is open.
    """
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        os.close(os.open(os.path.realpath(path), flags, 0o600))
    except FileExistsError:
        return


class Opened:
    """Device and inode of each file of a connection, as they were opened.

    An open file keeps its inode, so no other file can have the same number. SQLite shares the index between all
    connections of a process. If one connection has lost its files, new connections are therefore refused as well.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, endings: Iterable[str] = OF_A_DATABASE) -> None:
        self._connection, self._left = connection, False
        names = [os.path.abspath(path), *(os.path.realpath(path) + ending for ending in endings)]
        self._files = [(name, found.st_dev, found.st_ino) for name in names for found in [os.stat(name)]]
        self._database = (os.getpid(), *self._files[0][1:])
        for other in list(_open):
            if other._database == self._database:
                other.refuse_others()
        _open.add(self)

    def refuse_others(self) -> None:
        """Raise `UnusableStore` if the files under these names are no longer the ones that were opened."""
        for name, device, inode in self._files:
            try:
                found = os.stat(name)
            except FileNotFoundError:
                self._leave()
                raise UnusableStore(f"{name} was deleted while it was open. {RESTORE}") from None
            if (found.st_dev, found.st_ino) != (device, inode):
                self._leave()
                raise UnusableStore(f"{name} was replaced by another file while it was open. {RESTORE}")

    def close(self) -> None:
        """Close the connection, unless its files are no longer the ones that were opened."""
        try:
            self.refuse_others()
        except UnusableStore:
            return
        _open.discard(self)
        self._connection.close()

    def _leave(self) -> None:
        """Keep the connection open for ever. Even at exit the interpreter must not delete it, since deleting closes it.

        SQLite would copy its old log over newer entries of other processes, and remove their log.
        """
        if not self._left:
            self._left = True
            _lost.append(self)
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._connection))


_open: WeakSet[Opened] = WeakSet()
"""All open connections of this process."""
_lost: list[Opened] = []
"""Connections that have lost their files."""
