"""The one worker that sends: folds each campaign's outbox from its journal, sends what is due, notes every attempt."""

from __future__ import annotations

import asyncio
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from goodarm.service.desk import Desk
from goodarm.service.side import LEASE_SECONDS, Lease
from goodarm.service.webhooks import NOTE, Delivery, UnknownWebhook, Webhook, Webhooks, delivery_id, outbox, send

if TYPE_CHECKING:
    from goodarm.campaign import Campaign

EVERY = 0.5
"""Seconds between two looks at the journals."""
AT_ONCE = 20
"""Maximum number of deliveries under way at the same time."""
PER_RECEIVER = 4
"""Maximum number of deliveries to one webhook under way at the same time."""
RENEW_SECONDS = LEASE_SECONDS / 4.0
"""Seconds between two renewals of the sender's lease."""
log = logging.getLogger("goodarm.service")


@dataclass
class _Read:
    """The part of a journal that concerns webhooks: verdicts (number -> content) and notes, up to a number."""

    number: int = 0
    verdicts: dict[int, dict[str, Any]] = field(default_factory=dict)
    notes: list[tuple[dict[str, Any], float]] = field(default_factory=list)

    def read(self, campaign: Campaign) -> _Read:
        """Read what is new; called at the desk."""
        for event in campaign.history(after=self.number):
            if event["kind"] == "verdict":
                self.verdicts[event["number"]] = dict(event)
            elif event["kind"] == "note" and event["content"].get("note") == NOTE:
                self.notes.append((event["content"], datetime.fromisoformat(event["at"]).timestamp()))
            self.number = event["number"]
        return self


class Sender:
    """Deliveries of one store."""

    def __init__(self, desk: Desk[Campaign], webhooks: Webhooks, lease: Lease, *, private: bool) -> None:
        self._desk, self._webhooks, self._lease, self._private = desk, webhooks, lease, private
        self._journals: dict[str, _Read] = {}
        self._pool = ThreadPoolExecutor(AT_ONCE, "goodarm-webhooks")
        """Threads that wait for receivers. Tokens and the store are looked up in others, which never wait for these."""
        self._held = True

    async def run(self) -> None:
        """Send until cancelled; another worker takes over then."""
        try:
            while True:
                await asyncio.sleep(EVERY)
                try:
                    if await asyncio.to_thread(self._lease.take):
                        await self._turn()
                except Exception as error:  # the store may be away; what is owed stays owed
                    log.warning("webhooks wait: %s", error)
        finally:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._lease.release()

    async def deliveries(self, name: str) -> list[dict[str, Any]]:
        """All deliveries of a campaign, newest first."""
        hooks = await asyncio.to_thread(self._webhooks.of, name)
        owed = await self._outbox(name, hooks)
        return [_shown(each) for each in sorted(owed.values(), key=lambda each: -each.verdict)]

    async def replay(self, name: str, id: str) -> dict[str, Any]:
        """Mark a delivery as owed again."""
        hooks = await asyncio.to_thread(self._webhooks.of, name)
        owed = await self._outbox(name, hooks)
        if id not in owed:
            raise UnknownWebhook(f"the campaign {name!r} has no delivery {id!r}.")
        note = {"note": NOTE, "delivery": id, "webhook": owed[id].webhook, "again": True}
        await self._desk.write(name, lambda campaign: campaign.note(note))
        return _shown((await self._outbox(name, hooks))[id])

    async def _turn(self) -> None:
        by_campaign: dict[str, list[Webhook]] = {}
        for hook in await asyncio.to_thread(self._webhooks.active):
            by_campaign.setdefault(hook.campaign, []).append(hook)
        self._held = True
        sending = asyncio.gather(*(self._send_due(name, hooks) for name, hooks in by_campaign.items()))
        while not sending.done():  # keep the lease while receivers take their time: another worker would send the same
            await asyncio.wait({sending}, timeout=RENEW_SECONDS)
            self._held = await asyncio.to_thread(self._lease.take)
        await sending

    async def _send_due(self, name: str, hooks: list[Webhook]) -> None:
        """Send what one campaign owes, to all of its receivers at the same time."""
        try:
            owed, now = await self._outbox(name, hooks), time.time()
            due = [each for each in owed.values() if not each.delivered and not each.given_up and each.due_at <= now]
            theirs = [[each for each in due if each.webhook == hook.id] for hook in hooks]
            await asyncio.gather(*(self._send_to(name, hook, some) for hook, some in zip(hooks, theirs, strict=True)))
        except Exception as error:  # the journal of one campaign must not hold up the others
            log.warning("webhooks of %r wait: %s", name, error)

    async def _send_to(self, name: str, hook: Webhook, due: list[Delivery]) -> None:
        """Send to one receiver, a few at a time. After a failure the rest waits for the next turn."""
        for first in range(0, len(due), PER_RECEIVER):
            if not self._held:  # another worker has become the sender
                return
            some = due[first : first + PER_RECEIVER]
            if not all(await asyncio.gather(*(self._deliver(name, hook, each) for each in some))):
                return

    async def _deliver(self, name: str, hook: Webhook, delivery: Delivery) -> bool:
        content = {"campaign": name, "verdict": self._journals[name].verdicts[delivery.verdict]}
        id = delivery_id(hook.id, delivery.verdict)
        attempt = partial(send, hook, id, content, private=self._private, now=time.time())
        note = await asyncio.get_running_loop().run_in_executor(self._pool, attempt)
        await self._desk.write(name, lambda campaign: campaign.note(note))
        return bool(note["delivered"])

    async def _outbox(self, name: str, hooks: list[Webhook]) -> dict[str, Delivery]:
        journal = self._journals.setdefault(name, _Read())
        await self._desk.read(name, journal.read)
        return outbox(hooks, journal.verdicts, journal.notes)


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
