"""Logs in which the same people come back: one reward per unit, windows, ratios, and the warning without a unit."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import goodarm
from goodarm.cli import app
from goodarm.errors import GoodarmError, LogWarning
from goodarm.judgement.weighted import log_evidence
from goodarm.numerics import binomial_tail
from goodarm.report.gate import junit, markdown
from goodarm.testing.error_rates import LAW_LEVEL

BAR, DELTA = 0.3, 0.1
SETTINGS = [(0.05, 50, 200), (0.17, 20, 300), (0.3, 2, 600), (0.3, 50, 200)]
"""Intra-class correlation, rows per unit, units per arm."""


def returning(chance: np.random.Generator, icc: float, each: int, units: int) -> pl.DataFrame:
    """Two arms exactly at the bar; a person's own rate is Beta with the given correlation between rows."""
    size = (1.0 - icc) / icc
    rate = chance.beta(BAR * size, (1.0 - BAR) * size, 2 * units)
    user = np.repeat(np.arange(2 * units), each)
    return pl.DataFrame(
        {
            "arm": np.where(user % 2, "a", "b"), "user_id": user,
            "click": (chance.random(user.size) < rate[user]).astype(int), "at": chance.integers(0, 1000, user.size),
        }
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("icc", "each", "units"), SETTINGS)
@pytest.mark.parametrize("way", ["mean", "ratio"])
@pytest.mark.filterwarnings("ignore::goodarm.errors.LogWarning")
def test_the_promise_with_returning_users(icc: float, each: int, units: int, way: str) -> None:
    """With `unit` wrong in at most delta of the logs; without it a warning names the column."""
    runs, wrong, plain, warned = 60, 0, 0, 0
    chance = np.random.default_rng([each, int(100 * icc)])
    for _ in range(runs):
        log = returning(chance, icc, each, units)
        limit = {"unit_limit": each} if way == "ratio" else {}
        found = goodarm.judge(log, threshold=BAR, delta=DELTA, unit="user_id", per_unit=way, **limit)
        wrong += bool(found.bad)
        if way == "mean":
            without = goodarm.judge(log, threshold=BAR, delta=DELTA)
            plain += bool(without.bad or without.good)
            warned += any("user_id repeats" in note and "`unit='user_id'`" in note for note in without.notes)
    assert binomial_tail(wrong, runs, DELTA) > LAW_LEVEL
    if way == "mean":
        assert warned == runs
        if each >= 50 and icc > 0.1:  # the broken twin: rows taken for people
            assert binomial_tail(plain, runs, 2 * DELTA) < LAW_LEVEL


def test_no_warning_where_nobody_comes_back() -> None:
    log = returning(np.random.default_rng(0), 0.1, 1, 500)
    assert not any("repeats" in note for note in goodarm.judge(log, threshold=BAR).notes)
    few = log.with_columns(country_id=pl.col("user_id") % 7).drop("user_id")
    assert not any("repeats" in note for note in goodarm.judge(few, threshold=BAR).notes)


def test_the_warning_is_beside_every_verdict(tmp_path: Path) -> None:
    """Nothing that leaves goodarm says certified without the doubt."""
    log = returning(np.random.default_rng(1), 0.17, 20, 300)
    with pytest.warns(LogWarning, match="user_id repeats: within the arms, 12,000 rows") as caught:
        found = goodarm.judge(log, threshold=0.2)
    assert Path(caught[0].filename) == Path(__file__)
    words = "certified only if rows of the same user_id are independent"
    assert sorted(found.good) == ["a", "b"]
    assert found.guarantee == words
    assert str(found).endswith(f"; {words}")
    assert set(found.to_pandas()["guarantee"]) == {words}
    assert [note.startswith("WARNING: user_id repeats") for note in found.notes][:2] == [True, False]
    said = found.as_dict()
    assert said["guarantee"] == words
    assert said["warnings"][0].startswith("user_id repeats")
    assert not any("repeats" in note for note in said["notes"])
    assert words in found.to_csv(tmp_path / "arms.csv").read_text()
    html = found.to_html(tmp_path / "page.html").read_text()
    assert html.index('class="warning"') < html.index('class="counts"')
    assert html.count("WARNING: user_id repeats") == 1
    assert "user_id repeats" in found._repr_html_()
    assert words in found.forest().setting
    assert "> WARNING: user\\_id repeats" in markdown(found)
    assert words in junit(found)
    assert pickle.loads(pickle.dumps(found)).warnings == copy.deepcopy(found).warnings == found.warnings
    calm = goodarm.judge(log, threshold=0.2, unit="user_id")
    assert (calm.guarantee, calm.warnings, calm.as_dict()["warnings"]) == ("certified", (), [])


