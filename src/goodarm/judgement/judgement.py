"""A judgement: the verdicts on the arms of a log, with their table, sentence, conditions and files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.arguments import plural
from goodarm.forecast import Forecast
from goodarm.judgement.log_columns import LogColumns, noun, pairs_noun
from goodarm.judgement.options import LogOptions
from goodarm.judgement.words import (
    Doubt,
    amount,
    amounts_of,
    conditions,
    estimate,
    looks,
    sentence,
    shared_budget,
    visible,
)
from goodarm.judgement.written import VERDICTS, Captions, Written
from goodarm.plain_table import plain_table
from goodarm.question import UNDECIDED, Question
from goodarm.verdict import Guarantee
from goodarm.wire import jsonable

if TYPE_CHECKING:
    from goodarm.forest import Forest

Floats = NDArray[np.float64]


DAY = len("2026-01-31")


class MetricColumn(NamedTuple):
    """One of several metrics: mean and interval of every arm, in the metric's direction."""

    metric: str
    mean: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Arms:
    """One entry per arm, sorted by verdict (good, bad, undecided) and evidence, in the log's units."""

    segment: tuple[NDArray[np.object_], ...]
    arm: NDArray[np.object_]
    pulls: Floats
    mean: Floats
    low: Floats
    high: Floats
    verdict: NDArray[np.int8]
    evidence: Floats
    needs: Floats
    when: NDArray[Any] | None = None
    metrics: tuple[MetricColumn, ...] = ()
    failed: NDArray[Any] | None = None
    since: NDArray[Any] | None = (
        None  # time of the earlier look whose verdict is kept; None for verdicts of the present look
    )

    def taken(self, which: NDArray[Any]) -> Arms:
        """The arms at these indices, in this order."""
        return Arms(
            tuple(key[which] for key in self.segment),
            self.arm[which],
            self.pulls[which],
            self.mean[which],
            self.low[which],
            self.high[which],
            self.verdict[which],
            self.evidence[which],
            self.needs[which],
            None if self.when is None else self.when[which],
            tuple(MetricColumn(name, *(values[which] for values in rest)) for name, *rest in self.metrics),
            None if self.failed is None else self.failed[which],
            None if self.since is None else self.since[which],
        )

    def word(self, i: int, words: Mapping[int, str]) -> str:
        """The verdict on an arm, with the metric that failed."""
        failed = "" if self.failed is None else self.failed[i]
        return words[int(self.verdict[i])] + (f": {failed}" if failed else "") + self.kept(i)

    def kept(self, i: int) -> str:
        """The day of the earlier look whose verdict is kept, as a suffix of the verdict; empty for today's verdicts."""
        since = None if self.since is None else self.since[i]
        return "" if since is None else f" since {since[:DAY]}"

    def __str__(self) -> str:
        """A table for `print`."""
        return plain_table(
            ["arm", "samples", "mean", "interval", "verdict"],
            [
                [
                    ", ".join(str(part) for part in (*(key[i] for key in self.segment), self.arm[i])),
                    f"{self.pulls[i]:,.0f}",
                    _figure(self.mean[i]),
                    _between(float(self.low[i]), float(self.high[i])),
                    self.word(i, {**VERDICTS, 0: UNDECIDED}),
                ]
                for i in range(self.arm.size)
            ],
        )

    def ranks(self) -> NDArray[np.intp]:
        """Order of the arms: good, bad, undecided, and within each by decreasing evidence."""
        place = np.select([self.verdict == 1, self.verdict == -1], [0, 1], 2)
        strength = np.where(np.isnan(self.evidence), 0.0, self.evidence)
        return np.lexsort((np.arange(self.arm.size), -self.pulls, -strength, place))


