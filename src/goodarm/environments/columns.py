"""Read columns from a CSV or Parquet file, a dataframe that narwhals supports, or a mapping."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goodarm.arguments import shown
from goodarm.errors import MissingExtra, UnreadableTable

TRUTH = {"true": 1.0, "false": 0.0}

Source = Any
"""A path, a dataframe (pandas, polars, pyarrow, ...), or a mapping from column to values."""


def title(source: Source) -> str:
    """The table's name in messages."""
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
        found = ", ".join(map(repr, columns)) or "an empty file"
        raise UnreadableTable(f"{title(source)}: needs a header with the columns {wanted}; found {found}.")
    lengths = {len(columns[name]) for name in names}
    if lengths == {0}:
        raise UnreadableTable(f"{title(source)}: a header without rows. Add at least one row below it.")
    if len(lengths) > 1:
        raise UnreadableTable(f"{title(source)}: the columns {wanted} need the same number of rows.")
    return [columns[name] for name in names]


def has_column(source: Source, name: str) -> bool:
    """Whether a readable table has a column of this name."""
    try:
        read_columns(source, name)
    except UnreadableTable:
        return False
    return True


def numbers(source: Source, name: str, values: Sequence[Any]) -> NDArray[np.float64]:
    """A column as finite numbers. An error names the row of the first invalid value."""
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
    """Convert to a number; true and false, as programs write them, become 1 and 0."""
    if isinstance(value, str) and value.strip().lower() in TRUTH:
        return TRUTH[value.strip().lower()]
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def _from_file(file: Path, names: tuple[str, ...]) -> Mapping[str, Sequence[Any]]:
    wanted = " and ".join(names)
    if file.is_dir():
        raise UnreadableTable(f"{file}: is a folder. Give a CSV or Parquet file with the columns {wanted}.")
    if not file.is_file():
        raise UnreadableTable(f"{file}: there is no such file. Give a CSV or Parquet file with the columns {wanted}.")
    if file.suffix == ".parquet":
        return _from_parquet(file, names)
    if file.suffix in (".csv", ".tsv", ".txt"):
        return _from_csv(file, names)
    kind = f"unknown kind of table {file.suffix!r}" if file.suffix else "a name without an ending"
    raise UnreadableTable(f"{file}: {kind}. Give a .csv or a .parquet file.")


def _from_csv(file: Path, names: tuple[str, ...]) -> Mapping[str, Sequence[Any]]:
    """Read cells separated by commas, or by semicolons or tabs if the header uses them."""
    try:
        with file.open(newline="", encoding="utf-8-sig") as lines:
            header = lines.readline()
            lines.seek(0)
            reader = csv.DictReader(lines, delimiter=_separator(header, names))
            rows = list(reader)
            columns = [name for name in reader.fieldnames or () if name is not None]
    except UnicodeDecodeError as error:
        raise UnreadableTable(
            f"{file}: not in UTF-8 (byte {error.object[error.start]:#x} at place {error.start}; perhaps Latin-1, which "
            f"spreadsheets write). Save it as UTF-8, for example with: iconv -f LATIN1 -t UTF-8 {file.name}"
        ) from None
    except (csv.Error, OSError) as error:
        raise UnreadableTable(f"{file}: can't be read as CSV ({error}).") from None
    return {name: [row[name] for row in rows] for name in columns}


def _separator(header: str, names: tuple[str, ...]) -> str:
    """The separator of the cells: the one with which the header has all columns, else a comma.

    >>> _separator("arm;mean;note", ("arm", "mean")), _separator("arm,mean", ("arm", "mean"))
    (';', ',')
    """
    for sign in ",;\t":
        if set(names) <= {cell.strip().strip('"') for cell in header.split(sign)}:
            return sign
    return ","


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
        raise UnreadableTable(
            f"can't read {shown(frame)} as a table. Give a path, a dataframe (pandas, polars, pyarrow), or a dict of "
            "columns."
        ) from None
    eager = known.collect() if isinstance(known, nw.LazyFrame) else known
    return {name: eager[name].to_list() for name in eager.columns}
