"""Journals of every kind of event: written live, replayed one by one, replayed compiled, opened from a snapshot."""

from __future__ import annotations

import random
from typing import Any

import pytest

from goodarm import Campaign
from goodarm.campaign import replay
from goodarm.campaign.fold import Fold
from goodarm.campaign.journal import KINDS
from goodarm.campaign.snapshot import BOOK_FIELDS, pack, unpack
from goodarm.campaign.stores import MemoryStore
from goodarm.engine.compile import Patience
from goodarm.errors import GoodarmError

ACTS = ("ask", "tell", "give", "block", "part", "void", "turn", "add", "wait", "note", "rest")
STYLES = {
    "every kind of entry": ((8, 9, 2, 1, 3, 1, 2, 0.15, 1.5, 0.4, 0.2), 6),
    "asks and tells only": ((6, 12, 1, 0, 0, 0, 0, 0, 0, 0, 0), 24),
}
"""How often each act is tried, and the number of tickets asked for at once."""


class Visitor:
    """Does one thing after the other to a campaign, at random; some of it is refused."""

    def __init__(self, criterion: str, seed: int, clock: Any, style: str) -> None:
        self.chance, self.clock = random.Random(seed), clock
        self.weights, self.most = STYLES[style]
        self.campaign = Campaign.create(
            MemoryStore(), "c", [f"arm {i}" for i in range(8)], 0.3, 0.2, criterion=criterion, reserve=0.2,
            after=100.0, unanswered=("zero", "void")[seed % 2], clock=clock,
        )  # fmt: skip
        self.tickets: list[Any] = []
        self.blocks: list[Any] = []

    def act(self) -> None:
        chance, campaign = self.chance, self.campaign
        arm = chance.choice(list(campaign._session.fold.index))
        kind = chance.choices(ACTS, self.weights)[0]
        if kind == "ask":
            self.tickets += campaign.ask(chance.randint(1, self.most), key=chance.choice([None, f"{chance.random()}"]))
        elif kind == "tell" and self.tickets:
            chance.shuffle(self.tickets)
            told = [self.tickets.pop() for _ in range(min(4, len(self.tickets)))]
            campaign.tell_many([(ticket, self.reward(ticket.arm)) for ticket in told])
        elif kind == "give":
            campaign.tell_arm(arm, self.reward(arm))
        elif kind == "block":
            self.blocks.append(campaign.ask_block(chance.randint(5, 60)))
        elif kind == "part" and self.blocks:
            self.tell_part(chance.choice(self.blocks))
        elif kind == "rest" and self.blocks:
            campaign.void(self.blocks.pop(), "lost")
        elif kind == "void" and self.tickets:
            campaign.void(self.tickets.pop(), "lost")
        elif kind == "turn":
            chance.choices([campaign.suspend, campaign.resume, campaign.retire], [4, 4, 1])[0](arm)
        elif kind == "add":
            campaign.add_arms([f"later {chance.random()}"])
        elif kind == "wait":
            self.clock.now += 70.0
        elif kind == "note":
            campaign.note({"about": arm})

    def tell_part(self, block: Any) -> None:
        out = self.campaign._session.fold.blocks[int(block.ticket.split("-")[0])].out
        ids = [book.entry.id for book in self.campaign._session.fold.books]
        rows = {}
        for arm, count in out.items():
            told = self.chance.randint(0, count)
            rows[ids[arm]] = (told, sum(self.reward(ids[arm]) for _ in range(told)))
        self.campaign.tell_block(block, rows, part=f"{self.chance.random()}")

    def reward(self, arm: str) -> float:
        return float(
            self.chance.random() < {"arm 0": 0.02, "arm 1": 0.9, "arm 2": 0.6, "arm 3": 0.5, "arm 4": 0.6}.get(arm, 0.3)
        )


def written(criterion: str, seed: int, clock: Any, style: str, turns: int = 220) -> Campaign:
    visitor = Visitor(criterion, seed, clock, style)
    for _ in range(turns):
        try:
            visitor.act()
        except (GoodarmError, KeyError):  # a late reward, a retired arm, a block that has ended
            continue
    return visitor.campaign


