"""What is asked of an arm: does its mean reach a threshold, or beat the mean of a control arm by a margin?

Everything that depends on the kind of question is here: the words of verdicts and sentences, the problem that the rules
see, the checks of the arguments, and the form in journals and JSON. The evidence for each kind needs rules and live
steps, and is registered under the question's class in `goodarm.engine.evidence`. A new kind of question is one class
in `KINDS` and one entry there.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from goodarm.arguments import checked_number, percentage
from goodarm.errors import InvalidValue, Refused, UnknownName
from goodarm.problem import Bounded, Problem, Rewards

OPEN = "open"
"""The verdict of an arm that is undecided."""
LISTED = 1000
"""Maximum number of arm ids to search for one that resembles a misspelt id."""


class Totals(NamedTuple):
    """What has happened to one arm's samples.

    asked   : samples asked for, void ones not counted
    told    : samples whose reward is known
    pending : samples whose reward is not known yet
    total   : sum of the known rewards
    """

    asked: int
    told: int
    pending: int
    total: float

    @property
    def mean(self) -> float:
        """Mean of the known rewards; NaN if there are none."""
        return self.total / self.told if self.told else math.nan


class Amounts(NamedTuple):
    """How numbers on the scale of the rewards are written: a mean or a threshold, and a difference of two means."""

    mean: Callable[[float], str]
    difference: Callable[[float], str]


SHARES = Amounts(lambda value: f"{value * 100:g}%", lambda value: f"{value * 100:g} pp")
"""Rewards in [0, 1] are shares: means are written in percent, differences in percentage points."""
NUMBERS = Amounts(lambda value: f"{value:g}", lambda value: f"{value:g}")


def amounts(rewards: Rewards) -> Amounts:
    """How to write numbers on the scale of these rewards.

    >>> amounts(Bounded()).mean(0.02), amounts(Bounded()).difference(0.02)
    ('2%', '2 pp')
    """
    return SHARES if isinstance(rewards, Bounded) else NUMBERS


class Phrases(NamedTuple):
    """Parts of a sentence: "3 of 20 [above 2%], 5 [below], 12 undecided"."""

    above: str
    below: str


MARK = "\ufffc"
"""Stands for an amount that a page writes in the reader's locale."""


class Labels(NamedTuple):
    """Names for tables and charts.

    estimate : of the number that is compared with the bar, as the heading of a column
    measured : the same at the beginning of a sentence
    bar      : of the bar
    line     : beside the line in a chart; `MARK` stands for the bar
    against  : what arms are compared with
    signed   : whether an estimate is written with its sign
    """

    estimate: str = "mean"
    measured: str = "Mean"
    bar: str = "bar"
    line: str = f"bar {MARK}"
    against: str = "the bar"
    signed: bool = False


TotalsOf = Callable[[str], Totals]
"""The totals of an arm, by its id."""


