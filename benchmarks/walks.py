"""Count the functions and files of goodarm that four typical calls pass through: `python -m benchmarks.walks`.

A simulated round, a told reward, the same reward over HTTP, and a log, as docs/architecture.md describes them. Each is
called once before, so that imports, caches and compilation do not count, and then counted by a profile of all threads.
The simulated round is played as plain Python, since a profile does not see into compiled code.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import threading
from collections.abc import Callable
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


def told_over_http() -> Callable[[], Any]:
    """The same reward as a POST to the service, from the request to its answer; without a socket."""
    from goodarm.service.app import make
    from goodarm.service.settings import Settings

    folder = tempfile.TemporaryDirectory()
    store = f"sqlite:///{folder.name}/walk.db"
    with Campaign.create(store, "walk", ["a", "b", "c"], threshold=0.5) as campaign:
        tickets = iter(campaign.ask(60))
    threading.setprofile(note)  # for the threads that the service starts
    app, loop = make(Settings(store, update_every=3600.0)), asyncio.new_event_loop()
    running = app.router.lifespan_context(app)
    loop.run_until_complete(running.__aenter__())
    threading.setprofile(None)  # type: ignore[arg-type]  # None ends it

    def close() -> None:
        loop.run_until_complete(running.__aexit__(None, None, None))
        loop.close()
        folder.cleanup()

    async def post(body: bytes) -> int:
        headers = {"host": "127.0.0.1:8000", "content-type": "application/json", "content-length": str(len(body))}
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/api/v1/campaigns/walk/tell",
            "raw_path": b"/api/v1/campaigns/walk/tell",
            "query_string": b"",
            "root_path": "",
            "http_version": "1.1",
            "scheme": "http",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "client": ("127.0.0.1", 50_000),
            "server": ("127.0.0.1", 8000),
        }
        answers: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            answers.append(message)

        await app(scope, receive, send)
        return int(answers[0]["status"])

    def tell() -> None:
        body = json.dumps({"ticket": next(tickets).ticket, "reward": 0.5}).encode()
        status = loop.run_until_complete(post(body))
        if status != 200:
            raise SystemExit(f"the service answered {status}")

    ENDINGS.callback(close)
    for _ in range(55):
        tell()
    return tell


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
