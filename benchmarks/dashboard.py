"""The dashboard in a real browser: what is transferred, when it is painted, what live updates of many arms cost."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

from benchmarks.section import Row, Section

if TYPE_CHECKING:
    from playwright.sync_api import Browser, CDPSession, Page

ARMS = (200, 2_000, 10_000)
SECONDS, PER_SECOND, REWARDS = 10, 5, 400
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync")  # fmt: skip
WATCH = """
window.longest = 0;
new PerformanceObserver(list => {
  for (const entry of list.getEntries()) window.longest = Math.max(window.longest, entry.duration);
}).observe({ type: "longtask", buffered: true });
"""
SCROLL = """
async frames => {
  const box = document.querySelector(".scroller");
  for (let i = 0; i < frames; i++) {
    box.scrollTop = (box.scrollTop + 400) % Math.max(box.scrollHeight - box.clientHeight, 1);
    await new Promise(requestAnimationFrame);
  }
}
"""
FRAMES = 120


def run() -> Section:
    """One server, a new browser profile per number of arms."""
    from playwright.sync_api import sync_playwright

    with _server() as address, sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))
        rows = [Row(_watched(launched, address, arms)) for arms in ARMS]
        first = _first_verdict(launched, address)
        launched.close()
    return Section(
        "dashboard",
        f"{PER_SECOND} updates per second for {SECONDS} s, {REWARDS} rewards each, in chromium without a graphics card",
        "",
        rows,
        [
            "Files: page, style, modules and uPlot; data: the campaign's own JSON; both as they come, in gzip. "
            "Work: processor time of the page's thread, per update (an ask and a tell). Longest: its longest task by "
            "the clock. "
            f"Scrolled: the table, {FRAMES} frames of 400 pixels each.",
            f'"Try it with simulated rewards": the first verdict {first:.1f} s after the page was opened.',
        ],
    )


@contextmanager
def _server() -> Iterator[str]:
    command = (sys.executable, "-c", "from goodarm.cli import main; main()")
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            (*command, "serve", "--store", f"sqlite:///{folder}/campaigns.db", "--port", "0"),
            stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        try:
            assert process.stdout is not None
            found = re.search(r"at (http://\S+?)/ ", process.stdout.readline())
            assert found, "the server did not say its address"
            yield found[1]
        finally:
            process.terminate()
            process.wait(20)


def _post(address: str, path: str, body: Any) -> Any:
    request = Request(address + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(request, timeout=60) as answer:
        return json.load(answer)


def _watched(browser: Browser, address: str, arms: int) -> dict[str, Any]:
    """Open a campaign's page, feed it, and see what the browser did."""
    name = f"watched-{arms}"
    ids = [{"id": f"h{i}", "label": f"Headline number {i}"} for i in range(arms)]
    _post(address, "/api/v1/campaigns", {"name": name, "arms": ids, "threshold": 0.02})
    _feed(address, name, 1)
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.add_init_script(WATCH)
    devtools = context.new_cdp_session(page)
    sizes = _sizes(devtools)
    page.goto(f"{address}/#/campaign/{name}")
    page.wait_for_selector(".spacer .line", timeout=60_000)
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    files, data = sizes["files"], sizes["data"]
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.evaluate("window.longest = 0")
    before = _busy(devtools)
    began = time.monotonic()
    updates = _feed(address, name, SECONDS * PER_SECOND, page)
    work, passed = _busy(devtools) - before, time.monotonic() - began
    longest = page.evaluate("window.longest")
    before = _busy(devtools)
    page.evaluate(SCROLL, FRAMES)
    scroll = (_busy(devtools) - before) * 1000 / FRAMES
    lines = page.locator(".spacer .line").count()
    context.close()
    return {
        "arms": arms, "files KB": files / 1000, "data KB": data / 1000, "first paint ms": paint,
        "work per update ms": work * 1000 / updates, "of a core %": 100 * work / passed,
        "longest ms": longest, "work per scrolled frame ms": scroll, "rows in the document": lines,
    }  # fmt: skip


def _sizes(devtools: CDPSession) -> dict[str, float]:
    """Bytes that come over the wire from now on, of files and of data."""
    sizes, kinds = {"files": 0.0, "data": 0.0}, {}
    devtools.send("Network.enable")

    def asked(event: dict[str, Any]) -> None:
        kinds[event["requestId"]] = "data" if "/api/" in event["request"]["url"] else "files"

    def came(event: dict[str, Any]) -> None:
        sizes[kinds.get(event["requestId"], "files")] += event["encodedDataLength"]

    devtools.on("Network.requestWillBeSent", asked)
    devtools.on("Network.loadingFinished", came)
    return sizes


def _busy(devtools: CDPSession) -> float:
    metrics = devtools.send("Performance.getMetrics")["metrics"]
    return next(float(metric["value"]) for metric in metrics if metric["name"] == "TaskDuration")


def _feed(address: str, name: str, updates: int, page: Page | None = None) -> int:
    """Ask and tell this many times, at an even pace if a page is watching."""
    path = f"/api/v1/campaigns/{name}"
    began = time.monotonic()
    for update in range(updates):
        tickets = _post(address, f"{path}/ask", {"n": REWARDS})["tickets"]
        rewards = [{"ticket": t["ticket"], "reward": float((i * 7919) % 50 == 0)} for i, t in enumerate(tickets)]
        _post(address, f"{path}/tell-many", {"rewards": rewards})
        if page is not None:
            left = began + (update + 1) / PER_SECOND - time.monotonic()
            page.wait_for_timeout(max(left, 0.0) * 1000)
    return updates


def _first_verdict(browser: Browser, address: str) -> float:
    page = browser.new_context().new_page()
    began = time.monotonic()
    page.goto(address)
    page.get_by_role("button", name="Try it with simulated rewards").click()
    page.wait_for_selector(".feed .verdict", timeout=60_000)
    passed = time.monotonic() - began
    page.context.close()
    return passed
