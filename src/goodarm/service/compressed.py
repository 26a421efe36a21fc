"""Gzip for large answers: 10,000 arms are 2 MB of JSON, and a tenth of that compressed.

Event streams are not compressed, because each event must leave at once. Answers with a secret or a cookie are not
compressed either, because their length would reveal something about the content.
"""

from __future__ import annotations

import asyncio
import gzip
from collections import OrderedDict

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SMALLEST = 1_000
"""Minimum size in bytes of a body to compress."""
AT_ONCE = 50_000
"""Size in bytes above which a body is compressed in another thread, to keep the event loop free."""
LEVEL = 5
KINDS = ("application/json", "application/x-ndjson", "text/css", "text/html", "text/javascript", "image/svg+xml")
SECRET = ("/webhooks", "/deliveries", "/login", "/logout", "/me")
KEPT = 64
"""Number of compressed dashboard files that a worker caches."""


class Compressed:
    """Middleware between the guard and the routes."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._files: OrderedDict[tuple[str, str], bytes] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not may_be_compressed(scope):
            await self._app(scope, receive, send)
            return
        start: Message | None = None
        pieces: list[bytes] = []

        async def sending(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.add_vary_header("Accept-Encoding")
                if worth_it(message["status"], headers):
                    start = message
                    return
            elif start is not None:
                pieces.append(message.get("body", b""))
                if message.get("more_body", False):
                    return
                await self._finish(scope["path"], start, b"".join(pieces), send)
                return
            await send(message)

        await self._app(scope, receive, sending)

    async def _finish(self, path: str, start: Message, body: bytes, send: Send) -> None:
        headers = MutableHeaders(scope=start)
        if len(body) >= SMALLEST:
            body = await self._squeeze(path, headers.get("etag"), body)
            headers["content-encoding"] = "gzip"
            headers["content-length"] = str(len(body))
            if "etag" in headers and not headers["etag"].startswith("W/"):
                headers["etag"] = f"W/{headers['etag']}"  # the tag of the same content in another encoding
        await send(start)
        await send({"type": "http.response.body", "body": body})

    async def _squeeze(self, path: str, etag: str | None, body: bytes) -> bytes:
        """Compress a body; results for files are cached."""
        if path.startswith("/api/") or etag is None:
            return await asyncio.to_thread(_gzip, body) if len(body) > AT_ONCE else _gzip(body)
        key = (path, etag)  # files of the same size and time have the same tag
        if key not in self._files:
            self._files[key] = await asyncio.to_thread(_gzip, body)
            while len(self._files) > KEPT:
                self._files.popitem(last=False)
        return self._files[key]


def may_be_compressed(scope: Scope) -> bool:
    """Whether the request allows compression: the client accepts gzip, and the path has no secrets.

    >>> takes = [(b"accept-encoding", b"br, gzip")]
    >>> [may_be_compressed({"method": "GET", "path": path, "headers": takes}) for path in ("/app.js", "/c/events")]
    [True, False]
    """
    if scope["method"] != "GET" or scope["path"].endswith((*SECRET, "/events")):
        return False
    taken = [each.strip().lower() for each in Headers(scope=scope).get("accept-encoding", "").split(",")]
    return any(each == "gzip" or (each.startswith("gzip;") and not each.endswith("q=0")) for each in taken)


def worth_it(status: int, headers: Headers) -> bool:
    """Whether the answer's headers allow compression."""
    kind = headers.get("content-type", "").partition(";")[0]
    return status == 200 and kind in KINDS and "set-cookie" not in headers and "content-encoding" not in headers


def _gzip(body: bytes) -> bytes:
    return gzip.compress(body, LEVEL, mtime=0)
