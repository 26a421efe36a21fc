"""A table or a query of a PostgreSQL database, summed up by the server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import numpy as np

from goodarm.errors import InvalidValue, MissingExtra, UnavailableData, UnreadableTable
from goodarm.judgement.log_columns import LogColumns
from goodarm.judgement.options import LogOptions
from goodarm.judgement.sources import sql
from goodarm.judgement.sources._base import Batch, Cell, Progress, Stray, Sums, check_seconds
from goodarm.judgement.sources.duck import first_line

SCHEMES = ("postgresql://", "postgres://")
BATCH = 100_000
KINDS = {
    "bool": "boolean",
    "int2": "number",
    "int4": "number",
    "int8": "number",
    "numeric": "number",
    "float4": "float",
    "float8": "float",
    "date": "time",
    "timestamp": "time",
    "timestamptz": "time",
}


def without_password(address: str) -> str:
    """The address without its password, for messages.

    >>> without_password("postgresql://me:secret@host/db")
    'postgresql://me@host/db'
    """
    parts = urlsplit(address)
    user, at, host = parts.netloc.rpartition("@")
    return urlunsplit((parts.scheme, user.partition(":")[0] + at + host, parts.path, "", ""))


class PostgresSource:
    """A relation of a PostgreSQL server. It is only read, and returns one row per arm."""

    def __init__(self, address: str, table: str | None, query: str | None) -> None:
        if (table is None) == (query is None):
            raise InvalidValue("a database needs either `table=NAME` or `query='SELECT ...'`.")
        try:
            import psycopg
        except ImportError:
            raise MissingExtra("judging a table of PostgreSQL", "postgresql") from None
        self.title = f"{without_password(address)} {table or 'query'}"
        try:
            self.con: Any = psycopg.connect(address)
        except psycopg.Error as error:
            raise UnavailableData(f"{without_password(address)} does not answer ({first_line(error)}).") from None
        self.con.read_only = True
        named = (
            ".".join(map(sql.quoted, table.split("."))) if table else f"({(query or '').rstrip().rstrip(';')}\n) AS log"
        )
        self._relation = named

    @cached_property
    def _described(self) -> dict[str, str]:
        cursor = self._run(f"SELECT * FROM {self._relation} LIMIT 0")
        types = self.con.adapters.types
        found = {}
        for column in cursor.description:
            info = types.get(column.type_code)
            found[column.name] = KINDS.get(info.name, "other") if info else "other"
        return found

    def close(self) -> None:
        """Disconnect from the server."""
        self.con.close()

    def names(self) -> list[str]:
        return list(self._described)

    def times(self) -> list[str]:
        return [name for name, kind in self._described.items() if kind == "time"]

    def _table(self, columns: LogColumns) -> sql.Table:
        for name in (columns.reward, columns.pulls, columns.total, columns.propensity, columns.denominator):
            if name is not None and self._described[name] in ("other", "time"):
                raise UnreadableTable(
                    f"{self.title}: the column {name!r} holds no numbers. Cast it in a `query`: {name}::float8."
                )
        table = sql.Table(self._relation, self._described, "double precision", False)
        if columns.time is None or self._described[columns.time] == "other":
            return table
        time = sql.quoted(columns.time)
        stamped = self._described[columns.time] == "time"
        seconds = f"extract(epoch FROM {time})" if stamped else time
        return replace(table, time=f"CAST({seconds} AS double precision)", stamped=stamped)

    def sums(self, columns: LogColumns, options: LogOptions, progress: Progress) -> Sums:
        table = self._table(columns)
        if options.seconds is not None and table.time is not None and not table.stamped:
            check_seconds(columns.time or "", *self._run(sql.span_query(table, options)).fetchone())
        found = self._sums(table, columns, options, options.scale.cut)  # a cut NaN would count as the cap
        if np.isnan(found.total[found.pulls > 0]).any():  # a NaN makes the sum NaN
            found = self._sums(table, columns, options, True)
        progress(1.0)
        return found

    def _sums(self, table: sql.Table, columns: LogColumns, options: LogOptions, no_nan: bool) -> Sums:
        cursor = self._run(sql.sums_query(table, columns, options, no_nan))
        rows = cursor.fetchall()
        names = [column.name for column in cursor.description]
        return sql.as_sums(columns, {name: [row[j] for row in rows] for j, name in enumerate(names)})

    def stray(self, columns: LogColumns, options: LogOptions) -> Stray:
        table = self._table(columns)
        count = self._run(sql.stray_query(table, columns, options, count=True)).fetchone()[0]
        first = self._run(sql.stray_query(table, columns, options, count=False)).fetchone() or (None, None)
        return Stray(int(count), first[0], first[1])

    def rows_before(self, columns: LogColumns, options: LogOptions, moment: float) -> int:
        return int(self._run(sql.before_query(self._table(columns), options, moment)).fetchone()[0])

    def distinct(self, columns: LogColumns, options: LogOptions, column: str) -> int:
        query = sql.distinct_query(self._table(columns), columns, options, column)
        return int(self._run(query).fetchone()[0])

    def cells(self, columns: LogColumns, options: LogOptions, drawn: str | None, score: str | None) -> list[Cell]:
        place = "NULL" if drawn is None else sql.quoted(drawn)
        rows: list[Cell] = self._run(sql.cells_query(self._table(columns), columns, options, place, score)).fetchall()
        return rows

    def in_order(self, columns: LogColumns, options: LogOptions, sums: Sums, progress: Progress) -> Iterator[Batch]:
        """Sorted by the server and fetched through a cursor on its side."""
        table = self._table(columns)
        keys = ", ".join(f"CAST({sql.quoted(key)} AS TEXT)" for key in (*columns.by, columns.arm))
        x = table.number(columns.reward or "", True)
        reward = f"coalesce({x}, 0)" if options.nulls == "zero" else x
        order = sql.quoted(columns.order or "")
        where = f"WHERE ({options.where}\n)" if options.where else ""
        ids = {key: j for j, key in enumerate(zip(*sums.segment, sums.arm, strict=True))}
        with self.con.cursor(name="goodarm_log") as cursor:
            cursor.execute(f"SELECT {keys}, {reward}, {order} FROM {self._relation} {where} ORDER BY {order}")
            while rows := cursor.fetchmany(BATCH):
                kept = [row for row in rows if row[-2] is not None]
                arms = np.array([ids[row[:-2]] for row in kept], dtype=np.int64)
                rewards = np.array([row[-2] for row in kept], dtype=np.float64)
                yield Batch(arms, rewards, np.array([row[-1] for row in kept], dtype=object))

    def _run(self, query: str) -> Any:
        import psycopg

        try:
            return self.con.execute(query)
        except psycopg.Error as error:
            self.con.rollback()
            raise UnreadableTable(f"{self.title}: {first_line(error)}.") from None
