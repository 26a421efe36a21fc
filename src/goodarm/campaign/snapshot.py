"""A snapshot is a fold as bytes: a cache that avoids reading a long journal from its first entry."""

from __future__ import annotations

import json
import math
from collections import deque
from hashlib import blake2b
from typing import Any

from goodarm.campaign.arms import ArmEntry
from goodarm.campaign.fold import Fold
from goodarm.campaign.journal import Event
from goodarm.campaign.tickets import OpenBlock, Queue
from goodarm.campaign.units import OpenUnit
from goodarm.engine.live.step import Asked

FORMAT = 8
SUM_BYTES = 16
BOOK_FIELDS = ("weight", "status", "asked", "told", "total", "missing", "void", "first", "last", "decision")


def pack(fold: Fold) -> bytes | None:
    """Serialise the fold, without the content of the first entry; None if it is too large to write often."""
    step = fold.step.pack()
    if step is None:
        return None
    later = [book.entry.as_json() for book in fold.books[len(fold.terms.arms) :]]
    head = {
        "format": FORMAT,
        "rules": fold.rules,
        "number": fold.number,
        "at": fold.at,
        "tickets": fold.tickets,
        "late": fold.late,
        "scatter": None if fold.scatter is None else fold.scatter.as_json(),
        "ended": fold.ended,
        "later": later,
        "books": [[getattr(book, name) for name in BOOK_FIELDS] for book in fold.books],
        "pending": [[ticket, arm, at] for ticket, (arm, at) in fold.pending.items()],
        "blocks": [
            [ticket, block.at, list(block.out.items()), list(block.cases.items())]
            for ticket, block in fold.blocks.items()
        ],
        "cases": list(fold.cases.items()),
        "void": [[book.number, book.draw.void] for book in fold.books if book.draw is not None and book.draw.void],
        "pairs": None if fold.pairs is None else fold.pairs.as_json(),
        "units": None if fold.units is None else list(fold.units.open.items()),
        "repeats": None if fold.repeats is None else fold.repeats.as_json(),
        "lines": [[arm, _queue_out(queue)] for arm, queue in fold.queues.items() if queue.order],
    }
    text = json.dumps(head, separators=(",", ":")).encode()
    body = len(text).to_bytes(8, "big") + text + step
    return _sum(body) + body


def _sum(body: bytes) -> bytes:
    """Checksum of a snapshot. Without it, a damaged snapshot could pass as a valid state."""
    return blake2b(body, digest_size=SUM_BYTES).digest()


def unpack(created: Event, chain: bytes, packed: bytes) -> Fold | None:
    """Restore the fold; None if the snapshot is damaged or of another version."""
    body = packed[SUM_BYTES:]
    if packed[:SUM_BYTES] != _sum(body):
        return None
    size = int.from_bytes(body[:8], "big")
    head = json.loads(body[8 : 8 + size])
    if head.get("format") != FORMAT:
        return None
    fold = Fold(created)
    if head["rules"] != fold.rules:  # replaying with the present rules may give another state
        return None
    fold.step.unpack(body[8 + size :])
    if fold.scatter is not None:
        fold.scatter.add(len(head["later"]))
        fold.scatter.restore(head["scatter"])
    for entry in map(ArmEntry.from_json, head["later"]):
        fold.index[entry.id] = len(fold.books)
        fold.add_book(entry, math.nan)
    for book, values in zip(fold.books, head["books"], strict=True):
        for name, value in zip(BOOK_FIELDS, values, strict=True):
            setattr(book, name, value)
        book.total = fold.terms.question.kept_total(book.total)
    fold.number, fold.chain, fold.at = head["number"], chain, head["at"]
    fold.tickets, fold.late, fold.ended = head["tickets"], head["late"], head["ended"]
    sign = fold.terms.question.sign
    fold.good = sum(sign(book.decision["verdict"]) > 0 for book in fold.books if book.decision)
    fold.spent = sum(book.asked * book.cost for book in fold.books)
    fold.pending = {ticket: (arm, at) for ticket, arm, at in head["pending"]}
    for ticket, at, out, cases in head["blocks"]:
        fold.blocks[ticket] = OpenBlock(dict(map(tuple, out)), at)
        fold.blocks[ticket].cases = dict(map(tuple, cases))
    fold.cases = dict(map(tuple, head["cases"]))
    for arm, void in head["void"]:
        draw = fold.books[arm].draw
        assert draw is not None
        draw.void = void
    fold.queues = {arm: _queue_in(queue) for arm, queue in head["lines"]}
    if fold.pairs is not None:
        fold.pairs.restore(head["pairs"])
    if fold.units is not None:
        fold.units.open = {ticket: OpenUnit(*unit) for ticket, unit in head["units"]}
    if fold.repeats is not None:
        fold.repeats.restore(head["repeats"])
    if fold.lapses:
        out = [(at, ticket) for ticket, (_, at) in fold.pending.items()]
        out += [(block.at, ticket) for ticket, block in fold.blocks.items()]
        fold.deadlines = deque(sorted(out))
    return fold


def _queue_out(queue: Queue) -> list[list[Any]]:
    waiting = [(ticket, queue.waiting[ticket]) for ticket in queue.order]
    return [[ticket, each.arm, each.asked, each.resolved, each.reward] for ticket, each in waiting]


def _queue_in(rows: list[list[Any]]) -> Queue:
    queue = Queue()
    for ticket, arm, asked, resolved, reward in rows:
        queue.join(ticket, arm, Asked(*asked))
        if resolved:
            queue.resolve(ticket, reward)
    return queue
