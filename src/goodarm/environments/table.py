"""`table`: arms and their means from a CSV or Parquet file."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from goodarm.environments._base import Environment
from goodarm.environments.laws import bernoulli
from goodarm.errors import InvalidValue, MissingExtra, UnreadableTable


def table(path: str | Path, threshold: float, *, horizon: int = 1_000_000) -> Environment:
    """0/1 rewards with the means of a table that has the columns `arm` and `mean`."""
    names, means = read_means(path)
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UnreadableTable(f"{path}: arm {twice!r} stands there twice. Keep one row an arm.")
    try:
        return bernoulli(means, threshold, horizon=horizon, name=f"table:{Path(path).name}")
    except InvalidValue as error:
        raise UnreadableTable(f"{path}: {error}") from None


def read_means(path: str | Path) -> tuple[list[str], list[float]]:
    """The columns `arm` and `mean` of a CSV (.csv) or Parquet (.parquet) file."""
    file = Path(path)
    if not file.is_file():
        raise UnreadableTable(
            f"{file}: there is no such file. Give a CSV or Parquet file with the columns arm and mean."
        )
    if file.suffix == ".parquet":
        return _read_parquet(file)
    if file.suffix == ".csv":
        return _read_csv(file)
    raise UnreadableTable(f"{file}: unknown kind of table {file.suffix!r}. Give a .csv or a .parquet file.")


def _read_csv(file: Path) -> tuple[list[str], list[float]]:
    try:
        with file.open(newline="", encoding="utf-8-sig") as lines:
            rows = list(csv.DictReader(lines))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UnreadableTable(f"{file}: can't be read as a CSV file in UTF-8 ({error}).") from None
    if not rows or "arm" not in rows[0] or "mean" not in rows[0]:
        found = ", ".join(map(str, rows[0])) if rows else "no rows"
        raise UnreadableTable(f"{file}: needs a header with the columns arm and mean, and a row an arm; found {found}.")
    return [str(row["arm"]) for row in rows], [_number(file, j, row["mean"]) for j, row in enumerate(rows)]


def _number(file: Path, row: int, text: str | None) -> float:
    try:
        return float(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise UnreadableTable(
            f"{file}: the mean in row {row + 1} is {text!r}, not a number. Correct that row."
        ) from None


def _read_parquet(file: Path) -> tuple[list[str], list[float]]:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingExtra("reading Parquet", "report") from None
    try:
        columns: dict[str, Sequence[Any]] = parquet.read_table(file, columns=["arm", "mean"]).to_pydict()
    except (OSError, ValueError, KeyError) as error:
        raise UnreadableTable(f"{file}: can't be read as Parquet with the columns arm and mean ({error}).") from None
    return [str(name) for name in columns["arm"]], [
        _number(file, j, str(value)) for j, value in enumerate(columns["mean"])
    ]
