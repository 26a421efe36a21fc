"""Journals of earlier versions: read, replayed and checked; and what happens when the rules have changed since.

A journal in tests/campaign/journals is added with each version that changes what is written, by `Campaign.export`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from goodarm import Campaign
from goodarm.campaign import journal
from goodarm.campaign.journal import Event, as_payload, chained
from goodarm.campaign.stores import MemoryStore
from goodarm.errors import Refused

JOURNALS = sorted((Path(__file__).parent / "journals").glob("*.jsonl"))


@pytest.mark.parametrize("path", JOURNALS, ids=lambda path: path.stem)
def test_a_journal_of_an_earlier_version_replays_to_the_bit(path: Path) -> None:
    with Campaign.import_from("memory:", path, "c") as campaign:
        recorded = [entry for entry in campaign.history() if entry["kind"] == "verdict"]
        assert recorded
        assert all(campaign.arm(entry["arm"]).verdict == entry["content"]["verdict"] for entry in recorded)
        result = campaign.check()
        if campaign._session.fold.same_rules:
            assert result.ok, result.problem
        else:  # the rules' code has changed since: it must decide as it did, or be reported as different
            assert "has changed since" in result.note or "differ in a verdict" in result.problem


def rewritten(campaign: Campaign, rules: str, verdict: str | None) -> Campaign:
    """The same journal as another version with other rules would have written it, chained anew."""
    store, events = MemoryStore(), list[Event]()
    for old in campaign.store.read(campaign.store.find("c") or 0):
        payload = old.payload
        if old.kind == journal.CREATED:
            payload = as_payload({**old.content, "rules": rules, "version": "0.0.1"})
        if old.kind == journal.VERDICT and verdict is not None:
            payload = as_payload({**old.content, "verdict": verdict})
        chain = events[-1].chain if events else b""
        events.append(
            chained(
                chain, old.number, old.kind, old.at, ticket=old.ticket, arm=old.arm, reward=old.reward, payload=payload
            )
        )
    with store.transaction(None):
        store.append(store.add("c"), events)
    return Campaign.open(store, "c")


@pytest.fixture
def decided() -> Campaign:
    campaign = Campaign.create("memory:", "c", ["a", "b"], 0.5, delta=0.3)
    while campaign.tally().good == 0:
        for ticket in campaign.ask(2):
            campaign.tell(ticket, 1.0 if ticket.arm == "a" else 0.5)
    return campaign


def test_rules_whose_code_has_changed_and_decide_as_before(decided: Campaign) -> None:
    campaign = rewritten(decided, "other rules", None)
    result = campaign.check()
    assert result.ok
    assert "has changed since goodarm 0.0.1" in result.note
    assert campaign.ask()


def test_rules_that_decide_otherwise_leave_the_recorded_verdicts_and_refuse_to_go_on(decided: Campaign) -> None:
    campaign = rewritten(decided, "other rules", "bad")
    assert campaign.arm("a").verdict == "bad"
    result = campaign.check()
    assert not result.ok
    assert "differ in a verdict" in result.problem
    before = list(campaign.history())
    with pytest.raises(Refused, match=r"goodarm 0\.0\.1"):
        campaign.ask()
    assert list(campaign.history()) == before


def test_a_forged_verdict_is_named(decided: Campaign) -> None:
    result = rewritten(decided, decided.terms.rules, "bad").check()
    assert not result.ok
    assert "verdict" in result.problem
    assert "'good'" in result.problem
