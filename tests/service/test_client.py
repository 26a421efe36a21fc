"""`Campaign` at a server has the same face, and does the same, as `Campaign` in a store."""

from __future__ import annotations

import functools
import inspect
import math
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from serving import Server, make_token, serving

from goodarm import Campaign, NonNegative
from goodarm.campaign.connection import ServerRefused, ServerUnreachable
from goodarm.campaign.served import ServedCampaign
from goodarm.errors import InvalidValue, LateReward, Refused, UnknownName, UnknownTicket
from goodarm.problem import Gaussian
from goodarm.question import Bars, Control

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(f"sqlite:///{tmp_path_factory.mktemp('client')}/a.db") as running:
        yield running


def test_every_public_name_of_a_campaign_is_there_with_the_same_arguments() -> None:
    own = vars(ServedCampaign)
    for name, member in vars(Campaign).items():
        if name.startswith("_") or name in ("create", "open", "import_from"):
            continue
        if name in ("aask", "atell", "run", "plot", "results"):  # made of the others
            continue
        assert name in own, f"{name} would reach for a store that is not there"
        assert isinstance(own[name], property | functools.cached_property) == isinstance(member, property), name
        if inspect.isfunction(member) and name != "transaction":
            here, there = inspect.signature(own[name]), inspect.signature(member)
            assert here.parameters == there.parameters, name  # names, kinds, defaults and types
            assert here.return_annotation in (there.return_annotation, "NoReturn"), name


def play(store: str, name: str) -> tuple[list[Any], Any]:
    """A program that knows nothing of servers: what it saw, and the campaign."""
    campaign = Campaign.create(
        store, name, ["a", {"id": "b/1", "label": "B"}, "c"], threshold=0.5, reserve=0.1, seed=3,
        metadata={"team": "x"},
    )  # fmt: skip
    seen: list[Any] = []
    campaign.on_verdict(lambda row: seen.append((row.arm, row.verdict)))
    campaign.add_arms(["late"])
    (ticket,) = campaign.ask()
    for _ in range(20):
        seen.append(ticket)
        following = campaign.step(ticket, float(ticket.arm == "a"))
        assert following is not None
        ticket = following
    campaign.void(ticket, "the page was closed")
    campaign.suspend("c")
    campaign.resume("c")
    campaign.retire("late")
    told = campaign.tell_arm("b/1", 0)
    seen.append((told.late, [row.arm for row in told.verdicts]))
    while tickets := campaign.ask(5):
        seen += tickets
        told = campaign.tell_many([(ticket, np.float64(ticket.arm == "a")) for ticket in tickets])
        campaign.tell(tickets[0], float(tickets[0].arm == "a"))
        seen += [(row.arm, row.verdict, row.evidence) for row in told.verdicts]
    return seen, campaign


def test_the_same_program_sees_the_same_with_a_store_and_with_a_server(server: Server, tmp_path: Path) -> None:
    here, local = play(f"sqlite:///{tmp_path}/b.db", "same")
    there, served = play(server.address, "same")
    trace = [tuple(ticket)[1:] if hasattr(ticket, "ticket") else ticket for ticket in here]
    assert [tuple(ticket)[1:] if hasattr(ticket, "ticket") else ticket for ticket in there] == trace
    for mine, theirs in zip(local.arms(), served.arms(), strict=True):
        assert mine._replace(decided_at=None) == theirs._replace(decided_at=None)
    assert local.tally() == served.tally()
    assert local.verdicts()[:3] == served.verdicts()[:3]
    assert served.headline() == local.headline()
    assert str(served) == str(local)
    assert served.check().ok
    kinds = [event["kind"] for event in served.history()]
    assert len(kinds) == served.number
    assert [kind for kind in kinds if kind != "request"] == [event["kind"] for event in local.history()]
    assert [event["number"] for event in served.history(after=3, limit=2)] == [4, 5]
    mine, theirs = ([row._replace(told_at="", asked=0) for row in each.results()] for each in (local, served))
    assert theirs == mine
    assert len(mine) == local.tally().told
    assert served.terms.question == local.terms.question
    assert served.audit("a")["verdict"] == "good"
    assert served.arm("b/1").label == "B"
    np.testing.assert_array_equal(served.remaining(50).median, local.remaining(50).median)
    served.export(tmp_path / "x.jsonl")
    with Campaign.import_from(f"sqlite:///{tmp_path}/c.db", tmp_path / "x.jsonl", "copy") as copy:
        assert copy.tally() == served.tally()
    served.end("enough")
    assert served.tally().ended
    assert served.ask(5) == []
    local.close()
    served.close()
    with pytest.raises(Refused, match="was closed"):
        served.ask()


