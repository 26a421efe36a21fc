"""Logs that lie in PostgreSQL or Spark: summed up there, the same verdicts as from a file."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from servers import postgresql

import goodarm
from goodarm.errors import GoodarmError

pytestmark = pytest.mark.slow

ROWS = 20_000
HARD = ("plain", 'say "hi"', "two\nlines", "🥐", "<b>&", "it's")


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    chance = np.random.default_rng(11)
    arm = chance.integers(0, len(HARD), ROWS)
    reward = chance.random(ROWS) < np.linspace(0.02, 0.12, len(HARD))[arm]
    return pl.DataFrame(
        {
            "item": [HARD[i] for i in arm], "click": reward.astype(np.int64), "stars": reward * 0.5 + 0.25,
            "shop": np.where(chance.random(ROWS) < 0.5, "x", "y"), "hour": np.arange(ROWS),
        }
    )  # fmt: skip


FAR = {"threshold": 1e12 + 0.0625, "rewards": f"bounded:{1e12!r},{1e12 + 1.0!r}"}
CASES: list[dict[str, Any]] = [
    {"reward": "click"},
    {"reward": "click", "by": "shop", "criterion": "fdr"},
    {"reward": "click", "where": "shop = 'x' and hour < 9000"},
    {"reward": "click", "rewards": "gaussian:0.5"},
]

BY_SUMS: list[dict[str, Any]] = [
    {"reward": "stars", "rule": "bet-mixture"},
    {"reward": "stars", "rewards": "nonnegative:2", "unit": "hour"},
]
"""Evidence from sums of logarithms, equal on all engines to rounding."""


def found(data: Any, options: dict[str, Any], **more: Any) -> dict[str, Any]:
    said = goodarm.judge(data, threshold=0.06, arm="item", **options, **more).as_dict()
    return {name: value for name, value in said.items() if name != "source"}


@pytest.fixture(scope="module")
def address(log: pl.DataFrame) -> Iterator[str]:
    with postgresql() as server:
        import psycopg

        with psycopg.connect(server.url) as con:
            con.execute('CREATE TABLE "Log" (item text, click bigint, stars numeric, shop text, hour bigint)')
            with con.cursor().copy('COPY "Log" FROM STDIN') as copy:
                for row in log.iter_rows():
                    copy.write_row(row)
            con.execute('CREATE VIEW holes AS SELECT item, nullif(click, 0) AS click FROM "Log"')
            con.execute('CREATE VIEW far AS SELECT item, click + 1000000000000 AS click, hour, shop FROM "Log"')
            con.execute("CREATE VIEW nans AS SELECT item, 'NaN'::float8 AS click FROM \"Log\" LIMIT 3")
        yield server.url


@pytest.mark.parametrize("options", CASES, ids=lambda options: "-".join(options))
def test_postgresql_gives_the_verdicts_of_duckdb(address: str, log: pl.DataFrame, options: dict[str, Any]) -> None:
    expected = found(log, options)
    assert found(address, options, table="Log") == expected
    assert found(address, options, query='SELECT * FROM "Log";') == expected


@pytest.mark.parametrize("options", BY_SUMS, ids=lambda options: "-".join(options))
def test_postgresql_adds_up_logarithms_as_duckdb_does(address: str, log: pl.DataFrame, options: dict[str, Any]) -> None:
    by_sums_alike(found(address, options, table="Log"), found(log, options))


def by_sums_alike(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one["rule"] == other["rule"] == "bet-mixture"
    for row, same in zip(one["arms"], other["arms"], strict=True):
        assert (row["arm"], row["verdict"]) == (same["arm"], same["verdict"])
        assert row["evidence"] == pytest.approx(same["evidence"], rel=1e-9)


def test_postgresql_keeps_the_digits_of_rewards_far_from_zero(address: str, log: pl.DataFrame) -> None:
    near = goodarm.judge(log, threshold=0.0625, arm="item", reward="click")
    far = goodarm.judge(address, table="far", arm="item", reward="click", **FAR)
    assert far.arms.evidence == pytest.approx(near.arms.evidence, rel=1e-5)
    assert (far.good, far.bad) == (near.good, near.bad)


@pytest.mark.filterwarnings("ignore::goodarm.errors.LogWarning")
def test_postgresql_shares_delta_by_appearance_and_tells_of_late_arms(address: str, log: pl.DataFrame) -> None:
    late = log.filter((pl.col("item") != "plain") | (pl.col("hour") > 9000))
    query = "SELECT *, to_timestamp(hour) AS at FROM \"Log\" WHERE item <> 'plain' OR hour > 9000"
    options = {"threshold": 0.06, "arm": "item", "reward": "click"}
    found = goodarm.judge(address, query=query, **options)
    assert any("not all arms exist from the beginning" in note for note in found.notes)
    one = goodarm.judge(address, query=query, by_appearance=True, time="at", **options)
    two = goodarm.judge(late, by_appearance=True, time="hour", **options)
    assert one.as_dict()["arms"] == two.as_dict()["arms"]


def biased(rows: int = 12_000) -> pl.DataFrame:
    """Days whose rows are sorted by click, and an arm that exists from the second half on, with propensities."""
    chance = np.random.default_rng(6)
    late = np.arange(rows) >= rows // 2
    new = late & (chance.random(rows) < 0.5)
    click = (chance.random(rows) < np.where(new, 0.45, 0.3)).astype(np.int64)
    made = pl.DataFrame(
        {
            "item": np.where(new, "new", "old"), "click": click, "p": np.where(late, 0.5, 1.0),
            "day": np.arange(rows) // 600, "shop": np.where(chance.random(rows) < 0.5, "x", "y"),
        }
    )  # fmt: skip
    return made.sort("day", "click", maintain_order=True)


TIES = {"threshold": 0.3, "arm": "item", "reward": "click", "order": "day", "rule": "kt"}
WEIGHTED = {"threshold": 0.4, "arm": "item", "reward": "click", "propensity": "p", "cap": 2.0, "max_arms": 2}


def ties_and_weights_alike(data: Any, table: str | None = None) -> None:
    """Ties in a random order, the same everywhere; an arm that came late is judged by the rows in which it could be
    shown; a filter by the arm is refused. Before, the export's own order decided, and the late arm was called bad."""
    here, more = biased(), {} if table is None else {"table": table}
    ordered = goodarm.judge(data, **TIES, **more)
    assert ordered.as_dict()["arms"] == goodarm.judge(here, **TIES).as_dict()["arms"]
    assert any("12,000 rows have the same day" in note for note in ordered.notes)
    weighted, plain = goodarm.judge(data, **WEIGHTED, **more), goodarm.judge(here, **WEIGHTED)
    assert (weighted.good, weighted.bad) == (["new"], ["old"])
    assert weighted.arms.low == pytest.approx(plain.arms.low, rel=1e-9)
    assert any("new in about" in note for note in weighted.notes)
    with pytest.raises(GoodarmError, match="with propensities no row may be left out"):
        goodarm.judge(data, where="item = 'new'", **WEIGHTED, **more)