class Question(ABC):
    """A kind of question; its instances are frozen dataclasses.

    field     : the JSON field by which the kind is recognised
    good, bad : the words for the two verdicts
    fixes     : owners of rule parameters whose values come from the question, and are not settings of the policy
    format    : the journal format that introduced this kind; older versions of goodarm refuse to read it
    no_forecast : why the number of remaining samples can't be estimated; empty where it can
    """

    field: ClassVar[str]
    good: ClassVar[str] = "good"
    bad: ClassVar[str] = "bad"
    fixes: ClassVar[tuple[str, ...]] = ()
    format: ClassVar[int]
    no_forecast: ClassVar[str] = ""

    @property
    @abstractmethod
    def bar(self) -> float:
        """The number that `estimate` is compared with."""

    @property
    def references(self) -> tuple[str, ...]:
        """Ids of arms that other arms are compared with. They get no verdict, and every verdict depends on them."""
        return ()

    @abstractmethod
    def problem(self, arms: int, delta: float, rewards: Rewards) -> Problem:
        """The problem that the rules see, for this number of arms that get a verdict."""

    @abstractmethod
    def phrases(self, amounts: Amounts) -> Phrases:
        """The two verdicts as parts of a sentence."""

    @property
    def labels(self) -> Labels:
        """Names for tables and charts."""
        return Labels()

    def estimate(self, arm: str, totals: TotalsOf) -> float:
        """The estimate of an arm that is compared with the bar; NaN before there is any reward."""
        return totals(arm).mean

    def audited(self, totals: TotalsOf) -> dict[str, Any]:
        """What a verdict rests on besides the arm's own totals, for the journal."""
        return {}

    def check(self, arms: Sequence[str], weighted: Sequence[str]) -> None:  # noqa: B027  a kind may have nothing to check
        """Refuse arms that do not fit the question; `weighted` are the ids of arms that have a weight."""

    def check_suspending(self, arm: str) -> None:  # noqa: B027  the same
        """Refuse to suspend an arm that the others need."""

    def judges(self, arm: str) -> bool:
        """Does this arm get a verdict?"""
        return arm not in self.references

    def word(self, sign: int) -> str:
        """The word for a verdict: 1, -1 or 0."""
        return {1: self.good, -1: self.bad}.get(sign, OPEN)

    def sign(self, word: str) -> int:
        """The verdict of a word: 1, -1 or 0."""
        return {self.good: 1, self.bad: -1}.get(word, 0)

    def undecided(self, arm: str) -> str:
        """What is shown in place of a verdict while there is none."""
        return OPEN if self.judges(arm) else self.field

    @abstractmethod
    def as_json(self) -> dict[str, Any]:
        """The fields in journals and requests; `read` is the inverse."""

    @classmethod
    @abstractmethod
    def read(cls, content: Mapping[str, Any]) -> Question:
        """The question with these fields, among others."""

    def shown(self, rewards: Rewards) -> dict[str, Any]:
        """The form in answers: the fields, and the words that people read.

        >>> shown = Control("now", 0.02).shown(Bounded())
        >>> [shown[name] for name in ("kind", "control", "margin", "bar", "good", "bad", "above", "references")]
        ['control', 'now', 0.02, 0.02, 'better', 'worse', 'better than now by 2 pp or more', ['now']]
        """
        words = self.phrases(amounts(rewards))
        return {
            "kind": self.field,
            **self.as_json(),
            "bar": self.bar,
            "good": self.good,
            "bad": self.bad,
            **words._asdict(),
            "template": self.phrases(Amounts(lambda value: MARK, lambda value: MARK)).above,
            "labels": self.labels._asdict(),
            "references": list(self.references),
        }


@dataclass(frozen=True)
class Threshold(Question):
    """Does an arm's mean reach `value`?

    >>> Threshold(0.02).phrases(SHARES)
    Phrases(above='above 2%', below='below')
    """

    value: float

    field: ClassVar[str] = "threshold"
    format: ClassVar[int] = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", float(checked_number("threshold", percentage(self.value))))

    @property
    def bar(self) -> float:
        return self.value

    def problem(self, arms: int, delta: float, rewards: Rewards) -> Problem:
        return Problem(self.value, arms, delta, rewards)

    def phrases(self, amounts: Amounts) -> Phrases:
        return Phrases(f"above {amounts.mean(self.value)}", "below")

    def as_json(self) -> dict[str, Any]:
        return {"threshold": self.value}

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Threshold:
        return cls(content["threshold"])


