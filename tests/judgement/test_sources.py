"""The same rows give the same verdicts wherever they lie."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import goodarm
from goodarm.errors import GoodarmError, UnreadableTable

K = 40


@pytest.fixture(scope="module")
def log() -> pd.DataFrame:
    chance = np.random.default_rng(7)
    arm = chance.integers(0, K, 60_000)
    reward = chance.random(arm.size) < np.linspace(0.0, 0.1, K)[arm]
    country = np.where(chance.random(arm.size) < 0.5, "DE", "NA")
    return pd.DataFrame({"creative_id": [f"c{i}" for i in arm], "clicked": reward.astype(int), "country": country})


@pytest.fixture(scope="module")
def expected(log: pd.DataFrame) -> list[dict[str, Any]]:
    return verdicts(log)


def verdicts(data: Any, **options: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = goodarm.judge(data, threshold=0.05, **options).as_dict()["arms"]
    return found


@pytest.mark.slow
def test_dataframes_of_every_kind(log: pd.DataFrame, expected: list[dict[str, Any]]) -> None:
    assert {row["verdict"] for row in expected} == {"good", "bad", "open"}
    arrow = pa.Table.from_pandas(log)
    relation = duckdb.connect().from_arrow(arrow)
    for data in (pl.DataFrame(log), pl.LazyFrame(log), arrow, relation, ibis.memtable(arrow)):
        assert verdicts(data) == expected


@pytest.mark.slow
def test_an_ibis_table_is_read_in_order() -> None:
    table = pa.table({"arm": ["a", "b"] * 300, "reward": [1, 0] * 300, "at": list(range(600, 0, -1))})
    assert verdicts(ibis.memtable(table), order="at") == verdicts(table, order="at")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "csv.zst", "tsv", "parquet", "jsonl", "jsonl.gz"])
def test_files_of_every_kind(log: pd.DataFrame, expected: list[dict[str, Any]], tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"log.{suffix}"
    write(log, path)
    assert verdicts(path) == expected
    assert verdicts(str(path)) == expected


def write(log: pd.DataFrame, path: Path) -> None:
    kind = path.name.split(".")[1]
    if kind == "parquet":
        log.to_parquet(path)
    elif kind == "jsonl":
        log.to_json(path, orient="records", lines=True)
    elif path.suffix == ".zst":
        con = duckdb.connect()
        con.from_arrow(pa.Table.from_pandas(log)).create_view("log")
        con.execute(f"COPY log TO '{path}' (FORMAT csv, COMPRESSION zstd)")
    else:
        log.to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")


@pytest.mark.slow
def test_folders_and_globs(log: pd.DataFrame, expected: list[dict[str, Any]], tmp_path: Path) -> None:
    for part in range(3):
        (tmp_path / f"day{part}").mkdir()
        log.iloc[part::3].to_csv(tmp_path / f"day{part}" / "log.csv", index=False)
    assert verdicts(tmp_path) == expected
    assert verdicts(f"{tmp_path}/*/log.csv") == expected
    (tmp_path / "day1" / "log.csv").write_text("creative_id,other\nc1,1\n")
    with pytest.raises(UnreadableTable, match="has the columns creative_id, other"):
        verdicts(tmp_path)


@pytest.mark.slow
def test_encodings_and_separators_are_found_out_or_told(tmp_path: Path) -> None:
    text = "arm;reward\n" + "Käse;1\n" * 30 + "Öl;0\n" * 30
    for coding in ("utf-8", "utf-8-sig", "latin-1", "utf-16"):
        path = tmp_path / f"{coding}.csv"
        path.write_bytes(text.encode(coding))
        found = goodarm.judge(path, threshold=0.5)
        assert (found.good, found.bad) == (["Käse"], ["Öl"])
    odd = tmp_path / "odd.csv"
    odd.write_bytes(text.replace(";", "~").encode("utf-8"))
    assert goodarm.judge(odd, threshold=0.5, separator="~", encoding="utf-8").good == ["Käse"]


@pytest.mark.slow
def test_where_and_by_agree_between_files_and_frames(log: pd.DataFrame, tmp_path: Path) -> None:
    log = log.assign(hour=np.arange(len(log)) % 24)
    path = tmp_path / "log.csv"
    log.to_csv(path, index=False)
    kept = verdicts(log[(log.country == "NA") & (log.hour < 12)])
    for data in (log, pl.DataFrame(log), duckdb.connect().from_arrow(pa.Table.from_pandas(log)), path):
        assert verdicts(data, where="country = 'NA' and hour < 12") == kept
        both = goodarm.judge(data, threshold=0.05, by="country")
        assert [segment["by"] for segment in both.as_dict()["segments"]] == [{"country": "DE"}, {"country": "NA"}]


def test_rewards_may_be_booleans_texts_or_decimals(log: pd.DataFrame, expected: list[dict[str, Any]]) -> None:
    assert verdicts(log.assign(clicked=log.clicked.astype(bool))) == expected
    table = pa.Table.from_pandas(log)
    column = table["clicked"].cast(pa.int8()).cast(pa.decimal128(5, 2))
    relation = duckdb.connect().from_arrow(table.set_column(1, "clicked", column))
    assert verdicts(relation) == expected


@pytest.mark.slow
def test_a_table_of_totals_is_recognised(log: pd.DataFrame, expected: list[dict[str, Any]], tmp_path: Path) -> None:
    sums = log.groupby(["creative_id", "country"]).clicked.agg(Pulls="count", TOTAL="sum").reset_index()
    sums.to_csv(tmp_path / "totals.csv", index=False)
    named = sums.rename(columns={"Pulls": "impressions", "TOTAL": "clicks"})
    assert verdicts(sums) == expected
    assert verdicts(tmp_path / "totals.csv") == expected
    assert verdicts(named, pulls="impressions", total="clicks") == expected


def test_tables_come_back_as_they_came(log: pd.DataFrame) -> None:
    for data, kind in ((log, pd.DataFrame), (pl.DataFrame(log), pl.DataFrame), (pa.Table.from_pandas(log), pa.Table)):
        table = goodarm.judge(data, threshold=0.05).table
        assert isinstance(table, kind)
        assert len(table) == K


def test_memory_is_limited_and_progress_told(log: pd.DataFrame, expected: list[dict[str, Any]], tmp_path: Path) -> None:
    log.to_parquet(tmp_path / "log.parquet")
    seen: list[float] = []
    assert verdicts(tmp_path / "log.parquet", memory="200MiB", progress=seen.append) == expected
    assert all(0.0 <= share <= 1.0 for share in seen)
    with pytest.raises(UnreadableTable, match="Write it like 1GiB"):
        verdicts(tmp_path / "log.parquet", memory="much")


def test_json_lines_and_a_cut_archive(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps({"arm": "a", "reward": 1}) + "\n" for _ in range(20)) + '{"arm": "b", "rew')
    with pytest.raises(UnreadableTable, match="Malformed JSON"):
        goodarm.judge(path, threshold=0.5)
    packed = gzip.compress(("arm,reward\n" + "a,1\nb,0\n" * 100_000).encode())
    (tmp_path / "cut.csv.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(UnreadableTable, match=r"cut\.csv\.gz"):
        goodarm.judge(tmp_path / "cut.csv.gz", threshold=0.5)


FAR = 1e12


def far_from_zero() -> pa.Table:
    """Rewards in [1e12, 1e12 + 1] of means 0.6 and 0.4 of the range; between the ends, and as whole numbers."""
    chance = np.random.default_rng(5)
    arm = np.arange(80_000) % 2
    up = chance.random(arm.size) < np.where(arm == 0, 0.6, 0.4)
    level = np.where(arm == 0, 0.6, 0.4)
    return pa.table(
        {"arm": np.array(["high", "low"])[arm], "reward": FAR + level, "whole": (10**12 + up).astype(np.int64)}
    )


@pytest.mark.slow
@pytest.mark.parametrize("reward", ["reward", "whole"])
def test_rewards_far_from_zero_keep_their_digits(tmp_path: Path, reward: str) -> None:
    """LOW is subtracted from each reward before they are added: a sum of 40,000 near 1e12 has lost the range."""
    table = far_from_zero()
    pq.write_table(table, tmp_path / "log.parquet")
    plain = goodarm.judge(
        pa.table({"arm": table["arm"], "reward": [value - FAR for value in table[reward].to_pylist()]}), threshold=0.5
    )
    relation = duckdb.connect().from_arrow(table)
    for data in (
        table,
        pl.from_arrow(table),
        table.to_pandas(),
        relation,
        ibis.memtable(table),
        tmp_path / "log.parquet",
    ):
        found = goodarm.judge(
            data, arm="arm", reward=reward, threshold=FAR + 0.5, rewards=f"bounded:{FAR!r},{FAR + 1.0!r}"
        )
        assert (found.good, found.bad) == (["high"], ["low"])
        assert found.arms.evidence == pytest.approx(plain.arms.evidence, rel=1e-9)


def test_totals_that_have_lost_their_digits_are_refused() -> None:
    totals = {"arm": ["a"], "pulls": [10**6], "total": [1e18 + 6e5]}
    with pytest.raises(GoodarmError, match="have lost the digits"):
        goodarm.judge(totals, threshold=FAR + 0.5, rewards=f"bounded:{FAR!r},{FAR + 1.0!r}")
    fine = {"arm": ["a"], "pulls": [10**6], "total": [4.5e6]}
    assert goodarm.judge(fine, threshold=4.0, rewards="bounded:1,5").good == ["a"]
    stars = {"arm": ["a", "a"], "reward": [4.0, None]}
    assert goodarm.judge(stars, threshold=1.0, rewards="bounded:-1,5", nulls="zero").arms.mean[0] == pytest.approx(2.0)
