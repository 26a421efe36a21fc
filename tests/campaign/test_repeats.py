"""Campaigns whose cases are evaluated several times: the mean of a case's results counts, once."""

import random
from collections import Counter
from pathlib import Path

import pytest

from goodarm import Campaign
from goodarm.campaign.session import Session
from goodarm.campaign.tickets import Ticket
from goodarm.errors import GoodarmError, InvalidValue

CASES, TIMES = 40, 3
CHANCES = {"high": 0.95, "near": 0.85, "below": 0.7, "low": 0.3}
world = random.Random(2)
TRUTH = {arm: [[float(world.random() < p) for _ in range(TIMES)] for _ in range(CASES)] for arm, p in CHANCES.items()}


@pytest.fixture(autouse=True)
def fixed_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goodarm.campaign.terms.os.urandom", lambda size: b"key " * (size // 4))


class Model:
    """Answers the k-th evaluation of an arm on a case with the k-th result."""

    def __init__(self) -> None:
        self.asked: Counter[tuple[str, str]] = Counter()

    def __call__(self, ticket: Ticket) -> float:
        cell = (ticket.arm, ticket.case or "")
        self.asked[cell] += 1
        return TRUTH[ticket.arm][int(cell[1]) - 1][self.asked[cell] - 1]


def mean(arm: str) -> float:
    return sum(map(sum, TRUTH[arm])) / (CASES * TIMES)


def campaign(store: str = "memory:", **more: object) -> Campaign:
    given = {"threshold": 0.8, "cases": CASES, "repeats": TIMES, **more}
    return Campaign.create(store, "repeats", list(TRUTH), **given)


@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_every_arm_is_decided_by_the_means_of_its_cases(batch: int) -> None:
    model = Model()
    with campaign() as running:
        while tickets := running.ask(batch):
            for ticket in reversed(tickets):
                running.tell(ticket, model(ticket))
        for row in running.arms():
            assert row.verdict == ("good" if mean(row.arm) >= 0.8 else "bad")
        assert max(model.asked.values()) == TIMES
        assert running.tally().told == model.asked.total() <= len(TRUTH) * CASES * TIMES
        assert (model.asked.total() < len(TRUTH) * CASES * TIMES) == (batch < 1000)
        assert running.check().ok


def test_a_case_counts_when_its_last_repetition_is_told() -> None:
    with campaign(policy="uniform") as running:
        tickets = running.ask(TIMES * len(TRUTH))
        assert Counter(ticket[1:] for ticket in tickets) == dict.fromkeys({t[1:] for t in tickets}, TIMES)
        own = [ticket for ticket in tickets if ticket.arm == "high"]
        for ticket, reward in zip(own, (1.0, 0.0, 1.0), strict=True):
            assert running._session.fold.step.row(0).pulls == 0.0
            running.tell(ticket, reward)
        row = running._session.fold.step.row(0)
        assert (row.pulls, row.total) == (1.0, pytest.approx(2 / 3))


def test_a_void_repetition_is_asked_for_again() -> None:
    with campaign(policy="uniform") as running:
        tickets = running.ask(TIMES)
        running.void(tickets[1], "the machine was restarted")
        (again,) = running.ask()
        assert again[1:] == tickets[1][1:]
        for ticket in (tickets[0], tickets[2], again):
            running.tell(ticket, 1.0)
        assert running._session.fold.step.row(0).pulls == 1.0


def test_the_same_after_opening_exporting_and_from_a_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half-way, in the middle of a case, with a void repetition."""
    store, model = f"sqlite:///{tmp_path / 'one.db'}", Model()
    with campaign(store) as running:
        tickets = running.ask(100)
        running.tell_many([(ticket, model(ticket)) for ticket in tickets[:80]])
        running.void(tickets[90], "lost")
        running.export(tmp_path / "journal.jsonl")
        evidence = [row.evidence for row in running.arms()]
    with Campaign.import_from(f"sqlite:///{tmp_path / 'two.db'}", tmp_path / "journal.jsonl") as imported:
        expected = imported.ask(20)
        assert [row.evidence for row in imported.arms()] == evidence
    for forget in (False, True):
        if forget:
            monkeypatch.setattr(Session, "_from_snapshot", lambda self, *rest: None, raising=False)
        with Campaign.open(store, "repeats") as opened:
            assert [ticket[1:] for ticket in opened.ask(20, key="once")] == [ticket[1:] for ticket in expected]
            assert opened.check().ok


def test_pairs_of_means_against_a_control() -> None:
    model = Model()
    with campaign(threshold=None, control="near") as running:
        while tickets := running.ask(11):
            running.tell_many([(ticket, model(ticket)) for ticket in tickets])
        found = {row.arm: row.verdict for row in running.arms()}
        assert found == {
            arm: "control" if arm == "near" else "better" if mean(arm) > mean("near") else "not better" for arm in TRUTH
        }
        assert max(model.asked.values()) == TIMES
        assert running.check().ok


def test_forecasts_are_in_evaluations() -> None:
    model = Model()
    with campaign(policy="uniform") as running:
        running.tell_many([(ticket, model(ticket)) for ticket in running.ask(4 * TIMES * 5)])
        left = running.remaining()
        for at, row in enumerate(running.arms()):
            assert 0 <= left.median[at] <= CASES * TIMES - row.pulls


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"repeats": 0}, "repeats must be a whole number"),
        ({"repeats": 1.5}, "repeats must be a whole number"),
        ({"cases": None}, "repeats require a fixed test set"),
        ({"policy": "value+kt"}, "kt is valid only for"),
    ],
)
def test_what_does_not_fit_is_refused(more: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidValue if "kt" not in message else GoodarmError, match=message):
        campaign(**more)


def test_once_is_as_without() -> None:
    with campaign() as running:
        assert running.terms.as_json()["format"] == 5
    with campaign(repeats=1) as running:
        assert "repeats" not in running.terms.as_json()
        assert running.terms.policy == "value+gap-mixture"
