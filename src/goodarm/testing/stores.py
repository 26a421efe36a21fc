"""`store_checks`: properties that every store of campaigns must have, goodarm's and your own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from goodarm.campaign.campaign import Campaign
from goodarm.campaign.journal import NOTE, REQUEST, REQUESTS, TOLD, Event, as_payload, chained, digest
from goodarm.campaign.stores import Snapshot, Store
from goodarm.errors import GoodarmError
from goodarm.testing.checks import Violation

Opened = Callable[[], Store]
"""Opens the store under test: empty at the first call, and the same store again at every later one."""
WRITERS, ENTRIES_EACH = 4, 10


@dataclass(frozen=True)
class StoreCheck:
    """One property of a store. Call it with a function that opens the store; it raises `Violation` if it fails."""

    name: str
    property: Callable[[Opened], None]

    def __call__(self, opened: Opened) -> None:
        self.property(opened)

    def __str__(self) -> str:
        return self.name


def store_checks() -> list[StoreCheck]:
    """The checks of a store, each on a new, empty store; with pytest:

        @pytest.mark.parametrize("check", store_checks(), ids=str)
        def test_my_store(check, tmp_path):
            check(lambda: MyStore(tmp_path / "campaigns"))

    The checks may call the function several times. Each call opens the same store again, as another process would.

    >>> from goodarm.campaign.stores import open_store
    >>> for number, check in enumerate(store_checks()):
    ...     check(lambda: open_store(f"memory:doctest {number}"))
    """
    found = [(name, value) for name, value in globals().items() if name.startswith("check_")]
    return [StoreCheck(name.removeprefix("check_"), value) for name, value in found]


def check_rows_come_back_as_they_went_in(opened: Opened) -> None:
    """Rows are read back exactly: numbers to the last bit, large tickets, any text."""
    odd = chained(b"", 1, TOLD, 1e9 + 1 / 3, ticket=2**40, arm=3, reward=5e-324, payload='{"a":"\\u0000|\\n"}')
    with opened() as store:
        campaign = _filled(store, [odd])
        _same("read", list(store.read(campaign)), [odd])
        _same("ending of a ticket that has ended", store.ending(campaign, 2**40, ""), odd)
        _same("ending of a ticket that has not", store.ending(campaign, 7, ""), None)


def check_marks_are_found_together(opened: Opened) -> None:
    """Several marks of one ticket are looked up at once; the result has the existing ones with their entries."""
    contents = [as_payload({"key": key}) for key in ("a", "b", "c")]
    events: list[Event] = []
    for number, payload in enumerate(contents, 1):
        chain = events[-1].chain if events else b""
        events.append(chained(chain, number, REQUEST, 1e9, ticket=REQUESTS, payload=payload))
    with opened() as store:
        campaign = _filled(store, events)
        found = store.endings(campaign, REQUESTS, [digest("c"), digest("x"), digest("a")])
        _same("endings", found, {digest("a"): events[0], digest("c"): events[2]})
        _same("endings of another ticket", store.endings(campaign, 1, [digest("a")]), {})
        _same("no endings", store.endings(campaign, REQUESTS, []), {})


def check_ranges_exclude_their_start_and_include_their_end(opened: Opened) -> None:
    events = _journal(45)
    with opened() as store:
        campaign = _filled(store, events)
        _same("read", list(store.read(campaign)), events)
        _same("read after 10 until 12", list(store.read(campaign, 10, 12)), events[10:12])
        _same("newer than 40", list(store.newer(campaign, 40)), events[40:])
        _same("newer than the last", list(store.newer(campaign, 45)), [])


def check_a_transaction_that_fails_leaves_nothing(opened: Opened) -> None:
    """A failed transaction leaves neither entries nor campaigns, and the store still works."""
    with opened() as store:
        campaign = _filled(store, _journal(3))
        try:
            with store.transaction(campaign):
                store.append(campaign, _journal(5)[3:])
                store.add("d")
                raise _Interrupted
        except _Interrupted:
            pass
        _same("entries", len(list(store.read(campaign))), 3)
        _same("names", store.names(), ["c"])
        _filled(store, _journal(1), "d")
        _same("names", store.names(), ["c", "d"])


def check_a_ticket_ends_once(opened: Opened) -> None:
    """A ticket ends once, even if the code above the store tries to end it twice."""
    first = chained(b"", 1, TOLD, 0.0, ticket=5, arm=0, reward=1.0)
    again = chained(first.chain, 2, TOLD, 0.0, ticket=5, arm=0, reward=1.0)
    with opened() as store:
        campaign = _filled(store, [first])
        _refused("a second end of a ticket", store, campaign, again)
        _same("entries", list(store.read(campaign)), [first])


def check_a_number_is_written_once(opened: Opened) -> None:
    events = _journal(2)
    with opened() as store:
        campaign = _filled(store, events)
        _refused("an entry whose number is taken", store, campaign, events[1])
        _same("entries", list(store.read(campaign)), events)


def check_snapshots_are_replaced_and_removed(opened: Opened) -> None:
    with opened() as store:
        campaign = _filled(store, _journal(1))
        _same("snapshot", store.snapshot(campaign), None)
        for snapshot in (Snapshot(1, b"chain", b"body"), Snapshot(2, b"chain 2", b"\x00\xff"), None):
            with store.transaction(campaign):
                store.keep(campaign, snapshot)
            _same("snapshot", store.snapshot(campaign), snapshot)


def check_campaigns_do_not_mix(opened: Opened) -> None:
    with opened() as store:
        one, other = _filled(store, _journal(3), "one"), _filled(store, _journal(2), "other")
        _same("numbers", [store.find(name) for name in ("one", "other", "none")], [one, other, None])
        _same("entries", [len(list(store.read(campaign))) for campaign in (one, other)], [3, 2])


def check_what_was_committed_is_seen_by_others_and_stays(opened: Opened) -> None:
    """Committed rows are visible to a second holder immediately, and to a third one after all others have closed."""
    events = _journal(4)
    with opened() as store, opened() as second:
        campaign = _filled(store, events[:3])
        _same("campaign that a second holder finds", second.find("c"), campaign)
        _same("entries that a second holder reads", list(second.read(campaign)), events[:3])
        with second.transaction(campaign):
            second.append(campaign, events[3:])
        _same("what the first holder finds newer", list(store.newer(campaign, 3)), events[3:])
    with opened() as third:
        _same("entries after closing", list(third.read(third.find("c") or campaign)), events)


def check_one_writes_at_a_time(opened: Opened) -> None:
    """Several writers, each with its own store object, read and append; without exclusion, two would use the same
    number."""
    with opened() as store:
        campaign, failures = _filled(store, []), list[BaseException]()

        def write() -> None:
            try:
                with opened() as own:
                    for _ in range(ENTRIES_EACH):
                        with own.transaction(campaign):
                            before = list(own.newer(campaign, 0))
                            chain = before[-1].chain if before else b""
                            own.append(campaign, [chained(chain, len(before) + 1, NOTE, 0.0)])
            except BaseException as error:
                failures.append(error)

        writers = [threading.Thread(target=write) for _ in range(WRITERS)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        _same("failures of the writers", failures, [])
        expected = _chain(b"", WRITERS * ENTRIES_EACH)
        _same("entries of several writers", [event.chain for event in store.read(campaign)], expected)


def check_a_campaign_lives_in_it(opened: Opened) -> None:
    """A campaign can be asked, told, decided, opened again and checked from the first entry."""
    with opened() as store:
        campaign = Campaign.create(store, "coins", ["heads", "tails"], threshold=0.5)
        while tickets := campaign.ask(4):
            campaign.tell_many([(ticket, float(ticket.arm == "heads")) for ticket in tickets])
        with opened() as other:
            again = Campaign.open(other, "coins")
            _same("arms", again.arms(), campaign.arms())
            checked = again.check()
            _same("what check finds", (checked.ok, checked.problem), (True, ""))


class _Interrupted(Exception):
    """Raised by an operation that fails inside a transaction."""


def _journal(many: int) -> list[Event]:
    events: list[Event] = []
    for number in range(1, many + 1):
        previous = events[-1].chain if events else b""
        events.append(chained(previous, number, NOTE, 0.1 * number, payload='{"a":1}'))
    return events


def _chain(chain: bytes, many: int) -> list[bytes]:
    """The chain of notes written one after the other."""
    found = []
    for number in range(1, many + 1):
        chain = chained(chain, number, NOTE, 0.0).chain
        found.append(chain)
    return found


def _filled(store: Store, events: list[Event], name: str = "c") -> int:
    with store.transaction(None):
        campaign = store.add(name)
        store.append(campaign, events)
    return campaign


def _refused(what: str, store: Store, campaign: int, event: Event) -> None:
    try:
        with store.transaction(campaign):
            store.append(campaign, [event])
    except GoodarmError:
        return
    raise Violation(f"{what} must be refused with a GoodarmError; it was written.")


def _same(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise Violation(f"{what}: found {found!r}, expected {expected!r}.")
