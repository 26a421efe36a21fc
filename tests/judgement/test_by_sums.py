"""`bet-mixture` in `judge`: the same sums on every engine, rewards without a ceiling, and the promise."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binom

import goodarm
from goodarm.errors import GoodarmError
from goodarm.problem import Bounded, NonNegative, Problem, Rewards
from goodarm.rules.identification.bet_mixture import from_sums, sums

ARMS, ROWS = 6, 300
SETTINGS: list[tuple[str, float, Rewards, dict[str, Any]]] = [
    ("share", 0.5, Bounded(), {"rule": "bet-mixture"}),
    ("share", 0.5, Bounded(), {"rule": "bet-mixture", "nulls": "zero"}),
    ("paid", 1.0, NonNegative(), {"rewards": "nonnegative"}),
    ("paid", 1.0, NonNegative(20.0), {"rewards": "nonnegative:20", "nulls": "zero"}),
]


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    chance = np.random.default_rng(2)
    arm = np.repeat(np.arange(ARMS), ROWS)
    means = np.linspace(0.4, 0.6, ARMS)[arm]
    share = np.clip(chance.normal(means, 0.1), 0.0, 1.0)
    paid = chance.gamma(0.5, 2.0 * np.linspace(0.2, 3.0, ARMS)[arm], arm.size)
    return pl.DataFrame({"arm": [f"a{i}" for i in arm], "share": share, "paid": paid, "who": np.arange(arm.size) // 3})


def expected(log: pl.DataFrame, reward: str, threshold: float, rewards: Rewards) -> dict[str, tuple[float, float]]:
    """Evidence from the rule itself, row by row."""
    bar = Problem(threshold, ARMS, rewards=rewards).bar
    added = {
        str(key[0]): np.sum([sums(0.0 if x is None else float(x), bar) for x in part[reward]], axis=0)
        for key, part in log.group_by("arm")
    }
    return {arm: from_sums(logs, bar) for arm, logs in added.items()}


@pytest.mark.slow
@pytest.mark.parametrize(("reward", "threshold", "rewards", "options"), SETTINGS)
def test_every_engine_adds_up_the_rule_s_own_sums(
    log: pl.DataFrame, reward: str, threshold: float, rewards: Rewards, options: dict[str, Any], tmp_path: Path
) -> None:
    if options.get("nulls") == "zero":
        log = log.with_columns(
            pl.when(pl.int_range(pl.len()) % 10 == 0).then(None).otherwise(pl.col(reward)).alias(reward)
        )
    log.write_csv(tmp_path / "log.csv")
    log.write_parquet(tmp_path / "log.parquet")
    arrow = log.to_arrow()
    pandas = pd.DataFrame(log.to_dict(as_series=False))
    held = (log, log.lazy(), arrow, pandas, duckdb.connect().from_arrow(arrow), ibis.memtable(arrow))
    evidence = expected(log, reward, threshold, rewards)
    for data in (*held, tmp_path / "log.csv", tmp_path / "log.parquet"):
        found = goodarm.judge(data, threshold=threshold, arm="arm", reward=reward, **options)
        assert found.rule == "bet-mixture"
        assert {row["verdict"] for row in found.as_dict()["arms"]} > {"open"}
        for row in found.as_dict()["arms"]:
            good, bad = evidence[row["arm"]]
            side = {"good": good, "bad": bad, "open": max(good, bad)}[row["verdict"]]
            assert row["evidence"] == pytest.approx(side, rel=1e-9, abs=1e-9)
            low, high = (-math.inf if row["low"] is None else row["low"], row["high"] or math.inf)
            assert low <= row["mean"] <= high
            assert {"good": low >= threshold, "bad": high <= threshold, "open": low < threshold < high}[row["verdict"]]


def test_a_nan_that_the_statistics_of_a_file_leave_out_is_refused(log: pl.DataFrame, tmp_path: Path) -> None:
    """The range of the other rewards is proven, so that they are not cut in the query."""
    rows = pl.int_range(pl.len())
    log = log.with_columns(pl.when(rows == 7).then(math.nan).otherwise(pl.col("share")).alias("share"))
    log.write_parquet(tmp_path / "log.parquet")
    with pytest.raises(GoodarmError, match=r"NaN|nan|number"):
        goodarm.judge(tmp_path / "log.parquet", threshold=0.5, arm="arm", reward="share", rule="bet-mixture")


def test_units_are_added_up_alike_by_frames_and_by_sql(log: pl.DataFrame, tmp_path: Path) -> None:
    log.write_parquet(tmp_path / "log.parquet")
    by_unit = log.group_by("arm", "who").agg(pl.col("share").mean())
    alone = goodarm.judge(by_unit, threshold=0.5, arm="arm", reward="share", rule="bet-mixture").as_dict()["arms"]
    for data in (log, tmp_path / "log.parquet"):
        asked = {"threshold": 0.5, "arm": "arm", "reward": "share", "rule": "bet-mixture", "unit": "who"}
        found = goodarm.judge(data, **asked).as_dict()["arms"]
        assert [row["arm"] for row in found] == [row["arm"] for row in alone]
        for row, other in zip(found, alone, strict=True):
            assert row["evidence"] == pytest.approx(other["evidence"], rel=1e-9)


def test_rewards_that_vary_little_need_fewer_rows(log: pl.DataFrame) -> None:
    by_totals = goodarm.judge(log, threshold=0.5, arm="arm", reward="share", rule="gap-mixture")
    by_sums = goodarm.judge(log, threshold=0.5, arm="arm", reward="share")
    assert set(by_sums.good) > set(by_totals.good)
    assert set(by_sums.bad) > set(by_totals.bad)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::goodarm.errors.LogWarning")
def test_rewards_between_0_and_1_are_judged_by_sums_unless_all_are_0_or_1(log: pl.DataFrame, tmp_path: Path) -> None:
    """On every engine, for rows and for units; and every verdict by totals is one by sums, with a narrower interval."""
    log = log.with_columns((pl.col("share") > 0.5).cast(pl.Float64).alias("won"))
    log = log.with_columns(pl.col("won").cast(pl.Int64).alias("whole"), (1.0 + 4.0 * pl.col("won")).alias("stars_"))
    log.write_csv(tmp_path / "log.csv")
    log.write_parquet(tmp_path / "log.parquet")
    for data in (log, log.lazy(), log.to_arrow(), tmp_path / "log.csv", tmp_path / "log.parquet"):
        for reward, options, rule in (
            ("share", {}, "bet-mixture"),
            ("share", {"unit": "who"}, "bet-mixture"),
            ("won", {}, "gap-mixture"),
            ("whole", {}, "gap-mixture"),
            ("won", {"unit": "who", "per_unit": "any"}, "gap-mixture"),
            ("share", {"order": "row"}, "learned-bets"),
        ):
            if "order" in options and not isinstance(data, pl.DataFrame):
                continue
            table = data.with_row_index("row") if "order" in options else data
            found = goodarm.judge(table, threshold=0.5, arm="arm", reward=reward, **options)
            assert found.rule == rule, (type(data), reward, options)
    stars = goodarm.judge(log, threshold=3.0, arm="arm", reward="stars_", rewards="bounded:1,5")
    assert stars.rule == "gap-mixture"
    by_sums = goodarm.judge(log, threshold=0.5, arm="arm", reward="share").arms
    by_totals = goodarm.judge(log, threshold=0.5, arm="arm", reward="share", rule="gap-mixture").arms
    places = {name: j for j, name in enumerate(by_totals.arm)}
    for j, name in enumerate(by_sums.arm):
        other = places[name]
        assert by_totals.verdict[other] in (0, by_sums.verdict[j])
        assert {1: by_sums.low[j] >= 0.5, -1: by_sums.high[j] <= 0.5, 0: True}[int(by_sums.verdict[j])]


def test_a_ledger_keeps_its_rule_when_the_first_graded_reward_comes(tmp_path: Path) -> None:
    first = {"arm": ["a", "b"] * 50, "reward": [1.0, 0.0] * 50}
    later = {name: [*values, value] for (name, values), value in zip(first.items(), ("a", 0.5), strict=True)}
    for data, rule in ((first, "gap-mixture"), (later, "bet-mixture")):
        assert goodarm.judge(data, threshold=0.5, ledger=tmp_path / "looks.json").rule == rule


def test_without_a_cap_no_arm_is_bad_and_the_output_says_what_bad_is_about() -> None:
    log = {"arm": ["a", "b"] * 400, "reward": [3.0, 0.1] * 400}
    free = goodarm.judge(log, threshold=1.0, rewards="nonnegative")
    assert (free.good, free.bad, free.open) == (["a"], [], ["b"])
    assert free.sentence.endswith("below is not judged, since rewards have no ceiling")
    assert any("no arm can be called bad" in note for note in free.notes)
    capped = goodarm.judge(log, threshold=1.0, rewards=NonNegative(10.0))
    assert (capped.good, capped.bad) == (["a"], ["b"])
    assert capped.sentence.endswith("below applies to rewards cut at 10")
    assert math.isinf(free.arms.needs[free.arms.arm == "b"][0])


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ({"reward": [1.0, -1.0]}, {"rewards": "nonnegative"}, "rewards of 0 or more were declared"),
        ({"reward": [1.0, 2.0]}, {"rewards": "nonnegative:0.5"}, "not below the cap"),
        ({"reward": [1.0, 2.0]}, {"rewards": "nonnegative:x"}, "can't read rewards"),
        ({"reward": [1.0, 2.0]}, {"rewards": "nonnegative", "rule": "gap-mixture"}, "Use `rule='bet-mixture'`"),
        ({"pulls": [10, 10], "total": [5.0, 5.0]}, {"rewards": "nonnegative"}, "needs the rewards themselves"),
    ],
)
def test_what_can_t_be_judged_is_refused(data: dict[str, Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(GoodarmError, match=message):
        goodarm.judge({"arm": ["a", "b"], **data}, threshold=1.0, **options)


def revenue(chance: np.random.Generator, mean: float, size: int) -> np.ndarray[Any, Any]:
    """Most visitors pay nothing; the others pay a lognormal sum or, one in five, a Pareto one with a heavy tail."""
    sold = chance.random(size) < 0.05
    pareto = 20.0 * (1.0 + chance.pareto(2.1, size))
    paid = np.where(chance.random(size) < 0.2, pareto, chance.lognormal(2.5, 1.0, size))
    return np.where(sold, paid, 0.0) * (mean / MEAN)


MEAN = 0.05 * (0.2 * 20.0 * (1.0 + 1.0 / 1.1) + 0.8 * math.exp(3.0))


def logs_with_a_good_verdict(mean: float) -> int:
    """Of 200 logs of 20 arms, looked at three times up to 1,000 visitors per arm: in how many is any arm called?

    All logs are judged at once as segments. An arm is called where its evidence reaches log(20/delta), delta = 0.1;
    without a ceiling there is evidence for good only.
    """
    chance, logs, arms, visitors = np.random.default_rng(8), 200, 20, 1_000
    paid = revenue(chance, mean, logs * arms * visitors)
    number = np.tile(np.arange(logs * arms), visitors)
    called = np.zeros(logs, dtype=bool)
    for seen in (100, 400, visitors):
        rows = seen * logs * arms
        table = pl.DataFrame({"log": number[:rows] // arms, "arm": number[:rows] % arms, "reward": paid[:rows]})
        found = goodarm.judge(table, threshold=1.0, rewards="nonnegative", by="log").arms
        enough = found.evidence >= math.log(arms / 0.1)
        called[found.segment[0][enough].astype(int)] = True
    return int(called.sum())


@pytest.mark.slow
def test_revenue_at_the_bar_is_called_good_in_at_most_delta_of_logs() -> None:
    """At a true rate of 0.1, 34 or more of 200 logs are wrong with probability below 0.2%.

    A rule that is wrong in 25% of logs passes with probability below 0.5%. The same logs at twice the mean are called.
    """
    assert binom.sf(33, 200, 0.1) < 2e-3
    assert binom.cdf(33, 200, 0.25) < 5e-3
    assert logs_with_a_good_verdict(1.0) <= 33
    assert logs_with_a_good_verdict(2.0) > 100