@pytest.mark.filterwarnings("ignore::goodarm.errors.LogWarning")
def test_postgresql_breaks_ties_and_weighs_as_duckdb_does(address: str) -> None:
    import psycopg

    with psycopg.connect(address) as con:
        con.execute("CREATE TABLE biased (item text, click bigint, p float8, day bigint, shop text)")
        with con.cursor().copy("COPY biased FROM STDIN") as copy:
            for row in biased().iter_rows():
                copy.write_row(row)
        con.execute("CREATE VIEW undated AS SELECT item, click, nullif(day, 3) AS day FROM biased")
    ties_and_weights_alike(address, "biased")
    with pytest.raises(GoodarmError, match="some rows have no day"):
        goodarm.judge(address, table="undated", **TIES)


UNITS: list[dict[str, Any]] = [
    {"unit": "visitor"},
    {"unit": "visitor", "per_unit": "any", "by": "shop"},
    {"unit": "visitor", "per_unit": "ratio", "unit_limit": 30, "time": "hour", "window": 15_000},
]


@pytest.mark.parametrize("options", UNITS, ids=lambda options: "-".join(options))
def test_postgresql_sums_up_units_as_duckdb_does(address: str, log: pl.DataFrame, options: dict[str, Any]) -> None:
    wanted = goodarm.judge(
        log.with_columns(visitor=pl.col("hour") % 900), threshold=0.06, arm="item", reward="click", **options
    )
    query = 'SELECT *, hour % 900 AS visitor FROM "Log"'
    got = goodarm.judge(address, query=query, threshold=0.06, arm="item", reward="click", **options)
    assert got.arms.pulls.tolist() == wanted.arms.pulls.tolist()
    assert got.arms.low == pytest.approx(wanted.arms.low, rel=1e-9)
    assert got.arms.evidence == pytest.approx(wanted.arms.evidence, rel=1e-9)
    assert got.notes == wanted.notes


