"""Files, and dataframes in memory, through an embedded DuckDB, which streams data larger than memory."""

from __future__ import annotations

import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from goodarm.arguments import plural
from goodarm.errors import InvalidValue, MissingExtra, UnreadableTable
from goodarm.judgement.log_columns import LogColumns, find, header_missing, like_data
from goodarm.judgement.options import LogOptions
from goodarm.judgement.sources import sql
from goodarm.judgement.sources._base import Batch, Cell, Progress, Stray, Sums, check_seconds, unreadable_time
from goodarm.judgement.sources.paths import Dialect, Files, find_files, read_dialect

FLOATS = ("FLOAT", "DOUBLE")
BATCH = 1_000_000
SAMPLE = 1000
"""Number of rows that are read to find text columns that may hold times."""
DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([T ]\d{1,2}:\d{2}.*)?")
"""A time as text. Numbers and bare years are not times."""
LOOK = 0.1
"""Seconds between two looks at the progress of a scan."""


def connect(memory: str | None = None) -> Any:
    """A database in memory that never downloads an extension, and spills into a separate folder."""
    try:
        import duckdb
    except ImportError:
        raise MissingExtra("judging a log in files", "logs") from None
    config: dict[str, Any] = {"autoinstall_known_extensions": "false"}
    if memory is not None:
        config["memory_limit"] = memory
    try:
        return duckdb.connect(":memory:", config=config)
    except duckdb.Error as error:
        raise UnreadableTable(f"memory {memory!r} can't be used ({first_line(error)}). Write it like 1GiB.") from None


def first_line(error: Exception) -> str:
    """A database's error message, without its advice about its own options."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    kept = [line for line in lines if not line.startswith(("*", "Possible", "file =", "LINE", "^"))]
    return "; ".join(kept[:3]).removesuffix(".")


def explained(title: str, error: Exception) -> str:
    """A database's error in plain words, with a fix where the cause is known."""
    text = str(error)
    ragged = re.search(r"CSV Error on Line: (\d+).*?Expected Number of Columns: (\d+) Found: (\d+)", text, re.DOTALL)
    if ragged is not None:
        line, expected, found = map(int, ragged.groups())
        quotes = ' A value that contains the separator must be in double quotes: "a, b".' if found > expected else ""
        return (
            f"{title}: line {line} has {plural(found, 'column')}, but the header has {expected}. Correct the line."
            f"{quotes}"
        )
    if re.search(r"magic bytes|too small to be a Parquet|not a Parquet|footer", text, re.IGNORECASE):
        return f"{title}: truncated, or not a Parquet file ({first_line(error)}). Copy it again."
    return f"{title}: {first_line(error)}."


