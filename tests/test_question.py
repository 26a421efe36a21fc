"""Questions: their words, their checks, their JSON, and a new kind that no other file knows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from third_kind import Passing, introduce

from goodarm import judge, plan
from goodarm.campaign import Campaign
from goodarm.campaign.terms import Terms
from goodarm.errors import InvalidValue, Refused, UnknownName
from goodarm.problem import Bounded, Gaussian
from goodarm.question import (
    Control,
    Question,
    Threshold,
    Totals,
    amounts,
    asked,
    from_json,
)


@pytest.mark.parametrize(
    ("question", "above", "below"),
    [
        (Threshold(0.02), "above 2%", "below"),
        (Control("now"), "better than now", "not"),
        (Control("now", 0.015), "better than now by 1.5 pp or more", "not"),
        (Control("now", -0.01), "better than now or less than 1 pp worse", "not"),
    ],
)
def test_words_of_shares(question: Question, above: str, below: str) -> None:
    assert question.phrases(amounts(Bounded())) == (above, below)


def test_rewards_that_are_not_shares_are_written_as_numbers() -> None:
    assert Threshold(12.5).phrases(amounts(Gaussian(2.0))).above == "above 12.5"


@pytest.mark.parametrize("question", [Threshold(0.02), Control("now", 0.01), Control("now")])
def test_json_comes_back(question: Question) -> None:
    assert from_json({**question.as_json(), "delta": 0.1}) == question
    shown = question.shown(Bounded())
    assert from_json(shown) == question
    assert (shown["kind"], shown["bar"]) == (question.field, question.bar)


def test_words_and_signs_are_inverse() -> None:
    for question in (Threshold(0.5), Control("now")):
        assert [question.sign(question.word(sign)) for sign in (1, 0, -1)] == [1, 0, -1]


def test_an_estimate_is_a_mean_or_a_difference_of_means() -> None:
    totals = {"now": Totals(10, 10, 0, 2.0), "new": Totals(6, 4, 2, 3.0), "none": Totals(1, 0, 1, 0.0)}
    assert Threshold(0.5).estimate("new", totals.__getitem__) == 0.75
    assert Control("now").estimate("new", totals.__getitem__) == 0.75 - 0.2
    assert math.isnan(Control("now").estimate("none", totals.__getitem__))
    assert Control("now").audited(totals.__getitem__) == {
        "control": {"asked": 10, "told": 10, "pending": 0, "total": 2.0}
    }


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({}, "needs a bar"),
        ({"threshold": 0.5, "margin": 0.1}, "a margin belongs to a control: name the control too, `control='now'`"),
        ({"threshold": 0.5, "control": "now"}, "got both"),
        ({"threshold": "high"}, "threshold must be a number"),
        ({"control": "now", "margin": 1.0}, "strictly between -1 and 1"),
        ({"control": "now", "margin": float("nan")}, "strictly between -1 and 1"),
        ({"threshold": 0.5, "question": Threshold(0.5)}, "whole question"),
    ],
)
def test_arguments_that_make_no_question_are_refused(given: dict[str, Any], fault: str) -> None:
    with pytest.raises(InvalidValue, match=fault):
        asked(**given)


@pytest.mark.parametrize("content", [{}, {"threshold": 0.1, "control": "now"}, {"threshold": None}])
def test_json_without_exactly_one_question_is_refused(content: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue, match="exactly one"):
        from_json(content)


def test_a_control_must_be_one_of_several_arms_without_a_weight() -> None:
    with pytest.raises(UnknownName):
        Control("noww").check(["now", "new"], [])
    with pytest.raises(InvalidValue, match="no arm besides the control"):
        Control("now").check(["now"], [])
    with pytest.raises(InvalidValue, match="weight"):
        Control("now").check(["now", "new"], ["now"])
    Control("now").check(["now", "new"], ["new"])
    with pytest.raises(Refused, match="is the control"):
        Control("now").check_suspending("now")
    Control("now").check_suspending("new")


def test_a_third_kind_is_one_class_and_its_evidence(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    introduce(monkeypatch)
    store = f"sqlite:///{tmp_path / 'a.db'}"
    with Campaign.create(store, "prompts", ["a", "b"], question=Passing(0.5)) as campaign:
        while campaign.tally().open:
            for ticket in campaign.ask(10):
                campaign.tell(ticket, float(ticket.arm == "a"))
    with Campaign.open(store, "prompts") as opened:
        assert [row.verdict for row in opened.arms()] == ["passes", "fails"]
        assert opened.headline().startswith("1 of 2 pass 50%, 1 fail, 0 ")
        assert (opened.tally().good, opened.tally().bad) == (1, 1)
        audit = opened.audit("a")
        assert audit is not None
        assert (audit["verdict"], audit["evidence"] >= audit["needed"]) == ("passes", True)
        assert opened.check().ok
        assert Terms.from_json(opened.terms.as_json()) == opened.terms


LOG = {"arm": ["a", "b"], "pulls": [400, 400], "total": [300, 100]}


def test_a_log_is_judged_by_a_third_kind(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    introduce(monkeypatch)
    found = judge(LOG, question=Passing(0.5))
    assert found.question == Passing(0.5)
    assert found.sentence == "1 of 2 arms is pass 50%, 1 fail, 0 undecided"
    as_json = found.as_dict()
    assert (as_json["passing"], as_json["threshold"]) == (0.5, None)
    assert [row["verdict"] for row in as_json["arms"]] == ["passes", "fails"]
    same = judge(LOG, threshold=0.5)
    assert np.array_equal(found.arms.evidence, same.arms.evidence)
    assert judge(LOG, question={"passing": 0.5}).sentence == found.sentence
    graded = {"arm": ["a", "b"] * 200, "reward": [5.0, 2.0] * 200}
    assert judge(graded, question=Passing(3.5), rewards="bounded:1,5").good == ["a"]
    with pytest.raises(InvalidValue, match="passing must lie strictly between 0 and 1"):
        judge(LOG, question=Passing(3.5))
    ledger = tmp_path / "ledger.json"
    judge(LOG, question=Passing(0.5), ledger=ledger)
    with pytest.raises(InvalidValue, match="passing"):
        judge(LOG, question=Passing(0.6), ledger=ledger)


def test_a_third_kind_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    introduce(monkeypatch)
    made, same = (plan(**asked, arms=4, gap=0.3, runs=2) for asked in ({"question": Passing(0.5)}, {"threshold": 0.5}))
    assert (made.question, made.lower_bound) == (Passing(0.5), same.lower_bound)
    assert "4 arms, passing 0.5, delta 0.05" in str(made)
    assert "of the passes arms" in str(made)


@pytest.mark.parametrize(
    ("act", "missing"),
    [
        (lambda: Campaign.create("memory:", "a", ["a", "b"], question=Passing(0.5)), "engine.evidence.EVIDENCE"),
        (lambda: judge(LOG, question=Passing(0.5)), "judgement of logs in `goodarm.judgement.kinds.LOGS`"),
        (lambda: plan(question=Passing(0.5), arms=4, gap=0.3), "plan in `goodarm.planning.kinds.PLANS`"),
    ],
)
def test_a_kind_is_refused_where_nothing_answers_it(act: Callable[[], Any], missing: str) -> None:
    with pytest.raises(InvalidValue, match=f"the kind Passing have no .*{missing}.*Threshold, Control, Bars"):
        act()


def test_a_whole_question_may_be_its_fields() -> None:
    assert asked({"control": "now", "margin": 0.1}) == Control("now", 0.1)
    assert judge(LOG, question=Threshold(0.5)).good == judge(LOG, question={"threshold": 0.5}).good == ["a"]
    assert plan(question={"threshold": 0.5}, arms=4, gap=0.3, runs=2).threshold == 0.5
    with pytest.raises(InvalidValue, match="or its fields; got 'above 2%'"):
        asked("above 2%")  # type: ignore[arg-type]  # text
    with pytest.raises(InvalidValue, match="needs the control's expected mean"):
        plan(question=Control("now"), arms=4)


def test_examples_in_messages_name_the_arguments_of_the_place() -> None:
    with pytest.raises(InvalidValue, match=r"a log needs a bar: .*`versus='now'` and `margin=0.01`.*`bars='correct"):
        judge(LOG)
    with pytest.raises(InvalidValue, match=r"name the control too, `control=0.3`"):
        plan(threshold=0.5, margin=0.1, arms=4)
    with pytest.raises(InvalidValue, match=r"give one of `threshold`, `versus` and `bars`: each is a whole question"):
        judge(LOG, threshold=0.5, versus="a")


def test_a_margin_in_the_units_of_a_log_must_fit_its_range() -> None:
    log = {"arm": ["now", "new"] * 300, "reward": [1.0, 9.0] * 300}
    found = judge(log, versus="now", margin=5, rewards="bounded:0,10")
    assert (found.good, found.question, found.as_dict()["margin"]) == (["new"], Control("now", 5.0), 5.0)
    with pytest.raises(InvalidValue, match="margin must be less than the rewards' range 10"):
        judge(log, versus="now", margin=10, rewards="bounded:0,10")
    with pytest.raises(InvalidValue, match="strictly between -1 and 1"):
        Campaign.create("memory:", "m", ["now", "new"], question=Control("now", 5.0))


def test_a_margin_may_be_a_percentage() -> None:
    assert Control("now", "5%").margin == Control("now", 0.05).margin == 0.05  # type: ignore[arg-type]  # as text
    assert Campaign.create("memory:", "m", ["now", "new"], control="now", margin="5%").terms.question == Control(
        "now", 0.05
    )
    log = {"arm": ["now", "new"] * 20, "reward": [0.0, 1.0] * 20}
    assert judge(log, versus="now", margin="5%").question.margin == 0.05
    with pytest.raises(InvalidValue, match="margin must be a number"):
        judge(log, versus="now", margin="much")
    with pytest.raises(InvalidValue, match="margin must be a number"):
        Control("now", "much")  # type: ignore[arg-type]  # as text
