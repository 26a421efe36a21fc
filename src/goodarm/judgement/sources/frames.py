"""Dataframes through narwhals: pandas, polars, Arrow, DuckDB relations, Ibis tables, PySpark. Each sums itself up."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from goodarm.arguments import shown
from goodarm.errors import UnreadableTable
from goodarm.judgement.log_columns import LogColumns
from goodarm.judgement.options import LARGEST_AMOUNT, LogOptions
from goodarm.judgement.sources import sql
from goodarm.judgement.sources._base import (
    FITS,
    LATEST,
    Batch,
    Cell,
    Progress,
    Stray,
    Sums,
    check_seconds,
    unreadable_time,
)
from goodarm.judgement.sources.duck import DuckSource, connect, first_line
from goodarm.judgement.sources.streamed import STREAMED, streamed
from goodarm.problem import SubGaussian

EXTRAS = ("n", "squares", "weight", "capped", "improper", "graded")
EXACT = 2**53
"""Largest n for which every whole number up to n is a float."""
TIME = "goodarm_time"
WAY_OUT = "Filter the table first."


class FrameSource:
    """A table of any library that narwhals supports."""

    def __init__(self, data: Any) -> None:
        import narwhals as nw

        if isinstance(data, Mapping):
            data = _from_mapping(data)
        try:
            data = _typed(data) if nw.dependencies.is_pandas_dataframe(data) and data.columns.is_unique else data
            self.frame = nw.from_native(data).lazy() if hasattr(data, "collect") else nw.from_native(data)
        except TypeError:
            raise UnreadableTable(
                f"can't read {shown(data)} as a table. Give a path, a dataframe (pandas, polars, Arrow, "
                "DuckDB relation, Ibis, PySpark) or a dict of columns."
            ) from None
        except nw.exceptions.DuplicateError as error:
            twice = str(error).partition("- ")[2].partition(" 2 times")[0] or "a name"
            raise UnreadableTable(f"the table: several columns are called {twice}. Rename all but one.") from None
        self.native = data
        self.kind = str(self.frame.implementation).removeprefix("Implementation.").lower()
        self.title = "the table"

    def names(self) -> list[str]:
        return list(self.frame.collect_schema().names())

    def sums(self, columns: LogColumns, options: LogOptions, progress: Progress) -> Sums:
        import narwhals as nw

        if options.where is not None:
            return self._filtered(options).sums(columns, _without_where(options), progress)
        if columns.unit is not None:
            found = self._collected(self._units(columns, options))
            progress(1.0)
            return _units_as_sums(columns, {name: found[name].to_list() for name in found.columns})
        named = self._named(columns, options)
        made = named.collect_schema().names()
        keys = [f"key{j}" for j in range(len(columns.by) + 1)]
        asked = [nw.len().alias("rows"), nw.col("x").count().alias("pulls"), nw.col("total").sum().alias("total")]
        asked += [nw.col("low").min().alias("smallest"), nw.col("high").max().alias("largest")]
        asked += [nw.col(name).sum().alias(name) for name in made if name in EXTRAS or name.startswith("log")]
        asked += [nw.col("first").min().alias("first")] if "first" in made else []
        found = self._collected(named.group_by(keys).agg(*asked))
        progress(1.0)
        return _as_sums(columns, options, {name: found[name].to_list() for name in found.columns})

    def stray(self, columns: LogColumns, options: LogOptions) -> Stray:
        import narwhals as nw

        if options.where is not None:
            return self._filtered(options).stray(columns, _without_where(options))
        named = self._named(columns, options)
        low, high = options.scale.limits if columns.pulls is None else (0.0, 0.0)
        wrong = named.filter((nw.col("low") < low) | (nw.col("high") > high))
        shown = wrong.select("key" + str(len(columns.by)), "x").head(1)
        first, rows = (self._collected(each) for each in (shown, wrong.select(nw.len().alias("rows"))))
        found = list(zip(*(first[name].to_list() for name in first.columns), strict=True)) or [(None, None)]
        return Stray(int(rows["rows"].to_list()[0]), *found[0])

    def _units(self, columns: LogColumns, options: LogOptions) -> Any:
        try:
            return self._of_units(columns, options)
        except UnreadableTable:
            raise
        except Exception as error:
            raise _explained(self.title, error) from None

    def _of_units(self, columns: LogColumns, options: LogOptions) -> Any:
        """Rows, units and their sums per segment and arm: one group per unit, then one per arm."""
        import narwhals as nw

        frame = self.frame if columns.time is None else self._timed(columns)
        schema, scale = frame.collect_schema(), options.scale
        keys = [f"key{j}" for j in range(len(columns.by) + 1)]
        names = [
            nw.col(name).cast(nw.String).alias(key) for name, key in zip((*columns.by, columns.arm), keys, strict=True)
        ]
        seen = _number(schema, columns.reward or "")
        finite = (seen >= -LARGEST_AMOUNT) & (seen <= LARGEST_AMOUNT)
        x = nw.when(finite).then(seen)  # infinite rewards are refused, and their sum may be undefined
        made = [*names, nw.col(columns.unit or "").cast(nw.String).alias("unit"), seen.alias("seen")]
        made.append((nw.when(~x.is_null()).then(x).otherwise(0.0) if options.nulls == "zero" else x).alias("x"))
        if columns.denominator is not None:
            made.append(_number(schema, columns.denominator).alias("d"))
        if columns.time is not None:
            at = nw.col(TIME)
            made.append(nw.when((at > -LATEST) & (at < LATEST)).then(at).alias("t"))
        rows, within = frame.select(*made), [*keys, "unit"]
        now = None
        if options.seconds is not None:
            ends = self._collected(rows.select(nw.col("t").min().alias("low"), nw.col("t").max().alias("high")))
            earliest, latest = (ends[name].to_list()[0] for name in ("low", "high"))
            if not self.frame.collect_schema()[columns.time or ""].is_temporal():
                check_seconds(columns.time or "", earliest, latest)
            now = -math.inf if latest is None else float(latest)
            rows = rows.with_columns(nw.col("t").min().over(*within).alias("start"))
            rows = rows.with_columns(nw.when(nw.col("t").is_null()).then(1).otherwise(0).alias("timeless"))
            rows = rows.filter(nw.col("t").is_null() | (nw.col("t") < nw.col("start") + options.seconds))
        low, high = options.scale.limits
        over = nw.col("d") if columns.denominator is not None else nw.lit(high)
        bad = (nw.col("x") < low) | (nw.col("x") > over)
        endless = (nw.col("seen") < -LARGEST_AMOUNT) | (nw.col("seen") > LARGEST_AMOUNT)
        bad = bad | (nw.col("d") < 0.0) | nw.col("d").is_null() if columns.denominator is not None else bad
        rows = rows.with_columns(
            nw.when(bad).then(1).otherwise(0).alias("bad"),
            nw.when(endless).then(1).otherwise(0).alias("endless"),
            nw.when(nw.col("x") > 0.0).then(1.0).otherwise(0.0).alias("positive"),
            nw.when(nw.col("seen").is_null()).then(1).otherwise(0).alias("lost"),
        )
        asked = [nw.len().alias("rows"), nw.col("x").count().alias("n"), nw.col("x").sum().alias("sum")]
        asked += [nw.col(name).max().alias(name) for name in ("bad", "endless", "positive")] + [
            nw.col("lost").sum().alias("lost")
        ]
        asked += [nw.col("d").sum().alias("size")] if columns.denominator is not None else []
        asked += [nw.col("t").min().alias("start")] if columns.time is not None else []
        asked += [nw.col("timeless").sum().alias("timeless")] if options.seconds is not None else []
        units = rows.group_by(within).agg(*asked)
        n, total, limit = nw.col("n"), nw.col("sum"), options.unit_limit or 1.0
        value = {
            "mean": (total / n - scale.start) / scale.length,
            "any": nw.col("positive"),
            "sum": (total - scale.start) / scale.length,
            "ratio": total / limit,
        }[options.per_unit]
        named = ~nw.col("unit").is_null()
        waiting = (
            named & (nw.col("start") + options.seconds > now) if options.seconds is not None else ~(named | ~named)
        )
        counts = named & ~waiting & (n > 0)
        size = (nw.col("size") if columns.denominator is not None else n.cast(nw.Float64)) / limit
        least, most = scale.unit_limits
        wrong = (nw.col("bad") > 0) if options.per_unit != "sum" else (value < least) | (value > most)
        wrong = wrong | (nw.col("endless") > 0)
        units = units.with_columns(
            nw.when(counts).then(_cut(options, value)).otherwise(0.0).alias("value"),
            nw.when(counts).then(size).otherwise(0.0).alias("weight"),
            nw.when(counts).then(1).otherwise(0).alias("pulls"),
            nw.when(waiting).then(1).otherwise(0).alias("pending"),
            nw.when(named).then(0).otherwise(nw.col("rows")).alias("unnamed"),
            nw.when(wrong & named).then(1).otherwise(0).alias("outside"),
            nw.when(named & (size > 1.0 + 1e-9)).then(1).otherwise(0).alias("over"),
        ).with_columns(
            (nw.col("value") * nw.col("value")).alias("squares"), nw.when(counts).then(nw.col("value")).alias("kept")
        )
        added = ["rows", "lost", "value", "squares", "weight", "pulls", "pending", "unnamed"]
        added += ["timeless"] if options.seconds is not None else []
        last = [nw.col(name).sum().alias(name) for name in added]
        last += [nw.col(name).max().alias(name) for name in ("outside", "over")]
        last += [nw.col("start").min().alias("first")] if columns.time is not None else []
        if options.by_sums:
            units = units.with_columns(*_logs(options, nw.col("kept")))
            last += [nw.col(f"log{j}").sum().alias(f"log{j}") for j in range(len(options.bets))]
        elif options.by_values and options.per_unit != "any":
            inside = (nw.col("kept") > 0.0) & (nw.col("kept") < 1.0)
            units = units.with_columns(nw.when(inside).then(1).otherwise(0).alias("graded"))
            last += [nw.col("graded").max().alias("graded")]
        elif not scale.bounded:
            last += [nw.col("kept").min().alias("smallest"), nw.col("kept").max().alias("largest")]
        ratio, squares = options.per_unit == "ratio", options.by_squares or isinstance(scale.family, SubGaussian)
        drop = [name for name, on in (("weight", ratio), ("over", ratio), ("squares", squares)) if not on]
        return units.group_by(keys).agg(*last).drop(drop)

    def distinct(self, columns: LogColumns, options: LogOptions, column: str) -> int:
        import narwhals as nw

        if options.where is not None:
            return self._filtered(options).distinct(columns, _without_where(options), column)
        different = self.frame.select(list(dict.fromkeys([*columns.by, columns.arm, column]))).unique()
        return int(self._collected(different.select(nw.len().alias("rows")))["rows"].to_list()[0])

    def times(self) -> list[str]:
        return [name for name, dtype in self.frame.collect_schema().items() if dtype.is_temporal()]

    def rows_before(self, columns: LogColumns, options: LogOptions, moment: float) -> int:
        import narwhals as nw

        if options.where is not None:
            return self._filtered(options).rows_before(columns, _without_where(options), moment)
        before = self._timed(columns).filter(nw.col(TIME) < moment)
        return int(self._collected(before.select(nw.len().alias("rows")))["rows"].to_list()[0])

    def _collected(self, frame: Any) -> Any:
        """The frame's rows, in memory."""
        import narwhals as nw

        try:
            return frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        except Exception as error:
            raise _explained(self.title, error) from None

    def cells(self, columns: LogColumns, options: LogOptions, drawn: str | None, score: str | None) -> list[Cell]:
        return self.through_duckdb().cells(columns, options, drawn, score)

    def in_order(self, columns: LogColumns, options: LogOptions, sums: Sums, progress: Progress) -> Iterator[Batch]:
        if self.kind not in STREAMED:
            return self.through_duckdb().in_order(columns, options, sums, progress)
        if options.where is not None:
            return self._filtered(options).in_order(columns, _without_where(options), sums, progress)
        return streamed(self._in_time(columns), self.kind, options, sums)

    def _in_time(self, columns: LogColumns) -> Any:
        """Names, reward and time of every row, as expressions of the engine."""
        import narwhals as nw

        keys = [nw.col(key).cast(nw.String).alias(f"key{j}") for j, key in enumerate((*columns.by, columns.arm))]
        x = _number(self.frame.collect_schema(), columns.reward or "")
        return self.frame.select(*keys, x.alias("x"), nw.col(columns.order or "").alias("t")).to_native()

    def through_duckdb(self) -> DuckSource:
        """The same table in DuckDB, if it is in this process's memory."""
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

    def _filtered(self, options: LogOptions) -> FrameSource | DuckSource:
        if self.kind == "pyspark":
            return FrameSource(self.native.filter(options.where))
        if self.kind == "duckdb":
            return FrameSource(self.native.filter(options.where))
        made = self.through_duckdb()
        made.run(f"CREATE TEMP VIEW goodarm_part AS SELECT * FROM goodarm_log WHERE ({options.where}\n)")
        return DuckSource(made.title, made.con, "goodarm_part")

    def _timed(self, columns: LogColumns) -> Any:
        """The table with the time of each row as a number of seconds, or in the column's own unit."""
        import narwhals as nw

        name = columns.time or ""
        dtype = self.frame.collect_schema()[name]
        if not dtype.is_temporal():
            if not (dtype.is_numeric() or dtype == nw.Unknown):
                seen = self._collected(self.frame.select(name).filter(~nw.col(name).is_null()).head(1))[name].to_list()
                raise unreadable_time(name, seen[0] if seen else "")
            return self.frame.with_columns(_number(self.frame.collect_schema(), name).alias(TIME))
        if self.kind == "pyspark":
            return nw.from_native(self.native.withColumn(TIME, self.native[name].cast("timestamp").cast("double")))
        if self.kind == "ibis":
            at = self.native[name].cast("timestamp")
            return nw.from_native(self.native.mutate(**{TIME: at.epoch_seconds().cast("float64")}))
        if self.kind == "duckdb":
            return nw.from_native(self.native.project(f"*, epoch({sql.quoted(name)}) AS {TIME}"))
        at = nw.col(name) if isinstance(dtype, nw.Datetime) else nw.col(name).cast(nw.Datetime("us"))
        return self.frame.with_columns((at.dt.timestamp("us").cast(nw.Float64) / 1e6).alias(TIME))

    def _named(self, columns: LogColumns, options: LogOptions) -> Any:
        """The columns that are summed up, under internal names."""
        try:
            return self._selected(columns, options)
        except UnreadableTable:
            raise
        except Exception as error:
            raise _explained(self.title, error) from None

    def _selected(self, columns: LogColumns, options: LogOptions) -> Any:
        import narwhals as nw

        frame = self.frame if columns.time is None else self._timed(columns)
        schema = frame.collect_schema()
        keys = [nw.col(key).cast(nw.String).alias(f"key{j}") for j, key in enumerate((*columns.by, columns.arm))]
        scale = options.scale
        if columns.pulls is not None and columns.total is not None:
            n, s = (_number(schema, name) for name in (columns.pulls, columns.total))
            bounds = (s - n * scale.low, s - n * scale.high) if scale.bounded else (n, n * 0.0)
            total = (s - n * scale.low) / scale.length if scale.moved else s
            made = [total.alias("total"), n.alias("n"), (n + s).alias("x")]
            made += [bounds[0].alias("low"), bounds[1].alias("high")]
            if columns.squares is not None and not scale.bounded:
                made.append(_number(schema, columns.squares).alias("squares"))
            return frame.select(*keys, *made)
        x = _number(schema, columns.reward or "")
        scaled = _number(schema, columns.reward or "", scale.low) / scale.length if scale.moved else x
        scaled = _cut(options, scaled)
        made = [x.alias("x"), scaled.alias("total"), x.alias("low"), x.alias("high")]
        if columns.time is not None:
            made.append(nw.col(TIME).alias("first"))
        if columns.propensity is not None:
            p = _number(schema, columns.propensity)
            weight = nw.when(p * options.cap < 1.0).then(nw.lit(1.0)).otherwise(1.0 / (p * options.cap))
            made[1] = (scaled * weight).alias("total")
            made.append(nw.when(~x.is_null()).then(weight).alias("weight"))
            made.append(nw.when(p * options.cap < FITS).then(1).otherwise(0).alias("capped"))
            made.append(nw.when((p > 0.0) & (p <= 1.0)).then(0).otherwise(1).alias("improper"))
        elif options.by_sums:
            made += _logs(options, scaled)
        elif options.by_values:
            made.append(nw.when((scaled > 0.0) & (scaled < 1.0)).then(1).otherwise(0).alias("graded"))
        elif options.by_squares:
            made.append((scaled * scaled).alias("squares"))
        elif not scale.bounded:
            made.append((x * x).alias("squares"))
        return frame.select(*keys, *made)