DAY = 86_400.0
WINDOWS = {"unit": "person", "time": "at", "window": "2d"}
CUT: dict[str, dict[str, Any]] = {
    "rows": {"versus": "now", "rewards": "nonnegative:9"},
    "segments": {"versus": "now", "rewards": "nonnegative:9", "by": "country"},
    "bar": {"threshold": 1.5, "rewards": "nonnegative:9"},
    "sums": {"versus": "now", "rewards": "nonnegative:9", "per_unit": "sum", **WINDOWS},
    "means": {"versus": "now", "rewards": "nonnegative:9", "nulls": "zero", **WINDOWS},
    "sums-bar": {"threshold": 2.5, "rewards": "nonnegative:9", "per_unit": "sum", **WINDOWS},
    "fdr": {"threshold": 0.3, "reward": "bought", "per_unit": "any", "criterion": "fdr", **WINDOWS},
    "bars": {"bars": "bought >= 0.2, left <= 0.6", **WINDOWS},
}
"""Rewards cut at a cap, and windows of which some are open."""


@pytest.fixture(scope="module")
def sales() -> pl.DataFrame:
    """Persons who come one to four times within four days, in an order that has nothing to do with their times."""
    chance = np.random.default_rng(12)
    person = chance.permutation(np.repeat(np.arange(1500), chance.integers(1, 5, 1500)))
    first = chance.uniform(0.0, 10.0 * DAY, 1500)[person]
    later = chance.uniform(0.0, 4.0 * DAY, person.size)
    bought = chance.random(person.size) < np.array([0.2, 0.5, 0.22])[person % 3]
    return pl.DataFrame(
        {
            "page": np.array(["now", "new", "same"])[person % 3], "person": [f"p {j}" for j in person],
            "paid": np.where(bought, np.round(chance.lognormal(1.2, 1.0, person.size), 2), 0.0),
            "bought": bought.astype(np.int64), "left": (chance.random(person.size) < 0.4).astype(np.int64),
            "country": np.where(person % 2 == 0, "FR", "DE"),
            "at": [datetime(2026, 5, 1) + timedelta(seconds=round(x)) for x in first + later],
        }
    )  # fmt: skip


def cut_alike(data: Any, sales: pl.DataFrame, options: dict[str, Any], **more: Any) -> None:
    given = {"arm": "page", "max_arms": 10} | ({} if "bars" in options else {"reward": "paid"}) | options
    wanted, got = goodarm.judge(sales, **given), goodarm.judge(data, **given, **more)
    assert got.arms.arm.tolist() == wanted.arms.arm.tolist()
    assert got.arms.pulls.tolist() == wanted.arms.pulls.tolist()
    assert got.arms.verdict.tolist() == wanted.arms.verdict.tolist()
    assert np.abs(got.arms.verdict).sum() > 0  # something is decided
    assert got.arms.evidence == pytest.approx(wanted.arms.evidence, rel=1e-9)
    assert got.arms.mean == pytest.approx(wanted.arms.mean, rel=1e-9)
    assert (got.conditions, got.sentence) == (wanted.conditions, wanted.sentence)
    counts = [[note for note in each.notes if not note.startswith("WARNING")] for each in (got, wanted)]
    assert counts[0] == counts[1]
    assert ("window" in options) == any("whose window of 2d is not over" in note for note in got.notes)


