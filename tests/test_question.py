"""Questions: their words, their checks, their JSON, and a new kind that no other file knows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from goodarm import judge
from goodarm import question as questions
from goodarm.campaign import Campaign
from goodarm.campaign.terms import Terms
from goodarm.engine import evidence
from goodarm.errors import InvalidValue, Refused, UnknownName
from goodarm.problem import Bounded, Gaussian
from goodarm.question import (
    Amounts,
    Control,
    Phrases,
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
        ({"threshold": 0.5, "margin": 0.1}, "needs a control to compare with"),
        ({"threshold": 0.5, "control": "now"}, "got both"),
        ({"threshold": "high"}, "threshold must be a number"),
        ({"control": "now", "margin": 1.0}, "strictly between -1 and 1"),
        ({"control": "now", "margin": float("nan")}, "strictly between -1 and 1"),
        ({"threshold": 0.5, "question": Threshold(0.5)}, "complete question"),
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


@dataclass(frozen=True)
class Passing(Question):
    """A third kind: does an arm pass at a rate of at least `rate`? Its words and its field are its own."""

    rate: float

    field: ClassVar[str] = "passing"
    good: ClassVar[str] = "passes"
    bad: ClassVar[str] = "fails"
    format: ClassVar[int] = 2

    @property
    def bar(self) -> float:
        return self.rate

    def problem(self, arms: int, delta: float, rewards: Any) -> Any:
        return Threshold(self.rate).problem(arms, delta, rewards)

    def phrases(self, amounts: Amounts) -> Phrases:
        return Phrases(f"pass {amounts.mean(self.rate)}", "fail")

    def as_json(self) -> dict[str, Any]:
        return {"passing": self.rate}

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Passing:
        return cls(content["passing"])


def test_a_third_kind_is_one_class_and_its_evidence(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(questions, "KINDS", (*questions.KINDS, Passing))
    monkeypatch.setitem(evidence.EVIDENCE, Passing, evidence.ThresholdEvidence)
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
