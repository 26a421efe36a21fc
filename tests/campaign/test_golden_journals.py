"""Journals of earlier versions: read, replayed and checked; and what happens when the rules have changed since.

Each version that changes what is written adds a journal to tests/campaign/journals, by `Campaign.export`. A new format
of the tables adds the SQL that makes a store of that format.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from goodarm import Campaign
from goodarm.campaign import journal, session, terms
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
        else:  # the rules may have changed since: they must decide as they did, or be reported as different
            assert result.note or "give a different verdict" in result.problem


def header(path: Path) -> dict[str, object]:
    """The terms of an exported campaign, as its first entry has them."""
    found: dict[str, object] = json.loads(json.loads(path.read_text(encoding="utf-8").splitlines()[1])["payload"])
    return found


def test_there_is_a_journal_of_each_format() -> None:
    assert {header(path)["format"] for path in JOURNALS} == set(range(1, terms.FORMAT + 1))


BYTE_CODE = [path for path in JOURNALS if not str(header(path)["rules"]).startswith(terms.SOURCE)]


@pytest.mark.parametrize("path", BYTE_CODE, ids=lambda path: path.stem)
def test_a_fingerprint_of_byte_code_proves_no_change(path: Path) -> None:
    """It may be of another version of Python. Only a verdict that differs shows other rules."""
    with Campaign.import_from("memory:", path, "c") as campaign:
        result = campaign.check()
        assert "has changed" not in result.note
        assert ("did not record the source" in result.note) is result.ok
        assert result.ok or "give a different verdict" in result.problem


def test_a_store_of_each_format_opens_and_goes_on(tmp_path: Path) -> None:
    for script in (Path(__file__).parent / "journals").glob("*.sql"):
        database = sqlite3.connect(tmp_path / f"{script.stem}.db")
        database.executescript(script.read_text(encoding="utf-8"))
        database.close()
        with Campaign.open(f"sqlite:///{tmp_path}/{script.stem}.db", "coins") as campaign:
            assert (campaign.tally().good, campaign.tally().bad) == (1, 1)
            campaign.tell_arm("a", 1.0)
            assert campaign.check().ok


def test_a_campaign_with_an_old_fingerprint_takes_snapshots_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "SNAPSHOT_EVERY", 50)
    with Campaign.import_from("memory:old", BYTE_CODE[0], "c") as campaign:
        arm = campaign.arms()[0].arm
        for _ in range(60):
            campaign.tell_arm(arm, 0.0)
        again = Campaign.open("memory:old", "c")
        assert again._session.snapshot_at > 50
        assert again.arms() == campaign.arms()


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
    campaign = rewritten(decided, f"{terms.SOURCE}other rules", None)
    result = campaign.check()
    assert result.ok
    assert "has changed since goodarm 0.0.1" in result.note
    assert campaign.ask()


def test_rules_that_decide_otherwise_leave_the_recorded_verdicts_and_refuse_to_go_on(decided: Campaign) -> None:
    campaign = rewritten(decided, f"{terms.SOURCE}other rules", "bad")
    assert campaign.arm("a").verdict == "bad"
    result = campaign.check()
    assert not result.ok
    assert "give a different verdict" in result.problem
    before = list(campaign.history())
    with pytest.raises(Refused, match=r"goodarm 0\.0\.1"):
        campaign.ask()
    assert list(campaign.history()) == before


def test_a_forged_verdict_is_named(decided: Campaign) -> None:
    result = rewritten(decided, decided.terms.rules, "bad").check()
    assert not result.ok
    assert "verdict" in result.problem
    assert "'good'" in result.problem


def test_a_journal_of_a_newer_format_is_refused_with_what_to_do(decided: Campaign) -> None:
    store, first = MemoryStore(), next(iter(decided.store.read(decided.store.find("c") or 0)))
    payload = as_payload({**first.content, "format": terms.FORMAT + 1})
    with store.transaction(None):
        store.append(store.add("c"), [chained(b"", 1, journal.CREATED, first.at, payload=payload)])
    with pytest.raises(Refused, match=r"Upgrade goodarm: run git pull and pip install \. in its clone"):
        Campaign.open(store, "c")
