"""The options of `judge`: question, columns, error probability. All of them are checked before the log is read."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goodarm.arguments import check_whole, plural_of, read_duration
from goodarm.errors import InvalidValue, UnknownName, UnsoundPairing
from goodarm.judgement.kinds import LOGS, LogKind
from goodarm.policies.names import identification_names, identification_rule, sampling_names
from goodarm.problem import (
    LARGEST_SCALE,
    LEAST_SCALE,
    Bounded,
    GradedCases,
    NonNegative,
    Problem,
    Rewards,
    ScoredCases,
    UpTo,
    rewards_from_text,
)
from goodarm.question import PER_UNIT, Question, Threshold, registered  # noqa: F401  Threshold: the example
from goodarm.rules.identification import EvidenceRule, IdentificationRule, ModelRule
from goodarm.rules.identification.bet_mixture import bet_mixture, bets
from goodarm.rules.identification.gap_mixture import GAPS
from goodarm.rules.identification.with_scores import score_bets
from goodarm.verdict import Criterion, Guarantee

if TYPE_CHECKING:
    from goodarm.judgement.log_columns import LogColumns

NULLS = ("error", "drop", "zero")
SLACK = 1e-9
"""Share of the range by which a sum of rounded numbers may exceed it."""
LARGEST_AMOUNT = 1e300
"""Largest reward of a log without a declared range."""
BY_TOTALS = "gap-mixture"
BY_SUMS = "bet-mixture"
IN_ORDER = "learned-bets"
"""Default rules."""


@dataclass(frozen=True)
class RewardScale:
    """The rewards' family and, where they are bounded, their own range.

    cut : whether rewards above `high` count as `high` instead of being refused

    bounded       : whether the rewards have a range
    start, length : a reward x is (x - start)/length on the rule's scale
    moved         : whether the rewards are on another scale than the rules
    limits        : the smallest and the largest reward to judge
    """

    family: Rewards = Bounded()  # noqa: RUF009  frozen, and so shared
    low: float = 0.0
    high: float = 1.0
    cut: bool = False
    bounded: bool = field(init=False)
    start: float = field(init=False)
    length: float = field(init=False)
    moved: bool = field(init=False)
    limits: tuple[float, float] = field(init=False)

    def __post_init__(self) -> None:
        bounded = isinstance(self.family, Bounded)
        limits = 0.0 if self.cut or isinstance(self.family, NonNegative) else -LARGEST_AMOUNT, LARGEST_AMOUNT
        derived = {
            "bounded": bounded,
            "start": self.low if bounded else 0.0,
            "length": self.high - self.low if bounded else 1.0,
            "moved": bounded and (self.low, self.high) != (0.0, 1.0),
            "limits": (self.low, self.high) if bounded and not self.cut else limits,
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @property
    def words(self) -> str:
        if self.cut:
            return f"rewards cut at {self.high:g}"
        return f"rewards in [{self.low:g}, {self.high:g}]" if self.bounded else str(self.family)

    @property
    def unit_limits(self) -> tuple[float, float]:
        """The smallest and the largest sum of a unit on the rule's scale, with a tolerance for rounding."""
        low, high = ((limit - self.start) / self.length for limit in self.limits)
        return low - SLACK, high + SLACK


def read_scale(text: str | Rewards) -> RewardScale:
    """`bounded`, `bounded:LOW,HIGH`, `nonnegative`, `nonnegative:CAP`, `gaussian:SCALE`, or a reward family.

    >>> read_scale("bounded:1,5").words
    'rewards in [1, 5]'
    """
    if isinstance(text, UpTo):
        return RewardScale(high=text.cap)
    if not isinstance(text, str):
        return RewardScale(text)
    kind, _, rest = text.partition(":")
    try:
        numbers = [float(part) for part in rest.split(",")] if rest else []
    except ValueError:
        numbers = [math.nan]
    if kind == "bounded" and len(numbers) in (0, 2):
        low, high = numbers or (0.0, 1.0)
        if low < high and math.isfinite(low) and math.isfinite(high):
            if not LEAST_SCALE <= high - low <= LARGEST_SCALE:
                raise InvalidValue(
                    f"the range of rewards {text!r} must be between {LEAST_SCALE:g} and {LARGEST_SCALE:g} wide. Use "
                    "another unit."
                )
            return RewardScale(low=low, high=high)
    unbounded = kind in ("nonnegative", "gaussian", "sub-gaussian")
    if unbounded and len(numbers) == (kind != "nonnegative" or bool(rest)) and not any(map(math.isnan, numbers)):
        return RewardScale(rewards_from_text(text))
    raise InvalidValue(
        f"can't read rewards {text!r}. Write bounded, bounded:LOW,HIGH (such as bounded:1,5), nonnegative, "
        "nonnegative:CAP, "
        "gaussian:SCALE or sub-gaussian:SCALE."
    )


