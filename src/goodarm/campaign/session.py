"""A process's session with a campaign: read new entries, fold, append, commit, and reload after a failure."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from goodarm.campaign import journal
from goodarm.campaign.audit import audit
from goodarm.campaign.fold import Fold
from goodarm.campaign.journal import REQUESTS, Event, as_payload, digest, link, reading_back, verified
from goodarm.campaign.replay import fold_all
from goodarm.campaign.snapshot import pack, unpack
from goodarm.campaign.stores import Snapshot, Store, found_in
from goodarm.errors import DamagedJournal, GoodarmError, Refused, RuleFailed, UnusableStore

SNAPSHOT_EVERY = 2_000
"""Number of entries between two snapshots (at least two per arm). Folding them takes a fraction of a second."""
AFTER_OPENING = 50
"""commands that open a campaign for one operation read few entries."""

Clock = Callable[[], float]
log = logging.getLogger("goodarm.campaign")


class Limits(NamedTuple):
    """Maximum size of a campaign; None for no limit. Rewards of pending tickets may always be told.

    tickets : pending tickets and blocks
    entries : entries of the journal
    """

    tickets: int | None = None
    entries: int | None = None


class Session:
    """A campaign in a store, and the fold of the entries read so far."""

    def __init__(self, store: Store, name: str, clock: Clock) -> None:
        self.store = store
        self.name = name
        self.clock = clock
        self.verdicts_seen: list[Event] = []
        """Committed verdicts of any process that have not been announced yet."""
        self._own: list[Event] = []
        """Verdicts of the open transaction."""
        self.decided: list[int] = []
        """The arms that the current operation has decided."""
        self._thread = threading.RLock()
        self._under_way = False
        """Whether a transaction is open."""
        self._written: list[Event] = []
        self._endings: dict[tuple[int | None, str], Event] = {}
        """Entries of this transaction that `Store.ending` would find after the commit."""
        self._looked_up: dict[str, Event | None] = {}
        """Entries in the store for the keys that `expect` announced, by mark."""
        self._unsaved = 0
        self._fold: Fold | None = None
        self._heard = 0
        """The newest committed entry of a discarded state. Verdicts after it have not been announced."""
        self._stuck: set[int] = set()
        """Tickets that can't expire because a rule raises an error for them."""
        self._lapsing: int | None = None
        self.limits = Limits()
        self.by = ""
        """Id of the server token whose changes follow. Their entries carry it."""
        self.campaign = found_in(store, name)
        self.snapshot_at = 0
        self._opened_at = 0
        """The newest entry when the journal was loaded."""
        self._just_opened = False

    @property
    def fold(self) -> Fold:
        """The state as it was last read."""
        if self._fold is not None:
            return self._fold
        with self._thread:
            if self._fold is None:
                if self._under_way:  # the store would return this transaction's uncommitted entries
                    raise _half_done()
                self._fold = self._load()
                if self._heard:
                    missed = self.store.read(self.campaign, self._heard, self._fold.number)
                    self.verdicts_seen += [event for event in missed if event.kind == journal.VERDICT]
                    self._heard = 0
            return self._fold

    def _throw_away(self, committed: int) -> None:
        """Discard the state, which may contain entries that were never committed. The next access reads it again."""
        self._fold = None
        self._heard = committed

    def refresh(self) -> Fold:
        """The state, up to date with the store."""
        with self._thread:
            fold = self.fold
            if not self._under_way:
                if self._catch_up(fold):
                    self.store.flush()  # the process that wrote these entries may still be waiting for the disk
                self._note_newest(fold)
            return self.fold

    def _catch_up(self, fold: Fold) -> bool:
        """Apply entries that other processes have written; returns whether there were any.

        The store must still have the last entry of the fold. It may have lost entries, for example if an older copy was
        restored while this process ran. The next entry of this process would then follow a gap.
        """
        found = list(self.store.newer(self.campaign, fold.number - 1))
        if not found or (found[0].number, found[0].chain) != (fold.number, fold.chain):
            raise _shortened(self.name, fold.number)
        if len(found) == 1:
            return False
        try:
            with reading_back(lambda: fold.number):
                for event in verified(found[1:], fold.number, fold.chain):
                    fold.apply(event)
                    if event.kind == journal.VERDICT:
                        self.verdicts_seen.append(event)
        except BaseException:
            self._throw_away(fold.number)
            raise
        return True

    def _note_newest(self, fold: Fold) -> None:
        _newest.setdefault(self.store, {})[self.campaign] = fold.number, fold.chain

    def _refuse_shortened(self) -> None:
        """Refuse a journal without the newest entry that this process knows of."""
        number, chain = _newest.get(self.store, {}).get(self.campaign, (0, b""))
        if number:
            found = next(iter(self.store.read(self.campaign, number - 1, number)), None)
            if found is None or found.chain != chain:
                raise _shortened(self.name, number)

    def _load(self) -> Fold:
        """Load from a valid snapshot, or else from the first entry."""
        first = next(iter(self.store.read(self.campaign, 0, 1)), None)
        if first is None:
            raise DamagedJournal(f"the campaign {self.name!r} has no first entry. Restore the store from a backup.")
        fold = self._from_snapshot(first)
        if fold is None:
            next(verified([first]))
            fold = Fold(first)
            self.snapshot_at = 0
        fold_all(fold, self.store.chunks(self.campaign, fold.number))
        self._refuse_shortened()
        self._opened_at, self._just_opened = fold.number, True
        return fold

    def _from_snapshot(self, first: Event) -> Fold | None:
        kept = self.store.snapshot(self.campaign)
        if kept is None:
            return None
        at = next(iter(self.store.read(self.campaign, kept.number - 1, kept.number)), None)
        if at is None or at.chain != kept.chain:
            return None
        self.snapshot_at = kept.number
        return unpack(first, kept.chain, kept.body)

    @contextmanager
    def transaction(self) -> Iterator[Fold]:
        """Exclusive right to write: everything is committed at the end, or nothing.

        Inside an open transaction, this joins it and does not commit. If this part is refused, it changes nothing and
        the other parts are kept. If it fails half-way, the whole transaction is rolled back.
        """
        with self._thread:
            if self._under_way:
                yield from self._part()
                return
            committed = 0
            try:
                with self.store.transaction(self.campaign):
                    fold = self.fold
                    self._under_way = True
                    self._catch_up(fold)
                    committed = fold.number
                    if fold.disagreement:
                        raise _other_rules(fold)
                    if fold.deadlines:
                        self._lapse_all()
                    yield self.fold
                    if self._fold is None:  # the caller may have caught the error and continued
                        raise _half_done()
                    self.flush()
                    self._keep_snapshot()
                self._note_newest(self.fold)
                self.verdicts_seen += self._own
            except BaseException as error:
                if committed and (self._written or self._unsaved or self._fold is None or not _is_refusal(error)):
                    self._throw_away(committed)
                raise
            finally:
                self._under_way = False
                self._unsaved = 0
                self._clear()
                self._own.clear()
                self.decided = []

    def _part(self) -> Iterator[Fold]:
        fold = self.fold
        before, self.decided = fold.number, []
        try:
            yield fold
        except BaseException as error:
            if self._fold is not None and (self._fold.number != before or not _is_refusal(error)):
                self._fold = None
            raise

    def write(
        self,
        kind: str,
        ticket: int | None = None,
        arm: int | None = None,
        reward: float | None = None,
        content: dict[str, Any] | None = None,
    ) -> None:
        """Apply an entry and queue it for the commit, with the verdicts that follow from it."""
        fold = self._fold
        if fold is None:
            raise _half_done()
        if self.by:
            content = {**(content or {}), "by": self.by}
        self._append(fold, kind, ticket, arm, reward, as_payload(content) if content else None)
        while fold.undeclared:
            arm = fold.undeclared[0]
            self._own.append(self._append(fold, journal.VERDICT, None, arm, None, as_payload(audit(fold, arm))))
            self.decided.append(arm)

    def _append(
        self, fold: Fold, kind: str, ticket: int | None, arm: int | None, reward: float | None, payload: str | None
    ) -> Event:
        """Apply an entry, and queue it only on success. An entry that makes a rule fail could never be read back."""
        entry = fold.number + 1, kind, ticket, arm, reward, payload, max(float(self.clock()), fold.at)
        event = Event(*entry, link(fold.chain, *entry))
        try:
            fold.apply(event)
        except BaseException:
            self._fold = None  # half applied: nothing of this transaction may be written
            raise
        self._written.append(event)
        ending = event.ending
        if ending is not None:
            self._endings[ticket, ending] = event
        return event

    def expect(self, keys: Sequence[str]) -> None:
        """Look up the keys of the requests that follow in this transaction with a single query."""
        marks = [digest(key) for key in keys]
        found = self.store.endings(self.campaign, REQUESTS, marks) if marks else {}
        self._looked_up = {mark: found.get(mark) for mark in marks}

    def ending(self, ticket: int, ending: str) -> Event | None:
        """The entry that ended a ticket or a part of a block, committed or queued."""
        queued = self._endings.get((ticket, ending))
        if queued is not None:
            return queued
        if ticket == REQUESTS and ending in self._looked_up:
            return self._looked_up[ending]
        return self.store.ending(self.campaign, ticket, ending)

    def _clear(self) -> None:
        """Discard the queued entries and the cached results of `expect`."""
        self._written.clear()
        self._endings.clear()
        self._looked_up.clear()

    def next_verdict(self) -> Event | None:
        """The oldest committed verdict that has not been announced; None within a transaction, or if there is none."""
        with self._thread:
            return self.verdicts_seen.pop(0) if self.verdicts_seen and not self._under_way else None

    def flush(self) -> None:
        """Hand the queued entries to the store."""
        if self._written:
            self._unsaved += len(self._written)
            self.store.append(self.campaign, self._written)
            self._clear()

    def _lapse_all(self) -> None:
        """Expire overdue tickets, except those for which a rule fails.

        Such tickets stay pending and, like every missing reward, count at their worst. Raising the error here would
        block every later operation of the campaign.
        """
        while True:
            try:
                self._lapse()
                return
            except (UnusableStore, DamagedJournal):
                raise
            except Exception as error:
                if self._lapsing is None:
                    raise
                log.warning("ticket %d of %r can't expire, a rule fails: %s", self._lapsing, self.name, error)
                self._stuck.add(self._lapsing)
                self._clear()  # nothing has reached the store yet: start again without this ticket
                self._own.clear()
                self.decided.clear()
                self._fold = self._load()

    def _lapse(self) -> None:
        """Expire overdue tickets, and write the time of each to the journal."""
        self._lapsing = None
        fold = self.fold
        terms = fold.terms
        if terms.closes_after is None:
            return
        limit = max(float(self.clock()), fold.at) - terms.closes_after
        while fold.deadlines and fold.deadlines[0][0] < limit:
            _, ticket = fold.deadlines.popleft()
            if ticket in self._stuck:
                continue
            self._lapsing = ticket
            if ticket in fold.blocks:
                self.write(journal.REST, ticket=ticket, content={"as": terms.unanswered, "reason": "unanswered"})
            elif ticket in fold.pending:
                arm = fold.pending[ticket][0]
                if fold.units is not None:
                    self.write(journal.TOLD, ticket=ticket, arm=arm, reward=fold.units.reward(ticket))
                elif terms.unanswered == "zero":
                    self.write(journal.MISSING, ticket=ticket, arm=arm, reward=0.0)
                else:
                    self.write(journal.VOID, ticket=ticket, arm=arm, content={"reason": "unanswered"})
            self._lapsing = None

    def _keep_snapshot(self) -> None:
        fold = self.fold
        since, enough = fold.number - self.snapshot_at, max(SNAPSHOT_EVERY, 2 * len(fold.books))
        if self._just_opened:
            enough = min(enough, max(AFTER_OPENING, len(fold.books) // 10))
            self._just_opened = False
        if since < enough or fold.disagreement:
            return
        kept = self.store.snapshot(self.campaign)
        before = max(self.snapshot_at, self._opened_at)
        if kept is not None and before < kept.number <= fold.number < kept.number + enough:
            self.snapshot_at = kept.number  # another process has kept one since
        elif (body := pack(fold)) is not None:
            self.store.keep(self.campaign, Snapshot(fold.number, fold.chain, body))
            self.snapshot_at = fold.number


_newest: WeakKeyDictionary[Store, dict[int, tuple[int, bytes]]] = WeakKeyDictionary()
"""Number and chain of the newest entry that this process has seen committed, by store and campaign."""


def _shortened(name: str, number: int) -> UnusableStore:
    return UnusableStore(
        f"the journal of {name!r} no longer has entry {number:,} as this program has seen it: entries were removed, or "
        "an older copy was put in its place. Writing to it has stopped. Restore the entries from a backup, or restart "
        "this program to continue with the present entries."
    )


def _half_done() -> UnusableStore:
    """A retryable error: another operation of the same transaction failed."""
    return UnusableStore(
        "an operation in the same transaction failed half-way; nothing of the transaction was written. Try again."
    )


def _is_refusal(error: BaseException) -> bool:
    """Whether an operation was refused before it changed anything. Any other error may have occurred half-way."""
    return isinstance(error, GoodarmError) and not isinstance(error, UnusableStore | DamagedJournal | RuleFailed)


def _other_rules(fold: Fold) -> Refused:
    return Refused(
        "this goodarm's rules give a different verdict from the rules that the campaign began with "
        f"({fold.disagreement}). Its verdicts remain valid and readable, but continuing would mix two sets of rules "
        f"and void the guarantee. Continue with goodarm {fold.terms.version}, or start a new campaign."
    )
