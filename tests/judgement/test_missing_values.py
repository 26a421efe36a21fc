"""Missing names and rewards: every kind of table treats them alike, and no arm loses its share of delta."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from goodarm import judge
from goodarm.errors import UnreadableTable

ROWS = 300


def frame(**more: Any) -> pd.DataFrame:
    return pd.DataFrame({"arm": ["a", "b"] * 150, "reward": [1, 0, 0] * 100, **more})


def without(column: str, missing: Any, dtype: Any) -> pd.DataFrame:
    made = frame()
    made[column] = made[column].astype(dtype)
    made.loc[:29, column] = missing
    return made


ARMS = {
    "None in text": without("arm", None, "str"),
    "None in objects": without("arm", None, object),
    "NaN in objects": without("arm", np.nan, object),
    "NA in text": without("arm", pd.NA, "string"),
    "NaN in categories": without("arm", None, "category"),
    "NaN in floats": frame().assign(arm=[np.nan] * 30 + [1.0, 2.0] * 135),
}


@pytest.mark.parametrize("data", ARMS.values(), ids=ARMS)
@pytest.mark.parametrize("unit", [None, "user"])
def test_rows_without_an_arm_in_pandas(data: pd.DataFrame, unit: str | None) -> None:
    options: dict[str, Any] = {"threshold": 0.2, "arm": "arm", "reward": "reward", "unit": unit}
    data = data.assign(user=[f"u{j}" for j in range(ROWS)])
    with pytest.raises(UnreadableTable, match="30 rows have no arm, of 300 rows"):
        judge(data, **options)
    for nulls in ("drop", "zero"):
        found = judge(data, nulls=nulls, **options)
        assert found.arms.pulls.tolist() == [135, 135]
        assert any("30 rows without arm left out" in note for note in found.notes)


def test_rows_without_a_segment_in_pandas() -> None:
    data = frame(country=["DE", "FR", None] * 100)
    with pytest.raises(UnreadableTable, match="100 rows have no country or arm"):
        judge(data, threshold=0.2, by="country")
    assert judge(data, threshold=0.2, by="country", nulls="drop").arms.pulls.tolist() == [50] * 4


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean", object])
@pytest.mark.parametrize("truth", [False, True])
def test_missing_rewards_in_pandas(dtype: Any, truth: bool) -> None:
    data = frame()
    data["reward"] = data["reward"].astype(bool if truth else int).astype(dtype)
    assert judge(data, threshold=0.2).arms.pulls.tolist() == [150, 150]
    data.loc[:9, "reward"] = None
    with pytest.raises(UnreadableTable, match="10 rewards are missing"):
        judge(data, threshold=0.2)
    assert judge(data, threshold=0.2, nulls="drop").arms.pulls.tolist() == [145, 145]
    assert judge(data, threshold=0.2, nulls="zero").arms.pulls.tolist() == [150, 150]


def test_two_columns_of_one_name_in_pandas() -> None:
    data = frame(other=1)
    data.columns = pd.Index(["arm", "reward", "reward"])
    with pytest.raises(UnreadableTable, match=r"several columns are called 'reward'[.] Rename all but one"):
        judge(data, threshold=0.2)


def parquet(data: pd.DataFrame, folder: Path) -> Path:
    data.to_parquet(folder / "log.parquet", index=False)
    return folder / "log.parquet"


def csv(data: pd.DataFrame, folder: Path) -> Path:
    data.to_csv(folder / "log.csv", index=False)
    return folder / "log.csv"


SOURCES: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "arrow": lambda data, _: pa.Table.from_pandas(data),
    "pandas": lambda data, _: data,
    "polars": lambda data, _: pl.from_pandas(data),
    "csv": csv,
    "parquet": parquet,
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"unit": "user"},
        {"rule": "bet-mixture"},
        {"criterion": "fdr"},
        {"rewards": "gaussian:1"},
        {"rewards": "nonnegative"},
        {"unit": "user", "per_unit": "ratio", "unit_limit": 1},
        {"threshold": None, "versus": "a", "margin": 0.01},
        {"order": "at"},
        {"propensity": "p", "cap": 3},
    ],
    ids=str,
)
def test_an_arm_without_any_reward_keeps_its_share(source: Any, options: dict[str, Any], tmp_path: Path) -> None:
    """Leaving it out gave its share of delta to the others, because of values that are known only afterwards."""
    data = pd.DataFrame({"arm": ["a", "b", "c"] * 100, "reward": [1.0, 0.0, None] * 100, "p": 0.5})
    data = data.assign(user=[f"u{j}" for j in range(ROWS)], at=list(range(ROWS)))
    options = {"arm": "arm", "reward": "reward", "threshold": 0.5, "nulls": "drop", **options}
    found = judge(source(data, tmp_path), **options)
    lost = found.arms.arm.tolist().index("c")
    assert (found.arms.pulls[lost], found.arms.verdict[lost]) == (0, 0)
    if "criterion" not in options:
        judged = len(found.arms.arm)
        assert any(f"shared over {judged} arms" in note for note in found.notes)
