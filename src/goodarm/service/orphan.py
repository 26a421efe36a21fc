"""A worker ends when the server that started it is gone: nobody would stop it, and it would keep the port."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

EVERY = 0.5
"""Seconds between two looks."""
LAST_SECONDS = 5.0
"""How long an orphan may take to stop by itself."""


def watch(parent: int, ending: threading.Event, end: Callable[[], None] | None = None) -> threading.Thread:
    """Watch the parent from a separate thread, so that a busy event loop does not hide that it is gone.

    parent : the process that started this one; 0 if nobody did
    ending : set when the worker stops for another reason
    """
    thread = threading.Thread(target=_look, args=(parent, ending, end or _stop), name="goodarm-orphan", daemon=True)
    if parent:
        thread.start()
    return thread


def _look(parent: int, ending: threading.Event, end: Callable[[], None]) -> None:
    while not ending.wait(EVERY):
        if os.getppid() != parent:
            end()
            if not ending.wait(LAST_SECONDS):
                os._exit(1)
            return


def _stop() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
