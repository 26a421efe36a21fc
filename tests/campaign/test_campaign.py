"""Asking, telling, looking: what a campaign does on every kind of store."""

from __future__ import annotations

import math
from typing import Any

import pytest

from goodarm import Campaign, Gaussian
from goodarm.campaign import ArmRow
from goodarm.campaign.tickets import Block
from goodarm.errors import GoodarmError, LateReward, Refused, UnknownName, UnknownTicket, UnsoundPairing

BY_TOTALS = "value+gap-mixture"


def play(campaign: Campaign, means: dict[str, float], batch: int = 1, limit: int = 20_000) -> int:
    """Tell 1 for the first share of each arm's rewards, evenly spread, until no arm is open: the number of pulls."""
    owed = dict.fromkeys(means, 0.0)
    pulls = 0
    while (tickets := campaign.ask(batch)) and pulls < limit:
        rewards = []
        for ticket in tickets:
            owed[ticket.arm] += means[ticket.arm]
            won = owed[ticket.arm] >= 1.0
            owed[ticket.arm] -= won
            rewards.append((ticket, float(won)))
        campaign.tell_many(rewards)
        pulls += len(tickets)
    return pulls


def ask_and_fail(campaign: Campaign) -> None:
    with campaign.transaction():
        campaign.ask(2)
        raise ZeroDivisionError


def journal(campaign: Campaign) -> list[Any]:
    return list(campaign.history())


@pytest.mark.slow
def test_good_and_bad_arms_are_told_apart_and_the_journal_checks(address: str) -> None:
    with Campaign.create(address, "c", ["a", "b", "c"], 0.5) as campaign:
        play(campaign, {"a": 0.8, "b": 0.3, "c": 0.7}, batch=10)
        assert {row.arm: row.verdict for row in campaign.arms()} == {"a": "good", "b": "bad", "c": "good"}
        result = campaign.check()
        assert result.ok
        assert result.events == campaign.number
    with Campaign.open(address, "c") as again:
        assert again.verdicts().good == 2
        assert again.ask(3) == []


def test_a_verdict_says_what_it_rests_on(address: str) -> None:
    with Campaign.create(address, "c", ["a", "b"], 0.5) as campaign:
        seen: list[ArmRow] = []
        campaign.on_verdict(seen.append)
        play(campaign, {"a": 0.9, "b": 0.1})
        assert [(row.arm, row.verdict) for row in seen] == [(row.arm, row.verdict) for row in campaign.arms()]
        audit = campaign.audit("a")
        assert audit is not None
        assert audit["evidence"] >= audit["needed"] == pytest.approx(math.log(2 / 0.05))
        assert audit["low"] >= 0.5
        assert audit["asked"] == audit["told"]
        assert audit["pending"] == 0
        assert audit["guarantee"] == "certified"
        assert audit["first"].startswith("1-")


def test_a_tell_is_idempotent_and_another_reward_is_refused(address: str) -> None:
    with Campaign.create(address, "c", ["a", "b"], 0.5) as campaign:
        (ticket,) = campaign.ask()
        campaign.tell(ticket, 1.0)
        before = journal(campaign)
        campaign.tell(ticket, 1.0)
        with pytest.raises(Refused, match=r"was told 1\.0"):
            campaign.tell(ticket, 0.0)
        assert journal(campaign) == before


def test_tell_many_is_all_or_nothing(address: str) -> None:
    with Campaign.create(address, "c", ["a", "b"], 0.5) as campaign:
        first, second = campaign.ask(2)
        before = journal(campaign)
        with pytest.raises(GoodarmError):
            campaign.tell_many([(first, 1.0), (second, 2.0)])
        assert journal(campaign) == before
        campaign.tell_many({first: 1.0, second: 0.0})
        assert campaign.tally().told == 2


def test_step_tells_and_asks_in_one_transaction(address: str) -> None:
    with Campaign.create(address, "c", ["a", "b"], 0.5) as campaign:
        (ticket,) = campaign.ask()
        following = campaign.step(ticket, 1.0)
        assert following is not None
        assert following.arm == "b"
        assert campaign.tally().pending == 1


