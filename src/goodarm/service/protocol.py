"""uvicorn's HTTP protocol with two more rules: clients that do not read, or do not finish asking, are disconnected.

Without them, a client that does not read its answer, or never ends its request, would hold a socket and its memory
for as long as it likes.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from goodarm.service.settings import Settings

if TYPE_CHECKING:
    Base: Any = object
else:
    from uvicorn.protocols.http.auto import AutoHTTPProtocol as Base


class Protocol(Base):  # type: ignore[misc]  # uvicorn chooses its own base at run time
    """What uvicorn is told to speak: `Config(http="goodarm.service.protocol:Protocol")`."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._stalled_after = Settings.from_environment().stalled_after
        self._hanging_up: asyncio.TimerHandle | None = None
        self._asking: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """A client has connected: expect its request."""
        super().connection_made(transport)
        self._wait_for_request()

    def data_received(self, data: bytes) -> None:
        """A request's head must come within the time; its body may take longer as long as it grows."""
        super().data_received(data)
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            self._stop_waiting()
            if cycle.more_body:
                self._wait_for_request()
        elif self._asking is None:
            self._wait_for_request()

    def pause_writing(self) -> None:
        """The socket accepts no more: start the clock."""
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
        super().connection_lost(exc)

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
