"""How logs answer each kind of question: the checks of its options, its words, and its verdicts.

`goodarm.question` defines the kinds, and `goodarm.engine.evidence` answers them live. `LogOptions` keeps what all kinds
have: columns, units, shares of delta, fixed test sets. A kind that logs can answer has one class in `LOGS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from goodarm.arguments import check_real, meant_percent
from goodarm.errors import InvalidValue, UnreadableTable, UnsoundPairing
from goodarm.problem import Bounded, NonNegative
from goodarm.question import Bars, Control, Question, Threshold
from goodarm.rules.identification import EvidenceRule
from goodarm.verdict import Criterion

if TYPE_CHECKING:
    from goodarm.judgement.judgement import Arms
    from goodarm.judgement.log_columns import LogColumns
    from goodarm.judgement.options import LogOptions, RewardScale
    from goodarm.judgement.shares import Shares
    from goodarm.judgement.sources._base import Floats, LogSource, Progress, Sums


class ReadLog(NamedTuple):
    """The sums of a log: one `Sums` per metric, so a single one unless there are several bars.

    judged : whether each arm gets a verdict; a control gets none
    """

    columns: LogColumns
    sums: tuple[Sums, ...]
    notes: tuple[str, ...]
    judged: NDArray[np.bool_]


Kind = TypeVar("Kind", bound=Question)


@dataclass(frozen=True)
class LogKind(ABC, Generic[Kind]):
    """One kind of question, asked of a log.

    question    : the question, in the log's units
    own_mean    : whether each arm is decided by its own mean against one number
    pairs       : whether the results of a fixed test set are compared case by case
    differences : whether estimates are differences of means
    """

    own_mean: ClassVar[bool] = False
    pairs: ClassVar[bool] = False
    differences: ClassVar[bool] = False

    options: LogOptions
    question: Kind

    @property
    def scaled(self) -> Question:
        """The same question on the rule's scale."""
        return self.question.rescaled(self.options.scale.start, self.options.scale.length)

    @property
    def rule(self) -> str:
        """The name of the test that decides."""
        return self.options.identification.name

    def scale(self) -> RewardScale:
        """The rewards' family and range for this kind of question."""
        return self.options.scale

    def other_rewards(self) -> str:
        """Advice on what to declare if rewards have no known range."""
        return "`rewards='nonnegative'` for amounts of 0 or more without a ceiling"

    @abstractmethod
    def check(self) -> None:
        """Refuse options that don't combine with this kind."""

    @abstractmethod
    def described(self) -> str:
        """The bar in words, for the page and the figure."""

    def as_json(self) -> dict[str, Any]:
        """The question's fields in the answer."""
        return self.question.as_json()

    def terms(self) -> dict[str, Any]:
        """Fields of a ledger that depend on the kind."""
        rule = replace(self.options, graded=False).identification.name
        return {"control": None, **self.question.as_json(), "rule": rule}

    def read(self, source: LogSource, progress: Progress) -> ReadLog:
        """Find the columns, check the filter, and sum up the log."""
        from goodarm.judgement.log_columns import check_filter, choose_columns
        from goodarm.judgement.totals import checked

        options = self.options
        columns = choose_columns(options, source.names(), source.title, source.times())
        filtered = check_filter(options, columns) if options.where is not None else ()
        if options.by_sums and columns.pulls is not None:
            raise UnreadableTable(
                f"{source.title} is a table of totals, and {options.identification.name} needs the rewards "
                "themselves. Give the log, or declare a range: `rewards='bounded:LOW,HIGH'`."
            )
        if options.scale.cut and columns.pulls is not None:
            raise UnreadableTable(
                f"{source.title} is a table of totals, and only single rewards can be cut at {options.scale.high:g}. "
                "Give the log, or declare a range: `rewards='bounded:LOW,HIGH'`."
            )
        sums, notes = checked(source, columns, options, source.sums(columns, options, progress))
        judged = np.ones(sums.arm.size, dtype=bool)
        return ReadLog(columns, (sums,), (*columns.notes, *filtered, *notes), judged)

    @abstractmethod
    def arms(
        self, source: LogSource, read: ReadLog, shares: Shares, progress: Progress
    ) -> tuple[Arms, tuple[str, ...]]:
        """The arms with their verdicts, and notes for readers."""

    # Fixed test sets, judged by their cells

    def of_cells(self, results: Floats, arms: list[str]) -> Floats:
        """The results, arms × cases, that are compared with the bar."""
        return results

    def cell_means(self, means: Floats) -> Floats:
        """Estimates from the means of `of_cells`."""
        return means

    def cell_notes(self, results: Floats, arms: list[str]) -> tuple[str, ...]:
        """Notes for readers on the results, arms × cases; NaN where one is missing."""
        return ()