def _explained(title: str, error: Exception) -> UnreadableTable:
    """An engine's error message about a table, in one line."""
    large = f" Whole numbers above 2^53 = {EXACT:,} are not floats." if "not in range" in str(error) else ""
    return UnreadableTable(f"{title}: {first_line(error)}.{large}")


def _number(schema: Any, name: str, less: float = 0.0) -> Any:
    """A column as floats without NaN; `less` is subtracted, from whole numbers before they become floats."""
    import narwhals as nw

    dtype = schema[name]
    column = nw.col(name)
    if dtype == nw.Boolean:
        return column.cast(nw.Int64).cast(nw.Float64)
    if not (dtype.is_numeric() or dtype == nw.Unknown):
        raise UnreadableTable(
            f"the column {name!r} holds {dtype}, not numbers. Convert it to numbers first, such as 1 for yes and 0 for "
            "no."
        )
    if less and dtype.is_integer() and less.is_integer() and abs(less) < 2.0**62:
        return (column.cast(nw.Int64) - int(less)).cast(nw.Float64)
    number = column.cast(nw.Float64)
    if dtype.is_float():
        number = nw.when(~number.is_nan()).then(number)
    return number - less if less else number


def _as_sums(columns: LogColumns, options: LogOptions, found: dict[str, list[Any]]) -> Sums:
    keys = [_names(found[f"key{j}"]) for j in range(len(columns.by) + 1)]
    rows = np.array(found["rows"], dtype=np.float64)
    counted = np.array(found["pulls"], dtype=np.float64)
    numbers = {
        name: np.array([np.nan if value is None else value for value in found[name]], dtype=np.float64)
        for name in ("total", "smallest", "largest", "squares", "weight", "capped", "improper", "first", "n", "graded")
        if name in found
    }
    pulls = numbers.pop("n", counted)
    low, high = numbers["smallest"], numbers["largest"]
    if options.scale.bounded or columns.pulls is not None:
        del numbers["smallest"], numbers["largest"]
    least, most = options.scale.limits
    outside = (low < least) | (high > most)
    if columns.pulls is not None:
        scale = options.scale
        slack = 1e-9 * scale.length * pulls + 1e-15 * max(abs(scale.low), abs(scale.high)) * pulls
        outside = (low < -slack) | (high > slack) if options.scale.bounded else low < 0.0
    return Sums(
        tuple(keys[:-1]),
        keys[-1],
        rows=rows,
        pulls=pulls,
        missing=rows - counted,
        unreadable=0.0 * rows,
        outside=outside,
        logs=sql.logs_of(found),
        **numbers,
    )