@dataclass(frozen=True)
class Judgement(Written):
    """The result of `goodarm.judge`.

    source, rows : name of the log, and number of rows judged
    arms         : the table as arrays
    notes        : columns chosen, rows dropped, and other notes for readers
    roles        : the columns of the log
    case         : how delta is divided among the arms, see `goodarm.judgement.shares`
    forecast     : further rows until half of the undecided arms are decided, at the present shares of traffic; None if
                   there is no forecast
    inputs       : files, folders and globs that were read; no file of the judgement replaces them
    """

    source: str
    rows: int
    options: LogOptions
    roles: LogColumns
    arms: Arms = field(repr=False)
    notes: tuple[str, ...] = ()
    case: str = "fixed"
    forecast: Forecast | None = None
    table_kind: str | None = field(default=None, repr=False)
    inputs: tuple[Path, ...] = field(default=(), repr=False)

    @cached_property
    def by(self) -> tuple[str, ...]:
        """The columns that divide the arms into segments."""
        return self.roles.by

    @cached_property
    def noun(self) -> str:
        """Plural noun for the arms; with segments, for pairs of arm and segment ("banner–country pairs")."""
        return pairs_noun(self.roles.arm, self.by) if self.by else noun(self.roles.arm)

    @cached_property
    def rule(self) -> str:
        """The name of the test that decides."""
        return self.options.kind.rule

    @cached_property
    def conditions(self) -> tuple[str, ...]:
        """Assumptions of the guarantee that the log can't show."""
        return conditions(self.options, self.case, self.arms.arm.size, self.roles.unit)

    @cached_property
    def rule_guarantee(self) -> Guarantee:
        """The guarantee without the conditions."""
        return self.options.identification.guarantee

    @property
    def guarantee(self) -> str:
        """The guarantee with its assumption and every condition that the log casts doubt on.

        The range of rewards is checked, so it is not an assumption.
        """
        assumption, doubts = self.options.scale.family.assumption, self.warnings
        needed = dict.fromkeys([*([assumption] if assumption else []), *(each.condition for each in doubts)])
        scale = self.options.scale
        kind = f"{self.rule_guarantee} for {scale.words}" if scale.cut else str(self.rule_guarantee)
        return f"{kind} {'only if' if doubts else 'if'} {' and '.join(needed)}" if needed else kind

    @property
    def warnings(self) -> tuple[Doubt, ...]:
        """The notes on signs in the log that the verdicts may not be certified."""
        return tuple(note for note in self.notes if isinstance(note, Doubt))

    @property
    def question(self) -> Question:
        """The question about each arm, in the log's units."""
        return self.options.question

    @cached_property
    def captions(self) -> Captions:
        """The words around the table. The heading of the samples names the units if there is a column of units."""
        options = self.options
        column = f", rewards in {options.reward}" if options.reward else ""
        return Captions(
            clears=options.question.phrases(amounts_of(options)).above,
            data=f"{self.source}: {plural(self.rows, 'row')}{column}",
            setting=f"{options.kind.described()}; delta {options.delta:g}, {options.criterion}",
            budget=shared_budget(self.arms.arm.size, sum(1 for _ in self.segments()), options),
            looks=looks(options),
            counted=options.counted if options.unit else "pulls",
            percent=options.scale.bounded and not options.scale.moved,
            needs=options.needs_label,
        )

    def estimate(self, value: float) -> str:
        """A mean or a difference in words."""
        return estimate(value, self.options)

    def parts(self) -> Iterator[tuple[str, str]]:
        """Name and sentence of each segment."""
        for by, arms in self.segments() if self.by else ():
            yield ", ".join(f"{key} {value}" for key, value in by.items()), self.sentence_of(arms)

    def forest(self) -> Forest:
        """Data of the forest plot: lines for the first arms of each verdict, and a histogram of all means."""
        from goodarm.forest import MOST, Forest, density, drawn, short

        arms, options = self.arms, self.options
        first = arms.taken(drawn(arms.verdict))
        names = [" / ".join(map(str, key)) for key in zip(*first.segment, first.arm, strict=True)]
        bar = options.question.bar
        many = arms.arm.size > MOST
        edges, counts, beyond = density(arms.mean, arms.verdict, bar) if many else (np.zeros(0), {}, 0)
        return Forest(
            self.sentence,
            f"{self.captions.data}; {visible(options.kind.described())}, delta {options.delta:g}, "
            f"{self.rule} ({self.guarantee})",
            bar,
            [short(visible(name)) for name in names],
            first.mean,
            first.low,
            first.high,
            first.verdict,
            self.verdict_labels,
            edges,
            counts,
            beyond,
            amount(0.5, options).endswith("%"),
            options.question.labels.estimate,
            options.question.labels.signed,
        )

    @property
    def good(self) -> list[Any]:
        """Names of the arms above the threshold; with `by`, tuples (segment ..., arm)."""
        return self._named(1)

    @property
    def bad(self) -> list[Any]:
        return self._named(-1)

    @property
    def open(self) -> list[Any]:
        """Names of the undecided arms."""
        return self._named(0)

    def _named(self, verdict: int) -> list[Any]:
        chosen = self.arms.taken(self.arms.verdict == verdict)
        return list(zip(*chosen.segment, chosen.arm, strict=True)) if self.by else chosen.arm.tolist()

    @cached_property
    def sentence(self) -> str:
        """The answer in one sentence."""
        return self.sentence_of(self.arms, self.forecast)

    def sentence_of(self, arms: Arms, forecast: Forecast | None = None) -> str:
        """The sentence for some of the arms, such as those of one segment."""
        counted = self.noun if arms is self.arms else noun(self.roles.arm)
        said = sentence(arms.verdict, forecast, counted, self.options)
        if self.options.scale.family.about_bad:
            said += f"; {self.options.scale.family.about_bad}"
        return said if self.guarantee == str(self.rule_guarantee) else f"{said}; {self.guarantee}"

    def segments(self) -> Iterator[tuple[dict[str, str], Arms]]:
        """Each segment with its arms, sorted by the segments' names."""
        if not self.by:
            yield {}, self.arms
            return
        rows: dict[tuple[Any, ...], list[int]] = {}
        for i, key in enumerate(zip(*self.arms.segment, strict=True)):
            rows.setdefault(key, []).append(i)
        for key in sorted(rows):
            yield dict(zip(self.by, key, strict=True)), self.arms.taken(np.array(rows[key]))

    def as_dict(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        head = {
            "source": self.source,
            "rows": self.rows,
            "threshold": None,
            "delta": self.options.delta,
            "criterion": str(self.options.criterion),
            "rule": self.rule,
            "guarantee": self.guarantee,
            "conditions": list(self.conditions),
            "warnings": [each.removeprefix("WARNING: ") for each in self.warnings],
            "notes": [str(each) for each in self.notes if not isinstance(each, Doubt)],
            "shares": self.case,
            "interval": looks(self.options),
        }
        if self.case == "max-arms":
            head["max_arms"] = self.options.max_arms
        if self.case == "ledger":
            head["ledger"] = str(self.options.ledger)
        head |= self.options.kind.as_json()
        if self.options.scale.cut:
            head["cut"] = self.options.scale.high
        forecast = None if self.forecast is None else self.forecast.as_json()
        head |= self._counted(self.arms, self.forecast) | {"rows_to_half": forecast}
        if not self.by:
            return {**head, "arms": self._rows(self.arms)}
        return {
            **head,
            "segments": [{"by": by, **self._counted(arms), "arms": self._rows(arms)} for by, arms in self.segments()],
        }

    def _counted(self, arms: Arms, forecast: Forecast | None = None) -> dict[str, Any]:
        counts = {VERDICTS[value]: int((arms.verdict == value).sum()) for value in (1, -1, 0)}
        return {**counts, "sentence": self.sentence_of(arms, forecast)}

    def _rows(self, arms: Arms) -> list[dict[str, Any]]:
        found = []
        for i in range(arms.arm.size):
            needs = jsonable(arms.needs[i])
            row = {
                "arm": arms.arm[i],
                "pulls": int(arms.pulls[i]),
                "mean": jsonable(arms.mean[i]),
                "low": jsonable(arms.low[i]),
                "high": jsonable(arms.high[i]),
                "verdict": self.words[int(arms.verdict[i])],
                "evidence": jsonable(arms.evidence[i]),
                "needs": None if needs is None else int(needs),
            }
            if arms.when is not None:
                row["when"] = None if arms.when[i] is None else str(arms.when[i])
            if arms.since is not None:
                row["since"] = arms.since[i]
            if arms.failed is not None:
                row["failed"] = arms.failed[i]
                row["metrics"] = {
                    metric.metric: {name: jsonable(getattr(metric, name)[i]) for name in ("mean", "low", "high")}
                    for metric in arms.metrics
                }
            found.append(row)
        return found


def _figure(value: float) -> str:
    """Format a number for a table with four digits."""
    return "unknown" if math.isnan(value) else f"{value:.4g}"


def _between(low: float, high: float) -> str:
    """An interval for a table.

    >>> _between(0.01, 0.5), _between(0.0, math.inf), _between(math.nan, math.nan)
    ('0.01 to 0.5', '0 or more', 'unknown')
    """
    if math.isnan(low) or math.isnan(high):
        return "unknown"
    return f"{_figure(low)} or more" if high == math.inf else f"{_figure(low)} to {_figure(high)}"
