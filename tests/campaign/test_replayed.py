"""Journals of every kind of event: written live, replayed one by one, replayed compiled, opened from a snapshot."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from goodarm import Campaign
from goodarm.campaign import replay
from goodarm.campaign.fold import Fold
from goodarm.campaign.journal import KINDS
from goodarm.campaign.snapshot import BOOK_FIELDS, pack, unpack
from goodarm.campaign.stores import MemoryStore
from goodarm.campaign.tickets import Queue
from goodarm.engine.compile import Patience
from goodarm.errors import GoodarmError
from goodarm.problem import Gaussian, GradedCases

ACTS = ("ask", "tell", "give", "block", "part", "void", "turn", "add", "wait", "note", "rest")
STYLES = {
    "every kind of entry": ((8, 9, 2, 1, 3, 1, 2, 0.15, 1.5, 0.4, 0.2), 6),
    "asks and tells only": ((6, 12, 1, 0, 0, 0, 0, 0, 0, 0, 0), 24),
}
"""How often each act is tried, and the number of tickets asked for at once."""
CAMPAIGNS: dict[str, dict[str, Any]] = {
    "fwer": {"threshold": 0.3, "reserve": 0.2},
    "fdr": {"threshold": 0.3, "reserve": 0.2, "criterion": "fdr"},
    "control": {"control": "arm 7", "margin": 0.02, "reserve": 0.2},
    "cases": {"threshold": 0.3, "reserve": 0.2, "cases": 40},
    "cases, fdr": {"threshold": 0.3, "reserve": 0.2, "cases": 40, "criterion": "fdr"},
    "graded cases": {"threshold": 0.3, "reserve": 0.2, "cases": 40, "rewards": GradedCases(40)},
    "cases of a control": {"control": "arm 7", "cases": 40, "reserve": 0.2},
    "in order": {"threshold": 0.3, "reserve": 0.2, "policy": "uniform+kt"},
    "learned bets": {"threshold": 0.3, "reserve": 0.2, "policy": "value+learned-bets", "horizon": 500},
    "random choices": {"threshold": 0.3, "reserve": 0.2, "policy": "thompson+gap-mixture"},
    "intervals": {"threshold": 0.3, "reserve": 0.2, "policy": "ucb+hoeffding"},
    "Gaussian": {"threshold": 0.3, "reserve": 0.2, "rewards": Gaussian(0.5), "policy": "uniform+normal-mixture"},
    "one good arm": {"threshold": 0.3, "reserve": 0.2, "stop_after": 2},
    "several bars": {"bars": "right >= 0.3, slow <= 0.6", "reserve": 0.2},
    "costs and a budget": {"threshold": 0.3, "cost": {f"arm {i}": 1.0 + i for i in range(8)}, "budget": 1500.0},
    "a model": {"threshold": 0.3, "policy": "uniform+learned-bets-normal@linear"},
}
"""Campaigns of every kind of question and rule; those that differ most come first."""


class Visitor:
    """Does one thing after the other to a campaign, at random; some of it is refused."""

    def __init__(self, kind: str, seed: int, clock: Any, style: str) -> None:
        self.chance, self.clock = random.Random(seed), clock
        self.weights, self.most = STYLES[style]
        arms: Any = [f"arm {i}" for i in range(8)]
        if kind == "a model":
            arms = [{"id": arm, "features": [1.0 + 0.1 * i, 0.3 * i % 1.0]} for i, arm in enumerate(arms)]
        unanswered = "void" if seed % 2 or kind in ("Gaussian", "cases of a control", "several bars") else "zero"
        self.campaign = Campaign.create(
            MemoryStore(), "c", arms, delta=0.2, after=100.0, unanswered=unanswered, clock=clock, **CAMPAIGNS[kind]
        )
        self.metrics = kind == "several bars"
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
            block = campaign.ask_block(chance.randint(5, 60))
            self.blocks += [block] if block.ticket else []
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
        rows: dict[str, Any] = {}
        for arm, count in out.items():
            told = self.chance.randint(0, count)
            sums = [sum(self.drawn(ids[arm]) for _ in range(told)) for _ in ("right", "slow")]
            rows[ids[arm]] = (told, {"right": sums[0], "slow": sums[1]} if self.metrics else sums[0])
        self.campaign.tell_block(block, rows, part=f"{self.chance.random()}")

    def reward(self, arm: str) -> Any:
        return {"right": self.drawn(arm), "slow": self.drawn(arm)} if self.metrics else self.drawn(arm)

    def drawn(self, arm: str) -> float:
        return float(
            self.chance.random() < {"arm 0": 0.02, "arm 1": 0.9, "arm 2": 0.6, "arm 3": 0.5, "arm 4": 0.6}.get(arm, 0.3)
        )


def written(kind: str, seed: int, clock: Any, style: str, turns: int = 180) -> Campaign:
    visitor = Visitor(kind, seed, clock, style)
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
        "chosen": chosen(fold.step),
        "pending": fold.pending,
        "blocks": {ticket: (dict(block.out), block.cases) for ticket, block in fold.blocks.items()},
        "cases": (fold.cases, [book.draw and book.draw.void for book in fold.books]),
        "queues": {arm: queue_of(queue) for arm, queue in fold.queues.items() if queue.order},
        "pairs": fold.pairs and fold.pairs.as_json(),
        "deadlines": [each for each in fold.deadlines if each[1] in fold.pending or each[1] in fold.blocks],
        "good": (fold.good, fold.found, fold.scatter and fold.scatter.as_json()),
        "counts": (fold.number, fold.chain, fold.at, fold.tickets, fold.late, fold.ended),
        "undeclared": fold.undeclared,
        "disagreement": fold.disagreement,
    }


def chosen(step: Any) -> int:
    """The next choice. A rule that draws its choice leaves its random numbers as they were."""
    drawn = getattr(step, "generator", None)
    before = None if drawn is None else drawn.bit_generator.state
    choice = int(step.choose())
    if drawn is not None:
        drawn.bit_generator.state = before
    return choice


def queue_of(queue: Queue) -> list[Any]:
    waiting = ((ticket, queue.waiting[ticket]) for ticket in queue.order)
    return [(ticket, each.arm, each.asked, each.resolved, each.reward) for ticket, each in waiting]


def one_by_one(campaign: Campaign, until: int) -> Fold:
    first, *rest = campaign.store.read(0, 0, until)
    fold = Fold(first)
    for event in rest:
        fold.apply(event)
    return fold


EVERY, PLAIN = STYLES
FAST = [("fwer", EVERY, 0), ("fwer", PLAIN, 0), ("fdr", PLAIN, 0)]
SLOW = [
    ("fdr", EVERY, 0),
    *[(kind, style, seed) for kind in ("fwer", "fdr") for style in STYLES for seed in (1, 2)],
    *[(kind, EVERY, seed) for kind in list(CAMPAIGNS)[2:] for seed in (0, 1)],
    *[(kind, PLAIN, 0) for kind in ("control", "cases", "cases, fdr", "one good arm", "intervals")],
]
"""Journals of asks and tells only have long runs, which are replayed compiled where the rule allows for it."""


@pytest.mark.parametrize(
    ("kind", "style", "seed"), [*FAST, *(pytest.param(*each, marks=pytest.mark.slow) for each in SLOW)]
)
def test_every_way_to_read_a_journal_leads_to_the_same_state(
    kind: str, style: str, seed: int, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = written(kind, seed, clock, style)
    fold = campaign._session.fold
    assert fold.disagreement == ""
    assert state(one_by_one(campaign, fold.number)) == state(fold)
    assert campaign.check().ok, campaign.check().problem
    events = list(campaign.store.read(0))
    monkeypatch.setattr(replay, "JOURNAL", Patience(0))
    chance = random.Random(seed)
    places = [place for place in chance.sample(range(2, len(events)), 5) if events[place].kind != "verdict"]
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


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fdr", "cases of a control"])
def test_a_campaign_goes_on_after_export_and_import(
    kind: str, clock: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A compiled replay that ranked stale evidence refused every ask: "the rules of this goodarm differ"."""
    campaign = written(kind, 3, clock, PLAIN)
    campaign.export(tmp_path / "c.jsonl")
    monkeypatch.setattr(replay, "JOURNAL", Patience(0))
    moved = Campaign.import_from(MemoryStore(), tmp_path / "c.jsonl", clock=clock)
    assert state(moved._session.fold) == state(campaign._session.fold)
    assert moved.check().ok
    assert [ticket.arm for ticket in moved.ask(3)] == [ticket.arm for ticket in campaign.ask(3)]


def test_the_journals_have_entries_of_every_kind(clock: Any) -> None:
    """And verdicts on arms that were suspended, which e-BH gives together with others."""
    found, paused = set(), 0
    for seed in range(4):
        campaign = written("fdr", seed, clock, "every kind of entry")
        events = list(campaign.store.read(0))
        found |= {event.kind for event in events}
        paused += any(book.decision and book.status == "paused" for book in campaign._session.fold.books)
    assert found >= set(KINDS) - {"ended", "row"}  # rows are entries of campaigns with units
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