HOLES = {"arm": "page", "reward": "paid", "threshold": 1.5, "rewards": "nonnegative:9", "max_arms": 10}


@pytest.fixture(scope="module")
def shop(address: str, sales: pl.DataFrame) -> str:
    import psycopg

    with psycopg.connect(address) as con:
        kinds = 'page text, person text, paid float8, bought bigint, "left" bigint, country text, at timestamp'
        con.execute(f"CREATE TABLE sales ({kinds})")
        with con.cursor().copy("COPY sales FROM STDIN") as copy:
            for row in sales.iter_rows():
                copy.write_row(row)
        con.execute("CREATE VIEW exact AS SELECT page, person, paid::numeric AS paid, country, at FROM sales")
    return address


@pytest.mark.filterwarnings("ignore::goodarm.errors.LogWarning")  # rows of the same person, without a unit
@pytest.mark.parametrize("options", CUT.values(), ids=CUT)
def test_postgresql_cuts_rewards_and_leaves_open_units_out(
    shop: str, sales: pl.DataFrame, tmp_path: Any, options: dict[str, Any]
) -> None:
    cut_alike(shop, sales, options, table="sales")
    if "reward" not in options and "bars" not in options:
        cut_alike(shop, sales, options, table="exact")
    sales.write_parquet(tmp_path / "sales.parquet")
    cut_alike(tmp_path / "sales.parquet", sales, options)


def test_postgresql_refuses_rows_that_have_no_place_in_a_window(shop: str) -> None:
    undated = "SELECT page, person, paid, CASE WHEN country = 'FR' THEN at END AS at FROM sales"
    with pytest.raises(GoodarmError, match="rows have no at, so they can"):
        goodarm.judge(shop, query=undated, **HOLES, **WINDOWS)
    endless = "SELECT page, person, paid, 'NaN'::float8 AS at FROM sales"
    with pytest.raises(GoodarmError, match="rows have no at, so they can"):
        goodarm.judge(shop, query=endless, **HOLES, **(WINDOWS | {"window": 2}))
    cancelled = "SELECT page, person, CASE WHEN country = 'FR' THEN 'inf'::float8 ELSE '-inf' END AS paid FROM sales"
    with pytest.raises(GoodarmError, match="some values of paid violate this"):
        goodarm.judge(shop, query=cancelled, unit="person", per_unit="sum", **HOLES)
    as_text = "SELECT page, person, paid, at::text AS at FROM sales"
    for more in (WINDOWS, {"by_appearance": True, "time": "at", "max_arms": None}):
        with pytest.raises(GoodarmError, match="the column 'at' holds neither times nor numbers"):
            goodarm.judge(shop, query=as_text, **(HOLES | more))


@pytest.mark.filterwarnings("ignore::goodarm.errors.LogWarning")
def test_postgresql_warns_of_visitors_that_come_back(address: str) -> None:
    query = 'SELECT *, hour % 900 AS visitor FROM "Log"'
    found = goodarm.judge(address, query=query, threshold=0.06, arm="item", reward="click")
    assert any("visitor repeats: within the arms, 20,000 rows have about 5," in note for note in found.notes)


def test_postgresql_says_what_is_wrong(address: str) -> None:
    with pytest.raises(GoodarmError, match="does not exist"):
        goodarm.judge(address, table="log", threshold=0.1)
    with pytest.raises(GoodarmError, match=r"the column 'shop' holds no numbers.*shop::float8"):
        goodarm.judge(address, table="Log", arm="item", reward="shop", threshold=0.1)
    with pytest.raises(GoodarmError, match=r"rewards are missing \(NULL or NaN\), of 20,000 rows"):
        goodarm.judge(address, table="holes", threshold=0.1)
    with pytest.raises(GoodarmError, match=r"3 rewards are missing \(NULL or NaN\), of 3 rows"):
        goodarm.judge(address, table="nans", threshold=0.1)
    with pytest.raises(GoodarmError, match="values of hour can't be judged"):
        goodarm.judge(address, table="Log", arm="item", reward="hour", threshold=0.1)
    with pytest.raises(GoodarmError, match="data-modifying"):
        goodarm.judge(address, query='WITH gone AS (DELETE FROM "Log" RETURNING *) SELECT * FROM gone', threshold=0.1)
    assert goodarm.judge(address, table="holes", nulls="zero", threshold=0.06).rows == ROWS


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    if shutil.which("java") is None:
        pytest.skip("needs Java 17: install Debian's package openjdk-17-jre-headless (make test does so as root)")
    pytest.importorskip("pyspark", reason="needs pyspark: pip install 'goodarm[test]'")
    import warnings

    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = (
            SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.memory", "600m")
            .getOrCreate()
        )
        made.sparkContext.setLogLevel("ERROR")
        yield made
        made.stop()


