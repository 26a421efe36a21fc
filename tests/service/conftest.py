"""A real browser for the dashboard's tests: Debian's chromium, driven by playwright."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browsing import PATIENCE, NewPage, flags, found_browser
from serving import Server, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser per file: while playwright runs, nothing else may run an event loop in this thread."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'goodarm[test]'")
    found = found_browser()
    if found is None:
        pytest.skip("needs a browser: apt-get install chromium (make test does it when run as root)")
    with playwright.sync_playwright() as running:
        launched = running.chromium.launch(executable_path=found, args=flags())
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that the tests of one file share."""
    folder: Path = tmp_path_factory.mktemp("dashboard")
    with serving(f"sqlite:///{folder}/campaigns.db") as running:
        yield running


@pytest.fixture
def new_page(browser: Browser) -> Iterator[NewPage]:
    """Opens pages, each in a separate browser profile; fails if one reports an error or a CSP violation."""
    complaints: list[str] = []
    contexts = []

    def open_page(quiet: bool = True, **options: Any) -> Page:
        context = browser.new_context(**{"locale": "en-US", "viewport": {"width": 1280, "height": 900}, **options})
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        if quiet:
            page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
