"""Progress without a terminal: one line per minute on stderr, so that a long job is not silent."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

SECONDS = 60.0
"""Time between two lines."""


def every_minute(clock: Callable[[], float] = time.monotonic) -> Callable[[str], None]:
    """A function that writes its text to stderr, at most once a minute, and never to a terminal.

    The first minute has no line, so short jobs write none.

    clock : function that returns the time in seconds
    """
    last = clock()

    def say(text: str) -> None:
        nonlocal last
        if clock() - last >= SECONDS and not sys.stderr.isatty():
            last = clock()
            print(f"goodarm: {text}", file=sys.stderr, flush=True)

    return say
