"""Progress without a terminal: one line per minute on stderr, so that a long job is not silent."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Protocol

SECONDS = 60.0
"""Time between two lines."""


class Say(Protocol):
    """Writes a line about the progress of a job; `last` marks the line at its end."""

    def __call__(self, text: str, *, last: bool = False) -> None: ...


def every_minute(clock: Callable[[], float] = time.monotonic) -> Say:
    """A function that writes its text to stderr, at most once a minute, and never to a terminal.

    The first minute has no line, so short jobs write none. A job that has written a line also writes its last one.

    clock : function that returns the time in seconds
    """
    written, begun = clock(), False

    def say(text: str, *, last: bool = False) -> None:
        nonlocal written, begun
        due = clock() - written >= SECONDS or (last and begun)
        if due and not sys.stderr.isatty():
            written, begun = clock(), True
            print(f"goodarm: {text}", file=sys.stderr, flush=True)

    return say
