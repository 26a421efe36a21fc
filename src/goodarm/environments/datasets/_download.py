"""Download bytes from the publisher's address, complete or with an error that says what to do."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from goodarm.errors import InvalidValue, UnavailableData

SECONDS_WITHOUT_A_BYTE = 30.0
CHUNK = 1 << 16

Progress = Callable[[int, int | None], None]
"""Called with the bytes so far and, where the server says it, the bytes in all."""


def download(address: str, way_out: str, progress: Progress) -> bytes:
    """All bytes that the address serves; `way_out` is the sentence that tells the user what to do when it fails."""
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
            f"can't fetch {address} ({reason}): offline, or the address is out of reach. {way_out}"
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
