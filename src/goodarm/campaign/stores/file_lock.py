"""One writer at a time on a file: `flock`, fair enough, and freed by the kernel when its holder is killed."""

from __future__ import annotations

import os
from pathlib import Path

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
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)

    def take(self) -> None:
        import fcntl

        fcntl.flock(self._file, fcntl.LOCK_EX)

    def free(self) -> None:
        import fcntl

        fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
