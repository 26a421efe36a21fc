"""Campaigns with a cheap judge's score for every arm and case: rewards are labels, and few of them decide."""

import csv
import json
import random
from pathlib import Path

import pytest

from goodarm import Campaign
from goodarm.campaign.session import Session
from goodarm.campaign.tickets import Ticket
from goodarm.errors import GoodarmError, InvalidValue, Refused, UnknownName
from goodarm.problem import Cases

CASES = 800
RATES = {"high": 0.92, "near": 0.85, "below": 0.75, "low": 0.5}
world = random.Random(9)
TRUTH = {arm: [float(i < round(CASES * rate)) for i in range(CASES)] for arm, rate in RATES.items()}
for each in TRUTH.values():
    world.shuffle(each)


def judged(errs: float, seed: int = 4) -> dict[str, list[float]]:
    """Scores of a judge that errs in a share of the cases."""
    chance = random.Random(seed)
    return {arm: [1.0 - x if chance.random() < errs else x for x in labels] for arm, labels in TRUTH.items()}


@pytest.fixture(autouse=True)
def fixed_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same orders of the cases in every campaign: verdicts may be wrong with probability delta."""
    monkeypatch.setattr("goodarm.campaign.terms.os.urandom", lambda size: b"key " * (size // 4))


def campaign(store: str = "memory:", **more: object) -> Campaign:
    given = {"threshold": 0.8, "cases": CASES, "scores": judged(0.05), "policy": "uniform", **more}
    return Campaign.create(store, "labels", list(TRUTH), **given)


def label(ticket: Ticket) -> float:
    return TRUTH[ticket.arm][int(ticket.case or 0) - 1]


def finish(running: Campaign, batch: int = 1) -> int:
    told = 0
    while tickets := running.ask(batch):
        for ticket in reversed(tickets):
            running.tell(ticket, label(ticket))
        told += len(tickets)
    for row in running.arms():
        assert row.verdict == ("good" if sum(TRUTH[row.arm]) / CASES >= 0.8 else "bad")
    assert running.check().ok
    return told


@pytest.mark.slow
def test_a_good_judge_saves_labels_and_a_useless_one_costs_few() -> None:
    """Four arms of 800 cases; the guarantee holds with any judge, and these orders give no wrong verdict."""
    with Campaign.create("memory:", "plain", list(TRUTH), threshold=0.8, cases=CASES, policy="uniform") as plain:
        without = finish(plain)
    spent = {}
    for errs in (0.0, 0.05, 0.5, 1.0):
        with campaign(scores=judged(errs)) as running:
            assert running.terms.policy == "uniform+score-bets"
            spent[errs] = finish(running)
    assert spent[0.0] < spent[0.05] < 0.8 * without
    assert spent[0.5] < 1.15 * without
    assert spent[1.0] < 0.8 * without  # a judge that always errs is recalibrated


@pytest.mark.slow
def test_late_and_reversed_labels_change_nothing_but_the_moment() -> None:
    with campaign() as at_once, campaign() as late:
        assert finish(at_once) < finish(late, batch=1000)
        assert [row.evidence for row in at_once.arms()] == [row.evidence for row in late.arms()]


def test_every_case_is_drawn_once_and_void_ones_come_again() -> None:
    with campaign() as running:
        tickets = running.ask(len(TRUTH) * CASES)
        lost = [ticket for ticket in tickets if ticket.arm == "near"][10:13]
        for ticket in lost:
            running.void(ticket, "the annotator was ill")
        running.tell_many([(ticket, 0.8) for ticket in tickets if ticket.arm == "near" and ticket not in lost])
        assert [ticket[1:] for ticket in running.ask(10)] == [ticket[1:] for ticket in lost]
        assert len({ticket[1:] for ticket in tickets}) == len(tickets)


@pytest.mark.slow
def test_the_same_after_opening_exporting_and_from_a_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = f"sqlite:///{tmp_path / 'one.db'}"
    with campaign(store) as running:
        tickets = running.ask(600)
        running.tell_many([(ticket, label(ticket)) for ticket in tickets[:500]])
        running.void(tickets[520], "lost")
        running.export(tmp_path / "journal.jsonl")
        rows = running.arms()
    for forget in (False, True):
        if forget:
            monkeypatch.setattr(Session, "_from_snapshot", lambda self, *rest: None, raising=False)
        with Campaign.open(store, "labels") as opened:
            assert [row.evidence for row in opened.arms()] == [row.evidence for row in rows]
    with Campaign.import_from(f"sqlite:///{tmp_path / 'two.db'}", tmp_path / "journal.jsonl") as imported:
        assert [row.evidence for row in imported.arms()] == [row.evidence for row in rows]
        for ticket in tickets[500:520] + tickets[521:]:
            imported.tell(ticket, label(ticket))
        finish(imported, batch=30)


def test_later_arms_bring_their_scores() -> None:
    scores = judged(0.05)
    late = scores.pop("low")
    arms = [arm for arm in TRUTH if arm != "low"]
    with Campaign.create("memory:", "late", arms, threshold=0.8, cases=CASES, scores=scores, reserve=0.3) as running:
        running.tell_many([(ticket, label(ticket)) for ticket in running.ask(50)])
        with pytest.raises(InvalidValue, match="'low' has 0 scores"):
            running.add_arms(["low"])
        running.add_arms([{"id": "low", "scores": late}])
        finish(running, batch=10)


def test_weights_are_shares_of_delta() -> None:
    arms = [{"id": arm, "weight": weight} for arm, weight in zip(TRUTH, (6.0, 1.0, 1.0, 1.0), strict=True)]
    with Campaign.create(
        "memory:", "weights", arms, threshold=0.8, cases=CASES, scores={arm: [0.5] * CASES for arm in TRUTH}
    ) as running:
        running.tell_many([(ticket, 1.0) for ticket in running.ask(4)])
        high, near = (running._session.fold.step.row(arm) for arm in (0, 1))
        assert high.for_good - high.offset == pytest.approx(near.for_good - near.offset)
        assert high.offset > near.offset


def test_scores_from_files_tables_and_dictionaries(tmp_path: Path) -> None:
    scores, ids = judged(0.05), [f"q{j}" for j in range(CASES)]
    rows = [(arm, case, score) for arm, each in scores.items() for case, score in zip(ids, each, strict=True)]
    random.Random(1).shuffle(rows)
    with (tmp_path / "scores.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("arm", "case", "score"), *rows])
    lines = (json.dumps({"arm": arm, "case": case, "score": score}) for arm, case, score in rows)
    (tmp_path / "scores.jsonl").write_text("\n".join(lines))
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows, columns=["arm", "case", "score"])
    by_case = {arm: dict(zip(ids, each, strict=True)) for arm, each in scores.items()}
    for given in (scores, by_case, tmp_path / "scores.csv", str(tmp_path / "scores.jsonl"), frame):
        with campaign(cases=pandas.Series(ids), scores=given) as running:
            digits = "".join(str(min(int(10 * score), 9)) for score in scores["near"])
            assert running.terms.arms[1].scores == digits


@pytest.mark.parametrize(
    ("more", "error", "message"),
    [
        ({"cases": None}, InvalidValue, "scores require a fixed test set"),
        ({"scores": {"high": [0.5] * CASES}}, InvalidValue, "'near' has no scores"),
        ({"scores": {**judged(0.0), "other": []}}, UnknownName, "other"),
        ({"scores": {**judged(0.0), "low": [0.5] * 799}}, InvalidValue, "799 scores and the test set 800"),
        ({"scores": {**judged(0.0), "low": [2.0] * 800}}, InvalidValue, r"number in \[0, 1\]; got 2.0"),
        ({"scores": {**judged(0.0), "low": [float("nan")] * 800}}, InvalidValue, "got nan"),
        ({"scores": {**judged(0.0), "low": {"1": 0.5}}}, InvalidValue, "no score on case '2'"),
        ({"scores": 7}, InvalidValue, "a file or a dataframe"),
        ({"scores": "no such file.csv"}, GoodarmError, "No such file"),
        ({"threshold": None, "control": "high"}, InvalidValue, "Leave out scores or control"),
        ({"policy": "hdoc+kt"}, GoodarmError, "score-bets"),
        ({"rewards": Cases(7)}, InvalidValue, "between 0 and 1"),
    ],
)
def test_what_does_not_fit_is_refused(more: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        campaign(**more)


def test_blocks_and_scores_of_a_plain_campaign_are_refused() -> None:
    with campaign() as running, pytest.raises(GoodarmError, match="order of asking"):
        running.ask_block(10)
    with Campaign.create("memory:", "plain", ["a"], threshold=0.5, cases=3, reserve=0.2) as plain:
        with pytest.raises(InvalidValue, match="later arms can't have any"):
            plain.add_arms([{"id": "b", "scores": [0.1, 0.2, 0.3]}])
        with pytest.raises(Refused):
            plain.tell_arm("a", 1.0)
