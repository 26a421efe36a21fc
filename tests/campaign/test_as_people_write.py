"""Values as people write them: truth values, percentages, tickets from a list; creating what exists; printing."""

import pickle

import numpy as np
import pytest

from goodarm import Bounded, Campaign, judge
from goodarm.campaign.stores import open_store
from goodarm.errors import AbandonedTickets, InvalidValue, Refused, UnknownTicket
from goodarm.problem import rewards_from_text


@pytest.mark.parametrize(("written", "counted"), [(True, 1.0), (False, 0.0), (np.True_, 1.0), (np.bool_(False), 0.0)])
def test_a_truth_value_is_a_reward(written, counted):
    with Campaign.create("memory:", "x", ["a"], threshold=0.5) as campaign:
        campaign.tell(campaign.ask()[0], written)
        assert campaign.arm("a").total == counted


@pytest.mark.parametrize("written", ["1.5%", " 1.5 % ", 0.015])
def test_a_threshold_may_be_a_percentage(written):
    with Campaign.create("memory:", "x", ["a"], threshold=written) as campaign:
        assert campaign.terms.question.bar == 0.015


@pytest.mark.parametrize("written", ["high%", "%", "nan%", "150%", "50"])
def test_a_percentage_that_is_none_is_refused(written):
    with pytest.raises(InvalidValue, match="threshold must"):
        Campaign.create("memory:", "x", ["a"], threshold=written)


def test_tell_accepts_a_waiting_ticket():
    with Campaign.create("memory:", "x", ["a"], threshold=0.5) as campaign:
        campaign.ask()
        campaign.tell(campaign.waiting()[0], 1.0)
        assert campaign.tally().told == 1
        campaign.ask()
        assert campaign.step(campaign.waiting()[0], 0.0) is not None


def test_telling_the_list_that_ask_returns_says_how():
    with (
        Campaign.create("memory:", "x", ["a"], threshold=0.5) as campaign,
        pytest.raises(UnknownTicket, match="tell_many"),
    ):
        campaign.tell(campaign.ask(), 1.0)


def test_a_set_of_arms_is_refused_because_it_has_no_order():
    for arms in ({"alpha", "beta"}, frozenset({"alpha"})):
        with pytest.raises(InvalidValue, match=r"got a set, .* Pass sorted\(arms\)"):
            Campaign.create("memory:", "x", arms, threshold=0.5)


def test_the_same_arms_in_another_order_are_named():
    with open_store("memory:") as store:
        Campaign.create(store, "x", ["a", "b"], threshold=0.5)
        with pytest.raises(Refused, match=r"in another order\. Pass them in its order, beginning with 'a'"):
            Campaign.create(store, "x", ["b", "a"], threshold=0.5, exist_ok=True)
        with pytest.raises(Refused, match="with other terms: arms was"):
            Campaign.create(store, "x", ["a", "c"], threshold=0.5, exist_ok=True)


def test_exist_ok_opens_what_exists(tmp_path):
    with open_store(f"sqlite:///{tmp_path}/c.db") as store:
        first = Campaign.create(store, "x", ["a", "b"], threshold=0.5)
        first.tell(first.ask()[0], 1.0)
        again = Campaign.create(store, "x", ["a", "b"], threshold=0.5, exist_ok=True)
        assert again.tally().told == 1
        with pytest.raises(Refused, match=r"threshold was 0.5 and is 0.6 now"):
            Campaign.create(store, "x", ["a", "b"], threshold=0.6, exist_ok=True)
        with pytest.raises(Refused, match=r"Campaign.open\(store, 'x'\)"):
            Campaign.create(store, "x", ["a", "b"], threshold=0.5)
        assert Campaign.create(store, "new", ["a"], threshold=0.5, exist_ok=True).tally().told == 0


def test_verdicts_print_as_a_table_of_80_columns():
    names = ["a", "日本語" * 20, "x" * 150]
    with Campaign.create("memory:", "x", names, threshold=0.5) as campaign:
        for _ in range(300):
            for ticket in campaign.ask():
                campaign.tell(ticket, ticket.arm == "a")
        lines = str(campaign.verdicts()).splitlines()
    assert lines[0].split() == ["arm", "verdict", "samples", "out", "mean", "interval"]
    assert lines[1].split()[:2] == ["a", "good"]
    assert len(lines) == 4
    assert "…" in lines[2]
    assert "…" in lines[3]
    assert max(map(len, lines)) <= 80


