"""Stop tokens: one per call, so two simulations in one process don't stop each other."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Interrupted(Exception):
    """A run was abandoned before its end."""


class Stop(threading.Event):
    """A stop token. Runs check it regularly and stop once it is set."""

    def check(self) -> None:
        """Raise `Interrupted` if the token is set."""
        if self.is_set():
            raise Interrupted


@contextmanager
def listening(stop: Stop) -> Iterator[None]:
    """Let the first Ctrl-C set `stop` instead of raising; the second one raises as usual.

    A KeyboardInterrupt raised while numba unpacks the arguments of a call crashes the process, and one raised while
    LLVM calls back into Python is lost. A token works in both cases. If the token is set when the block ends,
    KeyboardInterrupt is raised here. Signals reach only the main thread, so this does nothing in other threads. A
    handler installed by the caller is kept.
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