def test_the_command_warns_once(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    returning(np.random.default_rng(1), 0.17, 20, 300).write_csv(log)
    shown = CliRunner().invoke(app, ["judge", str(log), "--threshold", "0.2"], env={"COLUMNS": "300"})
    assert shown.output.count("user_id repeats") == 1
    assert "certified only if rows of the same user_id are independent" in shown.output.splitlines()[0]
    assert shown.output.splitlines()[1].startswith("WARNING: user_id repeats")
    told = CliRunner().invoke(app, ["judge", str(log), "--threshold", "0.2", "--json"])
    assert "user_id repeats" in json.loads(told.stdout)["warnings"][0]
    assert told.stderr.count("user_id repeats") == 1


def plainly(log: pl.DataFrame, way: str, window: float | None) -> dict[str, tuple[float, float, float]]:
    """Pulls, mean and open units of each arm, written out."""
    found = {}
    now = log["at"].max()
    for arm in ("a", "b"):
        values, sizes, waiting = [], [], 0
        for _, rows in log.filter(pl.col("arm") == arm).group_by("user_id"):
            start = rows["at"].min()
            if window is not None:
                rows = rows.filter(pl.col("at") < start + window)
                if start + window > now:
                    waiting += 1
                    continue
            x = rows["click"]
            values.append({"mean": x.mean(), "any": float(x.max() > 0), "sum": x.sum(), "ratio": x.sum()}[way])
            sizes.append(len(rows) if way == "ratio" else 1)
        found[arm] = (len(values), sum(values) / sum(sizes), waiting)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("way", ["mean", "any", "sum", "ratio"])
@pytest.mark.parametrize("window", [None, 900])
def test_every_source_sums_up_units_alike(tmp_path: Path, way: str, window: float | None) -> None:
    log = returning(np.random.default_rng(2), 0.2, 6, 40)
    log.write_parquet(tmp_path / "log.parquet")
    log.write_csv(tmp_path / "log.csv")
    options: dict[str, Any] = {"threshold": 0.4, "unit": "user_id", "per_unit": way, "arm": "arm", "reward": "click"}
    if way == "sum":
        options |= {"rewards": "bounded:0,6", "threshold": 2.0}
    if way == "ratio":
        options |= {"unit_limit": 6}
    if window is not None:
        options |= {"window": window, "time": "at"}
    expected = plainly(log, way, window)
    arrow = log.to_arrow()
    sources = (
        log, log.lazy(), log.to_pandas(), arrow, duckdb.connect().from_arrow(arrow), ibis.memtable(arrow),
        tmp_path / "log.parquet", tmp_path / "log.csv",
    )  # fmt: skip
    first = goodarm.judge(sources[0], **options)
    for source in sources:
        found = goodarm.judge(source, **options)
        assert found.rows <= log.height
        rows = {row["arm"]: row for row in found.as_dict()["arms"]}
        for arm, (pulls, mean, waiting) in expected.items():
            assert rows[arm]["pulls"] == pulls
            assert rows[arm]["mean"] == pytest.approx(mean)
            assert (waiting > 0) == (window is not None)
        assert found.arms.low == pytest.approx(first.arms.low, rel=1e-9)
        assert found.arms.high == pytest.approx(first.arms.high, rel=1e-9)
        assert found.conditions[1].startswith("each user_id is new information")
        if window is not None:
            told = sum(each[2] for each in expected.values())
            assert any(
                f"{told:,} users whose window of 900 seconds is not over are left out" in note for note in found.notes
            )


def test_open_windows_are_left_out_and_count_at_their_worst_under_fdr() -> None:
    """A unit that is still open changes nothing; under `fdr` it can only widen the interval, on both sides."""
    closed = {"arm": ["a"] * 60, "user": list(range(60)), "reward": [1, 0] * 30, "at": [0.0] * 60}
    end = {"arm": ["a"], "user": [99], "reward": [1], "at": [1000.0]}
    options = {"threshold": 0.4, "unit": "user", "time": "at", "window": 100}
    whole = {name: closed[name] + end[name] for name in closed}
    left_out, alone = (goodarm.judge(log, **options).arms for log in (whole, closed | {"at": [-100.0, 0.0] * 30}))
    assert left_out.pulls[0] == 60
    assert alone.pulls[0] == 30
    plain = goodarm.judge({"arm": ["a"], "pulls": [60], "total": [30.0]}, threshold=0.4).arms
    assert (left_out.low[0], left_out.high[0]) == (plain.low[0], plain.high[0])
    found = goodarm.judge(whole, **options, criterion="fdr")
    assert found.arms.pulls[0] == 60
    worst = [
        goodarm.judge({"arm": ["a"], "pulls": [61], "total": [total]}, threshold=0.4).arms for total in (30.0, 31.0)
    ]
    assert found.arms.low[0] == pytest.approx(worst[0].low[0])
    assert found.arms.high[0] == pytest.approx(worst[1].high[0])


def test_a_ratio_with_a_denominator(tmp_path: Path) -> None:
    """Clicks per page: persons with many pages weigh more."""
    log = pl.DataFrame({"arm": ["a"] * 3, "user": [1, 2, 2], "clicks": [1.0, 6.0, 2.0], "pages": [2.0, 10.0, 8.0]})
    log.write_parquet(tmp_path / "log.parquet")
    options = {
        "threshold": 0.2, "arm": "arm", "reward": "clicks", "unit": "user", "per_unit": "ratio",
        "denominator": "pages",
    }  # fmt: skip
    for data in (log, tmp_path / "log.parquet"):
        found = goodarm.judge(data, unit_limit=20, **options)
        assert found.arms.mean[0] == pytest.approx(9.0 / 20.0)
        assert found.arms.pulls[0] == 2
        with pytest.raises(GoodarmError, match="has more pages than `unit_limit=12`"):
            goodarm.judge(data, unit_limit=12, **options)
        with pytest.raises(GoodarmError, match="between 0 and its clicks"):
            goodarm.judge(data, unit_limit=40, **{**options, "reward": "pages", "denominator": "clicks"})


@pytest.mark.parametrize("kind", ["frame", "file"])
def test_rows_without_a_unit(tmp_path: Path, kind: str) -> None:
    log = pl.DataFrame({"arm": ["a"] * 4, "user": ["x", "x", "y", None], "reward": [1, 0, 1, 1]})
    log.write_parquet(tmp_path / "log.parquet")
    data: Any = log if kind == "frame" else tmp_path / "log.parquet"
    with pytest.raises(GoodarmError, match="1 row has no user"):
        goodarm.judge(data, threshold=0.5, unit="user")
    found = goodarm.judge(data, threshold=0.5, unit="user", nulls="drop")
    assert (found.arms.pulls[0], found.arms.mean[0]) == (2, 0.75)
    assert any("1 row without user left out" in note for note in found.notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"per_unit": "any"}, "give `unit=COLUMN`"),
        ({"unit": "u", "per_unit": "median"}, "unknown way to combine the rows of a unit 'median'"),
        ({"unit": "u", "per_unit": "ratio"}, "needs `unit_limit=D`"),
        ({"unit": "u", "unit_limit": 5}, "needs `unit_limit=D`"),
        ({"unit": "u", "order": "at"}, "Leave `order` out"),
        ({"unit": "u", "window": "soon"}, "window must be a positive time.*got 'soon'"),
        ({"unit": "u", "per_unit": "any", "rewards": "bounded:1,5", "threshold": 3.0}, "needs rewards in"),
        ({"unit": "u", "window": "7d", "rewards": "gaussian:1", "criterion": "fdr"}, "requires bounded rewards"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(GoodarmError, match=message):
        goodarm.judge({"arm": ["a"], "u": [1], "reward": [1.0], "at": [1]}, **{"threshold": 0.5, **options})


def test_a_window_needs_a_time() -> None:
    with pytest.raises(GoodarmError, match="Give `time=COLUMN`"):
        goodarm.judge({"arm": ["a"], "user": [1], "reward": [1]}, threshold=0.5, unit="user", window="7d")


@pytest.mark.slow
def test_the_verb_and_a_window_in_days(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = [f"a,{u},{int(u % 3 == 0)},2026-05-{1 + u % 20:02d} 10:00:00" for u in range(60) for _ in range(2)]
    path.write_text("arm,user_id,click,at\n" + "\n".join(rows) + "\n")
    arguments = ["judge", str(path), "--threshold", "0.5", "--arm", "arm", "--reward", "click", "--time", "at"]
    ran = CliRunner().invoke(
        app, [*arguments, "--unit", "user_id", "--per-unit", "any", "--window", "7d"], env={"COLUMNS": "300"}
    )
    assert ran.exit_code == 0, ran.output
    assert "120 rows within the windows of users are 39 rewards: one per user_id and arm" in ran.stdout
    assert "21 users whose window of 7d is not over are left out" in ran.stdout
    plain = CliRunner().invoke(app, arguments, env={"COLUMNS": "300"})
    assert "give --unit user_id" in plain.stdout


def visits(chance: np.random.Generator, days: int, daily: int) -> dict[str, np.ndarray[Any, Any]]:
    """Two arms at the bar. Users come for three days, one row a day, and rows of a user resemble each other."""
    users = days * daily
    rate = chance.beta(BAR * 0.5, (1.0 - BAR) * 0.5, users)
    day = np.arange(users) // daily
    user = np.repeat(np.arange(users), 3)
    at = np.repeat(day, 3) + np.tile(np.arange(3), users)
    arm = np.array(["a", "b"])[chance.integers(2, size=users)]
    return {"arm": arm[user], "user_id": user, "click": chance.random(user.size) < rate[user], "at": at.astype(float)}


def called(log: dict[str, np.ndarray[Any, Any]], days: int, choose: str) -> bool:
    """Whether any daily look calls an arm, all of which lie at the bar. Open units count as `choose` says."""
    for today in range(3, days):
        seen = {name: values[log["at"] <= today] for name, values in log.items()}
        if choose == "window":
            found = goodarm.judge(
                pl.DataFrame(seen), threshold=BAR, delta=DELTA, unit="user_id", window=3, time="at"
            ).arms
            if (found.verdict != 0).any():
                return True
            continue
        first = np.array([at.min() for at in np.split(seen["at"], np.flatnonzero(np.diff(seen["user_id"])) + 1)])
        pieces = np.split(seen["click"].astype(float), np.flatnonzero(np.diff(seen["user_id"])) + 1)
        arms = np.array([arm[0] for arm in np.split(seen["arm"], np.flatnonzero(np.diff(seen["user_id"])) + 1)])
        means = np.array([piece.mean() for piece in pieces])
        kept = (first + 3 <= today) | (means > 0.0)  # the broken twin: open users with a click are counted
        totals = {
            "arm": ["a", "b"],
            "pulls": [int((kept & (arms == arm)).sum()) for arm in "ab"],
            "total": [float(means[kept & (arms == arm)].sum()) for arm in "ab"],
        }
        if (goodarm.judge(totals, threshold=BAR, delta=DELTA).arms.verdict != 0).any():
            return True
    return False


@pytest.mark.slow
def test_daily_looks_at_open_windows_keep_the_promise() -> None:
    """A look every day, open users left out: a share of at most delta of the logs has a verdict, on each side.

    With 30 logs a sound rule fails with probability below `LAW_LEVEL`. A twin that leaves open users out only if they
    have not clicked yet is wrong in most logs.
    """
    chance = np.random.default_rng(11)
    logs = [visits(chance, 14, 60) for _ in range(30)]
    wrong = sum(called(log, 14, "window") for log in logs)
    assert binomial_tail(wrong, len(logs), 2.0 * DELTA) > LAW_LEVEL
    broken = sum(called(log, 14, "twin") for log in logs[:20])
    assert binomial_tail(broken, 20, 2.0 * DELTA) < LAW_LEVEL


def test_an_arm_whose_units_are_all_open_stays_undecided() -> None:
    closed = {"arm": ["a"] * 60 + ["b"] * 60, "user": list(range(120)), "reward": [1, 0] * 60, "at": [0.0] * 120}
    late = {"arm": ["c"], "user": [999], "reward": [1], "at": [1000.0]}
    log = {name: closed[name] + late[name] for name in closed}
    asked: list[dict[str, Any]] = [
        {"threshold": 0.2}, {"versus": "a"}, {"versus": "c"}, {"bars": "reward >= 0.2", "reward": None},
        {"threshold": 0.2, "per_unit": "ratio", "unit_limit": 3}, {"threshold": 0.2, "rewards": "nonnegative:9"},
        {"versus": "a", "rewards": "nonnegative:9", "per_unit": "sum"},
    ]  # fmt: skip
    for each in asked:
        options = {"arm": "arm", "reward": "reward", "unit": "user", "time": "at", "window": 100, "max_arms": 3, **each}
        found = goodarm.judge(log, **options)
        rows = {row["arm"]: row for row in found.as_dict()["arms"]}
        assert rows.get("c", {"pulls": 0, "verdict": "open"}).items() >= {"pulls": 0, "verdict": "open"}.items()
        assert "1 user whose window of 100 seconds is not over is left out" in found.notes
        assert found._repr_html_()


def test_units_that_may_grow_are_warned_of() -> None:
    log = {
        "arm": ["a", "a", "b", "b"] * 9,
        "user": [i // 2 for i in range(36)],
        "reward": [1, 0] * 18,
        "at": [1.0] * 36,
    }
    options = {"threshold": 0.4, "arm": "arm", "reward": "reward", "unit": "user"}
    with pytest.warns(LogWarning, match="later rows change the reward of a user"):
        found = goodarm.judge(log, time="at", **options)
    assert found.guarantee == "certified only if no more rows of these users will come"
    assert not goodarm.judge(log, **options).warnings  # no time is known
    assert not goodarm.judge(log, time="at", window=7, **options).warnings


def test_a_limit_far_above_the_rows_of_a_unit_is_said_with_its_price() -> None:
    rng = np.random.default_rng(3)
    users = np.repeat(np.arange(400), 5)
    log = {"arm": ["a"] * 2000, "user": users.tolist(), "reward": (rng.random(2000) < 0.3).astype(int).tolist()}
    asked: dict[str, Any] = {"threshold": 0.2, "unit": "user", "per_unit": "ratio"}
    (note,) = [note for note in goodarm.judge(log, **asked, unit_limit=50).notes if "times as many" in note]
    assert note.startswith("a user has 5 rows on average and may have 50. The same evidence needs about 100 ")
    assert not [note for note in goodarm.judge(log, **asked, unit_limit=5).notes if "times as many" in note]
    one, units = np.ones(1), 20_000.0
    whole, tenth = (
        log_evidence(1.0, n * one, 0.22 * share * n * one, share * n * one, 0.2 * one, 1.0)[0]
        for n, share in ((units, 1.0), (100.0 * units, 0.1))
    )
    assert tenth == pytest.approx(whole, rel=0.15)
    assert whole > 10.0