def test_the_same_key_gets_the_same_tickets(address: str) -> None:
    with Campaign.create(address, "c", ["a", "b"], 0.5) as campaign:
        first = campaign.ask(3, key="request 1")
        assert campaign.ask(3, key="request 1") == first
        assert campaign.ask(3, key="request 2") != first
        assert campaign.tally().pending == 6
        assert campaign.check().ok


def test_two_holds_on_one_campaign_see_each_other(address: str) -> None:
    with Campaign.create(address, "c", ["a", "b"], 0.5) as one, Campaign.open(address, "c") as other:
        (ticket,) = one.ask()
        other.tell(ticket, 1.0)
        assert one.tally().told == 1
        seen: list[str] = []
        other.on_verdict(lambda row: seen.append(row.arm))
        play(one, {"a": 0.9, "b": 0.1})
        other.verdicts()
        assert sorted(seen) == ["a", "b"]


def test_void_tickets_are_as_if_never_asked_and_need_a_reason(address: str) -> None:
    with Campaign.create(address, "c", ["a", "b"], 0.5) as campaign:
        (ticket,) = campaign.ask()
        with pytest.raises(GoodarmError, match="reason"):
            campaign.void(ticket, " ")
        campaign.void(ticket, "the visitor was a robot")
        campaign.void(ticket, "the visitor was a robot")
        with pytest.raises(Refused, match="void"):
            campaign.tell(ticket, 1.0)
        assert campaign.arm("a").void == 1
        assert campaign.headline().endswith(", if the void ticket was not withdrawn because of its reward")
        assert campaign.arm("a").pending == 0
        assert campaign.ask()[0].arm == "a"


def test_unanswered_tickets_count_as_zero_after_their_time(address: str, clock: Any) -> None:
    with Campaign.create(
        address, "c", ["a", "b"], 0.5, after="30min", unanswered="zero", clock=clock
    ) as campaign:  # fmt: skip
        first, second = campaign.ask(2)
        clock.now += 1800.0
        campaign.tell(first, 1.0)
        clock.now += 0.1
        assert campaign.tally().overdue == 1
        with pytest.raises(LateReward, match="30 minutes"):
            campaign.tell(second, 1.0)
        tally = campaign.tally()
        assert (tally.missing, tally.late, tally.pending) == (1, 1, 0)
        assert campaign.arm("b").mean == 0.0
        assert campaign.check().ok
        play(campaign, {"a": 0.0, "b": 0.0})
        assert "within 30 minutes" in campaign.audit("b")["notes"][0]  # type: ignore[index]  # it has a verdict


def test_late_rewards_of_a_batch_are_noted_and_the_others_count(clock: Any) -> None:
    campaign = Campaign.create("memory:", "c", ["a", "b"], 0.5, after=60, unanswered="zero", clock=clock)
    (first,) = campaign.ask()
    clock.now += 61.0
    (second,) = campaign.ask()
    told = campaign.tell_many([(first, 1.0), (second, 1.0)])
    assert told.late == [first.ticket]
    assert campaign.tally().told == 2


def test_waiting_tickets_stay_out_and_overdue_ones_are_counted(clock: Any) -> None:
    campaign = Campaign.create("memory:", "c", ["a", "b"], 0.5, after=60, clock=clock)
    (ticket,) = campaign.ask()
    clock.now += 1e6
    assert campaign.tally().overdue == 1
    assert "overdue" in str(campaign)
    campaign.tell(ticket, 1.0)
    assert campaign.tally().overdue == 0


def test_lost_tickets_are_void_if_the_user_says_that_losses_mean_nothing(clock: Any) -> None:
    campaign = Campaign.create("memory:", "c", ["a", "b"], 0.5, after=60, unanswered="void", clock=clock)
    (ticket,) = campaign.ask()
    clock.now += 61.0
    with pytest.raises(LateReward):
        campaign.tell(ticket, 1.0)
    assert campaign.arm("a").void == 1


def test_rewards_without_a_ticket_count_as_asked_and_told(address: str) -> None:
    with Campaign.create(address, "c", ["a", "b"], 0.5) as campaign:
        for _ in range(40):
            campaign.tell_arm("a", 1.0)
        assert campaign.arm("a").verdict == "good"
        assert campaign.check().ok


