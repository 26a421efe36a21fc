"""Dataframes through narwhals: pandas, polars, Arrow, DuckDB relations, Ibis tables, PySpark. Each sums itself up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from goodarm.arguments import shown
from goodarm.errors import UnreadableTable
from goodarm.judgement.log_columns import LogColumns
from goodarm.judgement.question import Question
from goodarm.judgement.sources._base import Batch, Progress, Stray, Sums
from goodarm.judgement.sources.duck import DuckSource, connect
from goodarm.judgement.sources.streamed import STREAMED, streamed

EXTRAS = ("n", "squares", "capped", "improper")
WAY_OUT = "Filter the table before you give it."


class FrameSource:
    """A table that narwhals knows."""

    def __init__(self, data: Any) -> None:
        import narwhals as nw

        if isinstance(data, Mapping):
            data = _from_mapping(data)
        try:
            self.frame = nw.from_native(data).lazy() if hasattr(data, "collect") else nw.from_native(data)
        except TypeError:
            raise UnreadableTable(
                f"can't read {shown(data)} as a table. Give a path, a dataframe (pandas, polars, Arrow, "
                "DuckDB relation, Ibis, PySpark) or a dict of columns."
            ) from None
        self.native = data
        self.kind = str(self.frame.implementation).removeprefix("Implementation.").lower()
        self.title = "the table"

    def names(self) -> list[str]:
        return list(self.frame.collect_schema().names())

    def sums(self, columns: LogColumns, question: Question, progress: Progress) -> Sums:
        import narwhals as nw

        if question.where is not None:
            return self._filtered(question).sums(columns, _without_where(question), progress)
        named = self._named(columns, question)
        made = named.collect_schema().names()
        keys = [f"key{j}" for j in range(len(columns.by) + 1)]
        asked = [nw.len().alias("rows"), nw.col("x").count().alias("pulls"), nw.col("total").sum().alias("total")]
        asked += [nw.col("low").min().alias("smallest"), nw.col("high").max().alias("largest")]
        asked += [nw.col(name).sum().alias(name) for name in EXTRAS if name in made]
        grouped = named.group_by(keys).agg(*asked)
        found = grouped.collect() if isinstance(grouped, nw.LazyFrame) else grouped
        progress(1.0)
        return _as_sums(columns, question, {name: found[name].to_list() for name in found.columns})

    def stray(self, columns: LogColumns, question: Question) -> Stray:
        import narwhals as nw

        if question.where is not None:
            return self._filtered(question).stray(columns, _without_where(question))
        named = self._named(columns, question)
        low, high = (question.scale.low, question.scale.high) if columns.pulls is None else (0.0, 0.0)
        wrong = named.filter((nw.col("low") < low) | (nw.col("high") > high))
        shown = wrong.select("key" + str(len(columns.by)), "x").head(1)
        count = wrong.select(nw.len().alias("rows"))
        first, rows = (each.collect() if isinstance(each, nw.LazyFrame) else each for each in (shown, count))
        found = list(zip(*(first[name].to_list() for name in first.columns), strict=True)) or [(None, None)]
        return Stray(int(rows["rows"].to_list()[0]), *found[0])

    def in_order(self, columns: LogColumns, question: Question, sums: Sums, progress: Progress) -> Iterator[Batch]:
        if self.kind not in STREAMED:
            return self.through_duckdb().in_order(columns, question, sums, progress)
        if question.where is not None:
            return self._filtered(question).in_order(columns, _without_where(question), sums, progress)
        return streamed(self._in_time(columns), self.kind, question, sums)

    def _in_time(self, columns: LogColumns) -> Any:
        """Names, reward and time of every row, in the engine's own terms."""
        import narwhals as nw

        keys = [nw.col(key).cast(nw.String).alias(f"key{j}") for j, key in enumerate((*columns.by, columns.arm))]
        x = _number(self.frame.collect_schema(), columns.reward or "")
        return self.frame.select(*keys, x.alias("x"), nw.col(columns.order or "").alias("t")).to_native()

    def through_duckdb(self) -> DuckSource:
        """The same table as DuckDB sees it, where it is in this process's memory."""
        if self.kind not in ("duckdb", "pandas", "polars", "pyarrow"):
            raise UnreadableTable(
                f"a {self.kind} table can't be read in order or by `where` here. {WAY_OUT} "
                "For `order`, write it as Parquet."
            )
        import narwhals as nw

        whole = self.frame.collect("pyarrow") if isinstance(self.frame, nw.LazyFrame) else self.frame
        con = connect()
        con.register("goodarm_log", whole.to_arrow())
        return DuckSource(self.title, con, "goodarm_log")

    def _filtered(self, question: Question) -> FrameSource | DuckSource:
        if self.kind == "pyspark":
            return FrameSource(self.native.filter(question.where))
        if self.kind == "duckdb":
            return FrameSource(self.native.filter(question.where))
        made = self.through_duckdb()
        made.run(f"CREATE TEMP VIEW goodarm_part AS SELECT * FROM goodarm_log WHERE ({question.where}\n)")
        return DuckSource(made.title, made.con, "goodarm_part")

    def _named(self, columns: LogColumns, question: Question) -> Any:
        """The columns that are summed up, under names of their own."""
        import narwhals as nw

        schema = self.frame.collect_schema()
        keys = [nw.col(key).cast(nw.String).alias(f"key{j}") for j, key in enumerate((*columns.by, columns.arm))]
        scale = question.scale
        if columns.pulls is not None and columns.total is not None:
            n, s = (_number(schema, name) for name in (columns.pulls, columns.total))
            bounds = (s - n * scale.low, s - n * scale.high) if scale.bounded else (n, n * 0.0)
            made = [s.alias("total"), n.alias("n"), (n + s).alias("x"), bounds[0].alias("low"), bounds[1].alias("high")]
            if columns.squares is not None and not scale.bounded:
                made.append(_number(schema, columns.squares).alias("squares"))
            return self.frame.select(*keys, *made)
        x = _number(schema, columns.reward or "")
        made = [x.alias("x"), x.alias("total"), x.alias("low"), x.alias("high")]
        if columns.propensity is not None:
            p = _number(schema, columns.propensity)
            weight = nw.when(p * question.cap < 1.0).then(nw.lit(question.cap)).otherwise(1.0 / p)
            made[1] = ((x - scale.low) / scale.length * weight).alias("total")
            made.append(nw.when(p * question.cap < 1.0).then(1).otherwise(0).alias("capped"))
            made.append(nw.when((p > 0.0) & (p <= 1.0)).then(0).otherwise(1).alias("improper"))
        elif not scale.bounded:
            made.append((x * x).alias("squares"))
        return self.frame.select(*keys, *made)


