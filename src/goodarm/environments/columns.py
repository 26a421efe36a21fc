"""Columns from wherever a table lies: a CSV or Parquet file, a dataframe of any kind that narwhals knows, a mapping."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goodarm.errors import MissingExtra, UnreadableTable

Source = Any
"""A path, a dataframe (pandas, polars, pyarrow, ...), or a mapping from column to values."""


def title(source: Source) -> str:
    """How messages call the table."""
    return str(source) if isinstance(source, str | Path) else "the table"


def read_columns(source: Source, *names: str) -> list[Sequence[Any]]:
    """The columns of these names, in this order, all of the same length and with at least one row.

    >>> read_columns({"arm": ["a", "b"], "mean": [0.1, 0.2], "note": ["", ""]}, "arm", "mean")
    [['a', 'b'], [0.1, 0.2]]
    """
    if isinstance(source, str | Path):
        columns = _from_file(Path(source), names)
    elif isinstance(source, Mapping):
        columns = {name: list(values) for name, values in source.items()}
    else:
        columns = _from_frame(source)
    wanted = " and ".join(names)
    if any(name not in columns for name in names):
        found = ", ".join(columns) or "no rows"
        raise UnreadableTable(f"{title(source)}: needs a header with the columns {wanted}; found {found}.")
    lengths = {len(columns[name]) for name in names}
    if lengths == {0} or len(lengths) > 1:
        raise UnreadableTable(f"{title(source)}: the columns {wanted} need the same number of rows, and at least one.")
    return [columns[name] for name in names]


def numbers(source: Source, name: str, values: Sequence[Any]) -> NDArray[np.float64]:
    """A column as finite numbers; the first that is none is an error that names its row."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.array([_number(value) for value in values])
    wrong = ~np.isfinite(array)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise UnreadableTable(
            f"{title(source)}: the {name} in row {row + 1} is {values[row]!r}, not a number. Correct that row."
        )
    return array


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def _from_file(file: Path, names: tuple[str, ...]) -> Mapping[str, Sequence[Any]]:
    wanted = " and ".join(names)
    if not file.is_file():
        raise UnreadableTable(f"{file}: there is no such file. Give a CSV or Parquet file with the columns {wanted}.")
    if file.suffix == ".parquet":
        return _from_parquet(file, names)
    if file.suffix == ".csv":
        return _from_csv(file)
    raise UnreadableTable(f"{file}: unknown kind of table {file.suffix!r}. Give a .csv or a .parquet file.")


def _from_csv(file: Path) -> Mapping[str, Sequence[Any]]:
    try:
        with file.open(newline="", encoding="utf-8-sig") as lines:
            rows = list(csv.DictReader(lines))
    except (UnicodeDecodeError, csv.Error, OSError) as error:
        raise UnreadableTable(f"{file}: not a CSV file in UTF-8 ({error}).") from None
    return {name: [row[name] for row in rows] for name in rows[0] if name is not None} if rows else {}


def _from_parquet(file: Path, names: tuple[str, ...]) -> Mapping[str, Sequence[Any]]:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingExtra("reading Parquet", "report") from None
    try:
        columns: dict[str, Sequence[Any]] = parquet.read_table(file, columns=list(names)).to_pydict()
    except (OSError, ValueError, KeyError) as error:
        raise UnreadableTable(f"{file}: can't be read as Parquet with the columns {names} ({error}).") from None
    return columns


def _from_frame(frame: Any) -> Mapping[str, Sequence[Any]]:
    import narwhals as nw

    try:
        known = nw.from_native(frame)
    except TypeError:
        kind = type(frame).__name__
        raise UnreadableTable(
            f"can't read a {kind} as a table. Give a path, a dataframe (pandas, polars, pyarrow), or a dict of columns."
        ) from None
    eager = known.collect() if isinstance(known, nw.LazyFrame) else known
    return {name: eager[name].to_list() for name in eager.columns}
