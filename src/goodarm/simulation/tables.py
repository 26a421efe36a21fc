"""`ResultTable`: named columns with their meanings, for programs, notebooks and dataframes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from goodarm.errors import InvalidValue, MissingExtra, UnknownName

SHOWN = 20
"""Maximum number of rows that a table prints; the others are counted."""


PER_RUN = {
    "run": "number of the run, from 0",
    "exploit_score": "sum over the arms called good of (T - round of the verdict)(mean - threshold)",
    "good_arms": "arms whose mean is at or above the threshold",
    "found": "good arms called good",
    "false_good": "bad arms called good",
    "false_bad": "good arms called bad",
    "decided": "arms with a verdict",
    "first_good": "round of the first good verdict; NaN if there is none",
    "rounds": "rounds played: until every arm was decided, or the horizon",
    "spent": "total cost of the samples; the number of rounds if each costs 1",
    "reward": "sum of all rewards",
    "regret": "rounds * largest mean - sum of the means of the pulled arms",
}
"""The columns of `Runs.table`."""

PER_ARM = {
    "environment": "name of the environment",
    "policy": "name of the policy",
    "guarantee": "guarantee of the verdicts",
    "criterion": "the error that delta bounds: fwer or fdr",
    "decided_by": "data behind the verdicts",
    "seed": "the seed of all runs",
    "run": "number of the run, from 0",
    "arm": "number of the arm, from 0",
    "label": "name of the arm; None if arms have no names",
    "mean": "true mean",
    "verdict": "good, bad or open (undecided)",
    "verdict_round": "round of the verdict; empty while undecided",
    "pulls": "number of pulls of the arm",
}
"""The columns of `Runs.verdicts`."""

PER_POINT = {
    "run": "number of the run, from 0",
    "round": "the recorded round",
    "good": "arms called good so far",
    "bad": "arms called bad so far",
    "reward": "sum of the rewards so far",
}
"""The columns of `Runs.trajectories`; the learned numbers follow."""

LEARNED = {
    "prior_mean": "learned mean of the arms' means",
    "prior_strength": "weight of the learned prior, in pulls",
    "prior_variance": "learned variance of the arms' means",
    "alpha": "bound for deciding: standard errors above the threshold at which an arm is called good",
    "beta": "bound for sampling: number of standard errors added to an arm's mean",
    "gradient": "last gradient of log beta",
    "refit": "round after which the spread of the means is learned again",
    "stepped": "round of the last step of beta",
    "average": "mean of the clipped gradients so far",
    "boldness": "factor by which sampling widens the posterior",
    "left": "number of rounds left when the spread of the means was last learned",
    "cut": "step of the ladder from which on arms can be certified in time",
    "scale": "stake per probability of being such an arm, in units of 1/K; 0 if all get the same",
    "level": "the level that a contender has to beat",
    "share": "pulls available to each contender",
}
"""Meanings of the names of learned numbers."""


SETTING = "the environment's name or swept value"

PER_POLICY_RUN = {"setting": SETTING, "policy": "name of the policy", **PER_RUN}
"""The columns of `Comparison.runs`."""

PER_POLICY = {
    "setting": SETTING,
    "environment": "name of the environment",
    "policy": "name of the policy",
    "guarantee": "guarantee of its verdicts",
    "criterion": "the error that delta bounds: fwer or fdr",
    "arms": "number of arms",
    "good_arms": "number of good arms, mean over runs",
    "threshold": "the bar; 0 with several bars, where a mean is the smallest distance from a bar",
    "horizon": "the last round",
    "delta": "allowed probability of error",
    "runs": "finished runs",
    "exploit_score": "mean over runs of the exploit score",
    "exploit_score_low": "lower end of its 95% interval",
    "exploit_score_high": "upper end of that intervals 95% interval",
    "share_of_ceiling": "exploit score as a share of the score if every good arm were known from the start",
    "share_of_limit": "exploit score as a share of the score of an oracle that still collects the evidence",
    "share_of_informed_limit": "exploit score as a share of the informed limit; NaN unless requested",
    "found": "good arms called good, per run",
    "first_good": "mean round of the first good verdict, over the runs that gave one",
    "stopped_at": "mean round of the last verdict, over the runs that decided every arm",
    "stopped_runs": "runs that decided every arm",
    "wrong_runs": "runs with any wrong verdict",
    "false_good": "bad arms called good, over all runs",
    "false_bad": "good arms called bad, over all runs",
    "reward": "sum of all rewards, per run",
    "regret": "rounds * largest mean - sum of the means of the pulled arms, per run",
    "rounds_per_second": "speed of one thread",
}
"""The columns of `Comparison.table`."""

PER_DIFFERENCE = {
    "setting": SETTING,
    "policy": "name of the policy",
    "baseline": "the policy to compare with, on the same rewards",
    "number": "the compared number of a run: a column of Runs.table",
    "difference": "mean over runs of the policy's number minus the baseline's",
    "low": "lower end of its 95% interval, by Student's t of the paired differences",
    "high": "upper end of that interval",
    "runs": "number of runs of both",
}
"""The columns of `Comparison.differences`."""


class ResultTable(Mapping[str, NDArray[Any]]):
    """Columns of the same length by name. `meanings` describes each column; `len` counts the columns.

    A column is a numpy array, masked if cells can be empty. The table is a mapping from names to arrays, so
    `pandas.DataFrame(table)` works.

    >>> table = ResultTable({"run": np.arange(2), "found": np.array([3, 5])}, {"found": "good arms called good"})
    >>> table["found"].sum(), table.height, table.columns, list(table.rows())[1]
    (np.int64(8), 2, ('run', 'found'), {'run': 1, 'found': 5})
    >>> table
    run  found
      0      3
      1      5
    """

    def __init__(self, columns: Mapping[str, Any], meanings: Mapping[str, str] | None = None) -> None:
        self._columns = {
            name: values if isinstance(values, np.ndarray) else np.array(values) for name, values in columns.items()
        }
        self.meanings = {name: (meanings or {}).get(name, "") for name in self._columns}
        if len({len(column) for column in self._columns.values()}) > 1:
            sizes = ", ".join(f"{name} {len(column)}" for name, column in self._columns.items())
            raise InvalidValue(f"the columns of a table need the same number of rows; got {sizes}.")

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __eq__(self, other: object) -> bool:
        """The same columns in the same order with the same values; NaN equals NaN."""
        if not isinstance(other, ResultTable):
            return NotImplemented
        return list(self) == list(other) and all(_same(self[name], other[name]) for name in self)

    __hash__ = None  # type: ignore[assignment]  # columns can be written to

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._columns)

    @property
    def height(self) -> int:
        """Number of rows."""
        return len(next(iter(self._columns.values()))) if self._columns else 0

    def only(self, *names: str) -> ResultTable:
        """The table with only these columns."""
        return ResultTable({name: self[name] for name in names}, self.meanings)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows as plain Python values; an empty cell is None."""
        for row in zip(*(column.tolist() for column in self._columns.values()), strict=True):
            yield dict(zip(self._columns, row, strict=True))

    def to_pandas(self) -> Any:
        """A pandas DataFrame; whole numbers with empty cells become the nullable Int64."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtra("to_pandas()", "frames") from None

        def column(values: NDArray[Any]) -> Any:
            if not isinstance(values, np.ma.MaskedArray):
                return values
            return pd.arrays.IntegerArray(values.data.copy(), np.ma.getmaskarray(values).copy())

        return pd.DataFrame({name: column(values) for name, values in self.items()})

    def to_polars(self) -> Any:
        """A polars DataFrame; an empty cell is null."""
        try:
            import polars as pl
        except ImportError:
            raise MissingExtra("to_polars()", "frames") from None

        def column(name: str, values: NDArray[Any]) -> Any:
            if not isinstance(values, np.ma.MaskedArray):
                return pl.Series(name, values.tolist() if values.dtype == object else values)
            return pl.Series(name, values.data).scatter(np.flatnonzero(np.ma.getmaskarray(values)), None)

        return pl.DataFrame([column(name, values) for name, values in self.items()])

    def __repr__(self) -> str:
        words = [[name, *cells] for name, cells in self._shown()]
        widths = [max(map(len, column)) for column in words]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in zip(*words, strict=True)
        ]
        return "\n".join([*lines, *self._left_out()])

    def _repr_html_(self) -> str:
        """HTML for notebooks; the tooltip of a heading explains its column."""
        head = "".join(
            f'<th title="{escape(self.meanings[name], quote=True)}" style="text-align:right">{escape(name)}</th>'
            for name in self
        )
        body = "".join(
            "<tr>" + "".join(f'<td style="text-align:right">{escape(cell)}</td>' for cell in row) + "</tr>"
            for row in zip(*(cells for _, cells in self._shown()), strict=True)
        )
        rest = "".join(f"<p>{line}</p>" for line in self._left_out())
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f'<div style="overflow-x:auto">{table}</div>{rest}'

    def _shown(self) -> list[tuple[str, list[str]]]:
        return [(name, [_cell(value) for value in column[:SHOWN].tolist()]) for name, column in self.items()]

    def _left_out(self) -> list[str]:
        return [f"... {self.height - SHOWN:,} more rows"] if self.height > SHOWN else []


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.5g}" if math.isfinite(value) else "-"
    return str(value)


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return one.shape == other.shape and one.tolist().__repr__() == other.tolist().__repr__()


class WithTables:
    """Base class of `Runs` and `Comparison`: results with named tables."""

    table_names: ClassVar[tuple[str, ...]]

    def to_pandas(self, what: str = "table") -> Any:
        """The table of that name, one of `table_names`, as a pandas DataFrame."""
        return self._named(what).to_pandas()

    def to_polars(self, what: str = "table") -> Any:
        """The table of that name, one of `table_names`, as a polars DataFrame."""
        return self._named(what).to_polars()

    def _named(self, what: str) -> ResultTable:
        if what not in self.table_names:
            raise UnknownName("table", what, self.table_names)
        found: ResultTable = getattr(self, what)
        return found
