"""One writer at a time on a file: `flock`. The kernel queues the writers, and frees the lock when its holder is killed.

Libraries that lock on every system either make the same call where it exists (portalocker) or ask again every 50 ms
(filelock): with four writers one wait in a hundred then takes 0.37 s instead of 0.04 s. So there is no library here,
and no SQLite store on Windows.
"""

from __future__ import annotations

import os
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
"""File systems on which locks and shared memory do not reach the other machines."""


def file_system(path: Path, mounts: Path = Path("/proc/mounts")) -> str:
    """The type of the file system that holds a path; empty where the system does not say."""
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

    def open(self) -> None:
        if fcntl is None:
            raise UnusableStore(
                f"{self._path} can't be locked: SQLite stores need a POSIX system. On Windows use WSL, or "
                "postgresql://user@host/database, or memory: for one process."
            )
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def take(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def free(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
