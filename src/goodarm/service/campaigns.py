"""One worker's access to the campaigns of a store."""

from __future__ import annotations

import asyncio
import logging
import math
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fastapi import Request, Response

from goodarm.campaign import Campaign, open_store
from goodarm.campaign.check import check_named
from goodarm.campaign.session import Limits
from goodarm.campaign.stores import found_in
from goodarm.campaign.transfer import export
from goodarm.errors import UnknownName
from goodarm.problem import rewards_from_text
from goodarm.service import demo, views
from goodarm.service.beside import Beside, in_thread
from goodarm.service.bodies import NewCampaign
from goodarm.service.copies import Copies
from goodarm.service.desk import Desk
from goodarm.service.exported import Exported, squeezed
from goodarm.service.hosted import Due, Hosted, rehearse_block
from goodarm.service.problems import Refusal
from goodarm.service.replies import etag, fresh, in_pieces, matches
from goodarm.service.settings import Settings
from goodarm.service.stream import Change
from goodarm.service.trail import Trail

if TYPE_CHECKING:
    from goodarm.campaign import Store
    from goodarm.campaign.journal import Head
    from goodarm.campaign.rows import Finish
    from goodarm.planning import Remaining
    from goodarm.simulation.stop import Stop

T = TypeVar("T")
log = logging.getLogger("goodarm.service")
FEW_ENTRIES = 10_000
"""Maximum number of entries to read on the desk. Longer reads count as long computations."""
MOST_LISTED = 4
"""Maximum number of running estimates for lists. A list of a hundred campaigns must leave room for other work."""
ESTIMATE_SECONDS, LIST_SECONDS = 2.0, 0.5
"""Maximum number of seconds that a view, or the list of campaigns, waits for an estimate. If it takes longer, a later
view shows it."""
PROBE_SECONDS = 3.0
"""Maximum duration of a test write, in seconds, for the server to count as ready."""
PROBE_EVERY = 1.0
"""Seconds for which a probe's result is cached. /readyz needs no token, and each probe is a write."""