def state(fold: Fold) -> dict[str, Any]:
    """All that the next operation or a look depends on."""
    return {
        "books": [[getattr(book, name) for name in BOOK_FIELDS] for book in fold.books],
        "rows": [fold.step.row(arm) for arm in range(len(fold.books))],
        "chosen": fold.step.choose(),
        "pending": fold.pending,
        "blocks": {ticket: dict(block.out) for ticket, block in fold.blocks.items()},
        "counts": (fold.number, fold.chain, fold.at, fold.tickets, fold.late, fold.ended),
        "undeclared": fold.undeclared,
        "disagreement": fold.disagreement,
    }


def one_by_one(campaign: Campaign, until: int) -> Fold:
    first, *rest = campaign.store.read(0, 0, until)
    fold = Fold(first)
    for event in rest:
        fold.apply(event)
    return fold


@pytest.mark.parametrize("criterion", ["fwer", "fdr"])
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("seed", range(3))
def test_every_way_to_read_a_journal_leads_to_the_same_state(
    criterion: str, seed: int, style: str, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = written(criterion, seed, clock, style)
    fold = campaign._session.fold
    assert fold.disagreement == ""
    assert state(one_by_one(campaign, fold.number)) == state(fold)
    assert campaign.check().ok, campaign.check().problem
    events = list(campaign.store.read(0))
    monkeypatch.setattr(replay, "JOURNAL", Patience(0))
    chance = random.Random(seed)
    places = [place for place in chance.sample(range(2, len(events)), 12) if events[place].kind != "verdict"]
    for place in places:  # events[place] is the next entry: no verdict is missing before it
        here = one_by_one(campaign, place)
        expected = state(here)
        compiled = Fold(events[0])
        replay.fold_all(compiled, [[tuple(event) for event in events[1:place]]])
        assert state(compiled) == expected, place
        body = pack(here)
        assert body is not None
        kept = unpack(events[0], here.chain, body)
        assert kept is not None
        assert state(kept) == expected, place
        replay.fold_all(kept, [[tuple(event) for event in events[place:]]])
        assert state(kept) == state(one_by_one(campaign, len(events))), place


def test_the_journals_have_entries_of_every_kind(clock: Any) -> None:
    """And verdicts on arms that were suspended, which e-BH gives together with others."""
    found, paused = set(), 0
    for seed in range(4):
        campaign = written("fdr", seed, clock, "every kind of entry")
        events = list(campaign.store.read(0))
        found |= {event.kind for event in events}
        paused += any(book.decision and book.status == "paused" for book in campaign._session.fold.books)
    assert found >= set(KINDS) - {"ended"}
    assert paused


def test_an_arm_that_is_decided_while_suspended_is_subtracted_once(clock: Any) -> None:
    """Under fdr. Subtracted twice from the open arms, it would leave none, and the last arm would never be chosen."""
    campaign = Campaign.create("memory:", "c", ["a", "b", "c"], 0.5, 0.1, criterion="fdr", clock=clock)
    campaign.suspend("a")
    while campaign.arm("a").verdict == "open":
        campaign.tell_arm("a", 1.0)
        campaign.tell_arm("b", 1.0)
    assert campaign.arm("a").status == "suspended"
    while campaign.arm("b").verdict == "open":
        campaign.tell_arm("b", 1.0)
    assert {ticket.arm for ticket in campaign.ask(20)} == {"c"}


def test_under_fdr_the_evidence_reaches_what_was_needed(clock: Any) -> None:
    """What is needed falls with each verdict on the same side, and the interval leaves the bar with the verdict."""
    campaign = Campaign.create("memory:", "c", [f"arm {i}" for i in range(8)], 0.5, 0.1, criterion="fdr", clock=clock)
    chance = random.Random(2)
    while tickets := campaign.ask(3):
        campaign.tell_many(
            [(each, float(chance.random() < (0.95 if each.arm < "arm 4" else 0.05))) for each in tickets]
        )
    needed = set()
    for row in campaign.arms():
        assert row.evidence >= row.needed
        assert row.low >= 0.5 if row.verdict == "good" else row.high <= 0.5
        needed.add(row.needed)
    assert len(needed) > 2, "the rank counts"
    assert campaign.check().ok
