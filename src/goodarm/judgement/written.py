"""Verdicts that can be written: their table as CSV, Parquet, Excel and dataframes, their page, and their forest plot.

`Judgement` is one kind of them, and `goodarm.campaign.written.WrittenCampaign` the other. `goodarm.judgement.page` and
`goodarm.judgement.files` write both.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from goodarm.errors import MissingExtra
from goodarm.question import Question
from goodarm.verdict import Guarantee

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from goodarm.forest import Forest
    from goodarm.judgement.judgement import Arms

VERDICTS = {1: "good", -1: "bad", 0: "open"}
"""Names of the verdicts in JSON and style sheets, the same for every kind of question."""
TABLES: tuple[Literal["pyarrow", "polars", "pandas"], ...] = ("pyarrow", "polars", "pandas")


class Captions(NamedTuple):
    """The words around the table of arms, and whether its means are shares.

    clears  : the good verdict as a part of a sentence: "above 2%"
    data    : name and size of the data: "log.csv: 1,000 rows"
    setting : the bar, delta and criterion
    budget  : the error that delta bounds
    looks   : note on intervals and repeated looks
    counted : heading of the column with the number of samples
    needs   : heading of the column with the samples that undecided arms still need; empty if there is none
    """

    clears: str
    data: str
    setting: str
    budget: str
    looks: str
    counted: str
    percent: bool
    needs: str = ""


class Written(ABC):
    """The content of the files.

    arms           : the table as arrays
    by             : columns that divide the arms into segments
    rule, rule_guarantee : the test that decides, and its guarantee without conditions
    notes          : notes notes for readers; those in `warnings` are shown first
    conditions     : assumptions of the guarantee that the data can't show
    noun           : plural noun for what is counted
    table_kind     : the preferred library of dataframes
    inputs         : files, folders and globs that were read; no file replaces them
    """

    arms: Arms
    notes: tuple[str, ...] = ()
    table_kind: str | None = None
    inputs: tuple[Path, ...] = ()

    if TYPE_CHECKING:  # fields of one subclass, properties of the other

        @property
        def by(self) -> tuple[str, ...]: ...
        @property
        def rule(self) -> str: ...
        @property
        def rule_guarantee(self) -> Guarantee: ...
        @property
        def conditions(self) -> tuple[str, ...]: ...
        @property
        def noun(self) -> str: ...
    else:
        by = ()

    @property
    @abstractmethod
    def question(self) -> Question:
        """The question about each arm."""

    @property
    @abstractmethod
    def sentence(self) -> str:
        """The answer in one sentence."""

    @property
    @abstractmethod
    def guarantee(self) -> str:
        """The guarantee with its assumptions."""

    @property
    @abstractmethod
    def warnings(self) -> tuple[str, ...]:
        """Signs that the verdicts may not be certified."""

    @property
    @abstractmethod
    def captions(self) -> Captions:
        """The words around the table."""

    @abstractmethod
    def estimate(self, value: float) -> str:
        """A mean or a difference in words."""

    @abstractmethod
    def parts(self) -> Iterator[tuple[str, str]]:
        """Name and sentence of each segment."""

    @abstractmethod
    def forest(self) -> Forest:
        """Data of the forest plot."""

    @property
    def words(self) -> dict[int, str]:
        """The verdicts in the words of the question."""
        return {sign: self.question.word(sign) for sign in VERDICTS}

    @property
    def verdict_labels(self) -> dict[int, str]:
        """The same for the page and the figure."""
        return {sign: self.question.label(sign) for sign in VERDICTS}

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
        }
        if self.captions.needs:
            found["needs"] = [None if math.isnan(n) else n for n in arms.needs.tolist()]  # inf: never
        if arms.when is not None:
            found["when"] = arms.when.tolist()
        if arms.since is not None:
            found["since"] = arms.since.tolist()
        for metric in arms.metrics:
            found |= {f"{metric.metric} {name}": getattr(metric, name).tolist() for name in ("mean", "low", "high")}
        if arms.failed is not None:
            found["failed"] = arms.failed.tolist()
        return found

    @property
    def table(self) -> Any:
        """The table as a dataframe, of the log's own library or else of an installed one."""
        import narwhals as nw

        wanted = [name for name in TABLES if name == self.table_kind]
        for name in [*wanted, *TABLES]:
            if find_spec(name) is not None:
                return nw.from_dict(self.columns(), backend=name).to_native()
        raise MissingExtra("a judgement's table", "logs")

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

        return write_whole(path, lambda part: csv_file(self, part), self.inputs)

    def to_excel(self, path: str | Path) -> Path:
        """Write the table as an Excel workbook, with the sentence and the conditions on a second sheet."""
        if find_spec("openpyxl") is None:
            raise MissingExtra("to_excel", "excel")
        from goodarm.judgement.files import excel_file
        from goodarm.whole_files import write_whole

        return write_whole(path, lambda part: excel_file(self, part), self.inputs)

    def to_html(self, path: str | Path) -> Path:
        """Write the page: sentence, intervals and conditions in one HTML file that needs no network."""
        from goodarm.judgement.page import page
        from goodarm.whole_files import write_whole

        return write_whole(path, lambda part: part.write_text(page(self), encoding="utf-8"), self.inputs)

    def save(self, folder: str | Path) -> list[Path]:
        """Write the table as CSV and Parquet, the forest plot as SVG and PNG, and the page; returns the paths.

        A path that ends in .html, .xlsx, .csv or .parquet is one file. This is what `--out` writes.
        """
        from goodarm.judgement.files import write

        return write(self, Path(folder))

    def plot(self) -> Figure:
        """The forest plot: each arm's interval and the bar."""
        from goodarm.forest import draw

        return draw(self.forest())

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        from goodarm.judgement.page import notebook

        return notebook(self)