def _names(values: list[Any]) -> np.ndarray[Any, np.dtype[np.object_]]:
    """The names of segments or arms; None where pandas has NaN or NA."""
    return np.array([value if isinstance(value, str) else None for value in values], dtype=object)


def _typed(data: Any) -> Any:
    """A pandas frame whose columns of Python numbers or truth values have their own type instead of object."""
    from pandas.api.types import infer_dtype

    values = ("boolean", "integer", "floating", "mixed-integer-float")
    wrong = [
        name for name, dtype in data.dtypes.items() if str(dtype) == "object" and infer_dtype(data[name]) in values
    ]
    return data.assign(**{name: data[name].convert_dtypes() for name in wrong}) if wrong else data


def _cut(options: LogOptions, x: Any) -> Any:
    """A reward on the rule's scale, at most 1 if rewards are cut."""
    import narwhals as nw

    return nw.when(x > 1.0).then(nw.lit(1.0)).otherwise(x) if options.scale.cut else x


def _logs(options: LogOptions, x: Any) -> list[Any]:
    """log(1 + l (x - xi)) for each bet. Rewards outside of the range are refused later and cut here."""
    import narwhals as nw

    bar = options.problem(1).bar
    cut = nw.when(x < 0.0).then(nw.lit(0.0)).otherwise(x)
    if bar.ceiling < math.inf:
        cut = nw.when(x > bar.ceiling).then(nw.lit(bar.ceiling)).otherwise(cut)
    return [(1.0 + bet * (cut - bar.threshold)).log().alias(f"log{j}") for j, bet in enumerate(options.bets)]


