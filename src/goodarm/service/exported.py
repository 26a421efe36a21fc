"""An exported journal, sent from a temporary file: it may be larger than the memory."""

from __future__ import annotations

import asyncio
import gzip
from contextlib import ExitStack
from pathlib import Path

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from goodarm.service.compressed import LEVEL
from goodarm.simulation.stop import Stop

PIECE = 262_144
"""Bytes to read and send at a time."""


class Exported(Response):
    """The answer with a file.

    path : the file; with the ending .gz its content is compressed
    held : what is released when the file was sent, or its client has gone
    """

    def __init__(self, path: Path, held: ExitStack) -> None:
        super().__init__()
        self._path, self._held = path, held
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._held:
            self.headers["content-length"] = str(self._path.stat().st_size)
            if self._path.suffix == ".gz":
                self.headers["content-encoding"] = "gzip"
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            gone = asyncio.create_task(_gone(receive))
            try:
                with self._path.open("rb") as file:
                    while not gone.done() and (piece := await asyncio.to_thread(file.read, PIECE)):
                        await send({"type": "http.response.body", "body": piece, "more_body": True})
                if not gone.done():
                    await send({"type": "http.response.body", "body": b""})
            finally:
                gone.cancel()


async def _gone(receive: Receive) -> None:
    """Return when the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        """The body of the request, which is empty."""


def squeezed(path: Path, stop: Stop) -> Path:
    """A compressed copy of a file, in place of the file."""
    made = path.with_name(f"{path.name}.gz")
    with path.open("rb") as source, made.open("wb") as file, gzip.GzipFile("", "wb", LEVEL, file, mtime=0) as target:
        while piece := source.read(PIECE):
            stop.check()
            target.write(piece)
    path.unlink()
    return made
