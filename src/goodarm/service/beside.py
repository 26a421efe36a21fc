"""Long computations outside the writer thread: few at a time and per token, cancelled when their client disconnects."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from fastapi import Request

from goodarm.service.problems import Refusal, is_ending
from goodarm.simulation.stop import Interrupted, Stop

T = TypeVar("T")

AT_ONCE = 2
"""Maximum number of computations at a time per worker."""
MOST_WAITING = 32
"""Maximum number of running and waiting computations per worker."""
MOST_PER_TOKEN = 4
"""Maximum number of computations of one token per worker, downloads of their results included."""
LOOK_SECONDS = 0.5
"""Seconds between two checks that the client is connected."""


class TooMany(Refusal):
    """The refusal of a computation while many are waiting."""

    def __init__(self, many: int = MOST_WAITING, whose: str = "") -> None:
        detail = f"{many} long computations{whose} are running or waiting. Try again in a moment."
        super().__init__(429, "busy", detail, {"Retry-After": "2"})


class Beside:
    """Runs functions in daemon threads. Each gets a `Stop` token, which is set when its client disconnects."""

    def __init__(self) -> None:
        self._room = asyncio.Semaphore(AT_ONCE)
        self._stops: set[Stop] = set()
        self._held: Counter[str] = Counter()
        """Places that each token holds."""
        self._ended = False

    @property
    def waiting(self) -> int:
        """Number of running and waiting computations."""
        return len(self._stops)

    def end(self) -> None:
        """Cancel everything when the server stops."""
        self._ended = True
        for stop in self._stops:
            stop.set()

    @contextmanager
    def place_of(self, request: Request | None) -> Iterator[None]:
        """One of the places of a request's token, until the block ends; refused if all are taken.

        The whole server as the caller, and everyone on a server without tokens, have as many as there are.
        """
        caller: str = "" if request is None else getattr(getattr(request.state, "caller", None), "id", "")
        if caller and self._held[caller] >= MOST_PER_TOKEN:
            raise TooMany(MOST_PER_TOKEN, " of your token")
        self._held[caller] += 1
        try:
            yield
        finally:
            self._held[caller] -= 1
            if not self._held[caller]:
                del self._held[caller]

    async def run(self, compute: Callable[[Stop], T], request: Request | None = None, *, placed: bool = False) -> T:
        """Return the result of `compute(stop)`; refuse if too many computations are waiting.

        request : the computation is cancelled when this request's client disconnects
        placed  : whether the request holds a place already
        """
        if not placed:
            with self.place_of(request):
                return await self.run(compute, request, placed=True)
        if self._ended:
            raise is_ending()
        if len(self._stops) >= MOST_WAITING:
            raise TooMany(MOST_WAITING)
        stop = Stop()
        self._stops.add(stop)
        try:
            async with self._room:
                stop.check()
                return await self._watched(in_thread(lambda: compute(stop)), stop, request)
        except Interrupted:
            raise is_ending() if self._ended else Refusal(503, "gone", "The client has disconnected.") from None
        finally:
            stop.set()
            self._stops.discard(stop)

    async def _watched(self, result: asyncio.Future[T], stop: Stop, request: Request | None) -> T:
        while not result.done():
            await asyncio.wait({result}, timeout=LOOK_SECONDS)
            if request is not None and not result.done() and await request.is_disconnected():
                stop.set()
        return result.result()


def in_thread(compute: Callable[[], T]) -> asyncio.Future[T]:
    """Run a function in a daemon thread, which does not delay the end of the process. A pool's threads would."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()

    def deliver(value: T | None, error: BaseException | None) -> None:
        if not result.cancelled():
            if error is not None:
                result.set_exception(error)
            else:
                result.set_result(value)  # type: ignore[arg-type]  # without an error, the value is there

    def run() -> None:
        try:
            value, error = compute(), None
        except BaseException as raised:
            value, error = None, raised
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(deliver, value, error)

    threading.Thread(target=run, name="goodarm-beside", daemon=True).start()
    return result
