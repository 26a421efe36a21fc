"""How the tests start a browser: Debian's chromium, which must not look for hosts outside."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
PATIENCE = 60_000
"""Milliseconds until what does not appear is called missing; a busy machine may be slow."""

NewPage = Callable[..., "Page"]


def found_browser() -> str | None:
    """The browser of this machine; playwright's own is a download."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def flags() -> list[str]:
    """A sandbox needs a user that is not root."""
    return [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