def test_paused_and_retired_arms_are_not_asked(address: str) -> None:
    with Campaign.create(address, "c", ["a", "b", "c"], 0.5) as campaign:
        campaign.suspend("a")
        campaign.retire("b")
        assert {ticket.arm for ticket in campaign.ask(5)} == {"c"}
        campaign.resume("a")
        assert "a" in {ticket.arm for ticket in campaign.ask(5)}
        with pytest.raises(Refused, match="final"):
            campaign.resume("b")
        assert campaign.verdicts().open == 2
        assert campaign.arm("b").verdict == "open"
        assert campaign.check().ok


def test_later_arms_need_a_reserve_and_pay_from_it(address: str) -> None:
    with Campaign.create(address, "c", ["a", "b"], 0.5, reserve=0.2) as campaign:
        campaign.add_arms(["d", {"id": "e", "label": "fifth"}])
        weights = [row.weight for row in campaign.arms()]
        assert weights == pytest.approx([0.4, 0.4, 0.2 * 2 / (2 * 3), 0.2 * 2 / (3 * 4)])
        assert sum(weights) < 1.0
        with pytest.raises(GoodarmError, match="never reused"):
            campaign.add_arms(["a"])
        play(campaign, {"a": 0.9, "b": 0.1, "d": 0.9, "e": 0.1})
        assert campaign.verdicts().good == 2
        evidence = {row.arm: row.evidence for row in campaign.arms()}
        assert all(value >= math.log(2 / 0.05) for value in evidence.values())
        assert campaign.check().ok
    with Campaign.open(address, "c") as again:
        assert again.arm("e").label == "fifth"


def test_without_a_reserve_the_whole_delta_is_spent() -> None:
    campaign = Campaign.create("memory:", "c", ["a"], 0.5)
    with pytest.raises(Refused, match="the initial arms use all of delta"):
        campaign.add_arms(["b"])


def test_an_ended_campaign_asks_no_more_and_takes_what_is_out(address: str) -> None:
    with Campaign.create(address, "c", ["a", "b"], 0.5) as campaign:
        (ticket,) = campaign.ask()
        campaign.end("the season is over")
        assert campaign.ask(5) == campaign.ask(5, key="again") == []
        assert campaign.ask_block(5) == Block("", {})
        for refused in (lambda: campaign.tell_arm("a", 1.0), lambda: campaign.add_arms(["c"])):
            with pytest.raises(Refused, match="has ended: it accepts nothing new"):
                refused()
        campaign.tell(ticket, 1.0)
        assert "ended" in str(campaign)


def test_a_closed_hold_refuses_and_the_campaign_goes_on(address: str) -> None:
    campaign = Campaign.create(address, "c", ["a", "b"], 0.5)
    campaign.close()
    with pytest.raises(Refused, match="closed"):
        campaign.ask()
    with Campaign.open(address, "c") as again:
        assert again.ask()


def test_a_group_of_operations_is_one_commit_and_refusals_leave_the_others(address: str) -> None:
    with Campaign.create(address, "c", ["a", "b"], 0.5) as campaign:
        with campaign.transaction():
            first, second = campaign.ask(2)
            campaign.tell(first, 1.0)
            with pytest.raises(GoodarmError):
                campaign.tell(second, 7.0)
            campaign.tell(first, 1.0)
            with pytest.raises(Refused):
                campaign.tell(first, 0.0)
        with Campaign.open(address, "c") as other:
            assert other.tally().told == 1
        assert campaign.check().ok


def test_a_group_that_fails_leaves_nothing(address: str) -> None:
    with Campaign.create(address, "c", ["a", "b"], 0.5) as campaign:
        before = journal(campaign)
        with pytest.raises(ZeroDivisionError):
            ask_and_fail(campaign)
        assert journal(campaign) == before
        assert campaign.tally().pending == 0
        assert campaign.ask()[0].ticket.startswith("1-")


def test_rules_in_order_wait_for_earlier_tickets_of_the_arm(address: str) -> None:
    with Campaign.create(address, "c", ["a"], 0.5, policy="uniform+kt") as campaign:
        tickets = campaign.ask(40)
        campaign.tell_many([(ticket, 1.0) for ticket in tickets[1:]])
        assert campaign.arm("a").verdict == "open"
        assert campaign.arm("a").evidence == 0.0
        campaign.tell(tickets[0], 1.0)
        assert campaign.arm("a").verdict == "good"
        assert campaign.check().ok