@pytest.mark.filterwarnings("ignore")
def test_spark_gives_the_verdicts_of_duckdb(spark: Any, log: pl.DataFrame, tmp_path: Any) -> None:
    log.write_parquet(tmp_path / "log.parquet")
    table = spark.read.parquet(str(tmp_path / "log.parquet"))
    for options in CASES:
        assert found(table, options) == found(log, options)
    for options in BY_SUMS:
        by_sums_alike(found(table, options), found(log, options))
    table.createOrReplaceTempView("clicks")
    assert found("spark:clicks", CASES[0]) == found(log, CASES[0])
    with pytest.raises(GoodarmError, match=r"values of hour can't be judged.*of arm"):
        goodarm.judge(table, arm="item", reward="hour", threshold=0.1)
    far = goodarm.judge(table.selectExpr("item", "click + 1000000000000 AS click"), arm="item", **FAR)
    assert far.arms.evidence == pytest.approx(
        goodarm.judge(log, threshold=0.0625, arm="item", reward="click").arms.evidence
    )
    seen = table.selectExpr("*", "hour % 900 AS visitor")
    for options in UNITS:
        of_spark, here = (
            goodarm.judge(data, threshold=0.06, arm="item", reward="click", **options)
            for data in (seen, log.with_columns(visitor=pl.col("hour") % 900))
        )
        assert of_spark.arms.low == pytest.approx(here.arms.low, rel=1e-9)
    timed = table.selectExpr("*", "timestamp_seconds(hour) AS at").filter("item <> 'plain' OR hour > 9000")
    late = goodarm.judge(timed, threshold=0.06, arm="item", reward="click")
    assert any("not all arms exist from the beginning" in note for note in late.notes)
    for options in ({"reward": "click", "order": "hour"}, {**CASES[2], "order": "hour"}):
        assert found(table, options) == found(log, options)


@pytest.mark.filterwarnings("ignore")
def test_spark_breaks_ties_and_weighs_as_duckdb_does(spark: Any, tmp_path: Any) -> None:
    biased().write_parquet(tmp_path / "log.parquet")
    table = spark.read.parquet(str(tmp_path / "log.parquet"))
    ties_and_weights_alike(table)
    with pytest.raises(GoodarmError, match="some rows have no day"):
        goodarm.judge(table.selectExpr("item", "click", "nullif(day, 3) AS day"), **TIES)


@pytest.mark.filterwarnings("ignore")
def test_spark_cuts_rewards_and_leaves_open_units_out(spark: Any, sales: pl.DataFrame, tmp_path: Any) -> None:
    sales.write_parquet(tmp_path / "sales.parquet")
    table = spark.read.parquet(str(tmp_path / "sales.parquet"))
    for name in ("segments", "means", "sums-bar", "fdr"):
        cut_alike(table, sales, CUT[name])
    undated = table.selectExpr("page", "person", "paid", "CASE WHEN country = 'FR' THEN at END AS at")
    with pytest.raises(GoodarmError, match="rows have no at, so they can"):
        goodarm.judge(undated, **HOLES, **WINDOWS)
    cancelled = table.selectExpr("page", "person", "double(if(country = 'FR', 'Infinity', '-Infinity')) AS paid")
    with pytest.raises(GoodarmError, match="some values of paid violate this"):
        goodarm.judge(cancelled, unit="person", per_unit="sum", **HOLES)
