"""Fast replay of long journals: bookkeeping in arrays, rules in compiled code.

Entries are verified as columns. The chain of an entry is a hash of the previous stored chain and the entry itself, so
the hashes of a chunk are independent of each other. The first mismatch identifies the first entry that was changed.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.campaign import journal
from goodarm.campaign.fold import Fold
from goodarm.campaign.journal import CHAIN_BYTES, KINDS, Event, Row, changed_entry, missing_entry, reading_back
from goodarm.engine.compile import BETWEEN_VERDICTS, JOURNAL
from goodarm.engine.live.step import ASK, GIVE, TELL
from goodarm.errors import DamagedJournal

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

CODES = {kind: code for code, kind in enumerate(KINDS)}
"""Number of each kind of entry. Kinds from a newer goodarm have none."""
UNKNOWN = -1
_LAYOUT = np.dtype([("number", "<i8"), ("ticket", "<i8"), ("arm", "<i8"), ("reward", "<f8"), ("at", "<f8")])
MOST = 100_000
"""Entries held in memory at a time."""
ASKED, ROW, TOLD, GIVEN, MISSING = (
    CODES[kind] for kind in (journal.ASKED, journal.ROW, journal.TOLD, journal.GIVEN, journal.MISSING)
)
VERDICT, REQUEST, NOTE = (CODES[kind] for kind in (journal.VERDICT, journal.REQUEST, journal.NOTE))
BETWEEN = (ASKED, ROW, TOLD, GIVEN, MISSING, REQUEST, NOTE)
PLAIN = (*BETWEEN, VERDICT)


class Differs(Exception):
    """The choices or verdicts of the rules differ from the journal's."""


def fold_all(fold: Fold, chunks: Iterable[list[Row]]) -> None:
    """Verify and apply the following entries, with the same result as `Fold.apply` one by one."""
    at_once = _is_compiled(fold) and not fold.draws
    fold.step.rest()
    with _no_collecting(), reading_back(lambda: fold.number):
        verified = verified_columns(chunks, fold.number, fold.chain)
        if at_once:
            for columns in _long(verified):
                _fold_runs(fold, columns)
        else:
            for columns in verified:
                _one_by_one(fold, columns.rows)


def fold_compared(fold: Fold, chunks: Iterable[list[Row]], wrong: Callable[[Fold, Event], str]) -> Iterator[int]:
    """Like `fold_all`, and compare every choice and verdict with the rules'.

    wrong : description of what is wrong with the next entry, if anything

    Yields the numbers of entries up to which nothing differs. Raises `Differs` otherwise; the fold may then be ahead
    of the entry that differs, and must be thrown away.
    """
    draws_after_the_end = fold.draws and fold.terms.stop_after is not None
    at_once = _is_compiled(fold) and fold.terms.cases is None and not draws_after_the_end
    with _no_collecting(), reading_back(lambda: fold.number):
        verified = verified_columns(chunks, fold.number, fold.chain)
        for columns in _long(verified) if at_once else verified:
            if at_once and JOURNAL.compiles(len(columns.rows)):
                _compare_runs(fold, columns, wrong)
            else:
                _compare_one_by_one(fold, columns.rows, wrong)
            if not fold.undeclared:  # otherwise its verdicts come next
                yield fold.number
        if fold.undeclared:
            raise Differs


def _is_compiled(fold: Fold) -> bool:
    """Can the rules' part of a long run of entries be compiled?"""
    return fold.step.replayable and not fold.in_order


