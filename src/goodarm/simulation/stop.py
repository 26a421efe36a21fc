"""Stopping what is under way: one token per call, so that two simulations in one process don't stop each other."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Interrupted(Exception):
    """A run was given up before its end."""


class Stop(threading.Event):
    """Set when the user wants to stop: the runs that were given this token give up at their next look at it."""

    def check(self) -> None:
        """Give up, if it was asked for."""
        if self.is_set():
            raise Interrupted


@contextmanager
def listening(stop: Stop) -> Iterator[None]:
    """Let the first Ctrl-C set `stop` instead of raising at once; the second raises as usual.

    Raised while numba unpacks the arguments of a call, KeyboardInterrupt crashes the process, and raised while LLVM
    calls back into Python it is swallowed: a token is seen in both cases. When the block ends and the token is set,
    KeyboardInterrupt is raised here. Only the main thread is ever interrupted, so this does nothing elsewhere; and
    a handler that the caller has installed stays.
    """
    mine = threading.current_thread() is threading.main_thread()
    if not mine or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def first_time(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        stop.set()

    signal.signal(signal.SIGINT, first_time)
    try:
        yield
    except Interrupted:
        raise KeyboardInterrupt from None
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if stop.is_set():
        raise KeyboardInterrupt
