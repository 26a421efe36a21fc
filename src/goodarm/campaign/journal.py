"""The journal: all events of a campaign in order. Each entry is chained to the one before.

An entry's chain is blake2b(chain before, entry): changing, removing or reordering an entry changes every chain after
it. The state of a campaign follows from its journal alone.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

from goodarm.errors import DamagedJournal, GoodarmError, InvalidValue

CREATED = "created"
ADDED = "added"
ASKED = "asked"
ROW = "row"
TOLD = "told"
GIVEN = "given"
VOID = "void"
MISSING = "missing"
LATE = "late"
BLOCK = "block"
PART = "part"
REST = "rest"
REQUEST = "request"
VERDICT = "verdict"
PAUSED = "paused"
RESUMED = "resumed"
RETIRED = "retired"
ENDED = "ended"
NOTE = "note"

KINDS = {
    CREATED: "the terms and the arms",
    ADDED: "arms added later",
    ASKED: "a ticket was handed out",
    ROW: "one more row of a unit, whose reward is told when the unit is closed",
    TOLD: "a ticket's reward was told",
    GIVEN: "a reward without a ticket: asked and told at once",
    VOID: "a ticket was withdrawn, with the reason",
    MISSING: "a ticket expired and counts as reward 0",
    LATE: "a reward for an expired ticket was refused",
    BLOCK: "a block of samples was handed out",
    PART: "part of a block's rewards was told",
    REST: "the untold rest of a block was withdrawn or expired",
    REQUEST: "a request with the caller's key, and its answer",
    VERDICT: "an arm was decided, with the audit",
    PAUSED: "an arm was suspended",
    RESUMED: "a suspended arm was resumed",
    RETIRED: "an arm was retired for good",
    ENDED: "the campaign ended",
    NOTE: "a note without effect on the campaign",
}
ENDINGS = frozenset({TOLD, GIVEN, VOID, MISSING, REST})
"""Kinds that end a ticket. A ticket has at most one entry of these kinds."""
MARKED = {PART: "part", ROW: "row", REQUEST: "key"}
"""Kinds whose payload has a caller's string in this field. A ticket has at most one entry per string."""
REWARDED = frozenset({TOLD, GIVEN, LATE})
"""Kinds with a reward: a number, or a record in their content."""
REQUESTS = 0
"""Value of `ticket` in entries of requests with a key."""
CHAIN_BYTES = 16
HEXADECIMAL = re.compile(f"[0-9a-f]{{{2 * CHAIN_BYTES}}}")


class Event(NamedTuple):
    """One entry. `arm` and `ticket` are numbers, `payload` is JSON in ASCII, `at` is seconds since 1970."""

    number: int
    kind: str
    ticket: int | None
    arm: int | None
    reward: float | None
    payload: str | None
    at: float
    chain: bytes

    @property
    def content(self) -> dict[str, Any]:
        """The payload, parsed."""
        found: dict[str, Any] = json.loads(self.payload) if self.payload else {}
        return found

    @property
    def ending(self) -> str | None:
        """A mark that, together with the ticket, is unique in a journal; None for entries that may repeat."""
        if self.kind in ENDINGS:
            return ""
        name = MARKED.get(self.kind)
        return None if name is None or self.payload is None else _mark(self.payload, name)


@lru_cache(maxsize=1024)
def _mark(payload: str, name: str) -> str | None:
    """The digest of a field of a payload. Cached, since an entry needs it when it is queued and when it is stored."""
    found = json.loads(payload).get(name)
    return None if found is None else digest(found)


class Head(NamedTuple):
    """The newest entry of a journal: its number, and its chain in hexadecimal digits.

    The chain depends on every entry up to this one. If you save a head elsewhere, you can later detect whether entries
    up to it were changed or removed.

    >>> str(Head.read("12:00ff00ff00ff00ff00ff00ff00ff00ff"))
    '12:00ff00ff00ff00ff00ff00ff00ff00ff'
    """

    number: int
    chain: str

    def __str__(self) -> str:
        return f"{self.number}:{self.chain}"

    @staticmethod
    def read(text: str) -> Head:
        """A head as `goodarm campaign head` prints it."""
        number, _, chain = text.strip().partition(":")
        if not (number.isascii() and number.isdecimal() and len(number) < 19 and HEXADECIMAL.fullmatch(chain)):
            raise InvalidValue(
                f"a head looks like 12:{CHAIN_BYTES * '5c'}, as `goodarm campaign head` prints it; got {text!r}."
            )
        return Head(int(number), chain)


Row = tuple[int, str, int | None, int | None, float | None, str | None, float, bytes]
"""An entry as a plain tuple, its fields in the order of `Event`."""


def digest(text: str) -> str:
    """A short hash of a string chosen by the caller."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode


def as_payload(content: dict[str, Any]) -> str:
    """JSON in one form: sorted, without spaces, ASCII, so that the same content is the same text everywhere."""
    return _encode(content)


_NUMBERS = struct.Struct("<qqqdd").pack
_NOTHING = math.nan


def link(
    previous: bytes,
    number: int,
    kind: str,
    ticket: int | None,
    arm: int | None,
    reward: float | None,
    payload: str | None,
    at: float,
) -> bytes:
    """The chain of an entry: blake2b, 16 bytes, of the previous chain and the entry.

    Numbers as little-endian 64 bits (number, ticket, arm; reward, at), -1 and NaN where there is none, then the kind,
    a colon, and the payload.

    >>> link(b"", 1, "asked", 1, 0, None, None, 0.0).hex()[:8]
    '72bb9862'
    """
    numbers = _NUMBERS(
        number, -1 if ticket is None else ticket, -1 if arm is None else arm, _NOTHING if reward is None else reward, at
    )
    return blake2b(previous + numbers + f"{kind}:{payload or ''}".encode(), digest_size=CHAIN_BYTES).digest()


def chained(
    previous: bytes,
    number: int,
    kind: str,
    at: float,
    *,
    ticket: int | None = None,
    arm: int | None = None,
    reward: float | None = None,
    payload: str | None = None,
) -> Event:
    """A new entry, chained to the one before."""
    chain = link(previous, number, kind, ticket, arm, reward, payload, at)
    return Event(number, kind, ticket, arm, reward, payload, at, chain)


def verified(events: Iterable[Event], number: int = 0, chain: bytes = b"") -> Iterator[Event]:
    """The entries that follow entry `number` with chain `chain`. The error names the first one with a wrong chain."""
    for event in events:
        if event[0] != number + 1:
            raise missing_entry(number, event[0])
        if event[7] != link(chain, *event[:7]):
            raise changed_entry(event[0], event[1])
        number, chain = event[0], event[7]
        yield event


def missing_entry(after: int, found: int) -> DamagedJournal:
    return DamagedJournal(
        f"entry {after + 1} of the journal is missing: after {after} comes {found}. "
        "Entries are never removed by goodarm; restore the store from a backup."
    )


def changed_entry(number: int, kind: str) -> DamagedJournal:
    return DamagedJournal(
        f"entry {number} of the journal ({kind}) has been changed: its chain does not follow from its content and the "
        "entry before. Restore the store from a backup."
    )


@contextmanager
def reading_back(after: Callable[[], int]) -> Iterator[None]:
    """Report an entry that can't be applied although its chain is correct: another program wrote it.

    Don't use this for entries being written. If those fail, the journal is unchanged and needs no backup.
    """
    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, GoodarmError):
            raise
        raise DamagedJournal(
            f"an entry after {after()} of the journal can't follow those before it: {error!r}. goodarm did not write "
            "this entry; restore the store from a backup."
        ) from error
