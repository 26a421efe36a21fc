"""Folding a long stretch of a journal at once: bookkeeping here, the rules' part compiled."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np

from goodarm.campaign import journal
from goodarm.campaign.fold import Fold
from goodarm.campaign.journal import Event
from goodarm.engine.told import ASK, TELL

LONG = 20_000
"""Runs of plain entries that are shorter are folded one by one: a compiled loop takes its time to load."""
MOST = 100_000
"""Entries that are held in memory at a time."""
PLAIN = frozenset({journal.ASKED, journal.TOLD, journal.MISSING, journal.GIVEN, journal.VERDICT, journal.REQUEST})


def fold_all(fold: Fold, events: Iterable[Event]) -> None:
    """Apply entries in order, as `Fold.apply` would, one by one."""
    if fold.in_order or fold.draws or not fold.step.replayable:
        for event in events:
            fold.apply(event)
        return
    with _no_collecting():
        _fold_runs(fold, events)


@contextmanager
def _no_collecting() -> Iterator[None]:
    """Hundreds of thousands of small tuples and no cycles: looking for garbage among them takes longer than they do."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _fold_runs(fold: Fold, events: Iterable[Event]) -> None:
    run: list[Event] = []
    for event in events:
        plain = event.kind in PLAIN
        # never cut between a tell and the verdict that follows from it
        if not plain or (len(run) >= MOST and event.kind == journal.ASKED):
            _take(fold, run)
            run.clear()
        if plain:
            run.append(event)
        else:
            fold.apply(event)
    _take(fold, run)


def _take(fold: Fold, run: list[Event]) -> None:
    if len(run) < LONG:
        for event in run:
            fold.apply(event)
        return
    kinds, arms, rewards, verdicts = _keep_books(fold, run)
    fold.step.replay(np.array(kinds, dtype=np.int8), np.array(arms), np.array(rewards))
    _compare(fold, verdicts)
    fold.number, fold.chain, fold.at = run[-1].number, run[-1].chain, run[-1].at


def _keep_books(fold: Fold, run: list[Event]) -> tuple[list[int], list[int], list[float], list[Event]]:
    """What the fold keeps besides the rules' evidence; returns asks and tells for these, and the verdicts."""
    kinds: list[int] = []
    arms: list[int] = []
    rewards: list[float] = []
    verdicts: list[Event] = []
    books, pending = fold.books, fold.pending
    for event in run:
        _, kind, ticket, arm, reward, _, at, _ = event
        if kind == journal.VERDICT:
            verdicts.append(event)
            continue
        if kind == journal.REQUEST or arm is None or ticket is None:
            continue
        book = books[arm]
        if kind in (journal.ASKED, journal.GIVEN):
            book.asked += 1
            book.last = ticket
            if book.first is None:
                book.first = ticket
            fold.tickets = ticket
            pending[ticket] = (arm, at)
            if fold.lapses:
                fold.deadlines.append((at, ticket))
            kinds.append(ASK)
            arms.append(arm)
            rewards.append(0.0)
        if kind != journal.ASKED:
            del pending[ticket]
            value = reward or 0.0
            book.told += 1
            book.total += value
            book.missing += kind == journal.MISSING
            kinds.append(TELL)
            arms.append(arm)
            rewards.append(value)
    return kinds, arms, rewards, verdicts


def _compare(fold: Fold, verdicts: list[Event]) -> None:
    """The verdicts that were journaled against those that the rules have given."""
    open_before = {book.number for book in fold.books if book.decision is None}
    for event in verdicts:
        arm = event.arm or 0
        content = event.content
        if fold.verdict_by_rules(arm) != content["verdict"]:
            fold.disagree(f"entry {event.number}: {fold.books[arm].entry.id!r} is {content['verdict']} by the journal")
            fold.step.close(arm)
        fold.books[arm].decision = {**content, "number": event.number, "at": event.at}
        open_before.discard(arm)
    for arm in open_before:
        if fold.verdict_by_rules(arm) != "open":
            fold.disagree(f"by the rules {fold.books[arm].entry.id!r} is decided, and by the journal it is open")
