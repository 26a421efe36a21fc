"""uvicorn's HTTP protocol with one more rule: a client that reads nothing for a while is disconnected.

Without it, an answer to a client that does not read would hold its socket and its memory until the client goes away.
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
        super().connection_lost(exc)

    def _calm(self) -> None:
        if self._hanging_up is not None:
            self._hanging_up.cancel()
            self._hanging_up = None
