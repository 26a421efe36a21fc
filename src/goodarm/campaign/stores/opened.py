"""The files of an open SQLite database. If one of them is deleted or replaced, SQLite goes on with the old one.

What is written to the old database or its log is never read again. Without the old shared index (`-shm`), the next
process creates another one, and the two overwrite each other's commits in the log.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from goodarm.errors import UnusableStore

OF_A_DATABASE = ("", "-wal", "-shm")
"""Endings of the names of a database's files."""
RESTORE = "Nothing more is written to it. Put the file back, or restore a backup, and start this program again."


class Opened:
    """Device and inode of each file as they were opened.

    An open file keeps its inode, so that no other file can have the same number.
    """

    def __init__(self, path: Path, endings: Iterable[str] = OF_A_DATABASE) -> None:
        names = [str(path.absolute()) + ending for ending in endings]
        self._files = [(name, found.st_dev, found.st_ino) for name in names for found in [os.stat(name)]]

    def refuse_others(self) -> None:
        """Raise `UnusableStore` if the files under these names are no longer the ones that were opened."""
        for name, device, inode in self._files:
            try:
                found = os.stat(name)
            except FileNotFoundError:
                raise UnusableStore(f"{name} was deleted while it was open. {RESTORE}") from None
            if (found.st_dev, found.st_ino) != (device, inode):
                raise UnusableStore(f"{name} was replaced by another file while it was open. {RESTORE}")