def test_opening_a_campaign_with_abandoned_tickets_says_what_to_do(tmp_path):
    address = f"sqlite:///{tmp_path}/c.db"
    with Campaign.create(address, "x", ["a"], threshold=0.5, clock=lambda: 0.0) as campaign:
        campaign.ask(3)
    with (
        pytest.warns(AbandonedTickets, match=r"3 tickets are out, the oldest for 2 hours.*campaign.void"),
        Campaign.open(address, "x", clock=lambda: 7200.0),
    ):
        pass
    with Campaign.open(address, "x", clock=lambda: 60.0) as campaign:  # a warning would be an error here
        for ticket in campaign.waiting():
            campaign.tell(ticket, 1.0)
    Campaign.open(address, "x", clock=lambda: 7200.0).close()


def test_rewards_in_a_range_of_their_own(tmp_path):
    chance = np.random.default_rng(1)
    pay = {"much": lambda: chance.uniform(700.0, 1600.0), "little": lambda: chance.uniform(0.0, 900.0)}
    address = f"sqlite:///{tmp_path}/c.db"
    with Campaign.create(address, "pay", list(pay), threshold=800, rewards=Bounded(0, 1600)) as campaign:
        while campaign.tally().open:
            campaign.tell_many([(ticket, pay[ticket.arm]()) for ticket in campaign.ask(10)])
        assert [(row.arm, row.verdict) for row in campaign.arms()] == [("much", "good"), ("little", "bad")]
        assert "above 800" in campaign.headline()
        with pytest.raises(InvalidValue, match=r"must lie in \[0, 1600\]; got 1600.5"):
            campaign.tell_arm("much", 1600.5)
    with Campaign.open(address, "pay") as campaign:
        assert campaign.check().ok
        assert campaign.terms.rewards == Bounded(0, 1600) == rewards_from_text("bounded:0,1600")


@pytest.mark.parametrize(("low", "high"), [(1, 5), (0, 0), (0, -1), (0, float("nan")), (0, float("inf")), ("0", 1)])
def test_a_range_that_is_none_is_refused(low, high):
    with pytest.raises(InvalidValue):
        Bounded(low, high)


def test_the_range_from_0_to_1_is_the_usual_one():
    assert Bounded(0, 1) == Bounded() == pickle.loads(pickle.dumps(Bounded(0, 1)))


@pytest.mark.slow
def test_against_a_control_the_table_shows_differences_and_marks_the_control():
    with Campaign.create("memory:", "x", ["now", "new"], control="now") as campaign:
        found = campaign.run(lambda ticket: ticket.arm == "new", limit=100)
    lines = str(found).splitlines()
    assert lines[0].split() == ["arm", "verdict", "samples", "out", "difference", "interval"]
    assert [line.split()[:2] for line in lines[1:]] == [["now", "control"], ["new", "better"]]


@pytest.mark.parametrize(("written", "meant"), [(80, "80%? Write '80%' or 0.8."), ("2", "2%? Write '2%' or 0.02.")])
def test_percentages_without_their_sign_are_recognised(written, meant):
    with pytest.raises(InvalidValue) as campaign:
        Campaign.create("memory:", "x", ["a"], threshold=written)
    with pytest.raises(InvalidValue) as log:
        judge({"arm": ["a"], "pulls": [10], "total": [5]}, threshold=written)
    with pytest.raises(InvalidValue) as bars:
        Campaign.create("memory:", "x", ["a"], bars=f"correct >= {written}")
    assert all(f"Did you mean {meant}" in str(error.value) for error in (campaign, log, bars))


def test_a_threshold_may_be_a_number_written_as_text():
    with Campaign.create("memory:", "x", ["a"], threshold="50", rewards=Bounded(0, 100)) as campaign:
        assert campaign.terms.question.bar == 50.0
