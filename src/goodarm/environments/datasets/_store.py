"""Find a dataset's files: in the folder GOODARM_DATA, in the cache, or at the publisher's address, in this order.

A file is identified by the sha256 of its content, unpacked and with line feeds as line ends. Every file is checked
whenever it is read, and refused if it differs. The cache has the same layout as GOODARM_DATA.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from goodarm.errors import InvalidValue, UnavailableData

SECONDS_WITHOUT_A_BYTE = 30.0
CHUNK = 1 << 16

Progress = Callable[[int, int | None], None]
"""Called with the bytes so far and, if the server reports it, the total."""


def unpacked(raw: bytes, name: str) -> bytes:
    """The content whose sha256 is pinned."""
    content = gzip.decompress(raw) if name.endswith(".gz") else raw
    return content.replace(b"\r\n", b"\n")


@dataclass(frozen=True)
class File:
    """One file of a dataset.

    path    : its path below GOODARM_DATA and below the cache
    sha256  : of its content
    address : the publisher's address
    prepare : function from the served bytes to the content
    """

    path: str
    sha256: str
    address: str
    prepare: Callable[[bytes], bytes] = field(repr=False, compare=False)

    def found(self) -> Path | None:
        """The file on this machine, unchecked."""
        folders = [Path(os.environ["GOODARM_DATA"])] if os.environ.get("GOODARM_DATA") else []
        return next((f / self.path for f in [*folders, cache_folder()] if (f / self.path).is_file()), None)


@dataclass(frozen=True)
class Dataset:
    """A published dataset: its files, licence and citation."""

    name: str
    title: str
    files: tuple[File, ...]
    homepage: str
    licence: str
    citation: str

    @property
    def terms(self) -> str:
        """Text printed at the download."""
        return f"{self.title}, {self.homepage}\nLicence: {self.licence}\nCite: {self.citation}"

    @property
    def way_out(self) -> str:
        """Instructions in case it can't be downloaded."""
        folder = self.files[0].path.split("/")[0]
        return (
            f"Get it with: goodarm data fetch {self.name}. Without a network, do so on another machine, copy the "
            f"folder {folder} from its cache, and set GOODARM_DATA to the folder that holds it."
        )


def cache_folder() -> Path:
    """GOODARM_CACHE, or the system's folder for caches."""
    if os.environ.get("GOODARM_CACHE"):
        return Path(os.environ["GOODARM_CACHE"])
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"]) / "goodarm"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "goodarm"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "goodarm" / "Cache"
    return Path.home() / ".cache" / "goodarm"


def read(dataset: Dataset, path: str) -> bytes:
    """The checked content of one file, which is fetched first if it is not on this machine."""
    file = next(file for file in dataset.files if file.path == path)
    if file.found() is None:
        fetch(dataset)
    where = file.found()
    if where is None:  # another process emptied the cache since
        raise UnavailableData(f"{cache_folder() / path} has disappeared. {dataset.way_out}")
    try:
        content = unpacked(where.read_bytes(), path)
        intact = hashlib.sha256(content).hexdigest() == file.sha256
    except (OSError, EOFError, zlib.error):
        intact = False
    if intact:
        return content
    if where.is_relative_to(cache_folder()):
        where.unlink(missing_ok=True)
        raise UnavailableData(f"{where} was damaged and has been removed. {dataset.way_out}")
    raise UnavailableData(f"{where} is damaged, cut off, or another version. Delete it. {dataset.way_out}")


def fetch(dataset: Dataset, *, mirror: str | None = None, tell: Callable[[str], None] | None = None) -> list[Path]:
    """Download every file from its publisher, check it, and put it into the cache.

    Nothing is written before all files have been checked, and each file appears completely or not at all.
    mirror : an address that serves the layout of GOODARM_DATA, in place of the publishers'
    tell   : called with licence and citation; prints them to stderr by default
    """
    (tell or _to_stderr)(dataset.terms)
    served: dict[str, bytes] = {}
    contents: list[bytes] = []
    for file in dataset.files:
        address = f"{mirror.rstrip('/')}/{file.path}" if mirror else file.address
        if address not in served:
            with progress_bar(address.rsplit("/", 1)[-1]) as progress:
                served[address] = download(address, dataset.way_out, progress)
        contents.append(_checked(dataset, file, served[address], address, mirrored=mirror is not None))
    return [_write(cache_folder() / file.path, content) for file, content in zip(dataset.files, contents, strict=True)]


def _checked(dataset: Dataset, file: File, raw: bytes, address: str, *, mirrored: bool) -> bytes:
    """The content of a served file, if it matches the pinned hash."""
    try:
        content = unpacked(raw, file.path) if mirrored else file.prepare(raw)
    except Exception as error:  # damaged archives and tables may raise anything
        raise UnavailableData(
            f"{address} served something other than {file.path} ({error}); nothing was kept. {dataset.way_out}"
        ) from None
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        raise UnavailableData(
            f"{file.path} from {address} has sha256 {found[:12]}…, not the pinned {file.sha256[:12]}…: damaged on the "
            f"way, or published in a new version; nothing was kept. {dataset.way_out}"
        )
    return content


def _write(path: Path, content: bytes) -> Path:
    """Write beside the final name, then rename: a reader never sees half a file."""
    packed = gzip.compress(content, mtime=0) if path.name.endswith(".gz") else content
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as stream:
            temporary = stream.name
            stream.write(packed)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise UnavailableData(
            f"can't write {path} ({error}). Set GOODARM_CACHE to a folder that you can write to."
        ) from None
    finally:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
    return path


def _to_stderr(text: str) -> None:
    print(text, file=sys.stderr)


def download(address: str, way_out: str, progress: Progress) -> bytes:
    """All bytes that the address serves; `way_out` is a sentence with advice for the error message."""
    import urllib.error
    import urllib.request
    from http.client import HTTPException

    if not address.startswith(("https://", "http://")):
        raise InvalidValue(f"an address must start with https:// or http://; got {address!r}.")
    request = urllib.request.Request(address, headers={"User-Agent": "goodarm"})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS_WITHOUT_A_BYTE) as response:
            length = response.headers.get("Content-Length")
            expected = int(length) if length else None
            content = bytearray()
            while chunk := response.read(CHUNK):
                content += chunk
                progress(len(content), expected)
    except urllib.error.HTTPError as error:
        error.close()
        raise UnavailableData(f"{address} answered {error.code} {error.reason}. {way_out}") from None
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error or type(error).__name__
        raise UnavailableData(
            f"can't fetch {address} ({reason}): the machine is offline, or the address is unreachable. {way_out}"
        ) from None
    if expected is not None and len(content) != expected:
        raise UnavailableData(
            f"the transfer from {address} was cut off after {len(content)} of {expected} bytes; nothing was kept. "
            f"{way_out}"
        )
    return bytes(content)


@contextmanager
def progress_bar(title: str) -> Iterator[Progress]:
    """A progress bar on stderr, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(title, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)
