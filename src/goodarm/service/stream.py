"""Live updates: one poller per worker reads the journal and sends changes through bounded queues.

A client that does not read is dropped. It reconnects by itself and names the last event it received.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from goodarm.service.replies import in_pieces

QUEUE = 32
"""Maximum number of changes waiting for one client."""
MOST_LOOKS = 8
"""Maximum number of first events cached per campaign. It limits memory, since clients can name any event as their last
one."""
PING_SECONDS = 10.0
"""Seconds without news after which a stream's token is checked and a comment is sent, to keep proxies connected."""
PING = b": ping\n\n"


@dataclass(frozen=True)
class Change:
    """An event for clients: the journal's number, the page's figures and the changed rows."""

    number: int
    data: dict[str, Any]

    @cached_property
    def event(self) -> bytes:
        """The event as it is sent, encoded once for all clients."""
        return b"event: change\ndata: %b\nid: %d\n\n" % (in_pieces(self.data), self.number)

    def encoded(self) -> Change:
        """The same, with its event encoded in the thread that calls this."""
        _ = self.event
        return self


Look = Callable[[str, int | None], Awaitable[Change | None]]
"""(campaign, number) -> the changes after this entry, None if there are none; number None: everything."""


@dataclass(eq=False)
class Client:
    """One open stream."""

    queue: asyncio.Queue[Change | None] = field(default_factory=lambda: asyncio.Queue(QUEUE))
    dropped: bool = False

    def give(self, change: Change | None) -> None:
        """Put a change into the queue; a full queue drops the client."""
        try:
            self.queue.put_nowait(change)
        except asyncio.QueueFull:
            self.dropped = True
            while not self.queue.empty():
                self.queue.get_nowait()
            self.queue.put_nowait(None)


class Fanout:
    """The poller of one worker and its clients."""

    def __init__(self, look: Look, every: float, log: Callable[[str], None] = lambda text: None) -> None:
        self._look, self._every, self._log = look, every, log
        self._clients: dict[str, set[Client]] = {}
        self._numbers: dict[str, int] = {}
        self._looked: dict[str, dict[int | None, Change]] = {}
        """First events for new clients, by the number they have seen."""
        self._looking: dict[str, asyncio.Lock] = {}
        self._task: asyncio.Task[None] | None = None
        self._ending = False
        self.dropped = 0

    @property
    def clients(self) -> int:
        """Number of open streams."""
        return sum(map(len, self._clients.values()))

    def end(self) -> None:
        """Close every stream when the server stops."""
        self._ending = True
        for clients in self._clients.values():
            for client in clients:
                client.give(None)

    async def stop(self) -> None:
        """End the poller."""
        self.end()
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def follow(
        self, name: str, after: int | None, ping_seconds: float = PING_SECONDS
    ) -> AsyncIterator[Change | None]:
        """Yield the changes after `after` (everything if None), then each new change, and None for each ping."""
        client = Client()
        self._clients.setdefault(name, set()).add(client)
        if self._task is None:
            self._task = asyncio.create_task(self._poll(), name="goodarm-poller")
        try:
            first = await self._first(name, after)
            seen = -1 if after is None else after
            if first is not None:
                seen = first.number
                yield first
            self._numbers.setdefault(name, seen)
            while not self._ending:
                try:
                    change = await asyncio.wait_for(client.queue.get(), ping_seconds)
                except TimeoutError:
                    yield None
                    continue
                if change is None:
                    break
                if change.number > seen:
                    seen = change.number
                    yield change
        finally:
            self.dropped += client.dropped
            self._clients[name].discard(client)
            if not self._clients[name]:
                del self._clients[name]
                for kept in (self._numbers, self._looked, self._looking):
                    kept.pop(name, None)

    async def _first(self, name: str, after: int | None) -> Change | None:
        """The first event of a new client, shared by clients that connect at the same time, as after a restart."""
        async with self._looking.setdefault(name, asyncio.Lock()):
            known = self._looked.setdefault(name, {})
            found = known.get(after)
            if found is None:
                found = await self._look(name, after)
                if found is not None:
                    known[after] = found
                    if len(known) > MOST_LOOKS:
                        del known[next(iter(known))]
            return found

    async def _poll(self) -> None:
        while not self._ending:
            await asyncio.sleep(self._every)
            for name, number in list(self._numbers.items()):
                try:
                    change = await self._look(name, number)
                except Exception as error:  # clients stay connected until the store can be reached again
                    self._log(f"no live update of {name!r}: {error}")
                    continue
                if change is None or name not in self._numbers:
                    continue
                self._numbers[name] = change.number
                self._looked.pop(name, None)
                for client in list(self._clients.get(name, ())):
                    client.give(change)
