"""Tickets and blocks: their text form, the order of asking, and the parts of a block."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from goodarm.arguments import whole
from goodarm.campaign.rows import PendingTicket
from goodarm.engine.live.step import Asked
from goodarm.errors import InvalidValue, Refused, UnknownTicket
from goodarm.question import Reward


class Ticket(NamedTuple):
    """One sample to evaluate. Tell its reward with `ticket`. On a fixed test set it also names the case."""

    ticket: str
    arm: str
    case: str | None = None

    def as_json(self) -> dict[str, str]:
        """The fields as JSON, without empty ones."""
        named = {"ticket": self.ticket, "arm": self.arm}
        return named if self.case is None else named | {"case": self.case}


class Block(NamedTuple):
    """Many samples in one entry, as a count per arm. Tell each part with `ticket`.

    On a fixed test set, `cases` names the cases of each arm.
    """

    ticket: str
    pulls: dict[str, int]
    cases: dict[str, list[str]] | None = None

    def as_json(self) -> dict[str, Any]:
        """The fields as JSON, without empty ones."""
        return {name: value for name, value in self._asdict().items() if value is not None}


TicketGiven = Ticket | PendingTicket | str
"""Forms in which a caller may pass a ticket: from `ask`, from `waiting`, or its text."""


def spell(key: str, number: int) -> str:
    """The text form of a ticket. Its four check letters detect tickets of another campaign and typing errors.

    >>> spell("a campaign's key", 17)
    '17-a8f0'
    """
    return f"{number}-{blake2b(f'{key}{number}'.encode(), digest_size=2).hexdigest()}"


def refuse_lists(given: Any, *, void: bool = False) -> None:
    """Refuse a list of tickets where one is expected."""
    if void and isinstance(given, list | tuple) and not hasattr(given, "ticket"):
        raise InvalidValue(f"void withdraws one ticket; got a list of {len(given)}. Call void for each of them.")
    if isinstance(given, list) and given and isinstance(given[0], Ticket):
        raise UnknownTicket(
            f"a reward is told for one ticket; got a list of {len(given)}, as ask returns it. Tell them one by one, or "
            "all at once: tell_many([(ticket, reward), ...])."
        )


def as_text(given: Any) -> str:
    """The text of a ticket, which only its campaign can check."""
    refuse_lists(given)
    text = getattr(given, "ticket", given)
    if not isinstance(text, str):
        raise UnknownTicket(
            f"{text!r} is not a ticket. A ticket is a string such as {spell('', 17)!r}, as ask returns it."
        )
    return text


def read_ticket(key: str, given: Any, handed_out: int) -> int:
    """The number of a ticket that this campaign handed out."""
    refuse_lists(given)
    text = getattr(given, "ticket", given)  # of `ask`, `ask_block` or `waiting`
    number, _, letters = text.partition("-") if isinstance(text, str) else ("", "", "")
    if not (number.isascii() and number.isdigit() and len(number) < 19 and letters):
        raise UnknownTicket(
            f"{text!r} is not a ticket. A ticket is a string such as {spell(key, 17)!r}, as ask returns it."
        )
    found = int(number)
    if text != spell(key, found):
        raise UnknownTicket(f"the ticket {text!r} does not belong to this campaign; was it handed out by another one?")
    if not 0 < found <= handed_out:
        raise UnknownTicket(f"the ticket {text!r} has not been handed out by this campaign.")
    return found


class Waiting:
    """A ticket in the order of asking: its reward if told, and the information available when it was issued."""

    __slots__ = ("arm", "asked", "resolved", "reward")

    def __init__(self, arm: int, asked: Asked) -> None:
        self.arm = arm
        self.asked = asked
        self.resolved = False
        self.reward: float | None = None


class Queue:
    """Tickets of one arm in the order of asking. A reward leaves the queue only when all earlier tickets are resolved.

    >>> queue = Queue()
    >>> queue.join(1, 0, Asked(1, 0)); queue.join(2, 0, Asked(2, 0))
    >>> queue.resolve(2, 1.0); list(queue.leave())
    []
    >>> queue.resolve(1, None); [(each.arm, each.reward) for each in queue.leave()]
    [(0, None), (0, 1.0)]
    """

    __slots__ = ("order", "waiting")

    def __init__(self) -> None:
        self.order: deque[int] = deque()
        self.waiting: dict[int, Waiting] = {}

    def join(self, ticket: int, arm: int, asked: Asked) -> None:
        self.order.append(ticket)
        self.waiting[ticket] = Waiting(arm, asked)

    def resolve(self, ticket: int, reward: float | None) -> None:
        """Resolve a ticket with its reward, or None if it is void."""
        found = self.waiting[ticket]
        found.resolved = True
        found.reward = reward

    def leave(self) -> Iterator[Waiting]:
        """Remove and return the resolved tickets at the front, in order."""
        while self.order and self.waiting[self.order[0]].resolved:
            yield self.waiting.pop(self.order.popleft())


# Blocks: many samples in one entry, told in parts. They require a rule by totals, since parts arrive in any order.


class OpenBlock:
    """A pending block: untold samples per arm, and the cases of each arm on a fixed test set."""

    __slots__ = ("at", "cases", "out")

    def __init__(self, out: dict[int, int], at: float) -> None:
        self.out = out
        self.at = at
        self.cases: dict[int, list[int]] = {}

    @property
    def done(self) -> bool:
        return not self.out

    @property
    def pending(self) -> int:
        return sum(self.out.values())

    def take(self, arm: int, told: int) -> None:
        """Subtract told samples of an arm."""
        left = self.out[arm] - told
        if left:
            self.out[arm] = left
        else:
            del self.out[arm]


Part = list[tuple[int, int, Reward]]
"""Sorted rows (arm, told, total), without arms for which nothing was told."""


def read_part(given: Any, index: Mapping[str, int], total_of: Callable[[Any, int], Reward | None]) -> Part:
    """Parse and check the rows of a part; `total_of` reads a sum of rewards."""
    if not isinstance(given, Mapping):
        raise InvalidValue(f"a part is a dictionary {{arm: (told, total)}}; got {given!r}.")
    rows = []
    for name, counts in given.items():
        if name not in index:
            raise InvalidValue(f"there is no arm {name!r} in this campaign.")
        told, total = _counts(name, counts, total_of)
        if told:
            rows.append((index[name], told, total))
    return sorted(rows)


def _counts(name: str, given: Any, total_of: Callable[[Any, int], Reward | None]) -> tuple[int, Reward]:
    try:
        told_given, total_given = given
    except (TypeError, ValueError):
        raise InvalidValue(f"a part has (told, total) for each arm; got {given!r} for {name!r}.") from None
    told = whole(told_given)
    if told is None or told < 0:
        raise InvalidValue(f"told must be a whole number of pulls; got {told_given!r} for {name!r}.")
    total = total_of(total_given, told)
    if total is None:
        raise InvalidValue(
            f"the total of {told} rewards in [0, 1] must be a number between 0 and {told}; got {total_given!r} for "
            f"{name!r}."
        )
    return told, total


def check_part(block: OpenBlock, rows: Part, names: Sequence[str]) -> None:
    """Refuse rewards that the block does not have left."""
    for arm, told, _ in rows:
        if told > block.out.get(arm, 0):
            raise Refused(
                f"{told} pulls of {names[arm]!r} can't be told: the block has only {block.out.get(arm, 0)} of them "
                "left. "
                "Was a part told under two ids?"
            )
        if block.cases and told != block.out[arm]:
            raise Refused(
                f"{told} of the {block.out[arm]} cases of {names[arm]!r} can't be told separately: on a fixed test "
                "set, a part must contain all of the block's cases of an arm. Tell the arm's cases together, or use "
                "tickets."
            )
