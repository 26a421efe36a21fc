"""The application of one worker: its parts, how they start and stop, and what is served where."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

from fastapi import FastAPI

from goodarm.errors import DamagedJournal, Refused, UnknownName, UnknownTicket, UnusableStore
from goodarm.service import orphan, problems
from goodarm.service.campaigns import Campaigns
from goodarm.service.compressed import Compressed
from goodarm.service.demo import Visitors
from goodarm.service.guard import Door
from goodarm.service.lease import Lease
from goodarm.service.metrics import Metrics
from goodarm.service.planner import Planner
from goodarm.service.rest import Rest
from goodarm.service.routes import campaigns, health, people, plan, reads, tickets, webhooks
from goodarm.service.sender import Sender
from goodarm.service.settings import Settings
from goodarm.service.side import UnusableSide, open_side
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
log = logging.getLogger("goodarm.service")


def from_environment() -> FastAPI:
    """What uvicorn calls in each worker."""
    return make(Settings.from_environment())


def make(settings: Settings) -> FastAPI:
    """An application for a store."""
    metrics = Metrics()
    app = FastAPI(
        title="goodarm",
        version=__version__,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        description="Which of my options clear the bar? Campaigns over HTTP.",
        lifespan=_life,
    )
    app.state.settings, app.state.metrics = settings, metrics
    app.add_middleware(Compressed)
    app.add_middleware(Door, settings=settings, observe=metrics.observe)  # added last, and so the outermost
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
    found = Campaigns(settings)
    state = app.state
    state.campaigns, state.desk = found, found.desk
    state.tokens = Tokens(side, before=settings.tokens_before)
    state.webhooks = Webhooks(side, private=settings.private_targets)
    state.fanout = Fanout(found.changes, settings.update_every, log.warning)
    state.sender = Sender(found.desk, state.webhooks, Lease(side, "webhooks"), private=settings.private_targets)
    state.planner = Planner()
    found.start()
    ending = threading.Event()
    orphan.watch(settings.parent, ending)
    tasks = [asyncio.create_task(state.sender.run(), name="goodarm-sender")]
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


async def _demo(campaigns: Campaigns, lease: Lease) -> None:
    """Simulated visitors, in one of the workers."""
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
    """End the streams as soon as the server is told to stop: uvicorn waits for them before it tells the application."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def heard(number: int, frame: Any) -> None:
        loop.call_soon_threadsafe(end)
        handler = before[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    for number in before:
        signal.signal(number, heard)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