def _number(schema: Any, name: str) -> Any:
    """A column as floats without NaN."""
    import narwhals as nw

    dtype = schema[name]
    column = nw.col(name)
    if dtype == nw.Boolean:
        return column.cast(nw.Int64).cast(nw.Float64)
    if not (dtype.is_numeric() or dtype == nw.Unknown):
        raise UnreadableTable(
            f"the column {name!r} holds {dtype}, not numbers. Turn it into numbers before you give it."
        )
    number = column.cast(nw.Float64)
    if dtype.is_float():
        return nw.when(~number.is_nan()).then(number)
    return number


def _as_sums(columns: LogColumns, question: Question, found: dict[str, list[Any]]) -> Sums:
    keys = [np.array(found[f"key{j}"], dtype=object) for j in range(len(columns.by) + 1)]
    rows = np.array(found["rows"], dtype=np.float64)
    counted = np.array(found["pulls"], dtype=np.float64)
    numbers = {
        name: np.array([np.nan if value is None else value for value in found[name]], dtype=np.float64)
        for name in ("total", "smallest", "largest", "squares", "capped", "improper", "n")
        if name in found
    }
    pulls = numbers.pop("n", counted)
    low, high = numbers.pop("smallest"), numbers.pop("largest")
    outside = np.isinf(low) | np.isinf(high)
    if columns.pulls is not None:
        slack = 1e-9 * np.abs(numbers["total"])
        outside = (low < -slack) | (high > slack) if question.scale.bounded else low < 0.0
    elif question.scale.bounded:
        outside = (low < question.scale.low) | (high > question.scale.high)
    return Sums(
        tuple(keys[:-1]),
        keys[-1],
        rows=rows,
        pulls=pulls,
        missing=rows - counted,
        unreadable=0.0 * rows,
        outside=outside,
        **numbers,
    )


def _without_where(question: Question) -> Question:
    from dataclasses import replace

    return replace(question, where=None)


def _from_mapping(data: Mapping[str, Any]) -> Any:
    """A dict of columns as whichever table is installed."""
    from importlib.util import find_spec

    for name in ("pyarrow", "polars", "pandas"):
        if find_spec(name) is not None:
            import narwhals as nw

            columns = {key: list(values) for key, values in data.items()}
            if len({len(values) for values in columns.values()}) > 1:
                lengths = ", ".join(f"{key} has {len(values):,}" for key, values in columns.items())
                raise UnreadableTable(f"the table: its columns differ in length: {lengths}. Give one value per row.")
            return nw.from_dict(columns, backend=name).to_native()
    raise UnreadableTable("a dict of columns needs pyarrow, polars or pandas. Install one: pip install 'goodarm[logs]'")
