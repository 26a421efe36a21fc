"""What tests of several folders share: the real data, and a server on loopback."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

collect_ignore = ["conftest.py"]
"""Folders have a conftest.py of their own, and doctest would import all of them under one name."""


SLOW_DOCTESTS = (
    "goodarm.learning.",
    "goodarm.paper.",
    "goodarm.informed.",
    "goodarm.testing.",
    "goodarm.planning.",
    "goodarm.simulation.compare.Comparison.",
)
"""Modules whose examples simulate or compile for seconds."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark examples in docstrings as slow, where no decorator can."""
    for item in items:
        if isinstance(item, pytest.DoctestItem) and item.name.startswith(SLOW_DOCTESTS):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_is_heard() -> None:
    """A test run started in the background is told to ignore Ctrl-C, and so would be every process it starts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def data_folder(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the real files, made known as GOODARM_DATA; the test is skipped where there is none."""
    beside_the_repository = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("GOODARM_DATA") or beside_the_repository)
    if not folder.is_dir():
        pytest.skip("needs the real data: set GOODARM_DATA to a folder laid out as docs/datasets.md says")
    monkeypatch.setenv("GOODARM_DATA", str(folder))
    return folder


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no GOODARM_DATA."""
    monkeypatch.delenv("GOODARM_DATA", raising=False)
    monkeypatch.setenv("GOODARM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@dataclass
class Publisher:
    """A web server on loopback: paths and what they serve; those in `cut` break off in the middle."""

    address: str
    pages: dict[str, bytes] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def publisher(monkeypatch: pytest.MonkeyPatch) -> Iterator[Publisher]:
    """A publisher that stops with the test."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.asked.append(self.path)
            page = found.pages.get(self.path)
            if page is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page[: len(page) // 2] if self.path in found.cut else page)

        def log_message(self, *ignored: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found = Publisher(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield found
        server.shutdown()
        thread.join()
