"""The questions about an arm: does its mean reach a threshold, beat a control by a margin, or clear several bars?

This module holds everything that depends on the kind of question: the words of verdicts and sentences, the problem that
the rules see, the checks of the arguments, the form of a reward, and the form in journals and JSON.
What needs rules, logs or simulations is registered under the class of the question: evidence in
`goodarm.engine.evidence`, the judgement of logs in `goodarm.judgement.kinds`, plans in `goodarm.planning.kinds`. A new
kind of question is one class in `KINDS`, its evidence, and an entry in the other two if logs and plans can answer it.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

from goodarm.arguments import (
    checked_number,
    meant_percent,
    number,
    number_as_written,
    percentage,
    refuse_percentage,
    shown,
    truth_value,
)
from goodarm.errors import InvalidValue, Refused, UnknownName
from goodarm.problem import Bounded, GradedCases, Problem, Rewards

OPEN = "open"
"""The verdict of an undecided arm in journals and JSON."""
UNDECIDED = "undecided"
"""The verdict of an undecided arm in pages, figures and sentences."""
LISTED = 1000
"""Maximum number of arm ids to search for one that resembles a misspelt id."""


Reward = float | tuple[float, ...]
"""One reward, or a sum of rewards: a number; with several bars, one number per metric in the question's order."""


RewardGiven = float | Mapping[str, float]
"""A reward in the caller's form: a number, or with several bars a record with one number per metric."""


class Entry(Protocol):
    """The fields of a journal entry with a reward that a question reads."""

    @property
    def reward(self) -> float | None: ...

    @property
    def content(self) -> dict[str, Any]: ...


class Totals(NamedTuple):
    """Totals of one arm's samples.

    asked   : samples asked for, excluding void ones
    told    : samples whose reward is known
    pending : samples whose reward is not yet known
    total   : sum of the known rewards
    """

    asked: int
    told: int
    pending: int
    total: Reward

    @property
    def mean(self) -> float:
        """Mean of the known rewards, which are numbers; NaN if there are none."""
        assert isinstance(self.total, float | int)
        return self.total / self.told if self.told else math.nan


def read_reward(reward: Any) -> float:
    """Convert a numeric reward to float without checking its range; True is 1 and False is 0."""
    found = reward if type(reward) is float else number(float(reward) if truth_value(reward) else reward)
    if found is None:
        raise InvalidValue(f"a reward must be a number; got {shown(reward)}. Write 1.0 for a success and 0.0 for none.")
    if not math.isfinite(found):
        raise InvalidValue(f"a reward must be a finite number; got {found}. Void the ticket if its reward is lost.")
    return found + 0.0  # -0.0 is stored as 0.0


def as_sent(reward: Any) -> Any:
    """A reward in the form sent by a client: a number, or a record of numbers.

    >>> as_sent(1), as_sent({"correct": 1, "slow": 0})
    (1.0, {'correct': 1.0, 'slow': 0.0})
    """
    if isinstance(reward, Mapping):
        return {str(name): read_reward(value) for name, value in reward.items()}
    return read_reward(reward)


class Amounts(NamedTuple):
    """Formats for numbers on the scale of the rewards: a mean or threshold, and a difference of two means."""

    mean: Callable[[float], str]
    difference: Callable[[float], str]


SHARES = Amounts(lambda value: f"{value * 100:g}%", lambda value: f"{value * 100:g} pp")
"""Rewards in [0, 1] are shares: means are written in percent, differences in percentage points."""
NUMBERS = Amounts(lambda value: f"{value:g}", lambda value: f"{value:g}")


def amounts(rewards: Rewards) -> Amounts:
    """Formats for numbers on the scale of these rewards.

    >>> amounts(Bounded()).mean(0.02), amounts(Bounded()).difference(0.02)
    ('2%', '2 pp')
    """
    return SHARES if isinstance(rewards, Bounded) else NUMBERS


class Argument(NamedTuple):
    """An argument that asks a question: an example for messages, and its default."""

    example: str
    default: Any = None


class Phrases(NamedTuple):
    """Parts of a sentence: "3 of 20 [above 2%], 5 [below], 12 undecided"."""

    above: str
    below: str