@dataclass(frozen=True)
class LogOptions:
    """All options of `judge`. The constructor refuses invalid combinations.

    question : the question about each arm, in the log's units
    """

    question: Question
    delta: float = 0.05
    arm: str | None = None
    reward: str | None = None
    pulls: str | None = None
    total: str | None = None
    where: str | None = None
    scale: RewardScale = RewardScale()
    criterion: Criterion = Criterion.FWER
    rule: str | None = None
    by: tuple[str, ...] = ()
    order: str | None = None
    nulls: str = "error"
    propensity: str | None = None
    cap: float | None = None
    time: str | None = None
    max_arms: int | None = None
    ledger: str | Path | None = None
    by_appearance: bool = False
    unit: str | None = None
    per_unit: str = "mean"
    denominator: str | None = None
    unit_limit: float | None = None
    window: str | float | timedelta | None = None
    case: str | None = None
    cases: int | None = None
    repeats: int | None = None
    score: str | None = None
    drawn: str | None = None
    graded: bool = False
    """Whether the log has any reward strictly between the ends of the range."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", self.kind.scale())
        if not self.scale.bounded or self.scale.moved:
            self.question.check_percentages(self.scale.words)
        self.kind.check()
        self.problem(1)
        if self.nulls not in NULLS:
            raise UnknownName("way to treat NULLs", self.nulls, NULLS)
        if self.propensity is not None or self.cap is not None:
            self._check_propensity()
        if (self.pulls is None) != (self.total is None):
            raise InvalidValue("a table of totals needs both columns: give `pulls` and `total`.")
        if self.pulls is not None and (self.reward is not None or self.order or self.propensity):
            raise InvalidValue(
                "`pulls` and `total` are columns of a table of totals, which can't be combined with `reward`, `order` "
                "or `propensity`. Leave these out."
            )
        if self.shares_given:
            self._check_shares()
        if self.time is not None and self.pulls is not None:
            raise InvalidValue("a table of totals has no time of each row; leave `time` out.")
        if self.per_unit not in PER_UNIT:
            raise UnknownName("way to combine the rows of a unit", self.per_unit, PER_UNIT)
        if self.unit is not None:
            self._check_unit()
        elif (self.per_unit, self.denominator, self.unit_limit, self.window) != ("mean", None, None, None):
            raise InvalidValue("`per_unit`, `denominator`, `unit_limit` and `window` need a unit; give `unit=COLUMN`.")
        if self.case is not None:
            self._check_cases()
        elif self.repeats is not None or self.score is not None:
            raise InvalidValue("`repeats` and `score` require a fixed test set. Name its column: `case=COLUMN`.")
        elif self.cases is not None:
            raise InvalidValue("`cases` is the size of a fixed test set. Name its column as well: `case=COLUMN`.")
        self._check_rule()

    @property
    def shares_given(self) -> bool:
        """Whether the caller chose how later arms share delta."""
        return self.max_arms is not None or self.ledger is not None or self.by_appearance

    @cached_property
    def kind(self) -> LogKind[Any]:
        """The kind of question, with everything that depends on it."""
        answers = registered(LOGS, type(self.question), "judgement of logs in `goodarm.judgement.kinds.LOGS`")
        return answers(self, self.question)

    def terms(self, columns: LogColumns) -> dict[str, Any]:
        """Options that must be the same at every look with a ledger: those that affect an arm's evidence."""
        fixed = ("nulls", "where", "cap", "unit_limit", "seconds", "cases", "repeats")
        return {
            "threshold": None,
            "delta": self.delta,
            "margin": 0.0,
            **{name: getattr(self, name) for name in fixed},
            **self.kind.terms(),
            "criterion": str(self.criterion),
            "rewards": self.scale.words,
            **{name: getattr(columns, name) for name in ("arm", "reward", "pulls", "total", "order", "propensity")},
            "by": list(columns.by),
            "unit": columns.unit,
            "time": columns.time if self.window is not None else None,
            "per_unit": self.per_unit if columns.unit else None,
            "denominator": columns.denominator,
            **{name: getattr(self, name) for name in ("drawn", "score")},
        }

    @property
    def seconds(self) -> float | None:
        """The window of a unit in seconds."""
        return read_duration(self.window, "window")

    @property
    def weighted(self) -> bool:
        """Whether an arm's mean is a ratio of two sums."""
        return self.propensity is not None or (self.unit is not None and self.per_unit == "ratio")

    @property
    def open_at_worst(self) -> bool:
        """Whether units whose window is open count at their worst; if not, they are left out.

        `goodarm.judgement.decide.open_units` has the proofs for both.
        """
        return self.criterion is Criterion.FDR

    def problem(self, arms: int) -> Problem:
        """The problem with this many arms, on the rule's scale: [0, 1] for bounded rewards."""
        return self.kind.scaled.problem(arms, self.delta, self.scale.family)

    @property
    def identification(self) -> IdentificationRule:
        if type(self.scale.family) in (GradedCases, ScoredCases):
            return bet_mixture if self.score is None else score_bets
        if isinstance(self.scale.family, NonNegative):
            return identification_rule(self.rule or BY_SUMS)
        if self.graded and self.by_values:
            return bet_mixture
        return identification_rule(self.rule or (IN_ORDER if self.order and self.scale.bounded else BY_TOTALS))

    @property
    def by_values(self) -> bool:
        """Whether the rewards choose between `gap-mixture` (all are 0 or 1) and `bet-mixture` (some lie in between).

        Certified: the evidence of `bet-mixture` is at least that of `gap-mixture`, and the same if all rewards are 0 or
        1 (proof in `rules/identification/bet_mixture.py`). The verdicts are those of one rule, computed by sums where
        totals would lose evidence. This does not hold for intervals at other thresholds than the bar: they assume that
        whether rewards are graded is a property of the metric, not of chance.
        """
        plain = self.rule is None and self.order is None and self.case is None and not self.weighted
        return plain and self.scale.bounded and self.kind.own_mean

    @property
    def cell_by_cell(self) -> bool:
        """Whether a fixed test set is judged by its cells, not by totals of 0/1 results."""
        special = (self.repeats, self.score, self.drawn)
        return self.case is not None and (
            self.kind.pairs
            or any(each is not None for each in special)
            or type(self.scale.family) in (GradedCases, ScoredCases)
        )

    @property
    def counted(self) -> str:
        """Plural noun for the samples: the units if a column names them, the cases of a test set, otherwise rows.

        >>> LogOptions(Threshold(0.02), unit="user_id").counted, LogOptions(Threshold(0.02)).counted
        ('users', 'rows')
        """
        if self.unit is None:
            return "rows" if self.case is None else "cases"
        noun = self.unit.removesuffix("_id").removesuffix(" id")
        return noun if noun.endswith("s") or not noun[-1:].isalpha() else plural_of(noun)

    @property
    def needs_label(self) -> str:
        """Heading of the column with the samples that undecided arms need: an estimate, or the cases left.

        Evidence on cells depends on their order and has no estimate. The last case decides with certainty.
        """
        return "needs at most" if self.cell_by_cell else "needs about"

    @property
    def by_squares(self) -> bool:
        """Whether sums of squares are needed: in comparisons with a control, unless rewards are declared as 0/1."""
        summed_up = self.unit is not None and self.per_unit in ("mean", "sum")
        return self.kind.differences and self.case is None and self.pulls is None and (summed_up or self.scale.moved)

    @property
    def by_sums(self) -> bool:
        """Whether the verdict follows from sums of logarithms, one for each bet."""
        return self.kind.own_mean and self.order is None and self.identification.name == BY_SUMS

    @property
    def bets(self) -> list[float]:
        """The bets of `bet-mixture` on the rule's scale; without a ceiling, only bets on a mean above the bar."""
        bar = self.problem(1).bar
        return [float(bet) for bet in bets(bar)[: len(GAPS) if math.isinf(bar.ceiling) else None]]

    def _check_propensity(self) -> None:
        if (self.propensity is None) != (self.cap is None):
            raise InvalidValue(
                "`propensity` and `cap` require each other: weights 1/propensity without a cap are unbounded, and "
                "self-normalised weights have no certificate. Write `propensity=COLUMN` "
                "and `cap=20`."
            )
        if self.cap is not None and not (self.cap >= 1.0 and math.isfinite(self.cap)):
            raise InvalidValue(f"cap, the largest weight, must be a number of at least 1; got {self.cap:g}.")
        if not self.scale.bounded or self.order or self.nulls == "zero":
            raise InvalidValue("`propensity` needs bounded rewards, no `order`, and `nulls='error'` or drop.")

    def _check_shares(self) -> None:
        given = [
            name
            for name, value in (
                ("`max_arms`", self.max_arms),
                ("`ledger`", self.ledger),
                ("`by_appearance`", self.by_appearance or None),
            )
            if value is not None
        ]
        if len(given) > 1:
            raise InvalidValue(
                f"{' and '.join(given)} divide delta among the arms in different ways. Give only one of them."
            )
        if self.max_arms is not None:
            check_whole("max_arms", self.max_arms, least=1)
        if self.by_appearance and self.time is None and self.order is None:
            raise InvalidValue("`by_appearance` needs the time of each row. Give `time=COLUMN` or `order=COLUMN`.")

    def _check_unit(self) -> None:
        ratio = self.per_unit == "ratio"
        for name, given in (("`order`", self.order), ("`propensity`", self.propensity), ("`pulls`", self.pulls)):
            if given is not None:
                raise InvalidValue(f"`unit` combines all rows of a unit into one reward. Leave {name} out.")
        if ratio != (self.unit_limit is not None) or (self.denominator is not None and not ratio):
            raise InvalidValue(
                "`per_unit='ratio'` needs `unit_limit=D`, the largest number of rows of a unit (or sum of its "
                "`denominator`), fixed before looking. The other ways to combine rows have neither."
            )
        if self.unit_limit is not None and not (self.unit_limit > 0.0 and math.isfinite(self.unit_limit)):
            raise InvalidValue(f"unit_limit must be a positive number; got {self.unit_limit!r}.")
        if (ratio or self.per_unit == "any") and (not self.scale.bounded or self.scale.moved or self.scale.cut):
            raise InvalidValue(
                f"`per_unit='{self.per_unit}'` needs rewards in [0, 1]. For amounts such as revenue, judge the sum or "
                "the mean of each unit: `per_unit='sum'` or `per_unit='mean'`."
            )
        if self.window is not None and self.open_at_worst and not (self.scale.bounded and self.kind.own_mean):
            raise InvalidValue(
                "with `criterion='fdr'`, a `window` counts open units at their worst, which requires bounded rewards "
                "and a threshold. Leave `criterion` out; open units are then left out."
            )
        self.seconds  # noqa: B018  a window that can't be read is refused here

    def _check_cases(self) -> None:
        if self.cases is not None:
            check_whole("cases", self.cases, least=1)
        if self.repeats is not None:
            check_whole("repeats", self.repeats, least=1)
        if self.cell_by_cell and (self.criterion is Criterion.FDR or self.rule is not None):
            raise InvalidValue(
                "results by case are judged by bets on single cases under fwer. Leave `criterion` and `rule` out."
            )
        if self.by:
            raise InvalidValue("a fixed test set is judged as a whole. Leave `by` out.")
        plain = self.scale.bounded and not (self.scale.moved or self.scale.cut) and self.window is None
        if self.per_unit not in ("mean", "any") or not plain:
            raise InvalidValue("the reward of a case is 0 or 1, once per arm; leave unit, window and rewards out.")

    def _check_rule(self) -> None:
        if self.rule is not None and self.rule not in identification_names():
            if self.rule in sampling_names():
                raise InvalidValue(
                    f"`rule={self.rule!r}`: {self.rule} is a policy's rule for choosing arms. It gives no verdicts. "
                    f"For a log leave `rule` out, or use a rule by totals, such as `rule={BY_TOTALS!r}`."
                )
            raise UnknownName("identification rule", self.rule, identification_names())
        rule = self.identification
        if not rule.valid_for(self.scale.family):
            other = BY_SUMS if isinstance(self.scale.family, NonNegative) else BY_TOTALS
            raise UnsoundPairing(f"{rule.name} is not valid for {self.scale.words}. Use `rule='{other}'`.")
        if rule.guarantee is not Guarantee.CERTIFIED or isinstance(rule, ModelRule):
            raise UnsoundPairing(f"{rule.name} gives no certified verdicts on logs. Use `rule='{BY_TOTALS}'`.")
        if not (self.order or self.cell_by_cell or rule.by_totals or rule.name == BY_SUMS):
            raise UnsoundPairing(
                f"{rule.name} needs the rewards in their order, which totals don't have. Give `order=COLUMN`, or use "
                f"`rule='{BY_TOTALS}'`."
            )
        if rule.name != BY_TOTALS and self.weighted:
            raise UnsoundPairing(
                f"weighted rewards are judged only by {BY_TOTALS}, not by {rule.name}. Leave `rule` out."
            )
        if self.criterion is Criterion.FDR and not isinstance(rule, EvidenceRule):
            raise UnsoundPairing(f"the false discovery rate needs evidence, and {rule.name} has none. Use {BY_TOTALS}.")