REFUSED: list[tuple[type[Exception], Callable[[Campaign], Any]]] = [
    (UnknownTicket, lambda campaign: campaign.tell("1-0000", 1.0)),
    (InvalidValue, lambda campaign: campaign.void(campaign.ask(1), "lost")),  # type: ignore[arg-type]  # the slip
    (UnknownTicket, lambda campaign: campaign.tell(campaign.ask(1), 1.0)),  # type: ignore[arg-type]  # the slip
    (UnknownTicket, lambda campaign: campaign.tell(5, 1.0)),  # type: ignore[arg-type]  # the slip
    (InvalidValue, lambda campaign: campaign.tell_arm("a", 2.0)),
    (InvalidValue, lambda campaign: campaign.tell_arm("a", -0.5)),
    (InvalidValue, lambda campaign: campaign.tell_arm("a", float("nan"))),
    (UnknownName, lambda campaign: campaign.suspend("no")),
    (UnknownName, lambda campaign: campaign.arm("no")),
    (Refused, lambda campaign: campaign.add_arms(["c"])),
    (InvalidValue, lambda campaign: campaign.add_arms(["c", "c"])),
]


@pytest.mark.parametrize("i", range(len(REFUSED)))
def test_refusals_are_the_same_errors(server: Server, i: int) -> None:
    error, operation = REFUSED[i]
    campaigns = [Campaign.create(store, f"refused {i}", ["a"], 0.5) for store in ("memory:", server.address)]
    messages = []
    for campaign in campaigns:
        with pytest.raises(error) as raised:
            operation(campaign)
        messages.append(str(raised.value))
        campaign.close()
    if "ticket" not in messages[0] and "finite" not in messages[1]:
        assert messages[0] == messages[1]


def test_rewards_may_be_text(server: Server) -> None:
    with Campaign.create(server.address, "text", ["a", "b"], threshold=1.5, rewards="nonnegative:100") as campaign:
        assert campaign.terms.rewards == NonNegative(100.0)
    for store in ("memory:", server.address):
        with pytest.raises(InvalidValue, match="can't read the rewards 'nonneg'"):
            Campaign.create(store, "wrong", ["a", "b"], threshold=1.5, rewards="nonneg")


def test_a_late_reward_is_a_late_reward(server: Server) -> None:
    with Campaign.create(server.address, "late", ["a"], 0.5, after=0.05, unanswered="zero") as campaign:
        (ticket,) = campaign.ask()
        time.sleep(0.2)
        with pytest.raises(LateReward):
            campaign.tell(ticket, 1.0)


def test_other_rewards_and_blocks(server: Server) -> None:
    with Campaign.create(server.address, "screen", ["a"], 0.0, rewards=Gaussian(2.0), policy="hdoc") as campaign:
        assert campaign.terms.rewards == Gaussian(2.0)
    with Campaign.create(server.address, "blocks", ["a", "b"], 0.5) as campaign:
        block = campaign.ask_block(500)
        told = campaign.tell_block(block, {arm: (pulls, 0.0) for arm, pulls in block.pulls.items()}, part="1")
        assert {row.verdict for row in told.verdicts} == {"bad"}