PER_UNIT = ("mean", "any", "sum", "ratio")
"""Ways to combine all rows of a unit (a person, session or machine) into one reward."""
MARK = "\ufffc"
"""Placeholder for an amount that a page formats in the reader's locale."""


class Labels(NamedTuple):
    """Names for tables and charts.

    estimate : name of the number compared with the bar, as a column heading
    measured : the same name, for the beginning of a sentence
    bar      : name of the bar
    line     : label of the line in a chart; `MARK` stands for the bar
    against  : name of the object of comparison
    signed   : whether an estimate is written with its sign
    fixed    : subject and verb: the part of the question to fix before the first look at rewards
    good     : word for a good verdict next to a headline such as "3 of 20 above 2%"
    bad      : the same for a bad one
    """

    estimate: str = "mean"
    measured: str = "Mean"
    bar: str = "bar"
    line: str = f"bar {MARK}"
    against: str = "the bar"
    signed: bool = False
    fixed: str = "the threshold was"
    good: str = "good"
    bad: str = "bad"


TotalsOf = Callable[[str], Totals]
"""The totals of an arm, by its id."""


class Question(ABC):
    """A kind of question; its instances are frozen dataclasses.

    field     : the JSON field by which the kind is recognised
    arguments : the arguments that ask this question, the first one called like `field`; empty if it is only asked as a
                whole, by `question`
    example   : how to ask it, for messages; {name} stands for the example of an argument
    good, bad : the words for the two verdicts
    fixes     : owners of rule parameters that the question sets, which are not settings of the policy
    format    : the journal format that introduced this kind; older versions of goodarm refuse to read it
    no_forecast : why the number of remaining samples can't be estimated; empty if it can
    no_zero   : why a missing reward can't count as 0; empty if it can
    per_unit  : ways to sum up a unit; a unit without rows counts as 0, which must be the worst reward
    assumes   : assumptions of the guarantee that only this kind makes
    """

    field: ClassVar[str]
    arguments: ClassVar[Mapping[str, Argument]] = {}
    example: ClassVar[str] = ""
    fixes: ClassVar[tuple[str, ...]] = ()
    format: ClassVar[int]
    no_forecast: ClassVar[str] = ""
    no_zero: ClassVar[str] = ""
    per_unit: ClassVar[tuple[str, ...]] = PER_UNIT
    assumes: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """The question that these arguments ask."""
        return cls(*(given.get(name, each.default) for name, each in cls.arguments.items()))

    @property
    def good(self) -> str:
        return "good"

    @property
    def bad(self) -> str:
        return "bad"

    @property
    @abstractmethod
    def bar(self) -> float:
        """The number that `estimate` is compared with."""

    @property
    def references(self) -> tuple[str, ...]:
        """Ids of arms that other arms are compared with. They get no verdict, and every verdict depends on them."""
        return ()

    def named(self, names: Mapping[str, str]) -> Question:
        """The same question with names in place of arm ids, for its words only."""
        return self

    @abstractmethod
    def problem(self, arms: int, delta: float, rewards: Rewards) -> Problem:
        """The problem that the rules see, for this number of arms that get a verdict."""

    def check_range(self) -> None:  # noqa: B027  a kind may have nothing to check
        """Refuse numbers that don't fit rewards in [0, 1]."""

    def check_percentages(self, rewards: object) -> None:  # noqa: B027  a kind may have none
        """Refuse percentages, which don't fit rewards in another range than [0, 1].

        rewards : these rewards, in words
        """

    def rescaled(self, start: float, length: float) -> Question:
        """The same question about the rewards (x - start)/length."""
        if (start, length) != (0.0, 1.0):
            raise InvalidValue(f"a question of {self.field} is for rewards in [0, 1]; leave their range out.")
        return self

    @abstractmethod
    def phrases(self, amounts: Amounts) -> Phrases:
        """The two verdicts as parts of a sentence."""

    @property
    def template(self) -> str:
        """The good verdict as a part of a sentence, with `MARK` in place of the bar."""
        return self.phrases(Amounts(lambda value: MARK, lambda value: MARK)).above

    @property
    def labels(self) -> Labels:
        """Names for tables and charts."""
        return Labels()

    @property
    def setting(self) -> str:
        """The question in the heading of a table; with two dashes before it, as an option of the command line."""
        return " --".join(f"{name} {value}" for name, value in self.as_json().items())

    # Rewards

    @property
    def names(self) -> list[str]:
        """The metrics of a reward, in order; empty if a reward is one number."""
        return []

    @property
    def nothing(self) -> Reward:
        """The empty sum."""
        return 0.0

    def reward(self, given: Any, rewards: Rewards) -> Reward:
        """Check a reward in the caller's form."""
        value = read_reward(given)
        rewards.check_reward(value)
        return value

    def total(self, given: Any, told: int) -> Reward | None:
        """Check a sum of `told` rewards in [0, 1] in the caller's form; None if it is invalid."""
        return _sum_of(given, told)

    def plus(self, total: Reward, reward: Reward) -> Reward:
        """The sum with one more reward, or with another sum."""
        return total + reward  # type: ignore[operator]  # numbers

    def as_told(self, reward: Reward) -> Any:
        """A reward or a sum in JSON; `reward` and `total` are the inverse."""
        return reward

    def entry(self, reward: Reward) -> tuple[float | None, dict[str, Any] | None]:
        """A reward in the journal's form: the entry's number field, and its content."""
        return reward, None  # type: ignore[return-value]  # a number

    def in_entry(self, entry: Entry) -> Reward:
        """The inverse of `entry`."""
        assert entry.reward is not None
        return entry.reward

    def kept_total(self, total: Any) -> Reward:
        """A sum of rewards from a snapshot."""
        return float(total)

    def shown_total(self, total: Reward) -> float:
        """A sum of rewards as one number; NaN if it has no such form."""
        return total  # type: ignore[return-value]  # a number

    def estimate(self, arm: str, totals: TotalsOf) -> float:
        """The estimate of an arm for comparison with the bar; NaN before the first reward."""
        return totals(arm).mean

    def audited(self, totals: TotalsOf) -> dict[str, Any]:
        """Data behind a verdict besides the arm's own totals, for the journal."""
        return {}

    def check(self, arms: Sequence[str], weighted: Sequence[str]) -> None:  # noqa: B027  a kind may have nothing to check
        """Refuse arms that do not fit the question; `weighted` are the ids of arms that have a weight."""

    def check_suspending(self, arm: str) -> None:  # noqa: B027  the same
        """Refuse to suspend an arm that the others need."""

    def judges(self, arm: str) -> bool:
        """Whether this arm gets a verdict."""
        return arm not in self.references

    def word(self, sign: int) -> str:
        """The word for a verdict: 1, -1 or 0."""
        return {1: self.good, -1: self.bad}.get(sign, OPEN)

    def label(self, sign: int) -> str:
        """The word for a verdict in pages, figures and sentences.

        >>> Threshold(0.5).label(1), Control("now").label(-1), Threshold(0.5).label(0)
        ('good', 'not better', 'undecided')
        """
        return self.word(sign) if sign else UNDECIDED

    def sign(self, word: str) -> int:
        """The verdict of a word: 1, -1 or 0."""
        return {self.good: 1, self.bad: -1}.get(word, 0)

    def undecided(self, arm: str) -> str:
        """The word in place of a verdict for an arm without one."""
        return OPEN if self.judges(arm) else self.field

    @abstractmethod
    def as_json(self) -> dict[str, Any]:
        """The fields in journals and requests; `read` is the inverse."""

    @classmethod
    @abstractmethod
    def read(cls, content: Mapping[str, Any]) -> Question:
        """The question with these fields, among others."""

    def shown(self, rewards: Rewards, names: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The form in responses: the fields, and the words shown to people.

        names : what people call the arms that others are compared with, by id

        >>> shown = Control("now", 0.02).shown(Bounded())
        >>> [shown[name] for name in ("kind", "control", "margin", "bar", "good", "bad", "above", "references")]
        ['control', 'now', 0.02, 0.02, 'better', 'not better', 'better than now by 2 pp or more', ['now']]
        >>> Control("h0").shown(Bounded(), {"h0": "Spring"})["above"]
        'better than Spring'
        """
        asked = self.named(names or {})
        words = asked.phrases(amounts(rewards))
        return {
            "kind": self.field,
            **self.as_json(),
            "bar": self.bar,
            "good": self.good,
            "bad": self.bad,
            **words._asdict(),
            "template": asked.template,
            "labels": self.labels._asdict(),
            "references": list(self.references),
            "names": list(asked.references),
            "no_forecast": self.no_forecast,
            "shares": amounts(rewards) is SHARES,
        }


@dataclass(frozen=True)
class Threshold(Question):
    """Does an arm's mean reach `value`?

    >>> Threshold(0.02).phrases(SHARES)
    Phrases(above='above 2%', below='below')
    """

    value: float

    field: ClassVar[str] = "threshold"
    arguments: ClassVar[Mapping[str, Argument]] = {"threshold": Argument("threshold=0.02")}
    example: ClassVar[str] = "a threshold, the bar that a good arm's mean reaches ({threshold})"
    format: ClassVar[int] = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", number_as_written("threshold", self.value))

    @property
    def bar(self) -> float:
        return self.value

    def check_percentages(self, rewards: object) -> None:
        refuse_percentage("threshold", self.value, rewards)

    def problem(self, arms: int, delta: float, rewards: Rewards) -> Problem:
        if amounts(rewards) is not SHARES:
            self.check_percentages(rewards)
        return Problem(self.value, arms, delta, rewards)

    def rescaled(self, start: float, length: float) -> Threshold:
        return Threshold((self.value - start) / length)

    def phrases(self, amounts: Amounts) -> Phrases:
        return Phrases(f"above {amounts.mean(self.value)}", "below")

    @property
    def labels(self) -> Labels:
        return Labels(good="above", bad="below")

    @property
    def setting(self) -> str:
        return f"threshold {self.value:g}"

    def as_json(self) -> dict[str, Any]:
        return {"threshold": self.value}

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Threshold:
        return cls(content["threshold"])


ABOVE_A_TIE = 4e-9
"""A margin that separates a tie from one case in 100 million: sums over a test set are compared to within 1e-9 N."""


@dataclass(frozen=True)
class Control(Question):
    """Is an arm's mean at least that of the arm `arm` plus `margin`, or above it if the margin is 0? For [0, 1].

    A log may have rewards in another range, and its margin is in their units.

    Verdicts are better and not better; with a margin below 0 they are not worse and worse.

    >>> Control("now", 0.02).phrases(SHARES).above, Control("now").phrases(SHARES).above
    ('better than now by 2 pp or more', 'better than now')
    >>> Control("now", -0.01).phrases(SHARES).above
    'better than now or less than 1 pp worse'
    """

    arm: str
    margin: float = 0.0

    field: ClassVar[str] = "control"
    arguments: ClassVar[Mapping[str, Argument]] = {
        "control": Argument("control='now'"),
        "margin": Argument("margin=0.01", 0.0),
    }
    example: ClassVar[str] = "a control to compare every arm with ({control} and {margin})"
    per_unit: ClassVar[tuple[str, ...]] = ("mean", "any", "sum")
    fixes: ClassVar[tuple[str, ...]] = ("identification",)
    format: ClassVar[int] = 2
    no_forecast: ClassVar[str] = (
        "the number of remaining samples can't be estimated in a comparison with a control, because the control's "
        "rewards change the evidence of every arm. The interval of each arm shows how close it is to a verdict."
    )
    assumes: ClassVar[tuple[str, ...]] = ("arms do not compete with the control for the same reward",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "margin", number_as_written("margin", self.margin))

    def check_range(self) -> None:
        if not -1.0 < self.margin < 1.0:
            raise InvalidValue(
                f"margin must lie strictly between -1 and 1, as differences of rewards in [0, 1] do; got {self.margin}."
            )

    @property
    def good(self) -> str:
        return "better" if self.margin >= 0.0 else "not worse"

    @property
    def bad(self) -> str:
        return "not better" if self.margin >= 0.0 else "worse"

    def sign(self, word: str) -> int:
        """The verdict of a word. Journals of earlier versions have better and worse for every margin."""
        return {"better": 1, "not worse": 1, "worse": -1, "not better": -1}.get(word, 0)

    @property
    def bar(self) -> float:
        return self.margin

    @property
    def references(self) -> tuple[str, ...]:
        return (self.arm,)

    def check_percentages(self, rewards: object) -> None:
        refuse_percentage("margin", self.margin, rewards)

    def problem(self, arms: int, delta: float, rewards: Rewards) -> Problem:
        """The problem of the differences, mapped from [-1, 1] to [0, 1].

        On a fixed test set an arm may tie with the control exactly. A tie is not better.
        """
        self.check_range()
        margin = ABOVE_A_TIE if self.margin == 0.0 and isinstance(rewards, GradedCases) else self.margin
        return Problem(0.5 * (1.0 + margin), arms, delta, rewards)

    def rescaled(self, start: float, length: float) -> Control:
        return Control(self.arm, self.margin / length)

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
        fixed = "the control and the margin were"
        words = ("difference", "Difference from the control", "margin", line, "the control")
        return Labels(*words, True, fixed, self.good, self.bad)

    def named(self, names: Mapping[str, str]) -> Control:
        return replace(self, arm=names.get(self.arm, self.arm))

    def estimate(self, arm: str, totals: TotalsOf) -> float:
        """The difference of the two means."""
        return totals(arm).mean - totals(self.arm).mean

    def audited(self, totals: TotalsOf) -> dict[str, Any]:
        return {"control": totals(self.arm)._asdict()}

    def check(self, arms: Sequence[str], weighted: Sequence[str]) -> None:
        if not isinstance(self.arm, str) or self.arm not in arms:
            raise UnknownName("control", str(self.arm), list(arms[:LISTED]))
        if len(arms) < 2:
            raise InvalidValue(f"there is no arm besides the control {self.arm!r}. Give the arms to compare with it.")
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


MOST_METRICS = 20
_BAR = re.compile(r"\s*(.+?)\s*(>=|<=|\bat least\b|\bat most\b)\s*(.+?)\s*")


class Metric(NamedTuple):
    """One metric of a reward, and its bar: at least `bar`, or at most `bar`."""

    name: str
    bar: float
    at_least: bool = True

    @staticmethod
    def read(text: Any) -> Metric:
        """Parse a metric with its bar.

        >>> Metric.read("correct >= 0.9"), Metric.read("slow at most 5%")
        (Metric(name='correct', bar=0.9, at_least=True), Metric(name='slow', bar=0.05, at_least=False))
        """
        match = _BAR.fullmatch(text) if isinstance(text, str) else None
        try:
            value = float(percentage(match[3])) if match else math.nan
        except ValueError:
            value = math.nan
        if match is None or math.isnan(value):
            raise InvalidValue(
                f"can't read the bar {shown(text)}. Write a metric with its bar, such as 'correct >= 0.9' or 'slow <= "
                "5%'."
            )
        return Metric(match[1], value, match[2] in (">=", "at least"))

    @property
    def threshold(self) -> float:
        """The bar, mirrored if less is better."""
        return self.bar if self.at_least else 1.0 - self.bar

    def turned(self, total: Any, count: Any = 1.0) -> Any:
        """The sum of `count` values, mirrored if less is better."""
        return total if self.at_least else count - total

    def words(self, amounts: Amounts) -> str:
        return f"{self.name} {'at least' if self.at_least else 'at most'} {amounts.mean(self.bar)}"

    def as_json(self) -> dict[str, Any]:
        return {"metric": self.name, "at_least" if self.at_least else "at_most": self.bar}


BarsGiven = str | Mapping[str, str] | Iterable[Any]
"""Several bars: text, {metric: ">= 0.9"}, or a list of metrics, of texts or of JSON objects."""
QuestionGiven = Question | Mapping[str, Any]
"""A whole question: an object, or its JSON fields."""


@dataclass(frozen=True, init=False)
class Bars(Question):
    """Does an arm clear every one of several bars? A reward is a record with one number in [0, 1] per metric.

    An arm is good if the mean of each metric clears its bar, and bad if any metric fails. A bad verdict names the
    metric with the most evidence of failing. The estimate is the smallest distance of a mean from its bar, compared
    with 0.

    >>> bars = Bars("correct >= 90%, slow <= 5%, unsafe <= 1%")
    >>> bars == Bars({"correct": ">= 0.9", "slow": "<= 0.05", "unsafe": "<= 0.01"})
    True
    >>> bars.phrases(SHARES).above
    'clearing all bars (correct at least 90%, slow at most 5%, unsafe at most 1%)'
    >>> bars.reward({"correct": 1, "slow": 0, "unsafe": 0}, Bounded())
    (1.0, 0.0, 0.0)
    """

    metrics: tuple[Metric, ...]

    field: ClassVar[str] = "bars"
    arguments: ClassVar[Mapping[str, Argument]] = {"bars": Argument("bars='correct >= 0.9, slow <= 0.05'")}
    example: ClassVar[str] = "several bars ({bars})"
    per_unit: ClassVar[tuple[str, ...]] = ()
    format: ClassVar[int] = 6
    no_forecast: ClassVar[str] = (
        "the number of remaining samples can't be estimated with several bars, because it depends on the correlation "
        "of the metrics. The interval of each metric shows how close it is to its bar."
    )
    no_zero: ClassVar[str] = (
        "unanswered='zero' would count a lost record as 0 in every metric, even if less is better. Use 'wait', or "
        "'void' if losses have nothing to do with rewards."
    )

    def __init__(self, bars: BarsGiven | Bars) -> None:
        metrics = tuple(_metric(each) for each in _listed(bars))
        if not 1 <= len(metrics) <= MOST_METRICS:
            raise InvalidValue(f"the number of bars must be between 1 and {MOST_METRICS}; got {len(metrics)}.")
        for metric in metrics:
            _check_metric(metric)
        names = [metric.name for metric in metrics]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InvalidValue(f"the metric {twice!r} has two bars. Give each metric one bar.")
        object.__setattr__(self, "metrics", metrics)

    @property
    def names(self) -> list[str]:
        """The metrics, in their order."""
        return [metric.name for metric in self.metrics]

    @property
    def bar(self) -> float:
        return 0.0

    def problem(self, arms: int, delta: float, rewards: Rewards) -> Problem:
        """The problem at the first metric's bar; the evidence of other metrics uses their own bars."""
        return Problem(self.metrics[0].threshold, arms, delta, rewards)

    def phrases(self, amounts: Amounts) -> Phrases:
        listed = ", ".join(metric.words(amounts) for metric in self.metrics)
        return Phrases(f"clearing all bars ({listed})", "failing one")

    @property
    def template(self) -> str:
        return self.phrases(SHARES).above

    @property
    def setting(self) -> str:
        listed = ", ".join(f"{each.name} {'>=' if each.at_least else '<='} {each.bar:g}" for each in self.metrics)
        return f"bars '{listed}'"

    @property
    def labels(self) -> Labels:
        line, fixed = "all bars cleared", "the bars were"
        return Labels("margin", "Smallest distance from a bar", "bars", line, "the bars", True, fixed)

    def estimate(self, arm: str, totals: TotalsOf) -> float:
        """The smallest distance of a metric's mean from its bar; negative if the mean is on the wrong side."""
        seen = totals(arm)
        if not seen.told:
            return math.nan
        assert isinstance(seen.total, tuple)
        means = (total / seen.told for total in seen.total)
        distances = (metric.turned(mean) - metric.threshold for metric, mean in zip(self.metrics, means, strict=True))
        return float(min(distances))

    @property
    def nothing(self) -> Reward:
        return (0.0,) * len(self.metrics)

    def reward(self, given: Any, rewards: Rewards) -> Reward:
        record = self._record(given)
        values = tuple(read_reward(record[name]) for name in self.names)
        for value in values:
            rewards.check_reward(value)
        return values

    def total(self, given: Any, told: int) -> Reward | None:
        record = self._record(given)
        sums = tuple(_sum_of(record[name], told) for name in self.names)
        return None if None in sums else sums  # type: ignore[return-value]  # no None is left

    def _record(self, given: Any) -> Mapping[str, Any]:
        if not isinstance(given, Mapping) or set(given) != set(self.names):
            example = ", ".join(
                f"{name!r}: {metric.at_least:d}" for name, metric in zip(self.names, self.metrics, strict=True)
            )
            raise InvalidValue(
                f"a reward has one number for each metric, such as {{{example}}}; got {shown(given)}. Void the ticket "
                "if a metric is lost."
            )
        return given

    def plus(self, total: Reward, reward: Reward) -> Reward:
        assert isinstance(total, tuple)
        assert isinstance(reward, tuple)
        return tuple(one + other for one, other in zip(total, reward, strict=True))

    def as_told(self, reward: Reward) -> Any:
        assert isinstance(reward, tuple)
        return dict(zip(self.names, reward, strict=True))

    def entry(self, reward: Reward) -> tuple[float | None, dict[str, Any] | None]:
        return None, {"reward": self.as_told(reward)}

    def in_entry(self, entry: Entry) -> Reward:
        record = entry.content["reward"]
        return tuple(float(record[name]) for name in self.names)

    def kept_total(self, total: Any) -> Reward:
        return tuple(map(float, total))

    def shown_total(self, total: Reward) -> float:
        return math.nan

    def as_json(self) -> dict[str, Any]:
        return {"bars": [metric.as_json() for metric in self.metrics]}

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Bars:
        return cls(content["bars"])


def _sum_of(given: Any, told: int) -> float | None:
    """A sum of `told` rewards in [0, 1]; None for anything else."""
    found = number(given)
    return found + 0.0 if found is not None and 0.0 <= found <= told else None  # -0.0 is stored as 0.0


def _listed(given: BarsGiven | Bars) -> Iterable[Any]:
    if isinstance(given, Bars):
        return given.metrics
    if isinstance(given, str):
        return [part for part in given.split(",") if part.strip()]
    if isinstance(given, Mapping):
        return [Metric.read(f"metric {bar}")._replace(name=name) for name, bar in given.items()]
    if not isinstance(given, Iterable):
        raise InvalidValue(f"write several bars as in 'correct >= 0.9, slow <= 0.05'; got {shown(given)}.")
    return given


def _metric(given: Any) -> Metric:
    if isinstance(given, Metric):
        return given
    if isinstance(given, Mapping):
        sides = [side for side in ("at_least", "at_most") if side in given]
        if set(given) != {"metric", *sides} or len(sides) != 1:
            raise InvalidValue(
                f"a bar has a metric and one of at_least and at_most, such as {{'metric': 'slow', 'at_most': 0.05}}; "
                "got "
                f"{shown(dict(given))}."
            )
        return Metric(given["metric"], checked_number("a bar", given[sides[0]]), sides[0] == "at_least")
    return Metric.read(given)


def _check_metric(metric: Metric) -> None:
    name = metric.name
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > 200:
        raise InvalidValue(f"a metric's name must be a printable string of at most 200 characters; got {name!r}.")
    if not 0.0 < metric.bar < 1.0:
        raise InvalidValue(
            f"the bar of {name!r} must lie strictly between 0 and 1, like the metric's mean; got {metric.bar!r}. "
            f"{meant_percent(metric.bar)}Rescale the metric to [0, 1]."
        )


KINDS: tuple[type[Question], ...] = (Threshold, Control, Bars)


class Asking(NamedTuple):
    """Where questions are asked.

    what      : the thing that needs a question, for messages
    in_place  : examples of arguments that have another name or another value there
    words     : how to ask a kind, by its field, where it differs from the kind's `example`
    any_range : whether rewards may have another range than [0, 1] whatever the kind
    """

    what: str
    in_place: Mapping[str, str] = {}
    words: Mapping[str, str] = {}
    any_range: bool = False

    def example(self, argument: str, kind: type[Question]) -> str:
        """The example of an argument."""
        return self.in_place.get(argument, kind.arguments[argument].example)

    def name(self, kind: type[Question]) -> str:
        """The name of the argument by which a kind is recognised."""
        return self.example(kind.field, kind).partition("=")[0]

    def examples(self) -> str:
        """How to ask a question of each kind."""
        return ", or ".join(
            self.words.get(kind.field, kind.example).format_map(
                {name: f"`{self.example(name, kind)}`" for name in kind.arguments}
            )
            for kind in KINDS
            if kind.arguments
        )


CAMPAIGN = Asking("a campaign")
LOG = Asking("a log", {"control": "versus='now'"}, any_range=True)
PLAN = Asking(
    "a plan",
    {"control": "control=0.3"},
    {"control": "the expected mean of a control to compare every arm with ({control}, with its {margin})"},
)


def asked(question: QuestionGiven | None = None, place: Asking = CAMPAIGN, **given: Any) -> Question:
    """The question that these arguments ask, each of which belongs to a kind; or the question itself.

    >>> asked(threshold=0.02), asked(control="now", margin=0.01), asked({"control": "now"})
    (Threshold(value=0.02), Control(arm='now', margin=0.01), Control(arm='now', margin=0.0))
    """
    told = told_of(given)
    if question is not None:
        return whole(question, told)
    made = kind_of(told, place).of(told)
    if not place.any_range:
        made.check_range()
    return made


def whole(question: QuestionGiven, told: Mapping[str, Any]) -> Question:
    """A question that is given as a whole, without other arguments."""
    if told:
        *first, last = (name for kind in KINDS for name in kind.arguments)
        raise InvalidValue(f"{question!r} is the whole question; leave {', '.join(first)} and {last} out.")
    if isinstance(question, Question):
        return question
    if isinstance(question, Mapping):
        return from_json(question)
    raise InvalidValue(f"a question is an object of goodarm.question, or its fields; got {shown(question)}.")


def arguments_in(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that ask a question, among others."""
    names = [name for kind in KINDS for name in kind.arguments if name in given]
    return {name: given[name] for name in names}


def told_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that differ from their defaults."""
    defaults = {name: each.default for kind in KINDS for name, each in kind.arguments.items()}
    return {
        name: value
        for name, value in given.items()
        if value is not None and (defaults[name] is None or percentage(value) != defaults[name])
    }


def kind_of(told: Mapping[str, Any], place: Asking) -> type[Question]:
    """The kind of question that these arguments ask."""
    if not told:
        raise InvalidValue(f"{place.what} needs a bar: give either {place.examples()}.")
    named = [kind for kind in KINDS if kind.field in told]
    if len(named) > 1:
        *others, last = (f"`{place.name(kind)}`" for kind in KINDS if kind.arguments)
        both = " and ".join(f"{place.name(kind)}={told[kind.field]!r}" for kind in named)
        either = " or ".join(f"`{place.name(kind)}`" for kind in named)
        raise InvalidValue(
            f"give one of {', '.join(others)} and {last}: each is a whole question; got both {both}: leave {either} "
            "out."
        )
    for kind in KINDS:
        stray = next((name for name in kind.arguments if name in told and kind not in named), None)
        if stray is not None:
            example = place.example(kind.field, kind)
            raise InvalidValue(f"a {stray} belongs to a {kind.field}: name the {kind.field} too, `{example}`.")
    return named[0]


Answer = TypeVar("Answer")


def registered(answers: Mapping[type[Question], Answer], kind: type[Question], missing: str) -> Answer:
    """The entry of a kind of question in a registry; a kind without one is refused.

    missing : what the kind lacks
    """
    if kind not in answers:
        known = ", ".join(each.__name__ for each in answers)
        raise InvalidValue(f"questions of the kind {kind.__name__} have no {missing}; these kinds have one: {known}.")
    return answers[kind]


def from_json(content: Mapping[str, Any]) -> Question:
    """The question in a journal or a request, recognised by its kind's field.

    >>> from_json({"control": "now", "margin": 0.01, "threshold": None, "delta": 0.05})
    Control(arm='now', margin=0.01)
    """
    given = [kind for kind in KINDS if content.get(kind.field) is not None]
    if len(given) != 1:
        fields = ", ".join(kind.field for kind in KINDS)
        raise InvalidValue(f"a question has exactly one of the fields {fields}; got {sorted(content)}.")
    return given[0].read(content)
