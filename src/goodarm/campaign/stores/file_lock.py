"""One writer at a time on a file: `flock`. The kernel queues the writers, and frees the lock when its holder is killed.

`flock` has no timeout. A writer that finds the file locked therefore waits in a thread, which keeps its
place in the kernel's queue, and gives up after `LONGEST_WAIT` seconds.

Portable locking libraries either make the same call where it exists (portalocker) or poll every 50 ms (filelock). With
four writers, polling lengthens one wait in a hundred from 0.04 s to 0.37 s. We therefore use no library, and SQLite
stores do not work on Windows.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # typeshed has the module on every system

from goodarm.errors import UnusableStore

NETWORK = frozenset(
    {
        "nfs",
        "nfs4",
        "cifs",
        "smb2",
        "smb3",
        "smbfs",
        "afs",
        "ncpfs",
        "ceph",
        "lustre",
        "beegfs",
        "gpfs",
        "glusterfs",
        "fuse.glusterfs",
        "fuse.sshfs",
        "fuse.s3fs",
        "fuse.rclone",
        "fuse.ceph",
        "davfs",
        "fuse.davfs2",
    }
)
"""File systems on which locks and shared memory do not work across machines."""
LONGEST_WAIT = 10.0
"""Maximum number of seconds to wait for another writer."""


def file_system(path: Path, mounts: Path = Path("/proc/mounts")) -> str:
    """The type of the file system that holds a path; empty if the system does not report it."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    best, kind = "", ""
    for line in lines:
        _, mounted, found, *_ = line.split(" ")
        point = mounted.replace("\\040", " ")
        if len(point) >= len(best) and (path == Path(point) or Path(point) in path.parents):
            best, kind = point, found
    return kind


def refuse_network(path: Path, mounts: Path = Path("/proc/mounts")) -> None:
    """Refuse a file on another machine's disk."""
    kind = file_system(path.resolve(), mounts)
    if kind in NETWORK:
        raise UnusableStore(
            f"{path} lies on a network file system ({kind}), where SQLite's locks do not hold and two machines would "
            "damage the file. Keep it on a local disk, or use a server: postgresql://user@host/database."
        )


class FileLock:
    """An exclusive lock on a separate file, never on the database: closing that would drop SQLite's own locks."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = -1
        self._waiting: _Waiting | None = None

    def open(self) -> None:
        if fcntl is None:
            raise UnusableStore(
                f"{self._path} can't be locked: SQLite stores need a POSIX system. On Windows use WSL, or "
                "postgresql://user@host/database, or memory: for one process."
            )
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def take(self) -> None:
        """Acquire the lock, or raise `UnusableStore` if another process holds it for too long."""
        if self._waiting is None or self._waiting.is_over():
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                self._waiting = _Waiting(self._file)
        if not self._waiting.wait(LONGEST_WAIT):  # it stays in the queue for the next attempt
            raise UnusableStore(
                f"{self._path.with_suffix('')} was locked by another process for {LONGEST_WAIT:g} s. Nothing was "
                "changed. Try again, and end the other process if it hangs."
            )
        self._waiting = None

    def free(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class _Waiting:
    """A thread in the kernel's queue for a lock. It releases the lock if the caller has given up in the meantime.

    The lock belongs to the open file. The thread uses a duplicate of its descriptor, since the original may be closed
    while the thread waits. As long as it waits, nothing else may acquire or release the lock through this open file.
    """

    def __init__(self, file: int) -> None:
        self._file = os.dup(file)
        self._changed = threading.Condition()
        self._wanted, self._ended, self._held = True, False, False
        self._error: OSError | None = None
        threading.Thread(target=self._queue, name="goodarm-lock", daemon=True).start()

    def is_over(self) -> bool:
        """Whether the thread has released a lock that was no longer wanted."""
        with self._changed:
            self._wanted = True
            return self._ended and not self._held

    def wait(self, seconds: float) -> bool:
        """Wait until the lock is held; False after this many seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended, seconds)
            self._wanted = self._held
            if self._error is not None:
                raise self._error
            return self._held

    def _queue(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX)
        except OSError as error:
            self._error = error
        with self._changed:
            self._held = self._wanted and self._error is None
            if not self._held:
                fcntl.flock(self._file, fcntl.LOCK_UN)
            self._ended = True
            self._changed.notify()
        os.close(self._file)