@contextmanager
def _no_collecting() -> Iterator[None]:
    """Pause the garbage collector: a replay makes many small tuples without cycles, and scanning them takes longer."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _long(chunks: Iterable[JournalColumns]) -> Iterator[JournalColumns]:
    """Chunks of about `MOST` entries. A chunk never ends between a reward and the verdicts that follow from it."""
    held: list[JournalColumns] = []
    for columns in chunks:
        if sum(len(each.rows) for each in held) >= MOST and columns.rows[0][1] != journal.VERDICT:
            yield joined(held)
            held.clear()
        held.append(columns)
    if held:
        yield joined(held)


def _fold_runs(fold: Fold, columns: JournalColumns) -> None:
    """Apply long runs of asks and tells in bulk, and the entries between them one by one.

    Verdicts that follow from an entry between two runs are folded with it, since the fold waits for them.
    """
    others, verdicts = np.flatnonzero(~np.isin(columns.kinds, PLAIN)).tolist(), columns.kinds == VERDICT
    start = 0
    for stop in [*others, len(columns.rows)]:
        while start < stop and verdicts[start]:
            _one_by_one(fold, columns.rows[start : start + 1])
            start += 1
        if stop > start and JOURNAL.compiles(stop - start):
            _take(fold, columns.part(start, stop))
            _one_by_one(fold, columns.rows[stop : stop + 1])
        else:
            _one_by_one(fold, columns.rows[start : stop + 1])
        start = stop + 1


def _compare_runs(fold: Fold, columns: JournalColumns, wrong: Callable[[Fold, Event], str]) -> None:
    """Compare runs between verdicts in bulk. An audit describes the state just before its verdict."""
    others = np.flatnonzero(~np.isin(columns.kinds, BETWEEN)).tolist()
    start = 0
    for stop in [*others, len(columns.rows)]:
        if BETWEEN_VERDICTS.compiles(stop - start):
            _take_compared(fold, columns.part(start, stop))
            start = stop
        _compare_one_by_one(fold, columns.rows[start : stop + 1], wrong)
        start = stop + 1


def _take_compared(fold: Fold, run: JournalColumns) -> None:
    asks = bool((run.kinds == ASKED).any())
    if fold.undeclared or (asks and fold.found):
        raise Differs
    _keep_books(fold, run)
    again = fold.step.replay_choices(*_events(run))
    if again.early or (fold.same_rules and again.another >= 0):
        raise Differs
    if asks and fold.budget is not None and fold.spent > fold.budget:
        raise Differs
    fold.undeclared.extend(again.decided)
    fold.jump_to(Event._make(run.rows[-1]))


def _compare_one_by_one(fold: Fold, rows: list[Row], wrong: Callable[[Fold, Event], str]) -> None:
    for event in map(Event._make, rows):
        if wrong(fold, event) and fold.same_rules:
            raise Differs
        fold.apply(event)
        if fold.disagreement:
            raise Differs


def _one_by_one(fold: Fold, rows: list[Row]) -> None:
    for event in map(Event._make, rows):
        fold.apply(event)


def _take(fold: Fold, run: JournalColumns) -> None:
    _keep_books(fold, run)
    fold.step.replay(*_events(run))
    _compare(fold, [Event._make(run.rows[j]) for j in np.flatnonzero(run.kinds == VERDICT)])
    fold.jump_to(Event._make(run.rows[-1]))


def _events(run: JournalColumns) -> tuple[NDArray[np.int8], Integers, Floats]:
    """Kinds, arms and rewards as a step replays them: a reward without a ticket is an ask and a tell."""
    asks, tells = np.isin(run.kinds, (ASKED, GIVEN)), np.isin(run.kinds, (TOLD, GIVEN, MISSING))
    times = asks.astype(np.int64) + tells
    second = np.cumsum(times)[tells] - 1
    kinds = np.repeat(np.where(run.kinds == GIVEN, GIVE, ASK).astype(np.int8), times)
    kinds[second] = TELL
    rewards = np.zeros(len(kinds))
    rewards[second] = run.rewards[tells]
    return kinds, np.repeat(run.arms, times), rewards


def _keep_books(fold: Fold, run: JournalColumns) -> None:
    """Update the fold's own bookkeeping."""
    asks, tells = np.isin(run.kinds, (ASKED, GIVEN)), np.isin(run.kinds, (TOLD, GIVEN, MISSING))
    there, places = np.unique(run.arms[asks | tells], return_inverse=True)
    books = [fold.books[arm] for arm in there.tolist()]
    place = np.full(len(run.rows), -1)
    place[asks | tells] = places
    asked, told = place[asks], place[tells]
    totals = np.array([book.total for book in books], dtype=np.float64)
    np.add.at(totals, told, run.rewards[tells])  # add one by one, in the same order as the books do
    first, last = np.full(len(books), -1), np.full(len(books), -1)
    last[asked] = run.tickets[asks]
    first[asked[::-1]] = run.tickets[asks][::-1]
    counts = (np.bincount(each, minlength=len(books)) for each in (asked, told, place[run.kinds == MISSING]))
    columns = (each.tolist() for each in (*counts, totals, first, last))
    for book, *(more_asked, more_told, missing, total, one, other) in zip(books, *columns, strict=True):
        book.asked += more_asked
        book.told += more_told
        book.missing += missing
        book.total = float(total)
        if other >= 0:
            book.last = other
            book.first = one if book.first is None else book.first
        fold.spent += more_asked * book.cost
    _keep_pending(fold, run, np.flatnonzero(asks), run.tickets[tells])
    _keep_units(fold, run)


def _keep_pending(fold: Fold, run: JournalColumns, asks: Integers, ended: Integers) -> None:
    """Update the pending tickets after the run."""
    tickets = run.tickets[asks]
    for ticket in ended[~np.isin(ended, tickets)].tolist():
        del fold.pending[ticket]
    still = asks[~np.isin(tickets, ended)]
    if fold.terms.cases is not None:
        for ticket in ended.tolist():
            fold.cases.pop(ticket, None)
        for j in still.tolist():
            event = Event._make(run.rows[j])
            fold.cases[event.ticket or 0] = int(event.content["case"])
    for ticket, arm, at in zip(*(column[still].tolist() for column in (run.tickets, run.arms, run.at)), strict=True):
        fold.pending[ticket] = (arm, at)
        if fold.lapses:
            fold.deadlines.append((at, ticket))
    if len(tickets):
        fold.tickets = int(tickets[-1])