class DuckSource:
    """A relation that DuckDB can scan."""

    def __init__(self, title: str, con: Any, relation: str) -> None:
        self.title, self.con, self._relation = title, con, relation
        self._orders: dict[str, str] = {}

    def names(self) -> list[str]:
        return [name for name, _ in self._described]

    @cached_property
    def _described(self) -> list[tuple[str, str]]:
        rows = self.run(f"DESCRIBE SELECT * FROM {self._relation}").fetchall()
        return [(str(row[0]), str(row[1])) for row in rows]

    def times(self) -> list[str]:
        """Columns of times, including text columns (as in CSV files) whose values are all times."""
        return [name for name, dtype in self._described if _kind(dtype) == "time" or name in self._texts_of_times]

    @cached_property
    def _texts_of_times(self) -> list[str]:
        texts = [name for name, dtype in self._described if _kind(dtype) == "text"]
        if not texts:
            return []
        chosen = ", ".join(map(sql.quoted, texts))
        rows = self.run(f"SELECT {chosen} FROM {self._relation} LIMIT {SAMPLE}").fetchall()
        table = sql.Table(self._relation, dict.fromkeys(texts, "text"), "DOUBLE", True)
        found = []
        for name, values in zip(texts, zip(*rows, strict=True), strict=False):
            given = [str(value) for value in values if value is not None]
            dated = bool(given) and all(DATE.fullmatch(value.strip()) for value in given)
            if dated and self.order_of(name, table).endswith("AS TIMESTAMP)"):  # all rows are times
                found.append(name)
        return found

    def table(self, columns: LogColumns, options: LogOptions) -> sql.Table:
        """The relation, with types for this question."""
        kinds = {name: _kind(dtype) for name, dtype in self._described}
        return self._timed(sql.Table(self._relation, kinds, "DOUBLE", True), columns)

    def _timed(self, table: sql.Table, columns: LogColumns) -> sql.Table:
        """The table with the time of each row as a number, if there is a column of times."""
        if columns.time is None:
            return table
        order = self.order_of(columns.time, table)
        if table.kinds[columns.time] == "time" or order.endswith("AS TIMESTAMP)"):
            return replace(table, time=f"epoch({order})", stamped=True)
        return replace(
            table,
            time=f"CAST({order} AS DOUBLE)"
            if table.kinds[columns.time] != "text" or order.endswith("AS DOUBLE)")
            else None,
        )

    def sums(self, columns: LogColumns, options: LogOptions, progress: Progress) -> Sums:
        table = self.table(columns, options)
        if options.where is not None:
            self._check_where(table, options.where)
        if options.seconds is not None and table.time is not None and not table.stamped:
            check_seconds(columns.time or "", *self.run(sql.span_query(table, options)).fetchall()[0])
        if table.time is None and columns.time is not None and (options.seconds is not None or options.by_appearance):
            name = sql.quoted(columns.time)
            first = self.run(f"SELECT {name} FROM {table.relation} WHERE {name} IS NOT NULL LIMIT 1").fetchone()
            raise unreadable_time(columns.time, first[0] if first else "")
        # a NaN makes the sum NaN, except where rewards are cut: NaN counts as larger than any number
        found = None if options.scale.cut else self._sums(table, columns, options, progress, False)
        if found is None or np.isnan(found.total[found.pulls > 0]).any():
            # a file's statistics leave NaN out, and DuckDB would trust them instead of reading the values
            self.con.execute("SET disabled_optimizers = 'statistics_propagation'")
            found = self._sums(replace(table, proven=frozenset()), columns, options, progress, True)
        return found

    def _check_where(self, table: sql.Table, where: str) -> None:
        """Refuse an invalid filter before any row is read."""
        import duckdb

        try:
            self.con.execute(f"EXPLAIN SELECT 1 FROM {table.relation} WHERE ({where}\n)")
        except (duckdb.ParserException, duckdb.CatalogException, duckdb.BinderException) as error:
            missing = re.search(r'Referenced column "(.+?)" not found', str(error))
            if missing is not None:
                try:
                    find(missing[1], self.names(), self.title)
                except UnreadableTable as unknown:
                    raise InvalidValue(f"`where={where!r}`: {unknown}") from None
            raise InvalidValue(
                f"`where={where!r}` is not a condition in SQL ({first_line(error)}). Write it like "
                "`where=\"country = 'FR' AND age >= 18\"`, with the names of columns."
            ) from None

    def _sums(
        self, table: sql.Table, columns: LogColumns, options: LogOptions, progress: Progress, no_nan: bool
    ) -> Sums:
        query = sql.sums_query(table, columns, options, no_nan)
        return sql.as_sums(columns, self.watched(lambda: self.run(query).fetchnumpy(), progress))

    def stray(self, columns: LogColumns, options: LogOptions) -> Stray:
        table = self.table(columns, options)
        count = self.run(sql.stray_query(table, columns, options, count=True)).fetchall()[0][0]
        first = [*self.run(sql.stray_query(table, columns, options, count=False)).fetchall(), (None, None)][0]
        return Stray(int(count), first[0], first[1])

    def rows_before(self, columns: LogColumns, options: LogOptions, moment: float) -> int:
        return int(self.run(sql.before_query(self.table(columns, options), options, moment)).fetchall()[0][0])

    def distinct(self, columns: LogColumns, options: LogOptions, column: str) -> int:
        table = replace(self.table(columns, options), many="approx_count_distinct({})")
        return int(self.run(sql.distinct_query(table, columns, options, column)).fetchall()[0][0])

    def cells(self, columns: LogColumns, options: LogOptions, drawn: str | None, score: str | None) -> list[Cell]:
        table = self.table(columns, options)
        place = "NULL" if drawn is None else self.order_of(drawn, table)
        rows: list[Cell] = self.run(sql.cells_query(table, columns, options, place, score)).fetchall()
        return rows

    def in_order(self, columns: LogColumns, options: LogOptions, sums: Sums, progress: Progress) -> Iterator[Batch]:
        """Sorted by DuckDB, in batches; memory is bounded by its limit, beyond which it sorts on disk."""
        table = self.table(columns, options)
        assert columns.order is not None
        keys = [*columns.by, columns.arm]
        ids = {f"key{j}": values for j, values in enumerate((*sums.segment, sums.arm))}
        self.con.register("goodarm_arms", _frame({**ids, "id": np.arange(sums.arm.size)}))
        x = table.number(columns.reward or "", True)
        reward = f"coalesce({x}, 0)" if options.nulls == "zero" else x
        match = " AND ".join(f"CAST(log.{sql.quoted(key)} AS VARCHAR) = a.key{j}" for j, key in enumerate(keys))
        order = self.order_of(columns.order, table)
        where = f"WHERE ({options.where}\n)" if options.where else ""
        rows = (
            f"SELECT *, {reward} AS goodarm_x, {order} AS goodarm_t, row_number() OVER () AS goodarm_row "
            f"FROM {table.relation} {where}"
        )
        query = (
            f"SELECT a.id, CAST(log.goodarm_x AS DOUBLE) AS x, log.goodarm_t AS t FROM ({rows}) log "
            f"JOIN goodarm_arms a ON {match} WHERE log.goodarm_x IS NOT NULL ORDER BY t, log.goodarm_row"
        )
        reader = self.watched(lambda: self.run(query, lazily=True).to_arrow_reader(BATCH), progress)
        for batch in reader:
            at = batch.column(2).to_numpy(zero_copy_only=False)
            yield Batch(batch.column(0).to_numpy(), batch.column(1).to_numpy(), at)

    def order_of(self, column: str, table: sql.Table) -> str:
        """The expression to order by: a text column counts as numbers or times if it holds nothing else."""
        name = sql.quoted(column)
        if table.kinds[column] != "text":
            return name
        if column not in self._orders:
            # casts to TIMESTAMP ignore an offset such as +02:00; times without one are read unchanged
            offset = f"regexp_matches({name}, ':.*[+-]\\d\\d(:?\\d\\d)?$')"
            time = (
                f"CAST(CASE WHEN {offset} THEN timezone('UTC', TRY_CAST({name} AS TIMESTAMPTZ)) "
                f"ELSE TRY_CAST({name} AS TIMESTAMP) END AS TIMESTAMP)"
            )
            casts = {"DOUBLE": f"TRY_CAST({name} AS DOUBLE)", "TIMESTAMP": time}
            counts = ", ".join(f"count({cast})" for cast in casts.values())
            whole, *found = self.run(f"SELECT count({name}), {counts} FROM {table.relation}").fetchall()[0]
            fitting = [cast for cast, count in zip(casts.values(), found, strict=True) if count == whole]
            self._orders[column] = fitting[0] if fitting else name
        return self._orders[column]

    def run(self, query: str, *, lazily: bool = False) -> Any:
        """Run a query; errors become one line. With `lazily`, rows are computed when they are fetched."""
        import duckdb

        try:
            return self.con.sql(query) if lazily else self.con.execute(query)
        except duckdb.Error as error:
            raise UnreadableTable(explained(self.title, error)) from None

    def watched(self, work: Callable[[], Any], progress: Progress) -> Any:
        """Do the work in a thread, report its progress, and stop it on Ctrl-C."""
        done: dict[str, Any] = {}

        def run() -> None:
            try:
                done["value"] = work()
            except BaseException as error:
                done["error"] = error

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(LOOK)
                progress(min(max(self.con.query_progress() / 100.0, 0.0), 1.0))
        except KeyboardInterrupt:
            self.con.interrupt()
            raise
        if "error" in done:
            raise done["error"]
        return done["value"]