def test_rewards_without_bounds_are_counted_in_order(address: str) -> None:
    with Campaign.create(address, "c", ["a"], 0.0, policy="uniform+normal-mixture", rewards=Gaussian(1.0)) as campaign:
        tickets = campaign.ask(50)
        campaign.tell_many([(ticket, 5.0) for ticket in tickets[1:]])
        assert campaign.arm("a").verdict == "open"
        campaign.void(tickets[0], "the sample was dropped")
        assert campaign.arm("a").verdict == "good"
        assert campaign.check().ok


def test_fdr_is_refused_in_the_order_of_asking_and_works_by_totals() -> None:
    with pytest.raises(UnsoundPairing, match="order of asking"):
        Campaign.create("memory:", "c", ["a", "b"], 0.5, policy="value+kt", criterion="fdr")
    campaign = Campaign.create("memory:", "c", ["a", "b", "c"], 0.5, policy=BY_TOTALS, criterion="fdr")
    play(campaign, {"a": 0.9, "b": 0.8, "c": 0.2})
    assert campaign.verdicts().good == 2
    assert campaign.check().ok


@pytest.mark.slow
def test_pending_tickets_are_counted_at_their_worst() -> None:
    campaign = Campaign.create("memory:", "c", ["a"], 0.5)
    tickets = campaign.ask(1000)
    campaign.tell_many([(ticket, 1.0) for ticket in tickets[:100]])
    assert campaign.arm("a").verdict == "open"
    assert campaign.arm("a").low < 0.5
    campaign.tell_many([(ticket, 0.0) for ticket in tickets[100:]])
    assert campaign.arm("a").verdict == "bad"


@pytest.mark.slow
def test_arms_on_the_bar_do_not_hide_what_the_others_need() -> None:
    campaign = Campaign.create("memory:", "c", [f"arm {i}" for i in range(16)], 0.5, policy="settle+gap-mixture")
    for i in range(16):
        for turn in range(4000 if i < 2 else 100):
            campaign.tell_arm(f"arm {i}", float(turn % 2 if i < 2 else turn % 3 < (2 if i < 9 else 1)))
    found = campaign.finish()
    assert found is not None
    assert 2 <= found.near < 8
    assert (
        f"more samples of the other arms; {found.near} arms may lie close to the bar and need more"
        in campaign.headline()
    )
    far = Campaign.create("memory:", "c", ["a", "b", "c"], 0.5)
    for arm in "abc":
        far.tell_arm(arm, 1.0)
        far.tell_arm(arm, 1.0)
    clear = far.finish()
    assert clear is None or clear.near < 2


def test_the_guess_before_the_first_reward_names_its_assumption_and_models_have_none() -> None:
    plain = Campaign.create("memory:", "plain", ["a", "b"], 0.5)
    assert "a guess, assuming means spread evenly over 0 to 100%: " in plain.headline()
    arms = [{"id": name, "features": [float(n)]} for n, name in enumerate("abc")]
    modelled = Campaign.create("memory:", "modelled", arms, 0.5, policy="ucb+kt@linear(ridge=0.1)")
    assert modelled.finish() is None
    assert "guess" not in modelled.headline()


def test_a_fixed_test_set_without_rewards_says_that_it_guesses() -> None:
    campaign = Campaign.create("memory:", "plain", ["a", "b"], 0.7, cases=50)
    assert "no rewards yet; a guess, assuming means anywhere from 0 to 100%: " in campaign.headline()
    campaign.tell(campaign.ask()[0], 1.0)
    assert "guess" not in campaign.headline()


def test_no_law_is_named_in_the_headline() -> None:
    campaign = Campaign.create("memory:", "plain", ["a", "b"], 0.7)
    assert "assuming means spread around the bar: " in campaign.headline()
    assert "Beta" not in campaign.headline()