class ThresholdLog(LogKind[Question]):
    """Each arm's mean against a fixed bar."""

    own_mean = True

    def check(self) -> None:
        scale, bar, name = self.options.scale, self.question.bar, self.question.field
        check_real(**{name: bar})
        if scale.bounded and not scale.low < bar < scale.high:
            hint = meant_percent(bar) if (scale.low, scale.high) == (0.0, 1.0) else ""
            raise InvalidValue(
                f"{name} must lie strictly between {scale.low:g} and {scale.high:g} for {scale.words}; got "
                f"{bar:g}. {hint}Give the rewards' own range, rewards='bounded:LOW,HIGH', or rewards='nonnegative' "
                "for rewards of 0 or more without a ceiling."
            )

    def described(self) -> str:
        from goodarm.judgement.words import amount

        return f"{self.question.field} {amount(self.question.bar, self.options)}"

    def arms(
        self, source: LogSource, read: ReadLog, shares: Shares, progress: Progress
    ) -> tuple[Arms, tuple[str, ...]]:
        from goodarm.judgement.decide import Look, decide, open_units, placed

        options, columns, sums = self.options, read.columns, read.sums[0]
        if options.cell_by_cell:
            from goodarm.judgement.cells import decide_cells

            return decide_cells(source, options, columns, sums, read.judged, shares)
        if sums.weight is not None:
            from goodarm.judgement.weighted import decide_ratios

            return decide_ratios(options, columns, sums, shares)
        totals = np.clip(sums.total, 0.0, sums.pulls) if options.scale.bounded else sums.total
        if options.order is not None:
            from goodarm.judgement.order import decide_in_order

            found, when, notes = decide_in_order(source, options, columns, sums, totals, shares, progress)
            return replace(placed(options, sums, found), when=when), notes
        pending = 0.0 if sums.pending is None else open_units(options, sums)
        look = Look(options, options.problem(sums.arm.size), shares.offset, pending)
        if sums.logs is not None:
            from goodarm.judgement.by_sums import decide_by_sums, notes_on_sums

            found = decide_by_sums(look, sums.pulls, totals, sums.logs)
            return placed(options, sums, found), notes_on_sums(options)
        return placed(options, sums, decide(look, sums.pulls, totals)), ()


