"""Times and windows whose unit is unclear are refused: a wrong unit would give wrong verdicts without a sign of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from goodarm import judge
from goodarm.errors import GoodarmError, InvalidValue

DAY = 86_400
BEGIN = 1_760_000_000
SECONDS = [BEGIN + day * DAY for day in (0, 1, 2, 9)] * 10
OPTIONS: dict[str, Any] = {"threshold": 0.5, "unit": "user", "time": "time", "arm": "arm", "reward": "reward"}


def log(times: list[Any]) -> dict[str, list[Any]]:
    users = [f"u{j // 4}" for j in range(40)]
    return {"user": users, "arm": ["a"] * 40, "time": times, "reward": [j % 2 for j in range(40)]}


def csv(columns: dict[str, list[Any]], folder: Path) -> Path:
    pd.DataFrame(columns).to_csv(folder / "log.csv", index=False)
    return folder / "log.csv"


def parquet(columns: dict[str, list[Any]], folder: Path) -> Path:
    pd.DataFrame(columns).to_parquet(folder / "log.parquet", index=False)
    return folder / "log.parquet"


SOURCES: dict[str, Callable[[dict[str, list[Any]], Path], Any]] = {
    "arrow": lambda columns, _: pa.table(columns),
    "pandas": lambda columns, _: pd.DataFrame(columns),
    "polars": lambda columns, _: pl.DataFrame(columns),
    "csv": csv,
    "parquet": parquet,
}
everywhere = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)


@everywhere
@pytest.mark.parametrize(
    ("factor", "unit", "divisor"),
    [(10**3, "milliseconds", "1,000"), (10**6, "microseconds", "1,000,000"), (10**9, "nanoseconds", "1,000,000,000")],
)
@pytest.mark.parametrize("kind", [int, float])
def test_finer_units_than_seconds_are_refused(
    source: Any, factor: int, unit: str, divisor: str, kind: Any, tmp_path: Path
) -> None:
    data = source(log([kind(second * factor) for second in SECONDS]), tmp_path)
    message = f"Unix seconds.*If these are {unit}, divide them by {divisor}, or"
    if factor == 10**9:
        message += "|Whole numbers above 2"  # Arrow does not convert them
    with pytest.raises(GoodarmError, match=message):
        judge(data, window="3d", **OPTIONS)


@everywhere
def test_one_number_in_milliseconds_is_enough(source: Any, tmp_path: Path) -> None:
    data = source(log([*SECONDS[:-1], SECONDS[-1] * 1000]), tmp_path)
    with pytest.raises(GoodarmError, match="milliseconds"):
        judge(data, window="3d", **OPTIONS)


@everywhere
def test_numbers_that_look_like_dates_are_refused(source: Any, tmp_path: Path) -> None:
    data = source(log([20261001 + j % 31 for j in range(40)]), tmp_path)
    with pytest.raises(GoodarmError, match=r"20261001, which look like dates.*Write the dates as 2026-10-31"):
        judge(data, window="3d", **OPTIONS)


@everywhere
@pytest.mark.parametrize("window", ["3d", "72h", 3 * DAY, timedelta(days=3), np.float64(3 * DAY)])
def test_seconds_are_judged(source: Any, window: Any, tmp_path: Path) -> None:
    found = judge(source(log(SECONDS), tmp_path), window=window, **OPTIONS)
    assert found.arms.pulls.tolist() == [10]
    assert found.arms.mean.tolist() == pytest.approx([1 / 3])  # the rewards of three days: 0, 1, 0


@pytest.mark.parametrize("window", ["3", " 3 ", "3.5", "1e5"])
def test_a_window_without_a_unit_is_refused(window: str) -> None:
    bare = window.strip()
    with pytest.raises(InvalidValue, match=f"window: {bare} what[?] Write {bare}d, {bare}h, {bare}min or {bare}s[.]"):
        judge(log(SECONDS), window=window, **OPTIONS)


def test_a_note_names_the_unit_of_a_window() -> None:
    notes = judge(log([*SECONDS[:36], *range(BEGIN + 9 * DAY, BEGIN + 9 * DAY + 4)]), window=100, **OPTIONS).notes
    assert any("whose window of 100 seconds is not over" in note for note in notes)


@everywhere
@pytest.mark.parametrize("first", ["15/10/2025 10:19", "week 0"])
def test_times_that_cannot_be_read_are_quoted(source: Any, first: str, tmp_path: Path) -> None:
    message = f"its first value is '{first}'. write times as 2026-10-31 14:00"
    with pytest.raises(GoodarmError) as refused:
        judge(source(log([first] * 40), tmp_path), window="3d", **OPTIONS)
    assert message in str(refused.value).lower()
