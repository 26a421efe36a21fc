"""A judgement: the verdicts on the arms of a log, with their table, sentence, conditions and files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.errors import MissingExtra
from goodarm.forecast import Forecast
from goodarm.judgement.question import Question
from goodarm.judgement.words import LOOKS, Doubt, sentence
from goodarm.plain_table import plain_table
from goodarm.question import UNDECIDED
from goodarm.verdict import Guarantee

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
VERDICTS = {1: "good", -1: "bad", 0: "open"}
"""Names of the verdicts in JSON and style sheets, the same for every kind of question."""
TABLES: tuple[Literal["pyarrow", "polars", "pandas"], ...] = ("pyarrow", "polars", "pandas")


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

    def taken(self, which: NDArray[Any]) -> Arms:
        """Some of the arms, in this order."""
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
        )

    def word(self, i: int, words: Mapping[int, str]) -> str:
        """The verdict on an arm, with the metric that failed."""
        failed = "" if self.failed is None else self.failed[i]
        return words[int(self.verdict[i])] + (f": {failed}" if failed else "")

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

    def ranked(self) -> Arms:
        """Order of the arms: good, bad, undecided, and within each by decreasing evidence."""
        place = np.select([self.verdict == 1, self.verdict == -1], [0, 1], 2)
        strength = np.where(np.isnan(self.evidence), 0.0, self.evidence)
        return self.taken(np.lexsort((np.arange(self.arm.size), -self.pulls, -strength, place)))


@dataclass(frozen=True)
class Judgement:
    """The result of `goodarm.judge`.

    source, rows : name of the log, and number of rows judged
    arms         : the table as arrays
    notes        : columns chosen, rows dropped, and other notes for readers
    conditions   : assumptions of the guarantee that the log can't show
    case         : how delta is divided among the arms, see `goodarm.judgement.shares`
    noun, segment_noun : what is counted, in the plural: over all segments ("banner–country pairs") and in one of them
    forecast     : further rows until half of the undecided arms are decided, at the present shares of traffic; None if
                   there is no forecast
    """

    source: str
    rows: int
    question: Question
    rule: str
    rule_guarantee: Guarantee
    noun: str
    arms: Arms = field(repr=False)
    notes: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    case: str = "fixed"
    forecast: Forecast | None = None
    by: tuple[str, ...] = ()
    table_kind: str | None = field(default=None, repr=False)
    segment_noun: str = ""

    @property
    def guarantee(self) -> str:
        """The guarantee with its assumption and with every condition that the log casts doubt on.

        The range of rewards is checked, so it is not an assumption.
        """
        assumption, doubts = self.question.scale.family.assumption, self.warnings
        needed = dict.fromkeys([*([assumption] if assumption else []), *(each.condition for each in doubts)])
        if not needed:
            return str(self.rule_guarantee)
        return f"{self.rule_guarantee} {'only if' if doubts else 'if'} {' and '.join(needed)}"

    @property
    def warnings(self) -> tuple[Doubt, ...]:
        """The notes on signs in the log that the verdicts may not be certified."""
        return tuple(note for note in self.notes if isinstance(note, Doubt))

    @property
    def words(self) -> dict[int, str]:
        """The verdicts in the words of the question."""
        return {sign: self.question.asked.word(sign) for sign in VERDICTS}

    @property
    def verdict_labels(self) -> dict[int, str]:
        """The same for the page and the figure."""
        return {sign: self.question.asked.label(sign) for sign in VERDICTS}

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
        """The same for some of the arms: those of one segment, if there are segments."""
        noun = self.noun if arms is self.arms else self.segment_noun or self.noun
        said = sentence(arms.verdict, forecast, noun, self.question)
        if self.question.scale.family.about_bad:
            said += f"; {self.question.scale.family.about_bad}"
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

    def columns(self) -> dict[str, Any]:
        """The table as a dict of columns."""
        arms = self.arms
        found: dict[str, Any] = dict(zip(self.by, (list(key) for key in arms.segment), strict=True))
        found |= {
            "arm": arms.arm.tolist(),
            "pulls": arms.pulls.astype(np.int64).tolist(),
            "mean": arms.mean.tolist(),
            "low": arms.low.tolist(),
            "high": arms.high.tolist(),
            "verdict": [self.words[int(verdict)] for verdict in arms.verdict],
            "guarantee": [self.guarantee] * arms.arm.size,
            "evidence": arms.evidence.tolist(),
            "needs": [None if math.isnan(n) else n for n in arms.needs.tolist()],
        }
        if arms.when is not None:
            found["when"] = arms.when.tolist()
        for metric in arms.metrics:
            found |= {f"{metric.metric} {name}": getattr(metric, name).tolist() for name in ("mean", "low", "high")}
        if arms.failed is not None:
            found["failed"] = arms.failed.tolist()
        return found

    @property
    def table(self) -> Any:
        """The table as a dataframe: of the judged kind if the log was one, or else of an installed library."""
        import narwhals as nw

        wanted = [name for name in TABLES if name == self.table_kind]
        for name in [*wanted, *TABLES]:
            if find_spec(name) is not None:
                return nw.from_dict(self.columns(), backend=name).to_native()
        raise MissingExtra("a judgement's table", "logs")

    def as_dict(self) -> dict[str, Any]:
        """What `--json` prints."""
        head = {
            "source": self.source,
            "rows": self.rows,
            "threshold": self.question.threshold,
            "delta": self.question.delta,
            "criterion": str(self.question.criterion),
            "rule": self.rule,
            "guarantee": self.guarantee,
            "conditions": list(self.conditions),
            "warnings": [each.removeprefix("WARNING: ") for each in self.warnings],
            "notes": [str(each) for each in self.notes if not isinstance(each, Doubt)],
            "shares": self.case,
            "interval": LOOKS,
        }
        if self.case == "max-arms":
            head["max_arms"] = self.question.max_arms
        if self.case == "ledger":
            head["ledger"] = str(self.question.ledger)
        head |= self.question.kind.as_json()
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
            row = {
                "arm": arms.arm[i],
                "pulls": int(arms.pulls[i]),
                "mean": _known(arms.mean[i]),
                "low": _known(arms.low[i]),
                "high": _known(arms.high[i]),
                "verdict": self.words[int(arms.verdict[i])],
                "evidence": _known(arms.evidence[i]),
                "needs": int(arms.needs[i]) if math.isfinite(arms.needs[i]) else None,
            }
            if arms.when is not None:
                row["when"] = None if arms.when[i] is None else str(arms.when[i])
            if arms.failed is not None:
                row["failed"] = arms.failed[i]
                row["metrics"] = {
                    metric.metric: {name: _known(getattr(metric, name)[i]) for name in ("mean", "low", "high")}
                    for metric in arms.metrics
                }
            found.append(row)
        return found

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame."""
        if find_spec("pandas") is None:
            raise MissingExtra("to_pandas", "frames")
        import pandas as pd

        return pd.DataFrame(self.columns())

    def to_csv(self, path: str | Path) -> Path:
        """Write the table as CSV; returns the path."""
        from goodarm.judgement.files import csv_file
        from goodarm.whole_files import write_whole

        return write_whole(path, lambda part: csv_file(self, part))

    def to_excel(self, path: str | Path) -> Path:
        """Write the table as an Excel workbook, with the sentence and the conditions on a second sheet."""
        if find_spec("openpyxl") is None:
            raise MissingExtra("to_excel", "excel")
        from goodarm.judgement.files import excel_file
        from goodarm.whole_files import write_whole

        return write_whole(path, lambda part: excel_file(self, part))

    def to_html(self, path: str | Path) -> Path:
        """Write the page: sentence, intervals and conditions in one HTML file that needs no network."""
        from goodarm.judgement.page import page
        from goodarm.whole_files import write_whole

        return write_whole(path, lambda part: part.write_text(page(self), encoding="utf-8"))

    def save(self, folder: str | Path) -> list[Path]:
        """Write the table as CSV and Parquet, the forest plot as SVG and PNG, and the page; returns the paths.

        This is what `goodarm judge --out` writes.
        """
        from goodarm.judgement.files import write

        return write(self, Path(folder))

    def plot(self) -> Figure:
        """The forest plot: each arm's interval and the bar."""
        from goodarm.forest import draw
        from goodarm.judgement.figure import info

        return draw(info(self))

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        from goodarm.judgement.page import notebook

        return notebook(self)


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


def _known(value: float) -> float | None:
    """A number for JSON, which has neither NaN nor infinity: None in place of these."""
    return float(value) if math.isfinite(value) else None
