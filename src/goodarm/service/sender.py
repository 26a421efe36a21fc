"""Webhook deliveries. One worker folds each outbox from its journal, sends what is due, and records each attempt."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from goodarm.campaign import journal
from goodarm.campaign.journal import Row
from goodarm.service.beside import in_thread
from goodarm.service.desk import Desk
from goodarm.service.side import Lease
from goodarm.service.targets import PORTS
from goodarm.service.webhooks import NOTE, Delivery, UnknownWebhook, Webhook, Webhooks, delivery_id, outbox, send

if TYPE_CHECKING:
    from goodarm.service.hosted import Hosted

EVERY = 0.5
"""Seconds between two polls of the journals."""
AT_ONCE = 20
"""Maximum number of concurrent deliveries."""
PER_RECEIVER = 4
"""Maximum number of concurrent deliveries to one host and port, whatever the number of its webhooks."""
log = logging.getLogger("goodarm.service")


@dataclass
class _Read:
    """The part of a journal that concerns webhooks: verdicts (number -> content) and notes, between two numbers."""

    since: int
    number: int
    verdicts: dict[int, dict[str, Any]] = field(default_factory=dict)
    notes: list[tuple[dict[str, Any], float]] = field(default_factory=list)

    def read(self, campaign: Hosted, chunks: Iterable[list[Row]]) -> None:
        """Read new entries. Runs outside the desk's thread, since a journal may be long."""
        for rows in chunks:
            for row in rows:
                if row[1] == journal.VERDICT:
                    self.verdicts[row[0]] = campaign.as_people_read(row)
                elif row[1] == journal.NOTE:
                    content = json.loads(row[5] or "{}")
                    if content.get("note") == NOTE:
                        self.notes.append((content, row[6]))
            self.number = rows[-1][0]


class Note(Protocol):
    """Called after each attempt."""

    def __call__(self, *, delivered: bool) -> None: ...


def _ignore(*, delivered: bool) -> None:
    pass


