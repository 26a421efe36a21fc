"""Compressed files of the dashboard."""

from __future__ import annotations

import asyncio
import gzip
import os
from pathlib import Path
from typing import Any

from starlette.staticfiles import StaticFiles

from goodarm.service.compressed import SMALLEST, Compressed


async def fetched(app: Compressed, path: str) -> bytes:
    """The body of a compressed answer."""
    pieces: list[bytes] = []

    async def receive() -> Any:
        return await asyncio.get_running_loop().create_future()  # the client stays

    async def send(message: Any) -> None:
        pieces.append(message.get("body", b""))

    headers = [(b"accept-encoding", b"gzip")]
    await app({"type": "http", "method": "GET", "path": path, "root_path": "", "headers": headers}, receive, send)
    return gzip.decompress(b"".join(pieces))


def test_files_of_the_same_size_and_time_are_told_apart(tmp_path: Path) -> None:
    texts = {name: name[0].encode() * (2 * SMALLEST) for name in ("a.js", "b.js")}
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text)
        os.utime(tmp_path / name, (1e9, 1e9))
    app = Compressed(StaticFiles(directory=tmp_path))
    for name, text in texts.items():
        assert asyncio.run(fetched(app, f"/{name}")) == text
