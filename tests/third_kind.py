"""A third kind of question: one class, and an entry in each registry of what can answer it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from goodarm import question as questions
from goodarm.engine import evidence
from goodarm.judgement import kinds as logs
from goodarm.planning import kinds as plans
from goodarm.question import Amounts, Phrases, Question, Threshold


@dataclass(frozen=True)
class Passing(Question):
    """Does an arm pass at a rate of at least `rate`? Its words and its field are its own."""

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

    def rescaled(self, start: float, length: float) -> Passing:
        return Passing((self.rate - start) / length)

    def phrases(self, amounts: Amounts) -> Phrases:
        return Phrases(f"pass {amounts.mean(self.rate)}", "fail")

    def as_json(self) -> dict[str, Any]:
        return {"passing": self.rate}

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Passing:
        return cls(content["passing"])


def introduce(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the kind known, and say how it is answered: live, in logs, and in plans."""
    monkeypatch.setattr(questions, "KINDS", (*questions.KINDS, Passing))
    monkeypatch.setitem(evidence.EVIDENCE, Passing, evidence.ThresholdEvidence)
    monkeypatch.setitem(logs.LOGS, Passing, logs.ThresholdLog)
    monkeypatch.setitem(plans.PLANS, Passing, plans.PlannedThreshold)