def test_what_remains_is_printed_with_the_arms() -> None:
    campaign = Campaign.create("memory:", "plain", ["calm", "loud"], 0.5)
    for arm in ("calm", "loud"):
        for turn in range(10):
            campaign.tell_arm(arm, float(turn % 3 == 0))
    left = campaign.remaining()
    assert left.arms == ("calm", "loud")
    lines = str(left).splitlines()
    assert [line.split()[0] for line in lines] == ["arm", "calm", "loud"]


def test_the_journal_and_the_words(clock: Any) -> None:
    campaign = Campaign.create("memory:", "c", {"a": "First", "b": "Second"}, 0.02, clock=clock, metadata={"by": "me"})
    planned = campaign.finish()
    assert planned is not None
    assert planned.low < planned.median < planned.high
    assert campaign.headline().startswith(
        "0 of 2 above 2%, 0 below, 2 undecided; no rewards yet; a guess, assuming means spread around the bar"
    )
    (ticket,) = campaign.ask()
    campaign.tell(ticket, 1)
    kinds = [entry["kind"] for entry in campaign.history()]
    assert kinds == ["created", "asked", "told"]
    assert next(campaign.history(after=2)) == {
        "number": 3, "kind": "told", "at": "2023-11-14T22:13:20.000+00:00", "ticket": ticket.ticket, "arm": "a",
        "reward": 1.0,
    }  # fmt: skip
    assert campaign.finish() is None  # one reward: nobody can tell
    assert campaign.headline().startswith("0 of 2 above 2%, 0 below, 2 undecided; the probability ")
    assert campaign.headline().endswith("the probability of any wrong verdict is at most 5%")
    assert "<td>First</td>" in campaign._repr_html_()
    assert campaign.terms.metadata == {"by": "me"}


def test_labels_are_escaped_in_notebooks() -> None:
    campaign = Campaign.create("memory:", "c", {"a": "<script>alert(1)</script>"}, 0.5)
    assert "<script>" not in campaign._repr_html_()


def test_remaining_is_zero_for_decided_arms() -> None:
    campaign = Campaign.create("memory:", "c", ["a", "b"], 0.5)
    campaign.retire("b")
    for ticket in campaign.ask(50):
        campaign.tell(ticket, 1.0)
    left = campaign.remaining()
    assert left.median.tolist() == [0.0, 0.0]


def test_unknown_things_are_named(address: str) -> None:
    with Campaign.create(address, "headlines", ["a", "b"], 0.5) as campaign:
        with pytest.raises(UnknownName, match="headlines"):
            Campaign.open(campaign.store, "headline")
        with pytest.raises(UnknownName, match="arm"):
            campaign.tell_arm("z", 1.0)
        for ticket in ("", "1", "1-zzzz", "99-0000", "x-1", 3, None):
            with pytest.raises(UnknownTicket):
                campaign.tell(ticket, 1.0)  # type: ignore[arg-type]  # on purpose


def test_a_ticket_of_another_campaign_is_noticed() -> None:
    one = Campaign.create("memory:", "one", [f"arm {i}" for i in range(20)], 0.5)
    other = Campaign.create("memory:", "other", [f"arm {i}" for i in range(20)], 0.5)
    other.ask(20)
    noticed = 0
    for ticket in one.ask(20):
        try:
            other.tell(ticket, 1.0)
        except UnknownTicket:
            noticed += 1
    assert noticed >= 19  # two letters in 65,536 agree by chance


def test_the_same_name_is_refused(address: str) -> None:
    with Campaign.create(address, "c", ["a"], 0.5) as campaign, pytest.raises(Refused, match="already"):
        Campaign.create(campaign.store, "c", ["a"], 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["dgai", "dgai-spread"])
def test_the_learned_bound_can_be_looked_at(policy: str) -> None:
    """It moves with what is learned, and it is the number that the step itself uses."""
    with Campaign.create("memory:", "c", ["a", "b", "c"], 0.5, policy=policy, horizon=2000) as campaign:
        seen = []
        for _ in range(12):
            campaign.tell_many([(ticket, float(ticket.arm == "a")) for ticket in campaign.ask(3)])
            seen.append(campaign.bounds().beta)
        assert campaign.bounds().learned
        assert len({beta for beta in seen if beta == beta}) > 1
        assert seen[-1] == campaign._session.fold.step.bounds()["beta"]
