"""uvicorn's HTTP protocol with limits: on heads, trailers, the time of a request, pipelining, and connections.

Without them, a client that does not read its answer or never ends its request could hold a socket and memory forever.
The limits apply before the client is known, so they also hold for clients without a token.
"""

from __future__ import annotations

import asyncio
from collections import deque
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from goodarm.service.problems import answer
from goodarm.service.settings import Settings

if TYPE_CHECKING:
    Base: Any = object
else:
    from uvicorn.protocols.http.auto import AutoHTTPProtocol as Base


HEAD_BYTES = 65_536
"""Maximum size of a request's head, and of its trailers."""
PIECE = 8_192
"""Bytes given to the parser at a time, hence the most that it can hold beyond the limit."""
MOST_AHEAD = 8
"""Maximum number of requests that a client may send before an earlier one is answered. Each is kept in memory."""
MOST_LINGERING = 50
"""Maximum number of connections above the limit that are refused with an answer. More are closed without one."""
LINGER_SECONDS = 2.0
"""Seconds that a refused client may continue to send before it is disconnected. Many clients read the answer only after
sending everything, and closing the socket at once would destroy the answer."""


class Protocol(Base):  # type: ignore[misc]  # uvicorn chooses its own base at run time
    """The protocol class for uvicorn: `Config(http="goodarm.service.protocol:Protocol")`."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        settings = Settings.from_environment()
        self._stalled_after, self._body_seconds = settings.stalled_after, settings.body_seconds
        self._most_connections, self._most_per_address = settings.most_connections, settings.most_per_address
        self._hanging_up: asyncio.TimerHandle | None = None
        self._asking: asyncio.TimerHandle | None = None
        self._whole_body: asyncio.TimerHandle | None = None
        self._refused = False
        self._body_open = False
        """Whether the body of the current request is still to come."""
        self._fields = 0
        """Bytes read of the current head or trailers."""
        self._unanswered: deque[Any] = deque()
        """Requests without a complete answer, oldest first. Only the first is being answered."""
        self._ahead = 0
        """Bytes read since a second request is waiting."""

    def connection_made(self, transport: Any) -> None:
        """A client has connected; its request must follow."""
        super().connection_made(transport)
        self._wait_for_request()
        if len(self.connections) > self._most_connections + MOST_LINGERING:
            self._drop()
        elif len(self.connections) > self._most_connections:
            self._refuse(503, "connections", f"{self._most_connections:,} connections are already open. Try again.")
        elif not self._is_trusted() and self._from_here() > self._most_per_address:
            detail = f"{self._most_per_address:,} connections from your address are already open. Close some of them."
            self._refuse(503, "connections", detail)

    def data_received(self, data: bytes) -> None:
        """Start the clock for a request: a time limit for its head, and a longer one for a body that grows."""
        for start in range(0, len(data), PIECE):
            if self._refused or self.transport.is_closing():
                return
            piece = data[start : start + PIECE]
            self._fields += len(piece)
            super().data_received(piece)
            self._ahead = self._ahead + len(piece) if len(self._unanswered) > 1 else 0
            if self._fields > HEAD_BYTES:
                self._refuse_head()
            elif self._ahead > HEAD_BYTES:
                self._drop()
        if self._refused:
            return
        if self._body_open and self._whole_body is None:
            self._whole_body = asyncio.get_running_loop().call_later(self._body_seconds, self._body_took_long)
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            self._stop_waiting()
            if cycle.more_body:
                self._wait_for_request()
        elif self._asking is None:
            self._wait_for_request()

    def on_headers_complete(self) -> None:
        """The head is complete; a body or the next request follows."""
        read, self._fields = self._fields + PIECE, 0  # the head may have begun in the piece that ended the last request
        if self._refused:
            return
        if read > HEAD_BYTES and self._head_bytes() > HEAD_BYTES:
            self._refuse_head()
        elif len(self._unanswered) > MOST_AHEAD:
            self._drop()
        else:
            super().on_headers_complete()
            self._unanswered.append(self.cycle)
            self.headers: list[tuple[bytes, bytes]] = []  # of the trailers, which no check of a request must see
            self._body_open = True

    def on_response_complete(self) -> None:
        """An answer is complete. uvicorn would now read on, however many requests are waiting."""
        self._unanswered.popleft()
        super().on_response_complete()
        if len(self._unanswered) > 1:
            self.flow.pause_reading()

    def on_body(self, body: bytes) -> None:
        """A part of the body. Trailers come only after the last part."""
        self._fields = 0
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is complete."""
        self._fields = 0
        self._stop_clock()
        if not self._refused:
            super().on_message_complete()

    def pause_writing(self) -> None:
        """The socket's buffer is full: start the clock."""
        super().pause_writing()
        self._calm()
        self._hanging_up = asyncio.get_running_loop().call_later(self._stalled_after, self.transport.abort)

    def resume_writing(self) -> None:
        """The socket accepts data again."""
        self._calm()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self._calm()
        self._stop_waiting()
        self._stop_clock()
        super().connection_lost(exc)
        for cycle in self._unanswered:  # uvicorn tells only the last one, which may not have begun
            cycle.disconnected = True
            cycle.message_event.set()
        self._unanswered.clear()
        self.pipeline.clear()

    def _refuse(self, status: int, kind: str, detail: str) -> None:
        """Answer without the application and disconnect. If an answer would arrive out of order, only disconnect."""
        self._refused = True
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete and (cycle.response_started or not cycle.more_body):
            self.transport.abort()
            return
        refusal = answer(status, kind, detail, {"Retry-After": "1"} if status == 503 else None)
        head = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode()]
        head += [name + b": " + value for name, value in refusal.raw_headers]
        self.transport.write(b"\r\n".join([*head, b"connection: close", b"", bytes(refusal.body)]))
        if cycle is not None:  # tells the application that its client has gone
            cycle.disconnected = True
            cycle.message_event.set()
        self._stop_waiting()
        if self.transport.can_write_eof():
            self.transport.write_eof()
            self._asking = asyncio.get_running_loop().call_later(LINGER_SECONDS, self.transport.abort)
        else:
            self.transport.close()

    def _drop(self) -> None:
        """Disconnect without an answer."""
        self._refused = True
        self.transport.abort()

    def _from_here(self) -> int:
        """Number of open connections from the address of this client."""
        here = self.client and self.client[0]
        return sum(1 for each in self.connections if each.client and each.client[0] == here)

    def _is_trusted(self) -> bool:
        """Whether the client is a proxy whose X-Forwarded-For is trusted, which connects for many others."""
        return self.client is None or self.client[0] in getattr(self.config.loaded_app, "trusted_hosts", ())

    def _head_bytes(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + len(b": \r\n") for name, value in self.headers)

    def _refuse_head(self) -> None:
        detail = f"The head or the trailers of the request are larger than {HEAD_BYTES:,} bytes. Send shorter headers."
        self._refuse(431, "size", detail)

    def _body_took_long(self) -> None:
        if self.cycle is None or self.cycle.response_complete:  # the answer did not wait for the body
            self.transport.abort()
        else:
            self._refuse(
                408, "time", f"The body was not complete after {self._body_seconds:g} s. Send several smaller requests."
            )

    def _stop_clock(self) -> None:
        self._body_open = False
        if self._whole_body is not None:
            self._whole_body.cancel()
            self._whole_body = None

    def _wait_for_request(self) -> None:
        self._asking = asyncio.get_running_loop().call_later(self._stalled_after, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None

    def _calm(self) -> None:
        if self._hanging_up is not None:
            self._hanging_up.cancel()
            self._hanging_up = None