class Campaigns:
    """A store, its writer thread (the desk), and long computations in other threads.

    look : reads the service's own tables; an error means that the server is not ready
    """

    def __init__(self, settings: Settings, look: Callable[[], object]) -> None:
        self._store: Store = open_store(settings.store)
        self._look = look
        self._limits = Limits(settings.most_tickets, settings.most_entries)
        self.desk: Desk[Hosted] = Desk(self._open, Hosted.together, Hosted.close, settings.most_waiting)
        self.beside = Beside()
        self._copies = Copies(self._open)
        self._trails: dict[str, Trail] = {}
        self._peeking: dict[str, demo.Peeking] = {}
        self._reading: dict[str, asyncio.Lock] = {}
        self._estimating: dict[str, asyncio.Task[None]] = {}
        self._rehearsed: dict[str, asyncio.Future[None]] = {}
        self._probe: asyncio.Future[None] | None = None
        self._probed_at = -math.inf

    def _open(self, name: str) -> Hosted:
        opened = Hosted.open(self._store, name)
        opened.limit(self._limits)
        return opened

    def start(self) -> None:
        """Open the desk."""
        self.desk.start()

    def stop(self) -> None:
        """Finish waiting operations and release the store. A store that does not answer is abandoned."""
        self.beside.end()
        self._copies.beside.end()
        if self.desk.stop():
            self._store.close()
        else:
            log.warning("the store does not answer; unacknowledged changes may be lost")
            self._store.give_up()

    async def probe(self) -> None:
        """Raise an error unless tokens can be read and the store accepts a write within a few seconds."""
        if self._probe is None and time.monotonic() - self._probed_at < PROBE_EVERY:
            return
        if self._probe is None:
            self._probe = in_thread(self._try_out)
            self._probe.add_done_callback(self._note_probe)
        await asyncio.wait_for(asyncio.shield(self._probe), PROBE_SECONDS)

    def _try_out(self) -> None:
        self._look()
        self._store.probe()

    def _note_probe(self, probe: asyncio.Future[None]) -> None:
        self._probe = None
        if not probe.cancelled() and probe.exception() is None:
            self._probed_at = time.monotonic()

    async def write(self, request: Request, name: str, operation: Callable[[Hosted], T]) -> T:
        """Change a campaign; entries of the journal carry the id of the caller's token."""
        by: str = request.state.caller.id
        return await self.desk.write(name, lambda campaign: campaign.act_for(by, operation))

    async def names(self) -> list[str]:
        """The names of all campaigns."""
        return await asyncio.to_thread(self._store.names)

    async def summaries(self) -> list[dict[str, Any]]:
        """Summaries of all campaigns."""
        names = await self.names()
        return list(await asyncio.gather(*(self.estimated(name, views.summary, in_list=True) for name in names)))

    async def summary(self, name: str) -> dict[str, Any]:
        """Summary of one campaign."""
        return await self.estimated(name, views.summary)

    async def estimated(self, name: str, view: Callable[[Hosted], T], in_list: bool = False) -> T:
        """A view with the estimate of the remaining samples, renewed in another thread if it is due.

        A view never fails because of its estimate. If too many are running, it shows the latest one.

        in_list : whether the view lists several campaigns; it then waits less and starts fewer estimates
        """

        def look(campaign: Hosted) -> tuple[T, Due | None]:
            return view(campaign), None if name in self._estimating else campaign.estimate_due()

        found, due = await self.desk.read(name, look)
        is_full = in_list and len(self._estimating) >= MOST_LISTED
        if due is None or name in self._estimating or is_full:
            return found
        renewal = self._estimating[name] = asyncio.create_task(self._estimate(name, due))
        renewal.add_done_callback(lambda _: self._estimating.pop(name, None))
        done, _ = await asyncio.wait({renewal}, timeout=LIST_SECONDS if in_list else ESTIMATE_SECONDS)
        return await self.desk.read(name, view) if done else found

    async def _estimate(self, name: str, due: Due) -> None:
        def timed(stop: Stop) -> tuple[Finish | None, float]:
            began = time.monotonic()
            return due.estimate(stop), time.monotonic() - began

        try:
            value, took = await self.beside.run(timed)
            await self.desk.read(name, lambda campaign: campaign.keep_estimate(due.number, value, took))
        except Refusal:  # too many long computations, or the server ends
            log.debug("no estimate for %s", name)
        except Exception:
            log.exception("estimate for %s failed", name)

    async def ready_for_blocks(self, name: str) -> None:
        """Compile the code for blocks in another thread, once per policy, without waiting for long computations.

        If it fails, the campaign refuses the block with the same error, and the next block tries again.
        """
        terms = await self.desk.read(name, lambda campaign: campaign.terms)
        key = f"{terms.policy} {terms.rules} {terms.question.field} {terms.cases is None}"
        if key not in self._rehearsed:
            self._rehearsed[key] = in_thread(lambda: rehearse_block(terms))
        rehearsal = self._rehearsed[key]
        await asyncio.wait({rehearsal})
        if rehearsal.exception() is not None and self._rehearsed.get(key) is rehearsal:
            del self._rehearsed[key]

    async def create(self, request: Request, body: NewCampaign, key: str | None) -> dict[str, Any]:
        """Start a campaign. Repeating the request with the same name and key returns the same campaign."""
        given = body.model_dump(exclude_none=True) | ({"key": key} if key else {})
        given["arms"] = [arm if isinstance(arm, str) else arm.model_dump(exclude_none=True) for arm in body.arms]
        try:
            if "rewards" in given:
                given["rewards"] = rewards_from_text(given["rewards"])
            await asyncio.to_thread(self._create, given | {"by": request.state.caller.id})
        except UnknownName as error:  # an unknown policy makes the request invalid; it is not a missing resource
            raise Refusal(400, "UnknownName", str(error)) from None
        return await self.summary(body.name)

    async def create_demo(self) -> None:
        """Create the campaign of the simulated visitors, unless it exists."""
        if demo.NAME not in await self.names():
            await asyncio.to_thread(self._create, demo.terms())

    def _create(self, given: dict[str, Any]) -> None:
        Campaign.create(self._store, **given).close()

    async def with_rows(self, name: str, view: Callable[[Hosted], T], forecast: bool = False) -> T:
        """A view with a row for each arm. That of a large campaign is computed in another thread, from a copy.

        forecast : whether the view contains the remaining samples
        """

        def at_desk(campaign: Hosted) -> tuple[Hosted, list[T]]:
            return campaign, [] if campaign.is_large else [view(campaign)]

        campaign, found = await (self.estimated(name, at_desk) if forecast else self.desk.read(name, at_desk))
        return found[0] if found else await self._copies.read(campaign, view)

    async def answer(
        self,
        name: str,
        if_none_match: str | None,
        view: Callable[[Hosted], dict[str, Any]],
        *parts: object,
        forecast: bool = False,
        rows: bool = False,
    ) -> Response:
        """A view with its ETag, or 304 if the client already has it.

        parts    : values that the view depends on besides the campaign, and its name
        forecast : whether the view contains the remaining samples and the overdue tickets
        rows     : whether the view ends with a row for each arm
        """

        def look(campaign: Hosted) -> tuple[str, dict[str, Any] | bytes | None]:
            with campaign.still():
                now = (campaign.estimate, views.overdue(campaign)) if forecast else ()
                tag = etag(name, campaign.terms.key, campaign.number, *parts, *now)
                if matches(tag, if_none_match):
                    return tag, None
                return tag, in_pieces(view(campaign)) if rows and campaign.is_large else view(campaign)

        if rows:
            return fresh(*await self.with_rows(name, look, forecast))
        return fresh(*await (self.estimated(name, look) if forecast else self.desk.read(name, look)))

    async def remaining(
        self, request: Request, name: str, if_none_match: str | None, draws: int | None
    ) -> tuple[str, dict[str, Any] | None]:
        """The forecast of each arm with its tag, computed in another thread."""

        def look(campaign: Hosted) -> tuple[str, list[str], Callable[[Stop], Remaining] | None]:
            tag = etag(name, campaign.terms.key, campaign.number, "remaining", draws)
            if matches(tag, if_none_match):
                return tag, [], None
            return tag, campaign.arm_ids(), campaign.forecast(draws)

        tag, arms, forecast = await self.desk.read(name, look)
        return tag, None if forecast is None else views.forecast(await self.beside.run(forecast, request), arms)

    async def changes(self, name: str, after: int | None) -> Change | None:
        """The next event of a stream."""

        def look(campaign: Hosted) -> Change | None:
            data = views.changes(campaign, after)
            if data is None:
                return None
            change = Change(data["number"], data)
            return change.encoded() if campaign.is_large else change

        if await self.desk.read(name, lambda campaign: campaign.is_large and campaign.number == after):
            return None
        return await self.with_rows(name, look, forecast=True)

    async def check(self, request: Request, name: str, head: Head | None) -> dict[str, Any]:
        """Replay the journal in another thread."""

        def replay(stop: Stop) -> dict[str, Any]:
            return check_named(self._store, name, head=head, stop=stop).as_json()

        return await self.beside.run(replay, request)

    async def export(self, request: Request, name: str, format: str, gzip: bool) -> Exported:
        """The journal in a temporary file, written in another thread. It holds its place until it was sent."""
        held = ExitStack()
        held.enter_context(self.beside.place_of(request))
        try:
            folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="goodarm-export-")))

            def write(stop: Stop) -> Path:
                path = folder / f"campaign.{format}"
                export(self._store, found_in(self._store, name), name, path, stop)
                return squeezed(path, stop) if gzip else path

            return Exported(await self.beside.run(write, request, placed=True), held)
        except BaseException:
            held.close()
            raise

    async def score(self, name: str) -> dict[str, Any]:
        """Number of wrong verdicts of a simulated campaign, and of wrong claims of an ordinary dashboard."""

        def look(campaign: Campaign) -> Campaign:
            demo.true_means(campaign)
            return campaign

        campaign = await self.desk.read(name, look)
        async with self._reading.setdefault(name, asyncio.Lock()):
            peeking = self._peeking.setdefault(name, demo.Peeking(campaign.terms.question.bar))
            await asyncio.to_thread(lambda: peeking.read(campaign.history(after=peeking.number)))
        return await self.desk.read(name, lambda campaign: demo.score(campaign, peeking)._asdict())

    async def trail(self, request: Request, name: str) -> Trail:
        """The trail of a campaign, continued from the last read; long journals are read in another thread."""
        if name not in self._trails:
            await self.desk.read(name, lambda campaign: None)  # nothing is kept for a campaign that does not exist
        async with self._reading.setdefault(name, asyncio.Lock()):
            trail = self._trails.setdefault(name, Trail())
            number, chunks = await self.desk.read(name, lambda each: (each.number, each.chunks(trail.number)))
            if number - trail.number > FEW_ENTRIES:
                await self.beside.run(lambda stop: trail.read(chunks, stop), request)
            else:
                await asyncio.to_thread(trail.read, chunks)
        return trail


def campaigns_of(request: Request) -> Campaigns:
    """The `Campaigns` of a request's application."""
    found: Campaigns = request.app.state.campaigns
    return found
