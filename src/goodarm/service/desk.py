"""One writer thread per process. Operations that wait at the same time share one transaction.

The thread collects all waiting operations, runs those of each campaign in one transaction, and answers after the
commit. A refused operation (an unknown ticket, an ended campaign) does not affect the others. If a commit fails, all of
its operations fail and none takes effect.

Clients that are answered together tend to call again together. The thread therefore waits briefly, until there are as
many operations as it has just answered. If it began with the first one, the others would wait for two flushes.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from goodarm.service.problems import Refusal, is_ending

T = TypeVar("T")
Subject = TypeVar("Subject")

STOP_SECONDS = 2.0
"""Maximum seconds that `stop` waits for the thread."""
OPENING_AT_ONCE = 2
"""Maximum number of subjects that are opened at the same time."""
MOST_AT_ONCE = 500
"""Maximum number of operations in one transaction."""
GATHER_SHARE, GATHER_SECONDS = 0.25, 0.005
"""Limits on the wait for more operations: a share of the duration of recent transactions, and a number of seconds."""


@dataclass
class _Waiting(Generic[Subject]):
    """An operation and its answer: a result or an error, delivered to `future` on `loop`."""

    name: str
    operation: Callable[[Subject], Any]
    writes: bool
    key: str | None
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = field(default=None)


class Desk(Generic[Subject]):
    """Runs operations on named subjects in one thread, for any number of event loops.

    open         : opens the subject (a campaign) with a given name; it stays open until an operation fails
    together     : context manager that makes all changes of a subject one transaction; it receives their idempotency
                   keys
    close        : releases a subject
    most_waiting : maximum number of waiting operations; more are refused
    """

    def __init__(
        self,
        open: Callable[[str], Subject],
        together: Callable[[Subject, list[str]], AbstractContextManager[Any]],
        close: Callable[[Subject], None],
        most_waiting: int = 10_000,
    ) -> None:
        self._open, self._together, self._close = open, together, close
        self._most_waiting = most_waiting
        self._waiting: deque[_Waiting[Subject]] = deque()
        self._wake = threading.Condition()
        self._ending = False
        self._expected = 1
        """Number of waiting operations at which the thread begins at once."""
        self._subjects: dict[str, Subject] = {}
        self._parked: dict[str, list[_Waiting[Subject]]] = {}
        """Operations whose subject is being opened."""
        self._many_parked = 0
        self._ready: dict[str, Subject | BaseException] = {}
        """Subjects that another thread has opened, or the error."""
        self._room = threading.Semaphore(OPENING_AT_ONCE)
        self._over = False
        self.transactions = 0
        self.operations = 0
        self._thread = threading.Thread(target=self._run, name="goodarm-desk", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> bool:
        """Run the waiting operations, release all subjects and end the thread.

        Returns False if the thread does not end within `STOP_SECONDS`. It is then abandoned and ends with the process.
        """
        with self._wake:
            self._ending = True
            self._wake.notify()
        self._thread.join(STOP_SECONDS)
        return not self._thread.is_alive()

    @property
    def waiting(self) -> int:
        """Number of operations in the queue."""
        return len(self._waiting) + self._many_parked

    async def read(self, name: str, operation: Callable[[Subject], T]) -> T:
        """Run an operation that changes nothing."""
        return await self._submit(name, operation, writes=False)

    async def write(self, name: str, operation: Callable[[Subject], T], key: str | None = None) -> T:
        """Run an operation that changes the subject, with the request's idempotency key; returns after the commit."""
        return await self._submit(name, operation, writes=True, key=key)

    def _submit(
        self, name: str, operation: Callable[[Subject], T], *, writes: bool, key: str | None = None
    ) -> asyncio.Future[T]:
        loop = asyncio.get_running_loop()
        waiting = _Waiting(name, operation, writes, key, loop, loop.create_future())
        with self._wake:
            if self._ending:
                raise is_ending()
            if self.waiting >= self._most_waiting:
                raise Refusal(
                    429,
                    "busy",
                    f"{self._most_waiting:,} operations are already waiting. Try again in a second.",
                    {"Retry-After": "1"},
                )
            self._waiting.append(waiting)
            if len(self._waiting) in (1, self._expected):
                self._wake.notify()
        return waiting.future

    def _run(self) -> None:
        took = 0.0
        while True:
            taken = self._take(min(GATHER_SHARE * took, GATHER_SECONDS))
            if not taken:
                break
            began = time.perf_counter()
            done = self._run_all(taken)
            took = time.perf_counter() - began
            self._expected = len(taken)
            _answer(done)
        with self._wake:
            self._over = True
            left = [waiting for parked in self._parked.values() for waiting in parked]
        for waiting in left:
            waiting.error = is_ending()
        _answer(left)
        for subject in self._subjects.values():
            self._close(subject)

    def _take(self, seconds: float) -> list[_Waiting[Subject]]:
        """The waiting operations; none at the end. After the first one, wait up to `seconds` for the expected
        number."""
        with self._wake:
            self._wake.wait_for(lambda: self._waiting or self._ending)
            if self._expected > 1:
                self._wake.wait_for(lambda: len(self._waiting) >= self._expected or self._ending, seconds)
            return [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_AT_ONCE))]

    def _run_all(self, taken: list[_Waiting[Subject]]) -> list[_Waiting[Subject]]:
        """Run the operations of each subject: first the writes, in one transaction, then the reads.

        Returns those that have an answer. Those of a subject that is not open are parked.
        """
        done: list[_Waiting[Subject]] = []
        by_name: dict[str, list[_Waiting[Subject]]] = {}
        for waiting in taken:
            by_name.setdefault(waiting.name, []).append(waiting)
        for name, group in by_name.items():
            if name not in self._subjects and name not in self._ready:
                self._park(name, group)
                continue
            done += group
            try:
                subject = self._found(name)
                writes = [waiting for waiting in group if waiting.writes]
                if writes:
                    self._commit(subject, writes)
                for waiting in group:
                    if not waiting.writes:
                        _try(waiting, subject)
            except BaseException as error:  # every caller must get an answer
                for waiting in group:
                    if waiting.error is None and (waiting.writes or waiting.result is None):
                        waiting.error = error
                self._forget(name)
        return done

    def _found(self, name: str) -> Subject:
        """The open subject, or the error that opening it raised."""
        ready = self._ready.pop(name, None)
        if isinstance(ready, BaseException):
            raise ready
        if ready is not None:
            self._subjects[name] = ready
        return self._subjects[name]

    def _park(self, name: str, group: list[_Waiting[Subject]]) -> None:
        """Let operations wait until their subject is open."""
        with self._wake:
            self._many_parked += len(group)
            if name in self._parked:
                self._parked[name] += group
                return
            self._parked[name] = group
        threading.Thread(target=self._open_beside, args=(name,), name="goodarm-opening", daemon=True).start()

    def _open_beside(self, name: str) -> None:
        """Open a subject, and put its operations back at the front."""
        opened: Subject | BaseException
        with self._room:
            try:
                opened = self._open(name)
            except BaseException as error:  # every caller must get it
                opened = error
        with self._wake:
            if not self._over:
                parked = self._parked.pop(name)
                self._many_parked -= len(parked)
                self._ready[name] = opened
                self._waiting.extendleft(reversed(parked))
                self._wake.notify()
            elif not isinstance(opened, BaseException):
                self._close(opened)

    def _commit(self, subject: Subject, writes: list[_Waiting[Subject]]) -> None:
        with self._together(subject, [waiting.key for waiting in writes if waiting.key]):
            for waiting in writes:
                _try(waiting, subject)
        self.transactions += 1
        self.operations += len(writes)

    def _forget(self, name: str) -> None:
        """Discard a subject whose state may be wrong after a fault. The next operation opens it again."""
        subject = self._subjects.pop(name, None)
        if subject is not None:
            try:
                self._close(subject)
            except Exception:  # it is discarded anyway
                return


def _try(waiting: _Waiting[Any], subject: Any) -> None:
    try:
        waiting.result = waiting.operation(subject)
    except Exception as error:
        waiting.error = error


def _answer(taken: list[_Waiting[Any]]) -> None:
    """Deliver the answers, waking each event loop once."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Waiting[Any]]] = {}
    for waiting in taken:
        by_loop.setdefault(waiting.loop, []).append(waiting)
    for loop, group in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_deliver, group)


def _deliver(group: list[_Waiting[Any]]) -> None:
    for waiting in group:
        if waiting.future.cancelled():
            continue
        if waiting.error is not None:
            waiting.future.set_exception(waiting.error)
        else:
            waiting.future.set_result(waiting.result)
