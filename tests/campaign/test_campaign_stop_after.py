"""`stop_after`: a campaign ends by itself after a number of good arms, or says that there are fewer."""

from __future__ import annotations

import random

import pytest

from goodarm import Campaign
from goodarm.campaign import session, terms
from goodarm.campaign.session import Session
from goodarm.errors import InvalidValue

RATES = {"a": 0.95, "b": 0.9, "c": 0.2, "d": 0.1}


def play(campaign: Campaign, batch: int = 3, rates: dict[str, float] = RATES) -> Campaign:
    world = random.Random(1)
    while tickets := campaign.ask(batch):
        campaign.tell_many([(ticket, float(world.random() < rates[ticket.arm])) for ticket in tickets])
    return campaign


def create(stop_after: int, store: str = "memory:", **more: object) -> Campaign:
    return Campaign.create(store, "c", list(RATES), 0.5, **{"delta": 0.1, "stop_after": stop_after, **more})


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["value+gap-mixture", "hdoc+kt", "tt-ts+gap-mixture"])
def test_the_campaign_ends_with_the_last_good_arm_it_looks_for(policy: str) -> None:
    campaign = play(create(2, policy=policy), batch=1)
    tally = campaign.tally()
    assert (tally.good, tally.answer, tally.ended) == (2, "found", True)
    assert tally.open > 0
    assert campaign.ask() == []
    assert "; 2 arms above 50% found, so the campaign has ended; " in campaign.headline()
    assert campaign.headline().endswith(campaign.terms.promise)
    assert campaign.check().ok
    assert [entry["kind"] for entry in campaign.history()][-1] == "verdict"


def test_it_asks_the_same_up_to_its_end() -> None:
    """The goal changes when the campaign ends, and nothing before that."""
    part = [entry["arm"] for entry in play(create(1)).history() if entry["kind"] == "asked"]
    whole = Campaign.create("memory:", "c", list(RATES), 0.5, delta=0.1)
    every = [entry["arm"] for entry in play(whole).history() if entry["kind"] == "asked"]
    assert part == every[: len(part)]
    assert len(part) < len(every)


def test_tickets_that_are_out_may_still_be_told_and_decide() -> None:
    campaign = create(1)
    out = campaign.ask(200)
    told = [campaign.tell(ticket, 1.0 if ticket.arm in "ab" else 0.0) for ticket in out]
    tally = campaign.tally()
    assert tally.pending == 0
    assert tally.answer == "found"
    assert sum(len(each.verdicts) for each in told) == tally.good + tally.bad > 1
    assert (campaign.ask(), campaign.ask_block(5).pulls) == ([], {})
    assert campaign.check().ok


def test_a_step_gets_no_ticket_once_enough_is_found() -> None:
    campaign = create(1)
    ticket = campaign.ask()[0]
    while ticket is not None:
        ticket = campaign.step(ticket, RATES[ticket.arm])
    assert campaign.tally().answer == "found"


@pytest.mark.parametrize(("wanted", "words"), [(1, "no arm is above 50%"), (3, "fewer than 3 arms are above 50%")])
def test_it_says_that_there_are_fewer_when_every_arm_is_decided(wanted: int, words: str) -> None:
    rates = RATES if wanted > 1 else dict.fromkeys(RATES, 0.1)
    campaign = play(create(wanted), rates=rates)
    tally = campaign.tally()
    assert (tally.open, tally.answer, tally.ended) == (0, "fewer", False)
    assert f"; {words}; " in campaign.headline()


@pytest.mark.parametrize("turn", ["suspend", "retire"])
def test_an_arm_without_a_verdict_leaves_the_answer_open(turn: str) -> None:
    campaign = create(1)
    getattr(campaign, turn)("a")
    play(campaign, rates=dict.fromkeys(RATES, 0.1))
    assert campaign.tally().bad == 3
    assert campaign.tally().answer == ""
    assert "no arm is" not in campaign.headline()
    if turn == "suspend":
        campaign.resume("a")
        assert play(campaign, rates=dict.fromkeys(RATES, 0.1)).tally().answer == "fewer"


def test_later_arms_reopen_the_search() -> None:
    campaign = play(create(1, reserve=0.2), rates=dict.fromkeys(RATES, 0.1))
    assert campaign.tally().answer == "fewer"
    campaign.add_arms(["late"])
    assert campaign.tally().answer == ""
    assert play(campaign, rates={"late": 0.95}).tally().answer == "found"


def test_while_it_looks_it_says_for_what() -> None:
    assert "; the campaign ends after 1 arm above 50%; " in create(1).headline()


@pytest.mark.parametrize("snapshots", [True, False])
def test_the_end_is_found_again_by_whoever_opens_the_campaign(snapshots: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if snapshots:
        monkeypatch.setattr(session, "SNAPSHOT_EVERY", 5)
    address = f"memory:stop-after-{snapshots}"
    campaign = play(create(1, address), batch=1)
    again = Campaign.open(address, "c")
    assert (again._session.snapshot_at > 0) is snapshots
    assert again.tally() == campaign.tally()
    assert again.ask() == []


def test_an_ask_after_the_end_is_named_by_the_check() -> None:
    """A journal that went on asking after its end was not written by these rules."""
    campaign = create(1)
    play(campaign)
    held: Session = campaign._session
    with held.transaction() as fold:
        held.write("asked", ticket=fold.tickets + 1, arm=2)
    result = campaign.check()
    assert not result.ok
    assert "another arm" in result.problem


def test_the_journal_has_the_field_and_the_new_format_only_where_it_is_used() -> None:
    plain, stopping = Campaign.create("memory:", "c", ["a"], 0.5).terms.as_json(), create(2).terms.as_json()
    assert "stop_after" not in plain
    assert plain["format"] < terms.STOP_AFTER_FORMAT
    assert (stopping["stop_after"], stopping["format"]) == (2, terms.STOP_AFTER_FORMAT)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "two", True, 5])
def test_a_number_that_makes_no_sense_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidValue, match="stop_after"):
        create(wrong)  # type: ignore[arg-type]  # the refusal is what is tested


def test_a_policy_without_verdicts_can_not_stop_after_one() -> None:
    with pytest.raises(InvalidValue, match="stop_after counts good verdicts"):
        create(1, policy="ucb1")