def _keep_units(fold: Fold, run: JournalColumns) -> None:
    """Update the rows of open units. Refuse told rewards that don't follow from their unit's rows."""
    book = fold.units
    if book is None:
        return
    notes = {journal.ASKED: book.asked, journal.ROW: book.row, journal.TOLD: book.closed}
    for row in run.rows:
        note = notes.get(row[1])
        if note is not None:
            note(Event._make(row))


def _compare(fold: Fold, verdicts: list[Event]) -> None:
    """Compare the verdicts in the journal with those that the rules have given."""
    open_before = {book.number for book in fold.books if book.decision is None}
    for event in verdicts:
        arm = event.arm or 0
        content = event.content
        if fold.step.row(arm).verdict != fold.terms.question.sign(content["verdict"]):
            fold.disagree(f"entry {event.number}: {fold.books[arm].entry.id!r} is {content['verdict']} by the journal")
            fold.step.suspend(arm)
        fold.declare(event)
        open_before.discard(arm)
    for arm in open_before:
        if fold.verdict_by_rules(arm) != "open":
            fold.disagree(f"by the rules {fold.books[arm].entry.id!r} is decided, and by the journal it is open")


# Entries as columns


class JournalColumns(NamedTuple):
    """Entries as arrays of equal length; -1 and NaN where there is no ticket, arm or reward."""

    rows: list[Row]
    kinds: NDArray[np.int8]
    tickets: Integers
    arms: Integers
    rewards: Floats
    at: Floats

    def part(self, start: int, stop: int) -> JournalColumns:
        cut = slice(start, stop)
        return JournalColumns(
            self.rows[cut], self.kinds[cut], self.tickets[cut], self.arms[cut], self.rewards[cut], self.at[cut]
        )


def joined(parts: list[JournalColumns]) -> JournalColumns:
    """Consecutive entries."""
    rows = [row for part in parts for row in part.rows]
    kinds, *others = (np.concatenate(columns) for columns in zip(*(part[1:] for part in parts), strict=True))
    tickets, arms, rewards, at = others
    return JournalColumns(rows, kinds, tickets, arms, rewards, at)


def verified_columns(chunks: Iterable[list[Row]], number: int, chain: bytes) -> Iterator[JournalColumns]:
    """The entries that follow entry `number` with chain `chain`. The error names the first entry whose chain is wrong.

    No entry of a chunk is returned if one of them is damaged.
    """
    for rows in chunks:
        if rows:
            yield _verified(rows, number, chain)
            number, chain = rows[-1][0], rows[-1][7]


def _verified(rows: list[Row], number: int, chain: bytes) -> JournalColumns:
    numbers, kinds, tickets, arms, rewards, payloads, at, chains = zip(*rows, strict=True)
    packed = np.empty(len(rows), dtype=_LAYOUT)
    packed["number"], packed["at"] = numbers, at
    packed["ticket"], packed["arm"] = _whole(tickets), _whole(arms)
    packed["reward"] = np.array(rewards, dtype=np.float64)
    packed["reward"][np.isnan(packed["reward"])] = np.nan  # one spelling
    bytes_, size = packed.tobytes(), _LAYOUT.itemsize
    plain = {kind: f"{kind}:".encode() for kind in set(kinds)}
    ends = [
        plain[kind] if payload is None else f"{kind}:{payload}".encode()
        for kind, payload in zip(kinds, payloads, strict=True)
    ]
    before = (chain, *chains[:-1])
    starts = range(0, len(bytes_), size)
    found = [
        blake2b(previous + bytes_[start : start + size] + end, digest_size=CHAIN_BYTES).digest()
        for previous, start, end in zip(before, starts, ends, strict=True)
    ]
    if found != list(chains) or numbers[0] != number + 1 or not (np.diff(packed["number"]) == 1).all():
        raise _first_damage(rows, found, number)
    codes = {kind: CODES.get(kind, UNKNOWN) for kind in plain}
    coded = np.array(list(map(codes.__getitem__, kinds)), dtype=np.int8)
    return JournalColumns(rows, coded, packed["ticket"], packed["arm"], packed["reward"], packed["at"])


def _first_damage(rows: list[Row], found: list[bytes], number: int) -> DamagedJournal:
    for row, chain in zip(rows, found, strict=True):
        if row[0] != number + 1:
            return missing_entry(number, row[0])
        if row[7] != chain:
            return changed_entry(row[0], row[1])
        number = row[0]
    raise AssertionError("no damage where some was found")  # pragma: no cover


def _whole(values: tuple[int | None, ...]) -> Integers:
    """Whole numbers, -1 for none."""
    try:
        return np.array(values, dtype=np.int64)
    except TypeError:
        return np.array([-1 if value is None else value for value in values], dtype=np.int64)