def test_what_needs_the_store_says_so(server: Server) -> None:
    with Campaign.create(server.address, "needs", ["a"], 0.5) as campaign:
        for operation in (lambda: campaign.note({}), lambda: campaign.store, lambda: campaign.transaction()):
            with pytest.raises(Refused, match="not served over HTTP"):
                operation()
    with pytest.raises(UnknownName, match="unknown campaign 'nothing'"):
        Campaign.open(server.address, "nothing")
    with pytest.raises(ServerUnreachable, match="Is it running"):
        Campaign.open("http://127.0.0.1:1", "x")


def test_the_token_comes_from_the_call_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    admin, reader = make_token(store, "admin"), make_token(store, "reader")
    with serving(store) as guarded:
        with pytest.raises(ServerRefused, match=r"pass token=.* or set .* GOODARM_TOKEN"):
            Campaign.create(guarded.address, "c", ["a"], 0.5)
        with Campaign.create(guarded.address, "c", ["a"], 0.5, token=admin) as campaign:
            assert campaign.ask()
        monkeypatch.setenv("GOODARM_TOKEN", reader)
        with Campaign.open(guarded.address, "c") as campaign:
            assert campaign.tally().pending == 1
            with pytest.raises(ServerRefused, match="needs the role writer"):
                campaign.ask()


