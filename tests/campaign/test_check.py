"""`check` compares long runs of a journal at once, and finds what a comparison entry by entry finds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from test_replayed import PLAIN, written

from goodarm import Campaign
from goodarm.campaign import journal, replay
from goodarm.campaign.check import Check, check
from goodarm.campaign.journal import Event, as_payload, chained
from goodarm.campaign.stores import MemoryStore
from goodarm.engine.compile import Patience
from goodarm.engine.live.threshold import ThresholdStep

pytestmark = pytest.mark.slow

KINDS = ("fwer", "fdr", "random choices", "one good arm", "costs and a budget")
NEVER, AT_ONCE = Patience(math.inf), Patience(0)


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> Callable[[MemoryStore], Check]:
    """Both ways to check; they agree, and the quick one was used."""
    runs, again = list[int](), ThresholdStep.replay_choices

    def counting(step: ThresholdStep, kinds: Any, arms: Any, rewards: Any) -> Any:
        runs.append(len(kinds))
        return again(step, kinds, arms, rewards)

    monkeypatch.setattr(ThresholdStep, "replay_choices", counting)

    def both(store: MemoryStore) -> Check:
        monkeypatch.setattr(replay, "JOURNAL", NEVER)
        slow = check(store, 0)
        assert not runs
        monkeypatch.setattr(replay, "JOURNAL", AT_ONCE)
        monkeypatch.setattr(replay, "BETWEEN_VERDICTS", AT_ONCE)
        quick = check(store, 0)
        assert "has been changed" in quick.problem or sum(runs) > 100
        runs.clear()
        assert quick == slow
        return quick

    return both


def entries(campaign: Campaign) -> list[Event]:
    return list(campaign.store.read(0))


def stored(events: list[Event], *, damaged: int | None = None) -> MemoryStore:
    """A journal of these entries, chained anew; `damaged` is the place of one whose chain is not."""
    store, found = MemoryStore(), list[Event]()
    for number, event in enumerate(events, 1):
        _, kind, ticket, arm, reward, payload, at, _ = event
        before = found[-1].chain if found else b""
        found.append(chained(before, number, kind, at, ticket=ticket, arm=arm, reward=reward, payload=payload))
    if damaged is not None:
        found[damaged] = found[damaged]._replace(at=found[damaged].at + 1.0)
    with store.transaction(None):
        store.append(store.add("c"), found)
    return store


def places(events: list[Event], kind: str) -> list[int]:
    return [place for place, event in enumerate(events) if event.kind == kind]


@pytest.mark.parametrize("kind", KINDS)
def test_long_runs_are_compared_at_once(kind: str, clock: Any, compared: Callable[[MemoryStore], Check]) -> None:
    events = entries(written(kind, 1, clock, PLAIN))
    assert places(events, journal.VERDICT)
    result = compared(stored(events))
    assert result.ok, result.problem
    assert result.events == len(events)


@pytest.mark.parametrize("kind", KINDS[:3])
def test_what_differs_is_named(kind: str, clock: Any, compared: Callable[[MemoryStore], Check]) -> None:
    events = entries(written(kind, 1, clock, PLAIN))

    def changed(place: int, **fields: Any) -> list[Event]:
        return [*events[:place], events[place]._replace(**fields), *events[place + 1 :]]

    verdict = places(events, journal.VERDICT)[-1]
    forged = as_payload({**events[verdict].content, "told": 1})
    result = compared(stored(changed(verdict, payload=forged)))
    assert f"entry {verdict + 1} (verdict): its told is 1" in result.problem

    result = compared(stored([*events[:verdict], *events[verdict + 1 :]]))
    assert not result.ok, "a verdict is missing"

    asked = places(events, journal.ASKED)[-20]
    ticket, other = events[asked].ticket, (events[asked].arm or 0) ^ 1
    result = compared(
        stored([each._replace(arm=other) if ticket and each.ticket == ticket else each for each in events])
    )
    assert f"entry {asked + 1} (asked): the policy would have asked for another arm" in result.problem

    result = compared(stored(events[:verdict]))
    assert "the rules decide an arm here, but the journal has no verdict" in result.problem

    result = compared(stored(events, damaged=asked))
    assert f"entry {asked + 1} of the journal (asked) has been changed" in result.problem
