"""Several holds on one campaign, and operations that fail: each hold knows what the journal says, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from goodarm import Campaign
from goodarm.campaign import open_store, replay
from goodarm.campaign.journal import ASKED, PART, TOLD, chained
from goodarm.campaign.stores import MemoryStore
from goodarm.engine.compile import Patience
from goodarm.errors import DamagedJournal, LateReward, UnusableStore

pytestmark = pytest.mark.slow


class FailingStore(MemoryStore):
    """A store whose disk is full for a while."""

    full = False

    def append(self, campaign: int, events: Any) -> None:
        if self.full:
            raise UnusableStore("the disk is full; free some space and try again.")
        super().append(campaign, events)

    def ending(self, campaign: int, ticket: int, ending: str) -> Any:
        if self.full:
            raise UnusableStore("the disk is full; free some space and try again.")
        return super().ending(campaign, ticket, ending)


def test_a_block_that_found_no_open_arm_does_not_hide_the_next_one() -> None:
    """Else what another process has asked for would not count at its worst, and verdicts would be false."""
    store = MemoryStore()
    one, other = Campaign.create(store, "c", ["a"], 0.5), Campaign.open(store, "c")
    one.suspend("a")
    nothing = one.ask_block(10, key="none")
    assert nothing == one.ask_block(10, key="none") == ("", {}, None)
    other.resume("a")
    block = other.ask_block(1000)
    one.tell_block(block, {"a": (40, 40.0)}, part="1")
    assert one.arm("a").verdict == other.arm("a").verdict == "open"
    assert one.check().ok


def test_told_names_only_what_this_tell_has_decided() -> None:
    store = MemoryStore()
    one, other = Campaign.create(store, "c", ["a", "b"], 0.5), Campaign.open(store, "c")
    (mine,) = one.ask()
    other.tell_many([(ticket, 1.0) for ticket in other.ask(60)])
    assert other.verdicts().good
    assert one.tell(mine, 1.0).verdicts == []


def test_told_names_what_it_has_decided_within_a_transaction() -> None:
    """Not what the operations before it have decided, though all are committed at once."""
    campaign = Campaign.create("memory:", "c", ["a", "b", "c", "d"], 0.5)
    block = campaign.ask(200)
    own = {arm: [(ticket, 1.0) for ticket in block if ticket.arm == arm] for arm in ("a", "b")}
    with campaign.transaction():
        decided = [[row.arm for row in campaign.tell_many(own[arm]).verdicts] for arm in ("a", "b")]
        nothing = campaign.tell_many([])
    assert decided == [["a"], ["b"]]
    assert nothing.verdicts == []


def test_a_verdict_that_was_not_written_is_announced_to_nobody() -> None:
    store = FailingStore()
    campaign = Campaign.create(store, "c", ["a"], 0.5)
    seen: list[tuple[str, str]] = []
    campaign.on_verdict(lambda row: seen.append((row.arm, row.verdict)))
    rewards = [(ticket, 1.0) for ticket in campaign.ask(40)]
    store.full = True
    with pytest.raises(UnusableStore):
        campaign.tell_many(rewards)
    store.full = False
    assert (campaign.arm("a").verdict, seen) == ("open", [])
    campaign.tell_many(rewards)
    assert (campaign.arm("a").verdict, seen) == ("good", [("a", "good")])


def test_verdicts_that_others_gave_while_the_store_was_away_are_announced() -> None:
    store = FailingStore()
    campaign, other = Campaign.create(store, "c", ["a"], 0.5), Campaign.open(store, "c")
    seen: list[str] = []
    campaign.on_verdict(lambda row: seen.append(row.arm))
    tickets = campaign.ask(40)
    store.full = True
    with pytest.raises(UnusableStore):
        campaign.tell(tickets[0], 1.0)
    store.full = False
    other.tell_many([(ticket, 1.0) for ticket in tickets])
    campaign.verdicts()
    campaign.verdicts()
    assert seen == ["a"]


def test_a_callback_that_raises_does_not_swallow_the_verdicts_after_it() -> None:
    campaign = Campaign.create("memory:", "c", ["a", "b"], 0.5)
    seen: list[str] = []

    def fragile(row: Any) -> None:
        seen.append(row.arm)
        if len(seen) == 1:
            raise ValueError("the mail server is down")

    campaign.on_verdict(fragile)
    rewards = [(ticket, 1.0) for ticket in campaign.ask(80)]
    with pytest.raises(ValueError, match="mail"):
        campaign.tell_many(rewards)
    campaign.verdicts()
    assert sorted(seen) == ["a", "b"]


def test_a_callback_that_raises_does_not_swallow_the_verdict_for_the_others() -> None:
    campaign = Campaign.create("memory:", "c", ["a"], 0.5)
    seen: list[str] = []

    def fragile(row: Any) -> None:
        raise ValueError("the mail server is down")

    campaign.on_verdict(fragile)
    campaign.on_verdict(lambda row: seen.append(row.arm))
    rewards = [(ticket, 1.0) for ticket in campaign.ask(40)]
    with pytest.raises(ValueError, match="mail"):
        campaign.tell_many(rewards)
    assert seen == ["a"]


def test_a_store_that_fails_within_a_transaction_undoes_all_of_it() -> None:
    """Though the error is caught: what was written before it may be gone already."""
    store = FailingStore()
    campaign = Campaign.create(store, "c", ["a", "b"], 0.5)
    tickets = campaign.ask(3)
    campaign.tell(tickets[0], 1.0)

    def several() -> None:
        with campaign.transaction():
            campaign.tell(tickets[1], 1.0)
            store.full = True
            with pytest.raises(UnusableStore):
                campaign.tell(tickets[0], 1.0)
            store.full = False
            for look in (campaign.arms, campaign.tally):  # a look would read what is about to be undone
                with pytest.raises(UnusableStore, match="half-way"):
                    look()

    with pytest.raises(UnusableStore, match="half-way"):
        several()
    assert campaign.tally().told == 1
    assert campaign.check().ok


def test_an_interrupted_operation_leaves_no_trace() -> None:
    """The block is chosen before its entry is written: interrupted in between, its pulls must not be out."""
    interrupts = []

    def clock() -> float:
        if interrupts:
            raise interrupts.pop()
        return 1.0

    campaign = Campaign.create("memory:", "c", ["a", "b"], 0.5, clock=clock)
    interrupts.append(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        campaign.ask_block(100)
    assert [campaign._session.fold.step.row(arm).pending for arm in range(2)] == [0.0, 0.0]
    campaign.ask(5)
    assert campaign.check().ok


def test_a_late_step_asks_for_nothing(clock: Any) -> None:
    """Whoever is told that the reward came too late never hears of the next ticket, which would then count as 0."""
    campaign = Campaign.create("memory:", "c", ["a"], 0.5, after=10.0, unanswered="zero", clock=clock)
    (ticket,) = campaign.ask()
    clock.now += 100.0
    with pytest.raises(LateReward):
        campaign.step(ticket, 1.0)
    tally = campaign.tally()
    assert (tally.pending, tally.missing, tally.late) == (0, 1, 1)


def test_a_step_of_an_ended_campaign_tells(clock: Any) -> None:
    campaign = Campaign.create("memory:", "c", ["a"], 0.5)
    (ticket,) = campaign.ask()
    campaign.end()
    assert campaign.step(ticket, 1.0) is None
    assert campaign.tally().told == 1


def test_time_passes_in_an_ended_campaign_too(clock: Any) -> None:
    """The verdict says that what was told later counts as 0: then it must."""
    campaign = Campaign.create("memory:", "c", ["a"], 0.5, after=10.0, unanswered="zero", clock=clock)
    tickets = campaign.ask(2)
    campaign.end()
    campaign.tell(tickets[0], 1.0)
    clock.now += 100.0
    with pytest.raises(LateReward):
        campaign.tell(tickets[1], 1.0)
    assert (campaign.tally().missing, campaign.arm("a").mean) == (1, 0.5)


def test_a_commit_that_the_server_turned_into_a_rollback_is_noticed(new_database: Any) -> None:
    """PostgreSQL answers COMMIT with a plain ROLLBACK where a statement has failed before."""
    with open_store(new_database()) as store:

        def add() -> None:
            with store.transaction(None):
                store.add("lost")
                with pytest.raises(Exception, match="division by zero"):
                    store._here().execute("SELECT 1/0")  # type: ignore[attr-defined]  # any statement may fail

        with pytest.raises(UnusableStore):
            add()
        assert store.names() == []


def test_nothing_is_appended_after_sqlite_has_rolled_back(tmp_path: Path) -> None:
    """It does so by itself when the disk is full; what comes after would be committed without what came before."""
    address = f"sqlite:///{tmp_path / 'store.db'}"
    with Campaign.create(address, "c", ["a"], 0.5) as campaign:
        store = campaign.store
        events = list(store.read(1))

        def append() -> None:
            with store.transaction(1):
                store._connection.execute("ROLLBACK")  # type: ignore[attr-defined]  # as SQLite does
                store.append(1, [events[0]._replace(number=2)])

        with pytest.raises(UnusableStore, match="rolled back"):
            append()
        assert len(list(store.read(1))) == 1


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize(("kind", "arm"), [(TOLD, 0), (PART, 0), (ASKED, 9)])
def test_a_journal_that_nobody_can_have_written(
    kind: str, arm: int, at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its chain is right, but what it tells or asks for is not there: no traceback, and `check` says so."""
    monkeypatch.setattr(replay, "JOURNAL", Patience(0 if at_once else 10**9))
    store = MemoryStore()
    campaign = Campaign.create(store, "c", ["a"], 0.5)
    first = next(iter(store.read(0)))
    store.append(
        0, [chained(first.chain, 2, kind, first.at, ticket=7, arm=arm, reward=1.0, payload='{"arms":[],"part":""}')]
    )
    assert "can't follow" in campaign.check().problem
    for look in (campaign.tally, lambda: Campaign.open(store, "c")):
        with pytest.raises(DamagedJournal, match="an entry after 1 of the journal can't follow"):
            look()


def test_a_fault_while_writing_is_not_blamed_on_the_journal() -> None:
    """No backup helps against it, and the journal is as it was."""
    campaign = Campaign.create("memory:", "c", ["a"], 0.5, policy="value+learned-bets")
    (ticket,) = campaign.ask()
    campaign._session.fold.queues.clear()  # what is in memory is not what the journal says
    with pytest.raises(KeyError):
        campaign.tell(ticket, 1.0)
    assert campaign.check().ok
    campaign.tell(ticket, 1.0)
    assert campaign.tally().told == 1