class ControlLog(LogKind[Control]):
    """Each arm's mean against that of a control, by the totals of both, or case by case on a fixed test set."""

    pairs = True
    differences = True

    @property
    def rule(self) -> str:
        if self.options.cell_by_cell:
            return super().rule
        return "versus-squares" if self.options.by_squares else "versus"

    def scale(self) -> RewardScale:
        """Rewards with a cap are compared as min(reward, cap), which lies in [0, cap].

        The certificate then applies to the means of the cut rewards of the arm and the control.
        """
        scale = self.options.scale
        if type(scale.family) is NonNegative and scale.family.cap is not None:
            return replace(scale, family=Bounded(), low=0.0, high=float(scale.family.cap), cut=True)
        return scale

    def other_rewards(self) -> str:
        return "`rewards='nonnegative:CAP'` to compare amounts cut at CAP"

    def check(self) -> None:
        options = self.options
        if not options.scale.bounded:
            raise InvalidValue(
                "a comparison with a control is certified for bounded rewards only. Compare rewards cut at a cap, "
                "`rewards='nonnegative:CAP'`, or declare the largest possible reward, "
                "`rewards='bounded:0,HIGH'`, or judge against a fixed bar: `threshold=X` in place of `versus`."
            )
        if not abs(self.question.margin) < options.scale.length:
            raise InvalidValue(
                f"margin must be less than the rewards' range {options.scale.length:g}; got {self.question.margin:g}."
            )
        for name in ("order", "rule", "propensity"):
            if getattr(options, name) is not None:
                raise InvalidValue(f"`versus` uses its own test on totals. Leave `{name}` out.")
        if options.unit is not None and options.per_unit == "ratio":
            raise InvalidValue("`per_unit='ratio'` needs a threshold; comparisons with a control use mean, any or sum.")
        if options.case is not None and options.score is not None:
            raise InvalidValue("scores require a comparison with a threshold. Leave `score` or `versus` out.")

    def described(self) -> str:
        from goodarm.judgement.words import estimate, visible

        return f"against {visible(self.question.arm)}, margin {estimate(self.question.margin, self.options)}"

    def as_json(self) -> dict[str, Any]:
        return {"versus": self.question.arm, "margin": self.question.margin}

    def terms(self) -> dict[str, Any]:
        return {**self.question.as_json(), "rule": self.rule}

    def read(self, source: LogSource, progress: Progress) -> ReadLog:
        from goodarm.judgement.versus import control_of

        read = super().read(source, progress)
        is_control = control_of(self.question.arm, read.sums[0], source.title)
        if is_control.all():
            raise UnreadableTable(f"{source.title}: there is no arm besides the control {self.question.arm!r}.")
        return read._replace(judged=~is_control)

    def arms(
        self, source: LogSource, read: ReadLog, shares: Shares, progress: Progress
    ) -> tuple[Arms, tuple[str, ...]]:
        if self.options.cell_by_cell:
            from goodarm.judgement.cells import decide_cells

            return decide_cells(source, self.options, read.columns, read.sums[0], read.judged, shares)
        from goodarm.judgement.versus import decide_segments

        return decide_segments(self.options, read.sums[0], read.judged, shares)

    def of_cells(self, results: Floats, arms: list[str]) -> Floats:
        """(1 + x - x0)/2 of the results of arm and control (`goodarm.rules.identification.paired`)."""
        halves: Floats = 0.5 * (1.0 + results - results[arms.index(self.question.arm)])
        return halves

    def cell_means(self, means: Floats) -> Floats:
        return 2.0 * means - 1.0

    def cell_notes(self, results: Floats, arms: list[str]) -> tuple[str, ...]:
        from goodarm.judgement.words import visible

        name, known = visible(self.question.arm), ~np.isnan(results)
        control = known[arms.index(self.question.arm)]
        others = np.delete(known, arms.index(self.question.arm), axis=0).any(axis=0)
        notes = [f"the mean is the mean difference from {name} over the cases with results of both"]
        if lacking := int((others & ~control).sum()):
            notes.append(
                f"{name} has no result on {lacking:,} of the {int(others.sum()):,} cases on which other arms have one. "
                f"These are incomplete until {name} is evaluated on them"
            )
        return tuple(notes)


class BarsLog(LogKind[Bars]):
    """Several metrics, each a column with its bar (`goodarm.judgement.bars`)."""

    def other_rewards(self) -> str:
        return "leave out metrics that are not shares"

    def check(self) -> None:
        options = self.options
        given = ("reward", "pulls", "total", "order", "propensity", "case", "denominator")
        wrong = next((name for name in given if getattr(options, name) is not None), None)
        if wrong is not None:
            raise InvalidValue(f"with several bars each metric is a column of the log; leave `{wrong}` out.")
        scale = options.scale
        if type(scale.family) is not Bounded or scale.moved or options.per_unit not in ("mean", "any"):
            raise InvalidValue(
                "several bars need metrics in [0, 1]; leave `rewards` out, and combine the rows of units by mean or "
                "any."
            )
        if options.criterion is Criterion.FDR:
            raise InvalidValue("several bars require the criterion fwer, which decides each arm separately.")
        if not (isinstance(options.identification, EvidenceRule) and options.identification.totals is not None):
            raise UnsoundPairing(
                f"several bars need a rule whose evidence follows from totals, and {options.rule} does not. Leave it "
                "out."
            )

    def described(self) -> str:
        return f"distances from {len(self.question.metrics)} bars"

    def read(self, source: LogSource, progress: Progress) -> ReadLog:
        from goodarm.judgement.bars import sums_of_all

        return sums_of_all(source, self.options, self.question, progress)

    def arms(
        self, source: LogSource, read: ReadLog, shares: Shares, progress: Progress
    ) -> tuple[Arms, tuple[str, ...]]:
        from goodarm.judgement.bars import decide_bars

        note = (
            "mean and interval are those of the smallest distance of a metric from its bar, negative where it fails; "
            "rows needed are not estimated with several bars"
        )
        return decide_bars(self.options, self.question, read.sums, shares.offset), (note,)


LOGS: dict[type[Question], Callable[[LogOptions, Any], LogKind[Any]]] = {
    Threshold: ThresholdLog,
    Control: ControlLog,
    Bars: BarsLog,
}
