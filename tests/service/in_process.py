"""The application in the test's own process: requests without sockets, for tests of what the API answers.

What depends on connections, on several workers or on signals needs a server; see serving.py.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import unquote

from serving import Answer

from goodarm.service.app import make
from goodarm.service.settings import Settings

T = TypeVar("T")
SECONDS = 300.0
"""A request without an answer for this long hangs."""


@dataclass
class InProcess:
    """An application and the event loop that it runs in; `call` is that of a server."""

    app: Any
    loop: asyncio.AbstractEventLoop
    settings: Settings

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        sent = {"Host": f"{self.settings.host}:{self.settings.port}", **(headers or {})}
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        data = b"" if body is None else body
        if not isinstance(data, bytes):
            data, sent["Content-Type"] = json.dumps(body).encode(), "application/json"
        if body is not None:
            sent["Content-Length"] = str(len(data))
        answer = asyncio.run_coroutine_threadsafe(self._answer(method, path, data, sent), self.loop)
        return answer.result(SECONDS)

    def loop_result(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine that runs in the application's event loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(SECONDS)

    async def _answer(self, method: str, path: str, data: bytes, headers: Mapping[str, str]) -> Answer:
        plain, _, query = path.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(plain),
            "raw_path": plain.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(key.lower().encode(), value.encode()) for key, value in headers.items()],
            "client": ("127.0.0.1", 50_000),
            "server": (self.settings.host, self.settings.port),
        }
        waiting = [{"type": "http.request", "body": data, "more_body": False}]
        status, found, pieces = 0, dict[str, str](), list[bytes]()

        async def receive() -> dict[str, Any]:
            if not waiting:
                await asyncio.Event().wait()  # the client stays until it has its answer
            return waiting.pop()

        async def send(message: Mapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                found.update((key.decode().lower(), value.decode()) for key, value in message["headers"])
            elif message["type"] == "http.response.body":
                pieces.append(message.get("body", b""))

        await self.app(scope, receive, send)
        return Answer(status, found, b"".join(pieces))


@contextmanager
def in_process(store: str, **options: Any) -> Iterator[InProcess]:
    """The application for a store until the block ends; `options` are those of `Settings`."""
    settings = Settings(store, **options)
    app, loop = make(settings), asyncio.new_event_loop()
    started, ending = threading.Event(), asyncio.Event()
    failed: list[BaseException] = []

    async def live() -> None:
        try:
            async with app.router.lifespan_context(app):
                started.set()
                await ending.wait()
        except BaseException as error:
            failed.append(error)
            raise
        finally:
            started.set()

    thread = threading.Thread(target=lambda: loop.run_until_complete(live()), name="goodarm-in-process")
    thread.start()
    try:
        assert started.wait(SECONDS)
        assert not failed, failed
        yield InProcess(app, loop, settings)
    finally:
        loop.call_soon_threadsafe(ending.set)
        thread.join(SECONDS)
        loop.close()
