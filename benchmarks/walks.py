"""Count the functions and files of goodarm that five typical calls pass through: `python -m benchmarks.walks`.

A simulated round, a told reward, the same reward over HTTP, the same until an open page has it, and a log, as
docs/architecture.md describes them. Each is called before, so that imports, caches and compilation do not count, and
then counted by a profile of all threads.
The simulated round is played as plain Python, since a profile does not see into compiled code.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import goodarm
from goodarm import Campaign
from goodarm.environments import bernoulli
from goodarm.simulation.run import assembly_of, source_of
from goodarm.simulation.specification import specify
from goodarm.streams import ENVIRONMENT, POLICY, generator

HOME = str(Path(goodarm.__file__).parent)


ENDINGS = ExitStack()
"""Closes what the walks have opened."""
CALLS = 3
"""Number of calls; the smallest count is reported, since other tasks of a service may run during a call."""
WARM = 20_100
"""Number of rewards after which all rules are compiled, also if the disk has no compiled code yet."""
WARM_OVER_HTTP = 50
"""Number of rewards that are told to the service first."""
POLL = 0.05
"""Seconds between two looks of the server for changes, while a page is open."""
found: set[tuple[str, int, str]] = set()
"""Functions of goodarm that were called by any thread: file, line, name."""


def note(frame: FrameType, event: str, argument: Any) -> None:
    """A profile function that collects the calls of goodarm's functions in `found`."""
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(HOME) and not code.co_name.startswith("<"):
        found.add((code.co_filename, code.co_firstlineno, code.co_name))


def passed(call: Callable[[], Any]) -> tuple[int, int]:
    """Distinct functions of goodarm that a call passes, and the files that they are in."""
    found.clear()
    sys.setprofile(note)
    try:
        call()
        return len(found), len({file for file, _, _ in found})
    finally:
        sys.setprofile(None)


def simulated_round() -> Callable[[], Any]:
    """One round of hdoc on ten arms, after every arm was pulled."""
    spec = specify("hdoc", bernoulli(np.linspace(0.1, 0.9, 10), threshold=0.5), horizon=1000)
    assembly = assembly_of(spec).uncompiled()
    state, chance = assembly.start(1000.0), generator(0, 0, POLICY)
    source = source_of(spec, 0, spec.environment.instance(generator(0, 0, ENVIRONMENT)))
    nothing = np.zeros(0, dtype=np.int64)

    def play() -> None:
        with np.errstate(over="ignore"):
            assembly.advance(state, source, chance, state.round + 1, nothing)

    for _ in range(20):
        play()
    return play


def told_reward() -> Callable[[], Any]:
    """`Campaign.tell` with the default policy, without a verdict."""
    campaign = Campaign.create("memory:", "walk", ["a", "b", "c"], threshold=0.5)
    tickets = iter(campaign.ask(WARM + 2 * CALLS))
    campaign.tell_many((next(tickets), 0.5) for _ in range(WARM))
    return lambda: campaign.tell(next(tickets), 0.5)


class Served:
    """The service for a campaign, without a socket; with `page`, one open page follows the campaign's events."""

    def __init__(self, page: bool = False) -> None:
        from goodarm.service.app import make
        from goodarm.service.settings import Settings

        folder = tempfile.TemporaryDirectory()
        store = f"sqlite:///{folder.name}/walk.db"
        with Campaign.create(store, "walk", ["a", "b", "c"], threshold=0.5) as campaign:
            self.tickets = iter(campaign.ask(60))
        threading.setprofile(note)  # for the threads that the service starts
        self.app = make(Settings(store, update_every=POLL if page else 3600.0))
        self.loop = asyncio.new_event_loop()
        running = self.app.router.lifespan_context(self.app)
        self.loop.run_until_complete(running.__aenter__())
        threading.setprofile(None)  # type: ignore[arg-type]  # None ends it
        self.events: asyncio.Queue[bytes] = asyncio.Queue()

        def close() -> None:
            self.loop.run_until_complete(running.__aexit__(None, None, None))
            if left := asyncio.all_tasks(self.loop):  # the page, and a forecast for it
                for task in left:
                    task.cancel()
                self.loop.run_until_complete(asyncio.wait(left))
            self.loop.close()
            folder.cleanup()

        ENDINGS.callback(close)
        for _ in range(WARM_OVER_HTTP):
            self.tell()
        if page:
            self.page = self.loop.create_task(self.follow())
            self.loop.run_until_complete(self.opened())

    async def request(self, method: str, path: str, body: bytes, send: Callable[[Any], Awaitable[None]]) -> None:
        """Call the application as a server does."""
        headers = {"host": "127.0.0.1:8000", "content-type": "application/json", "content-length": str(len(body))}
        whole = f"/api/v1/campaigns/walk/{path}"
        parts = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Any:
            return parts.pop() if parts else await asyncio.get_running_loop().create_future()

        scope = {
            "type": "http",
            "method": method,
            "path": whole,
            "raw_path": whole.encode(),
            "query_string": b"",
            "root_path": "",
            "http_version": "1.1",
            "scheme": "http",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "client": ("127.0.0.1", 50_000),
            "server": ("127.0.0.1", 8000),
        }
        await self.app(scope, receive, send)

    def tell(self) -> None:
        """Send a reward and receive the answer."""
        answers: list[Any] = []

        async def send(message: Any) -> None:
            answers.append(message)

        body = json.dumps({"ticket": next(self.tickets).ticket, "reward": 0.5}).encode()
        self.loop.run_until_complete(self.request("POST", "tell", body, send))
        if answers[0]["status"] != 200:
            raise SystemExit(f"the service answered {answers[0]['status']}")

    async def follow(self) -> None:
        """Follow the events as an open page does."""

        async def send(message: Any) -> None:
            if message.get("body", b"").startswith(b"event: change"):
                self.events.put_nowait(message["body"])

        await self.request("GET", "events", b"", send)

    async def opened(self) -> None:
        """Wait until the page has every arm, and the server the forecast that it renews from time to time."""
        await self.events.get()
        while await self.app.state.desk.read("walk", lambda campaign: campaign.estimate_due() is not None):
            await asyncio.sleep(POLL)

    def tell_and_see(self) -> None:
        """Send a reward and wait until the page has received the change."""
        self.tell()
        self.loop.run_until_complete(self.events.get())


def told_over_http() -> Callable[[], Any]:
    """The same reward as a POST to the service, from the request to its answer."""
    return Served().tell


def told_to_a_page() -> Callable[[], Any]:
    """The same until the server has sent the change to an open page."""
    return Served(page=True).tell_and_see


def log() -> Callable[[], Any]:
    """`judge` on totals of three arms."""
    totals = {"arm": ["a", "b", "c"], "pulls": [100, 100, 100], "total": [10, 50, 90]}

    def judge() -> None:
        goodarm.judge(totals, threshold=0.5)

    judge()
    return judge


WALKS = {
    "a simulated round": simulated_round,
    "a told reward": told_reward,
    "the same over HTTP": told_over_http,
    "until a page has it": told_to_a_page,
    "a log": log,
}


def main() -> None:
    print(f"{'walk':<20}{'functions':>10}{'files':>7}")
    with ENDINGS:
        for name, prepare in WALKS.items():
            call = prepare()
            functions, files = min(passed(call) for _ in range(CALLS))
            print(f"{name:<20}{functions:>10}{files:>7}")


if __name__ == "__main__":
    main()