class FileSource(DuckSource):
    """CSV, Parquet and JSON Lines files."""

    def __init__(
        self, place: str | Path, *, separator: str | None = None, encoding: str | None = None, memory: str | None = None
    ) -> None:
        self.files: Files = find_files(place)
        con = connect(memory)
        self._spill = tempfile.mkdtemp(prefix="goodarm-")
        con.execute(f"SET temp_directory = {sql.literal(self._spill)}")
        self.dialect: Dialect | None = None
        if self.files.kind == "csv":
            self.dialect = read_dialect(self.files, separator, encoding)
        super().__init__(str(place), con, self._scan({}))

    def close(self) -> None:
        """Free the memory and the folder that DuckDB spills into."""
        self.con.close()
        shutil.rmtree(self._spill, ignore_errors=True)

    @property
    def _paths(self) -> str:
        return "[" + ", ".join(sql.literal(str(path)) for path in self.files.paths) + "]"

    def _scan(self, types: dict[str, str]) -> str:
        if self.dialect is None:
            reader = "read_parquet" if self.files.kind == "parquet" else "read_json_auto"
            return f"{reader}({self._paths})"
        columns = ", ".join(f"{sql.literal(name)}: '{types.get(name, 'VARCHAR')}'" for name in self.dialect.header)
        return (
            f"read_csv({self._paths}, auto_detect=false, header=true, delim={sql.literal(self.dialect.separator)}, "
            f"quote='\"', escape='\"', encoding={sql.literal(self.dialect.encoding)}, columns={{{columns}}})"
        )

    def table(self, columns: LogColumns, options: LogOptions) -> sql.Table:
        """CSV has only text: columns are read as numbers where needed, and those in `where` by their detected type."""
        if self.dialect is not None:
            self._check_header(self.dialect, columns)
        if self.files.kind == "parquet":
            return replace(super().table(columns, options), proven=self._proven(columns.reward, options))
        if self.dialect is None or not options.where:
            return super().table(columns, options)
        named = {word.casefold() for word in re.findall(r"\w+", options.where)}
        types = {
            name: dtype
            for name, dtype in self._sniffed.items()
            if name not in columns.used and named & {word.casefold() for word in re.findall(r"\w+", name)}
        }
        kinds = {name: _kind(types.get(name, "VARCHAR")) for name in self.dialect.header}
        return self._timed(sql.Table(self._scan(types), kinds, "DOUBLE", True), columns)

    def _check_header(self, dialect: Dialect, columns: LogColumns) -> None:
        """Refuse a reward column whose name is a number, and duplicate column names."""
        if any(like_data(name) for name in (columns.reward, columns.pulls, columns.total) if name is not None):
            raise header_missing(self.title, dialect.header)
        for name in columns.used:
            if name in dialect.repeated:
                later = next(each for each in dialect.header if each.startswith(f"{name} ("))
                raise UnreadableTable(
                    f"{self.title}: two columns have the name {name!r}. Rename one of them, or give {later!r} to use "
                    "the later one."
                )

    def _proven(self, reward: str | None, options: LogOptions) -> frozenset[str]:
        """The reward column, if the statistics of every row group show no NULL and no value outside the range.

        Statistics leave NaN out. It makes the sum NaN, and the sums are then computed again with all checks.
        """
        kind = _kind(dict(self._described).get(reward or "", ""))
        if reward is None or not options.scale.bounded or kind not in ("whole", "number", "float", "boolean"):
            return frozenset()
        number = "CASE {0} WHEN 'true' THEN 1 WHEN 'false' THEN 0 ELSE TRY_CAST({0} AS DOUBLE) END"
        low, high = (number.format(f"stats_{end}_value") for end in ("min", "max"))
        scale = options.scale
        query = (
            f"SELECT count(*), count(*) FILTER (stats_null_count = 0 AND {low} >= {scale.low!r} AND "
            f"{high} <= {scale.high!r}) FROM parquet_metadata({self._paths}) "
            f"WHERE path_in_schema = {sql.literal(reward)}"
        )
        groups, kept = self.run(query).fetchall()[0]
        return frozenset([reward]) if groups > 0 and groups == kept else frozenset()

    @cached_property
    def _sniffed(self) -> dict[str, str]:
        assert self.dialect is not None
        first, mark = sql.literal(str(self.files.paths[0])), sql.literal(self.dialect.separator)
        coding = sql.literal(self.dialect.encoding)
        row = self.run(
            f"SELECT Columns FROM sniff_csv({first}, delim={mark}, header=true, encoding={coding})"
        ).fetchall()[0]
        return {name: each["type"] for name, each in zip(self.dialect.header, row[0], strict=False)}


def _kind(dtype: str) -> str:
    if dtype == "BOOLEAN":
        return "boolean"
    if dtype in FLOATS:
        return "float"
    if dtype == "DATE" or dtype.startswith("TIMESTAMP"):
        return "time"
    if re.fullmatch(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT)", dtype):
        return "whole"
    return "number" if re.match(r"(U?HUGEINT|DECIMAL)", dtype) else _text_or(dtype)


def _text_or(dtype: str) -> str:
    return "text" if dtype in ("VARCHAR", "JSON") or dtype.startswith("ENUM") else "other"


def _frame(columns: dict[str, Any]) -> Any:
    import pyarrow as pa

    return pa.table({name: pa.array(values) for name, values in columns.items()})
