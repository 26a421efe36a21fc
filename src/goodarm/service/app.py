"""The application of one worker: its parts, their start and stop, its routes, and the fallback for unknown paths."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import signal
import threading
from collections.abc import AsyncIterator, Callable
from functools import cached_property, partial
from importlib.resources import files
from typing import Any

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles
from starlette.datastructures import State
from starlette.types import ASGIApp, Receive, Scope, Send

from goodarm.engine.compile import compile_in_background
from goodarm.errors import DamagedJournal, Refused, UnknownName, UnknownTicket, UnusableStore
from goodarm.service import problems
from goodarm.service.campaigns import Campaigns
from goodarm.service.compressed import Compressed
from goodarm.service.demo import Visitors
from goodarm.service.guard import Guard
from goodarm.service.hot import HotPath
from goodarm.service.metrics import Metrics
from goodarm.service.routes import campaigns, health, people, plan, reads, tickets, webhooks
from goodarm.service.sender import Sender
from goodarm.service.settings import Settings
from goodarm.service.side import Lease, UnusableSide, open_side
from goodarm.service.stream import Fanout
from goodarm.service.tokens import Tokens
from goodarm.service.webhooks import UnknownWebhook, Webhooks
from goodarm.version import __version__

STATUS = {
    UnknownName: 404,
    UnknownTicket: 404,
    UnknownWebhook: 404,
    Refused: 409,
    UnusableStore: 503,
    UnusableSide: 503,
    DamagedJournal: 500,
}
PARENT_SECONDS = 0.5
"""Seconds between two checks that the parent process is alive."""
ORPHAN_SECONDS = 5.0
"""Maximum number of seconds that an orphaned worker has to stop by itself."""
MEASURE_SECONDS = 1.0
log = logging.getLogger("goodarm.service")


def from_environment() -> FastAPI:
    """Application factory that uvicorn calls in each worker."""
    compile_in_background()
    return make(Settings.from_environment())


class Application(FastAPI):
    """FastAPI behind the guard and the fast paths, which do not need its middleware."""

    front: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"] = self
        await self.front(scope, receive, send)


def make(settings: Settings) -> FastAPI:
    """An application for a store."""
    metrics = Metrics()
    app = Application(
        title="goodarm",
        version=__version__,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        description="Which of my options clear the bar? Campaigns over HTTP.",
        lifespan=_life,
        servers=[{"url": settings.root_path}] if settings.root_path else None,
    )
    app.state.settings, app.state.metrics = settings, metrics
    app.add_middleware(Compressed)
    app.front = Guard(HotPath(partial(FastAPI.__call__, app)), settings, metrics.observe)
    problems.install(app, STATUS)
    for topic in (people, campaigns, tickets, reads, webhooks, plan, health):
        app.include_router(topic.router)
    problems.describe(app)
    app.mount("/", Rest(app), name="dashboard")
    return app


@contextlib.asynccontextmanager
async def _life(app: FastAPI) -> AsyncIterator[None]:
    settings: Settings = app.state.settings
    side = open_side(settings.store)
    state = app.state
    state.tokens = Tokens(side)
    found = Campaigns(settings, state.tokens.any_active)
    targets: Any = {"private": settings.private_targets, "ports": settings.webhook_ports}
    state.campaigns, state.desk = found, found.desk
    state.webhooks = Webhooks(side, **targets)
    state.fanout = Fanout(found.changes, settings.update_every, log.warning)
    state.sender = Sender(
        found.desk, state.webhooks, Lease(side, "webhooks"), note=state.metrics.note_delivery, **targets
    )
    state.planner = plan.Planner()
    found.start()
    ending = threading.Event()
    watch_parent(settings.parent, ending)
    tasks = [
        asyncio.create_task(state.sender.run(), name="goodarm-sender"),
        asyncio.create_task(_measure(state), name="goodarm-measure"),
    ]
    if settings.demo:
        tasks.append(asyncio.create_task(_demo(found, Lease(side, "demo")), name="goodarm-simulated-visitors"))
    with _told_to_stop(asyncio.get_running_loop(), state.fanout.end):
        try:
            yield
        finally:
            await state.fanout.stop()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.to_thread(found.stop)
            side.close()
            Metrics.stop()
            ending.set()


async def _measure(state: State) -> None:
    """Store this worker's gauges regularly, since another worker may answer a scrape."""
    while True:
        figures = {"waiting_operations": state.desk.waiting, "long_computations": state.campaigns.beside.waiting}
        state.metrics.note_now(**figures, streams=state.fanout.clients)
        await asyncio.sleep(MEASURE_SECONDS)


async def _demo(campaigns: Campaigns, lease: Lease) -> None:
    """Run the simulated visitors in one of the workers."""
    while not await asyncio.to_thread(lease.take):
        await asyncio.sleep(1.0)
    await campaigns.create_demo()
    visitors = asyncio.create_task(Visitors(campaigns.desk.write).run())
    try:
        while not visitors.done():
            await asyncio.to_thread(lease.take)
            await asyncio.wait({visitors}, timeout=1.0)
        if visitors.exception() is not None:
            log.warning("the simulated visitors stopped: %s", visitors.exception())
    finally:
        visitors.cancel()


@contextlib.contextmanager
def _told_to_stop(loop: asyncio.AbstractEventLoop, end: Callable[[], None]) -> Any:
    """End the streams on the stop signal: uvicorn waits for them before it notifies the application."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def forward(number: int, frame: Any) -> None:
        loop.call_soon_threadsafe(end)
        handler = before[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    for number in before:
        signal.signal(number, forward)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def watch_parent(parent: int, ending: threading.Event, end: Callable[[], None] | None = None) -> threading.Thread:
    """Watch the parent from a separate thread, which works even if the event loop is busy.

    parent : the process that started this one; 0 if there is none
    ending : set when the worker stops for another reason
    """
    thread = threading.Thread(
        target=_watch, args=(parent, ending, end or _stop_worker), name="goodarm-orphan", daemon=True
    )
    if parent:
        thread.start()
    return thread


def _watch(parent: int, ending: threading.Event, end: Callable[[], None]) -> None:
    while not ending.wait(PARENT_SECONDS):
        if os.getppid() != parent:
            end()
            if not ending.wait(ORPHAN_SECONDS):
                os._exit(1)
            return


def _stop_worker() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


class Rest:
    """Answers paths that no route matches."""

    def __init__(self, app: FastAPI) -> None:
        static = files("goodarm.service") / "static"
        self._app = app
        self._static = StaticFiles(directory=str(static), html=True) if static.is_dir() else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        allowed = self._allowed(path)
        if allowed:
            detail = f"{scope['method']} is not allowed here; use {' or '.join(allowed)}."
            await problems.answer(405, "http", detail, {"Allow": ", ".join(allowed)})(scope, receive, send)
        elif path.startswith("/api/") or self._static is None:
            await problems.answer(
                404, "http", "There is nothing at this address. /api/v1/openapi.json lists all addresses."
            )(scope, receive, send)
        else:
            await self._static(scope, receive, send)

    def _allowed(self, path: str) -> list[str]:
        return sorted({method for pattern, methods in self._known if pattern.fullmatch(path) for method in methods})

    @cached_property
    def _known(self) -> list[tuple[re.Pattern[str], list[str]]]:
        return [
            (re.compile(re.sub(r"\\{[^}]+\\}", "[^/]+", re.escape(path))), [method.upper() for method in methods])
            for path, methods in self._app.openapi()["paths"].items()
        ]