def test_a_program_survives_a_restart_of_its_server(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    with serving(store) as first:
        port = str(first.port)
        campaign = Campaign.create(first.address, "c", ["a", "b"], 0.5)
        tickets = campaign.ask(4)
        first.stop()
    answered: list[Any] = []
    caller = threading.Thread(target=lambda: answered.append(campaign.tell(tickets[0], 1.0)))
    caller.start()
    with serving(store, "--port", port):
        caller.join(300)
        assert len(answered) == 1
        assert campaign.tally().told == 1
        campaign.close()


def test_a_campaign_against_a_control(server: Server) -> None:
    means = {"now": 0.5, "up": 1.0, "down": 0.0}
    with Campaign.create(server.address, "against", list(means), control="now", margin=0.02) as campaign:
        while campaign.tally().open:
            block = campaign.ask_block(200)
            campaign.tell_block(block, {arm: (pulls, means[arm] * pulls) for arm, pulls in block.pulls.items()})
        assert {row.arm: row.verdict for row in campaign.arms()} == {
            "now": "control",
            "up": "better",
            "down": "not better",
        }
        assert campaign.terms.question == Control("now", 0.02)
        assert "1 of 2 better than now by 2 pp or more, 1 not" in campaign.headline()
        assert campaign.check().ok
        assert [campaign.arm(arm).mean for arm in means] == [0.0, 0.5, -0.5]


def test_several_bars_costs_and_a_budget(server: Server) -> None:
    rewards = {"fine": {"correct": 1, "slow": 0}, "slow": {"correct": True, "slow": True}}
    arms = [{"id": "fine", "cost": 1.5}, "slow"]
    with Campaign.create(server.address, "bars", arms, bars="correct >= 60%, slow <= 40%", budget=1000) as campaign:
        assert campaign.terms.question == Bars("correct >= 0.6, slow <= 0.4")
        one, *others = campaign.ask(4)
        campaign.tell(one, rewards[one.arm])
        campaign.tell_many([(ticket, rewards[ticket.arm]) for ticket in others])
        while campaign.tally().open:
            block = campaign.ask_block(6)
            for arm, n in block.pulls.items():
                told = {name: n * value for name, value in rewards[arm].items()}
                campaign.tell_block(block, {arm: (n, told)}, arm)
        fine, slow = campaign.arms()
        assert (fine.verdict, slow.verdict, slow.failed) == ("good", "bad", "slow")
        assert (fine.cost, [state["metric"] for state in slow.metrics]) == (1.5, ["correct", "slow"])
        assert campaign.check().ok
        tally = campaign.tally()
        assert tally.spent == 1.5 * fine.pulls + slow.pulls
        summary = server.call("GET", "/api/v1/campaigns/bars").json
        assert (summary["budget"], summary["spent"]) == (1000.0, tally.spent)
        assert summary["question"]["bars"] == campaign.terms.question.as_json()["bars"]
        refused = server.call("POST", "/api/v1/campaigns/bars/tell-arm", {"arm": "fine", "reward": 1.0})
        assert refused.status == 400
        page = server.call("GET", "/api/v1/campaigns/bars/arms/slow").json
        assert page["audit"]["metrics"] == list(slow.metrics)


def test_a_callback_that_raises_leaves_the_verdict_to_the_others_and_is_not_called_again(server: Server) -> None:
    with Campaign.create(server.address, "fragile", ["a"], 0.5) as campaign:
        seen: list[str] = []

        def fragile(row: Any) -> None:
            seen.append("fragile")
            raise ValueError("the mail server is down")

        campaign.on_verdict(fragile)
        campaign.on_verdict(lambda row: seen.append(row.arm))
        rewards = [(ticket, 1.0) for ticket in campaign.ask(40)]
        with pytest.raises(ValueError, match="mail"):
            campaign.tell_many(rewards)
        campaign.tally()
        assert seen == ["fragile", "a"]


@pytest.mark.parametrize("at_a_server", [False, True])
def test_what_is_no_reward_or_no_key_is_refused_alike_in_a_store_and_at_a_server(
    server: Server, at_a_server: bool
) -> None:
    with Campaign.create(server.address if at_a_server else "memory:", "odd", ["a"], 0.5) as campaign:
        (ticket,) = campaign.ask()
        for rewards in (None, [1], "ab", [(ticket, 1.0, 2.0)]):
            with pytest.raises(InvalidValue, match="rewards are told as pairs"):
                campaign.tell_many(rewards)  # type: ignore[arg-type]  # that is the point
        for reward, said in (
            ("1", "number; got '1'"),
            (math.inf, "finite"),
            (10**400, "finite"),
        ):
            with pytest.raises(InvalidValue, match=said):
                campaign.tell(ticket, reward)  # type: ignore[arg-type]  # the same
        for odd in (
            lambda: campaign.ask(key=""),
            lambda: campaign.step(ticket, 1.0, key=""),
            lambda: campaign.tell_arm("a", 1.0, key=""),
            lambda: campaign.ask_block(3, key=""),
            lambda: Campaign.create(server.address, "other", ["a"], 0.5, key=""),
        ):
            with pytest.raises(InvalidValue, match="key must be a non-empty string; got ''"):
                odd()
        campaign.tell_many({ticket: np.int64(1)})
        assert (campaign.tally().told, campaign.tally().pending) == (1, 0)


def test_a_fixed_test_set_at_a_server(server: Server) -> None:
    """Tickets and blocks name their cases; a pool of workers decides every arm."""
    truth = {"a": 0.9, "b": 0.3}
    ids = [f"q{j}" for j in range(1, 31)]

    def result(ticket: Any) -> float:
        return float((int(ticket.case[1:]) * 7) % 30 < 30 * truth[ticket.arm])

    with Campaign.create(server.address, "cases", list(truth), threshold=0.6, cases=ids) as campaign:
        assert campaign.terms.cases.ids == tuple(ids)
        ticket = campaign.ask()[0]
        assert ticket.case in ids
        assert [each.case for each in campaign.waiting()] == [ticket.case]
        following = campaign.step(ticket, result(ticket))
        assert following is not None
        assert following.case in ids
        campaign.void(following, "lost")
        block = campaign.ask_block(4)
        assert sum(map(len, block.cases.values())) == 4
        campaign.void(block, "lost")
        found = campaign.run(result, workers=3, progress=False)
        assert {row.arm: row.verdict for row in found.arms} == {"a": "good", "b": "bad"}
        assert campaign.check().ok
    with pytest.raises(InvalidValue, match="two cases have the id"):
        Campaign.create(server.address, "again", list(truth), threshold=0.6, cases=["x", "x"])


@pytest.mark.parametrize(
    "more",
    [
        {"threshold": 0.6, "repeats": 2},
        {"control": "b"},
        {"threshold": 0.6, "scores": {arm: [0.9, 0.1] * 15 for arm in "abc"}},
    ],
    ids=["repeats", "control", "scores"],
)
def test_every_kind_of_test_set_at_a_server(server: Server, more: dict[str, Any]) -> None:
    """The same arms are better, there and in a store of one's own; the terms arrive as they were given."""
    truth = {"a": 0.95, "b": 0.7, "c": 0.3}

    def result(ticket: Any) -> float:
        return float((int(ticket.case) * 7) % 30 < 30 * truth[ticket.arm])

    found = []
    for store in (server.address, "memory:"):
        with Campaign.create(store, f"set {sorted(more)}", list(truth), cases=30, **more) as campaign:
            rows = campaign.run(result, workers=2, progress=False).arms
            found.append({row.arm: row.sign for row in rows})
            assert campaign.terms.repeats == more.get("repeats", 1)
            assert campaign.terms.arms[0].scores == ("91" * 15 if "scores" in more else None)
            assert campaign.terms.shown().cases == 30
            assert campaign.check().ok
    assert found[0] == found[1] == {"a": 1, "b": 0 if "control" in more else 1, "c": -1}


def test_a_served_campaign_stops_after_a_good_arm_and_shows_its_bounds(server: Server) -> None:
    """Both are the same as in a store of one's own."""

    def play(store: str) -> Campaign:
        campaign = Campaign.create(store, "one", ["a", "b"], 0.5, policy="dgai+gap-mixture", stop_after=1, seed=2)
        ticket = campaign.ask()[0]
        while ticket is not None:
            ticket = campaign.step(ticket, 1.0 if ticket.arm == "a" else 0.0)
        return campaign

    with play("memory:") as here, play(server.address) as there:
        assert there.terms.stop_after == 1
        assert (there.tally().answer, there.tally().ended, there.ask()) == ("found", True, [])
        assert there.headline() == here.headline()
        assert there.bounds().learned
        assert there.bounds() == here.bounds()
        assert there.bounds().beta > 0.0
        assert [there.bounds(arm) for arm in "ab"] == [here.bounds(arm) for arm in "ab"]
        assert here.bounds("a").alpha != here.bounds("b").alpha, "the arms have different numbers of samples"
        for campaign in (here, there):
            with pytest.raises(UnknownName):
                campaign.bounds("c")


def test_a_policy_without_a_learned_bound_says_so(server: Server) -> None:
    with Campaign.create(server.address, "plain", ["a", "b"], 0.5, policy="hdoc+kt") as campaign:
        bounds = campaign.bounds()
        assert not bounds.learned
        assert math.isnan(bounds.alpha)  # no mean suffices before the first sample


def test_units_at_a_server(server: Server) -> None:
    with Campaign.create(
        server.address, "units", ["a", "b"], threshold=0.5, per_unit="ratio", unit_limit=4
    ) as campaign:
        first = campaign.ask(unit="Änne/7")
        assert campaign.ask(unit="Änne/7") == first
        for _ in range(2):
            campaign.tell_units([("Änne/7", 1.0, 2.0, "visit 1"), ("Änne/7", 1, 1.0, "visit 2")])
        assert campaign.tell_unit("Änne/7", 2.0, 2.0).late == [first[0].ticket]  # the unit would be larger than 4
        assert [each.unit for each in campaign.waiting()] == ["Änne/7"]
        campaign.close_units("Änne/7")
        assert campaign.arm(first[0].arm).mean == 0.5 + (2.0 - 0.5 * 3.0) / 4.0
        assert campaign.check().ok
        assert campaign.terms.units is not None
        with pytest.raises(Refused, match="tell is refused"):
            campaign.tell(first[0], 1.0)
        with pytest.raises(InvalidValue, match="Leave n and key out"):
            campaign.ask(2, unit="b")
    with Campaign.create(server.address, "visits", ["a"], threshold=0.5, per_unit="any", window=3600) as campaign:
        campaign.ask(unit="x")
        with pytest.raises(Refused, match="window of 1 hour"):
            campaign.close_units("x")
        assert campaign.close_units().verdicts == []
