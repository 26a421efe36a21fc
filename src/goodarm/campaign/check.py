"""`check`: verify that the journal is unchanged, and that the rules reproduce its choices and verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from goodarm.campaign import journal
from goodarm.campaign.audit import audit
from goodarm.campaign.fold import Fold
from goodarm.campaign.journal import Event, Head, Row, as_payload, reading_back, verified
from goodarm.campaign.replay import Differs, fold_all, fold_compared
from goodarm.campaign.stores import Store, found_in
from goodarm.errors import DamagedJournal, RuleFailed
from goodarm.simulation.stop import Stop


class Check(NamedTuple):
    """Result of replaying the whole journal.

    ok       : whether the chain is intact and the rules reproduce the journal's choices and verdicts
    events   : number of entries read
    problem  : description of the first entry that differs
    note     : a remark for the reader, even if `ok` is True
    """

    ok: bool
    events: int
    problem: str = ""
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        shown = {"ok": self.ok, "events": self.events, "problem": self.problem, "note": self.note}
        return {name: value for name, value in shown.items() if value != ""}


def check_named(store: Store, name: str, *, head: Head | None = None, stop: Stop | None = None) -> Check:
    """Check a campaign without opening it, since a damaged one can't be opened."""
    return check(store, found_in(store, name), head=head, stop=stop)


def check(store: Store, campaign: int, *, head: Head | None = None, stop: Stop | None = None) -> Check:
    """Replay the journal from its first entry and compare choices, evidence and verdicts bit for bit.

    head : an earlier head that the journal must still contain. The newest snapshot's head is checked as well
    stop : a token by which another thread can interrupt the replay
    """
    kept = store.snapshot(campaign)
    known = [Head(kept.number, kept.chain.hex())] if kept is not None else []
    known += [head] if head is not None else []
    result = _replayed(store, campaign, stop)
    lost = _lost(store, campaign, known, result.events) if result.ok else ""
    return Check(False, result.events, lost) if lost else result


def _lost(store: Store, campaign: int, known: list[Head], last: int) -> str:
    """Compare the journal, whose chain is intact, with earlier heads."""
    for head in known:
        if head.number > last:
            return (
                f"the journal ends with entry {last:,}, but it had {head.number:,} entries: the last ones were "
                "removed. "
                "Restore the store from a backup"
            )
        at = next(iter(store.read(campaign, head.number - 1, head.number)), None)
        if head.number and (at is None or at.chain.hex() != head.chain):
            return f"entry {head.number:,} had the chain {head.chain}: the journal has been rewritten since"
    return ""


def _replayed(store: Store, campaign: int, stop: Stop | None) -> Check:
    """Compare many entries at once. If they differ, compare one by one to find the first difference."""
    agreed = 0
    try:
        for first in verified(store.read(campaign, 0, 1)):
            fold, agreed = Fold(first), 1
            for number in fold_compared(fold, _interruptible(store.chunks(campaign, 1), stop), _wrong):
                agreed = number
            return _concluded(fold, fold.number)
    except (DamagedJournal, RuleFailed, Differs):
        pass
    return _first_difference(store, campaign, agreed, stop)


def _interruptible(chunks: Iterable[list[Row]], stop: Stop | None) -> Iterator[list[Row]]:
    for rows in chunks:
        if stop is not None:
            stop.check()
        yield rows


def _first_difference(store: Store, campaign: int, agreed: int, stop: Stop | None) -> Check:
    """Go through the entries after `agreed` one by one."""
    events = agreed
    fold: Fold | None = None
    try:
        with reading_back(lambda: events - 1):
            if agreed:
                fold = Fold(next(iter(store.read(campaign, 0, 1))))
                fold_all(fold, store.chunks(campaign, 1, agreed))
            chain = b"" if fold is None else fold.chain
            for event in verified(store.read(campaign, agreed), agreed, chain):
                events = event.number
                if stop is not None and not events % 1024:
                    stop.check()
                if fold is None:
                    fold = Fold(event)
                    continue
                found = _wrong(fold, event)
                if found and fold.same_rules:
                    return Check(False, events, f"entry {event.number} ({event.kind}): {found}")
                fold.apply(event)
                if fold.disagreement:
                    break
    except DamagedJournal as error:
        return Check(False, events, str(error))
    except RuleFailed as error:
        return Check(False, events, f"entry {events} can't be replayed: {error}")
    if fold is None:
        return Check(False, 0, "the journal is empty")
    if fold.undeclared and not fold.disagreement:
        return Check(False, events, f"entry {events}: the rules decide an arm here, but the journal has no verdict")
    return _concluded(fold, events)


def _concluded(fold: Fold, events: int) -> Check:
    if fold.disagreement:
        made_with = f"the journal was begun with goodarm {fold.terms.version}"
        if fold.same_rules:
            return Check(False, events, f"{fold.disagreement}; otherwise by the other")
        return Check(
            False,
            events,
            f"today's rules give a different verdict from those that the campaign began with: {fold.disagreement}; "
            f"{made_with}. "
            "Its recorded verdicts remain valid.",
        )
    return Check(True, events, note=_noted(fold))


def _noted(fold: Fold) -> str:
    begun = f"goodarm {fold.terms.version}"
    if fold.same_rules is None:
        return f"{begun} did not record the source of its rules; the rules of this version reach the recorded verdicts"
    return "" if fold.same_rules else f"the rules' code has changed since {begun}, but its decisions are the same"


def _wrong(fold: Fold, event: Event) -> str:
    """Describe what is wrong with the next entry; empty if nothing is."""
    if event.kind == journal.ASKED and event.arm != fold.choose():
        return f"the policy would have asked for another arm than {fold.books[event.arm or 0].entry.id!r}"
    if event.kind == journal.BLOCK and fold.same_rules:
        asked = {int(arm): int(count) for arm, count in event.content["arms"]}
        if fold.choose_block(sum(asked.values())) != asked:
            return "the policy would have asked for another block"
    if event.kind == journal.VERDICT and event.arm in fold.undeclared:
        return _audited(fold, event)
    return ""


def _audited(fold: Fold, event: Event) -> str:
    """Compare the recorded audit with the replayed one."""
    found = json.loads(as_payload(audit(fold, event.arm or 0)))
    for name, value in event.content.items():
        if name != "version" and found.get(name) != value:
            return f"its {name} is {value!r}, but by the rules {found.get(name)!r}"
    return ""