class Sender:
    """Deliveries of one store."""

    def __init__(
        self,
        desk: Desk[Hosted],
        webhooks: Webhooks,
        lease: Lease,
        *,
        private: bool,
        ports: Collection[int] = PORTS,
        note: Note = _ignore,
    ) -> None:
        self._desk, self._webhooks, self._lease = desk, webhooks, lease
        self._private, self._ports = private, ports
        self._note = note
        self._journals: dict[str, _Read] = {}
        self._reading: dict[str, asyncio.Lock] = {}
        self._pool = ThreadPoolExecutor(AT_ONCE, "goodarm-webhooks")
        """Threads for receivers only. Other threads read tokens and the store, and never wait for these."""
        self._receivers: WeakValueDictionary[tuple[str, int], asyncio.Semaphore] = WeakValueDictionary()
        """Places at each receiver, while deliveries to it are under way."""
        self._held = True
        self._sending: dict[str, asyncio.Task[None]] = {}
        """Current task of each campaign."""

    async def run(self) -> None:
        """Send until cancelled. Then another worker takes over."""
        try:
            while True:
                await asyncio.sleep(EVERY)
                try:
                    self._held = await asyncio.to_thread(self._lease.take)  # renewed here during slow deliveries
                    if self._held:
                        await self._turn()
                except Exception as error:  # the store may be unreachable; pending deliveries are kept
                    self._held = False
                    log.warning("webhooks wait: %s", error)
        finally:
            for each in self._sending.values():
                each.cancel()
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._lease.release()

    async def deliveries(self, name: str) -> list[dict[str, Any]]:
        """All deliveries of a campaign, newest first."""
        hooks = await asyncio.to_thread(self._webhooks.of, name)
        owed = await self._outbox(name, hooks)
        return [_shown(each) for each in sorted(owed.values(), key=lambda each: -each.verdict)]

    async def replay(self, name: str, id: str, by: str) -> dict[str, Any]:
        """Mark a delivery to be sent again. The entry carries the id of the caller's token."""
        hooks = await asyncio.to_thread(self._webhooks.of, name)
        owed = await self._outbox(name, hooks)
        if id not in owed:
            raise UnknownWebhook(f"the campaign {name!r} has no delivery {id!r}.")
        note = {"note": NOTE, "delivery": id, "webhook": owed[id].webhook, "again": True}
        await self._desk.write(name, lambda campaign: campaign.act_for(by, lambda each: each.note(note)))
        return _shown((await self._outbox(name, hooks))[id])

    async def _turn(self) -> None:
        """Start sending for every campaign without a task. A long journal or slow receiver delays no other campaign."""
        by_campaign: dict[str, list[Webhook]] = {}
        for hook in await asyncio.to_thread(self._webhooks.active):
            by_campaign.setdefault(hook.campaign, []).append(hook)
        self._sending = {name: task for name, task in self._sending.items() if not task.done()}
        for name in by_campaign.keys() - self._sending.keys():
            self._sending[name] = asyncio.create_task(self._send_due(name, by_campaign[name]))

    async def _send_due(self, name: str, hooks: list[Webhook]) -> None:
        """Send one campaign's due deliveries to all of its receivers concurrently."""
        try:
            owed, now = await self._outbox(name, hooks), time.time()
            due = [each for each in owed.values() if not each.delivered and not each.given_up and each.due_at <= now]
            theirs = [[each for each in due if each.webhook == hook.id] for hook in hooks]
            await asyncio.gather(*(self._send_to(name, hook, some) for hook, some in zip(hooks, theirs, strict=True)))
        except Exception as error:  # one campaign's journal must not delay the others
            log.warning("webhooks wait: %s", error, extra={"campaign": name})

    async def _send_to(self, name: str, hook: Webhook, due: list[Delivery]) -> None:
        """Send to one receiver, a few at a time. After a failure, the rest waits for the next poll."""
        for first in range(0, len(due), PER_RECEIVER):
            if not self._held:  # another worker has become the sender
                return
            some = due[first : first + PER_RECEIVER]
            if not all(await asyncio.gather(*(self._deliver(name, hook, each) for each in some))):
                return

    async def _deliver(self, name: str, hook: Webhook, delivery: Delivery) -> bool:
        content = {"campaign": name, "verdict": self._journals[name].verdicts[delivery.verdict]}
        id = delivery_id(hook.id, delivery.verdict)
        async with self._place_at(hook.url):
            attempt = partial(send, hook, id, content, private=self._private, ports=self._ports, now=time.time())
            note = await asyncio.get_running_loop().run_in_executor(self._pool, attempt)
        self._note(delivered=bool(note["delivered"]))
        await self._desk.write(name, lambda campaign: campaign.note(note))
        return bool(note["delivered"])

    def _place_at(self, url: str) -> asyncio.Semaphore:
        """A receiver with many webhooks must not take every thread."""
        parts = urlsplit(url)
        receiver = (parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
        return self._receivers.setdefault(receiver, asyncio.Semaphore(PER_RECEIVER))

    async def _outbox(self, name: str, hooks: list[Webhook]) -> dict[str, Delivery]:
        """All deliveries for these webhooks. Entries before the first webhook are not read."""
        if name not in self._journals:
            await self._desk.read(name, lambda campaign: None)  # nothing is kept for a campaign that does not exist
        since = min((hook.after for hook in hooks), default=0)
        async with self._reading.setdefault(name, asyncio.Lock()):
            found = self._journals.get(name)
            if found is None or since < found.since:
                found = self._journals[name] = _Read(since, since)
            campaign, chunks = await self._desk.read(name, lambda campaign: (campaign, campaign.chunks(found.number)))
            await in_thread(lambda: found.read(campaign, chunks))
            return outbox(hooks, found.verdicts, found.notes)


def _shown(delivery: Delivery) -> dict[str, Any]:
    state = "delivered" if delivery.delivered else "given up" if delivery.given_up else "due"
    return {
        "id": delivery.id,
        "webhook": delivery.webhook,
        "verdict": delivery.verdict,
        "state": state,
        "attempts": delivery.attempts,
        "history": delivery.history,
    }