def _units_as_sums(columns: LogColumns, found: dict[str, list[Any]]) -> Sums:
    keys = [_names(found.pop(f"key{j}")) for j in range(len(columns.by) + 1)]
    logs = sql.logs_of(found)
    numbers: dict[str, Any] = {
        name: np.array([np.nan if value is None else value for value in values], dtype=np.float64)
        for name, values in found.items()
        if not name.startswith("log")
    }
    numbers["missing"], numbers["total"] = numbers.pop("lost"), numbers.pop("value")
    numbers["outside"], numbers["unreadable"] = numbers["outside"] > 0.0, 0.0 * numbers["rows"]
    return Sums(tuple(keys[:-1]), keys[-1], **numbers, logs=logs)


def _without_where(options: LogOptions) -> LogOptions:
    from dataclasses import replace

    return replace(options, where=None)


def _from_mapping(data: Mapping[str, Any]) -> Any:
    """Convert a dict of columns to a table of an installed library."""
    from importlib.util import find_spec

    for name in ("pyarrow", "polars", "pandas"):
        if find_spec(name) is not None:
            import narwhals as nw

            columns = {key: list(values) for key, values in data.items()}
            if len({len(values) for values in columns.values()}) > 1:
                lengths = ", ".join(f"{key} has {len(values):,}" for key, values in columns.items())
                raise UnreadableTable(f"the table: the columns differ in length: {lengths}. Give one value per row.")
            try:
                return nw.from_dict(columns, backend=name).to_native()
            except (ValueError, TypeError, OverflowError) as error:
                raise _explained("the table", error) from None
    raise UnreadableTable("a dict of columns needs pyarrow, polars or pandas. Install one: pip install pyarrow")