@dataclass(frozen=True)
class Control(Question):
    """Is an arm's mean at least that of the arm `arm` plus `margin`? For rewards in [0, 1].

    >>> Control("now", 0.02).phrases(SHARES).above, Control("now").phrases(SHARES).above
    ('better than now by 2 pp or more', 'better than now')
    >>> Control("now", -0.01).phrases(SHARES).above
    'better than now or less than 1 pp worse'
    """

    arm: str
    margin: float = 0.0

    field: ClassVar[str] = "control"
    good: ClassVar[str] = "better"
    bad: ClassVar[str] = "worse"
    fixes: ClassVar[tuple[str, ...]] = ("identification",)
    format: ClassVar[int] = 2
    no_forecast: ClassVar[str] = (
        "the number of remaining samples can't be estimated against a control, whose own rewards move the evidence of "
        "every arm. The interval of each arm shows how close it is to a verdict."
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "margin", float(checked_number("margin", self.margin)))
        if not -1.0 < self.margin < 1.0:
            raise InvalidValue(
                f"margin must lie strictly between -1 and 1, as differences of rewards in [0, 1] do; got {self.margin}."
            )

    @property
    def bar(self) -> float:
        return self.margin

    @property
    def references(self) -> tuple[str, ...]:
        return (self.arm,)

    def problem(self, arms: int, delta: float, rewards: Rewards) -> Problem:
        """The problem of the differences, mapped from [-1, 1] to [0, 1]."""
        return Problem(0.5 * (1.0 + self.margin), arms, delta, rewards)

    def phrases(self, amounts: Amounts) -> Phrases:
        by = ""
        if self.margin > 0.0:
            by = f" by {amounts.difference(self.margin)} or more"
        elif self.margin < 0.0:
            by = f" or less than {amounts.difference(-self.margin)} worse"
        return Phrases(f"better than {self.arm}{by}", "not")

    @property
    def labels(self) -> Labels:
        line = "no difference"
        if self.margin:
            line = f"{'better' if self.margin > 0.0 else 'worse'} by {MARK}"
        return Labels("difference", "Difference from the control", "margin", line, "the control", signed=True)

    def estimate(self, arm: str, totals: TotalsOf) -> float:
        """The difference of the two means."""
        return totals(arm).mean - totals(self.arm).mean

    def audited(self, totals: TotalsOf) -> dict[str, Any]:
        return {"control": totals(self.arm)._asdict()}

    def check(self, arms: Sequence[str], weighted: Sequence[str]) -> None:
        if not isinstance(self.arm, str) or self.arm not in arms:
            raise UnknownName("control", str(self.arm), list(arms[:LISTED]))
        if len(arms) < 2:
            raise InvalidValue(f"there is no arm but the control {self.arm!r}. Give the arms to compare with it.")
        if self.arm in weighted:
            raise InvalidValue(
                f"the control {self.arm!r} gets no verdict and has no share of delta. Leave its weight out."
            )

    def check_suspending(self, arm: str) -> None:
        if arm == self.arm:
            raise Refused(
                f"{arm!r} is the control: every other arm is compared with it, so it can't be suspended or retired. "
                "Retire the other arms, or end the campaign."
            )

    def as_json(self) -> dict[str, Any]:
        return {"control": self.arm, "margin": self.margin}

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Control:
        return cls(content["control"], content.get("margin") or 0.0)


KINDS: tuple[type[Question], ...] = (Threshold, Control)


def asked(threshold: Any = None, control: Any = None, margin: Any = 0.0, question: Question | None = None) -> Question:
    """The question of a threshold, or of a control with its margin; or the question itself.

    >>> asked(threshold=0.02), asked(control="now", margin=0.01)
    (Threshold(value=0.02), Control(arm='now', margin=0.01))
    """
    if question is not None:
        if threshold is not None or control is not None or margin != 0.0:
            raise InvalidValue(f"{question!r} is the whole question; leave threshold, control and margin out.")
        return question
    if control is None and threshold is None:
        raise InvalidValue(
            "a campaign needs a bar: `threshold=0.02`, or `control='now'` to compare every arm with the arm 'now'."
        )
    if control is None and margin != 0.0:
        raise InvalidValue(f"margin={margin!r} says by how much arms must beat a control; name the control: control=.")
    if control is not None and threshold is not None:
        raise InvalidValue(
            f"a campaign has a threshold or a control; got both, {threshold!r} and {control!r}. Leave one of them out."
        )
    return Threshold(threshold) if control is None else Control(control, margin)


def from_json(content: Mapping[str, Any]) -> Question:
    """The question in a journal or a request: the kind whose field is there, and the fields that it writes.

    >>> from_json({"control": "now", "margin": 0.01, "threshold": None, "delta": 0.05})
    Control(arm='now', margin=0.01)
    """
    given = [kind for kind in KINDS if content.get(kind.field) is not None]
    if len(given) != 1:
        fields = ", ".join(kind.field for kind in KINDS)
        raise InvalidValue(f"a question has exactly one of the fields {fields}; got {sorted(content)}.")
    return given[0].read(content)
