"""The campaigns of one store, as one worker holds them."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import Request, Response

from goodarm.campaign import Campaign, open_store
from goodarm.errors import UnknownName
from goodarm.problem import rewards_from_text
from goodarm.question import from_json
from goodarm.service import demo, views
from goodarm.service.bodies import NewCampaign
from goodarm.service.desk import Desk
from goodarm.service.problems import Refusal
from goodarm.service.replies import etag, fresh, matches
from goodarm.service.settings import Settings
from goodarm.service.stream import Change
from goodarm.service.trail import Trail

if TYPE_CHECKING:
    from goodarm.campaign import Store


class Campaigns:
    """A store, its desk, and the slow operations that run beside the desk."""

    def __init__(self, settings: Settings) -> None:
        self._store: Store = open_store(settings.store)
        self.desk: Desk[Campaign] = Desk(
            lambda name: Campaign.open(self._store, name), Campaign.transaction, Campaign.close, settings.most_waiting
        )
        self._trails: dict[str, Trail] = {}
        self._peeking: dict[str, demo.Peeking] = {}
        self._reading: dict[str, asyncio.Lock] = {}
        self._slow = asyncio.Semaphore(2)

    def start(self) -> None:
        """Open the desk."""
        self.desk.start()

    def stop(self) -> None:
        """Finish what waits, and release the store."""
        self.desk.stop()
        self._store.close()

    async def names(self) -> list[str]:
        """The names of all campaigns."""
        return await asyncio.to_thread(self._store.names)

    async def summaries(self) -> list[dict[str, Any]]:
        """All campaigns at a glance."""
        names = await self.names()
        return list(await asyncio.gather(*(self.desk.read(name, views.summary_now) for name in names)))

    async def create(self, body: NewCampaign, key: str | None) -> dict[str, Any]:
        """Start a campaign; the same key and name again return the one that was started."""
        given = body.model_dump(exclude_none=True) | ({"key": key} if key else {})
        given["arms"] = [arm if isinstance(arm, str) else arm.model_dump(exclude_none=True) for arm in body.arms]
        try:
            if "question" in given:
                given["question"] = from_json(given["question"])
            if "rewards" in given:
                given["rewards"] = rewards_from_text(given["rewards"])
            await asyncio.to_thread(self._create, given)
        except UnknownName as error:  # of a policy: the request is wrong, nothing is missing at this address
            raise Refusal(400, "UnknownName", str(error)) from None
        return await self.desk.read(body.name, views.summary_now)

    async def create_demo(self) -> None:
        """Create the campaign of the simulated visitors, unless it exists."""
        if demo.NAME not in await self.names():
            await asyncio.to_thread(self._create, demo.terms())

    def _create(self, given: dict[str, Any]) -> None:
        Campaign.create(self._store, **given).close()

    async def answer(
        self,
        name: str,
        if_none_match: str | None,
        view: Callable[[Campaign], dict[str, Any]],
        *parts: object,
        forecast: bool = False,
    ) -> Response:
        """A view with its ETag, or 304 where the client has it already.

        parts    : what the view depends on besides the campaign, and its name
        forecast : whether the view shows how many samples remain, and which tickets are overdue by now
        """

        def look(campaign: Campaign) -> tuple[str, dict[str, Any] | None]:
            now: tuple[object, ...] = ()
            if forecast:
                views.renew(campaign)  # now, and not between the tag and the body
                now = (views.estimated(campaign), views.overdue(campaign))
            tag = etag(name, campaign.terms.key, campaign.number, *parts, *now)
            return tag, None if matches(tag, if_none_match) else view(campaign)

        return fresh(*await self.desk.read(name, look))

    async def changes(self, name: str, after: int | None) -> Change | None:
        """What a stream is told next."""
        data = await self.desk.read(name, lambda campaign: views.changes(campaign, after))
        return None if data is None else Change(data["number"], data)

    async def check(self, name: str) -> dict[str, Any]:
        """Replay the journal, beside the desk."""

        def replay() -> dict[str, Any]:
            with Campaign.open(self._store, name) as campaign:
                return campaign.check().as_json()

        async with self._slow:
            return await asyncio.to_thread(replay)

    async def export(self, name: str, format: str) -> bytes:
        """The journal as a file's content, made beside the desk."""

        def write() -> bytes:
            with tempfile.TemporaryDirectory(prefix="goodarm-export-") as folder:
                path = Path(folder) / f"campaign.{format}"
                with Campaign.open(self._store, name) as campaign:
                    campaign.export(path)
                return path.read_bytes()

        async with self._slow:
            return await asyncio.to_thread(write)

    async def score(self, name: str) -> dict[str, Any]:
        """How many verdicts of a simulated campaign are wrong, and how many claims of an ordinary dashboard."""

        def look(campaign: Campaign) -> Campaign:
            demo.true_means(campaign)
            return campaign

        campaign = await self.desk.read(name, look)
        async with self._reading.setdefault(name, asyncio.Lock()):
            peeking = self._peeking.setdefault(name, demo.Peeking(campaign.terms.question.bar))
            await asyncio.to_thread(lambda: peeking.read(campaign.history(after=peeking.number)))
        return await self.desk.read(name, lambda campaign: demo.score(campaign, peeking)._asdict())

    async def trail(self, name: str) -> Trail:
        """What happened over time, continued from the last read; long journals are read beside the desk."""
        campaign = await self.desk.read(name, lambda campaign: campaign)
        async with self._reading.setdefault(name, asyncio.Lock()):
            trail = self._trails.setdefault(name, Trail())
            await asyncio.to_thread(lambda: trail.read(campaign.history(after=trail.number)))
        return trail


def campaigns_of(request: Request) -> Campaigns:
    """The campaigns that a request is about."""
    found: Campaigns = request.app.state.campaigns
    return found
