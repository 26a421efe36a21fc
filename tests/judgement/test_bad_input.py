"""Bad input: one clear message, exit code 2, nothing written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import goodarm
from goodarm.cli import app
from goodarm.errors import GoodarmError, LogWarning

GOOD = "arm,reward\na,1\na,0\nb,1\n"
BAD = {
    "missing column": ("arm,x\na,1\n", ["--reward", "reward"], "has no column 'reward'"),
    "near column": ("arm,rewrad\na,1\n", ["--reward", "reward"], "Did you mean 'rewrad'?"),
    "several plausible": ("arm,click,rating\na,1,2\n", [], "click, rating are all plausible"),
    "none plausible": ("p,q,r\na,1,2\n", [], "Give --reward COLUMN"),
    "outside": ("arm,reward\na,1\nb,3\nb,7\n", [], "2 of 3 values of reward can't be judged"),
    "first outside": ("arm,reward\na,1\nb,3\nb,7\n", [], "The first lies outside: 3 of arm 'b'"),
    "nulls": ("arm,reward\na,1\nb,\nb,NULL\n", [], "2 rewards are missing (NULL or NaN), of 3 rows"),
    "no arm": ("arm,reward\na,1\n,1\n", [], "1 row has no arm"),
    "empty": ("", [], "is empty"),
    "only a header": ("arm,reward\n", [], "there are no rows"),
    "nothing kept": (GOOD, ["--where", "arm = 'z'"], "there are no rows that --where keeps"),
    "bad where": (GOOD, ["--where", "colour = 'z'"], "colour"),
    "mixed types": ("arm,reward\na,1\na,yes please\n", [], "is not a number: yes please of arm 'a'"),
    "cut row": ("arm,reward\na,1\nb,0\nb", [], "line 4 has 1 column, but the header has 2"),
    "cut quote": ('arm,reward\na,1\n"b', [], "unterminated quote"),
    "threshold": (GOOD, ["--threshold", "2"], "threshold must lie strictly between 0 and 1"),
    "delta": (GOOD, ["--delta", "0"], "delta must lie strictly between 0 and 1"),
    "rewards": (GOOD, ["--rewards", "bounded:5,1"], "can't read rewards 'bounded:5,1'"),
    "rule": (GOOD, ["--rule", "gap-mixtur"], "Did you mean 'gap-mixture'"),
    "rule in order": (GOOD, ["--rule", "kt"], "kt needs the rewards in their order"),
    "heuristic rule": (GOOD, ["--rule", "studentised"], "gives no certified verdict"),
    "fdr needs evidence": (GOOD, ["--rule", "hoeffding", "--criterion", "fdr"], "has none"),
    "margin alone": (GOOD, ["--margin", "0.1"], "a margin belongs to a control"),
    "cap alone": (GOOD, ["--cap", "10"], "--propensity and --cap require each other"),
    "propensity alone": (GOOD, ["--propensity", "reward"], "self-normalised weights have no certificate"),
    "nulls word": (GOOD, ["--nulls", "ignore"], "unknown way to treat NULLs"),
    "total alone": (GOOD, ["--total", "reward"], "needs both columns"),
    "totals too large": ("arm,pulls,total\na,10,11\n", [], "1 of 1 values of total can't be judged"),
    "negative pulls": ("arm,pulls,total\na,-10,0\n", [], "can't be judged"),
    "database": (GOOD, ["--table", "t"], ""),
}


@pytest.mark.parametrize("case", [name for name in BAD if BAD[name][2]])
def test_bad_input_is_one_message_and_nothing_is_written(tmp_path: Path, case: str) -> None:
    text, options, message = BAD[case]
    (tmp_path / "log.csv").write_text(text)
    arguments = ["judge", str(tmp_path / "log.csv"), "--out", str(tmp_path / "out"), *options]
    if "--threshold" not in options:
        arguments += ["--threshold", "0.5"]
    ran = CliRunner().invoke(app, arguments)
    assert ran.exit_code == 2, ran.output
    assert message in " ".join(ran.stderr.split())
    assert ran.stdout == ""
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("absent.csv", "there is no such file or folder"),
        ("*.csv", "no CSV, Parquet or JSON Lines file"),
        ("log.xlsx", "unknown kind of table"),
        ("torn.parquet", "torn.parquet"),
        ("postgresql://nobody:secret@127.0.0.1:1/x", "`table=NAME` or"),
    ],
)
def test_places_that_are_no_log(tmp_path: Path, place: str, message: str) -> None:
    (tmp_path / "log.xlsx").write_bytes(b"PK")
    pd.DataFrame({"arm": ["a"] * 1000, "reward": [1] * 1000}).to_parquet(tmp_path / "whole.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    (tmp_path / "torn.parquet").write_bytes(whole[: len(whole) // 2])
    where = place if "://" in place else str(tmp_path / place)
    with pytest.raises(GoodarmError, match=message.replace(".", r"\.")):
        goodarm.judge(where, threshold=0.5)


def test_a_server_that_does_not_answer_is_told_without_the_password() -> None:
    with pytest.raises(GoodarmError, match="does not answer") as caught:
        goodarm.judge("postgresql://nobody:secret@127.0.0.1:1/x", table="t", threshold=0.5)
    assert "secret" not in str(caught.value)


def test_nulls_are_counted_and_do_what_was_said() -> None:
    log = {"arm": ["a"] * 40 + ["b"] * 40, "reward": [1.0] * 40 + [None] * 20 + [1.0] * 20}
    dropped = goodarm.judge(log, threshold=0.5, nulls="drop")
    assert dropped.good == ["a", "b"]
    assert "20 rewards are missing and left out" in dropped.notes
    zero = goodarm.judge(log, threshold=0.5, nulls="zero")
    assert (zero.good, zero.open) == (["a"], ["b"])
    assert "20 rewards are missing and count as 0" in zero.notes


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_nan_is_null(kind: Any, tmp_path: Path) -> None:
    log = kind({"arm": ["a"] * 30, "reward": [1.0] * 29 + [np.nan]})
    with pytest.raises(GoodarmError, match="1 reward is missing"):
        goodarm.judge(log, threshold=0.5)
    pl.DataFrame({"arm": ["a"] * 30, "reward": [1.0] * 29 + [float("nan")]}).write_parquet(tmp_path / "nan.parquet")
    with pytest.raises(GoodarmError, match="1 reward is missing"):
        goodarm.judge(tmp_path / "nan.parquet", threshold=0.5)


def test_frames_with_rewards_that_are_no_numbers_or_outside() -> None:
    with pytest.raises(GoodarmError, match="holds String, not numbers"):
        goodarm.judge(pl.DataFrame({"arm": ["a"], "reward": ["x"]}), threshold=0.5)
    with pytest.raises(GoodarmError, match=r"1 of 2 values of reward can't be judged.*5\.0 of arm 'b'"):
        goodarm.judge({"arm": ["a", "b"], "reward": [1.0, 5.0]}, threshold=0.5)
    with pytest.raises(GoodarmError, match="can't read 3 as a table"):
        goodarm.judge(3, threshold=0.5)


def test_gaussian_rewards_that_spread_more_than_declared_are_refused() -> None:
    rewards = np.random.default_rng(0).normal(1.0, 3.0, 400)
    log = {"arm": ["a"] * 400, "reward": rewards}
    with pytest.raises(GoodarmError, match="more than the declared 1"):
        goodarm.judge(log, threshold=0.0, rewards="gaussian:1")
    assert goodarm.judge(log, threshold=0.0, rewards="gaussian:3.2").good == ["a"]


def test_sums_of_too_many_large_gaussian_rewards_are_refused() -> None:
    totals = {"arm": ["a"], "pulls": [10**10], "total": [4.1e17]}
    with pytest.raises(GoodarmError, match="lose the digits"):
        goodarm.judge(totals, threshold=4.0e7, rewards="gaussian:1000")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"pulls": [2**53 + 1], "total": [3]}, r"not in range.*above 2\^53"),
        ({"pulls": [2**70], "total": [3]}, "too large"),
        ({"pulls": [4 * 10**15], "total": [3]}, "pulls; at most 1e\\+15 can be judged"),
        ({"pulls": [4e15], "total": [1.0]}, "pulls; at most 1e\\+15 can be judged"),
        ({"reward": [2**60 + 1]}, "not in range"),
    ],
)
def test_extremes_are_refused_in_one_line(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(GoodarmError, match=message):
        goodarm.judge({"arm": ["a"], **columns}, threshold=0.5)
    names = {"arm": [2**60 + 1, 7], "reward": [1, 0]}  # names may be as large as they like
    assert goodarm.judge(names, threshold=0.5).open == ["1152921504606846977", "7"]


@pytest.mark.parametrize(
    "options",
    [
        {"delta": 1e-320}, {"delta": 1e-250}, {"threshold": 1e-310}, {"threshold": 1e-310, "rewards": "nonnegative"},
        {"threshold": 1e150, "rewards": "nonnegative"}, {"rewards": "bounded:0,1e-310", "threshold": 5e-311},
        {"rewards": "bounded:-1e308,1e308", "threshold": 0.0}, {"rewards": "gaussian:1e-160", "threshold": 0.0},
    ],
    ids=str,
)  # fmt: skip
def test_numbers_that_floats_can_not_hold_are_refused(options: dict[str, Any]) -> None:
    """Before: a bare ValueError, or verdicts on bets of infinite size."""
    with pytest.raises(GoodarmError, match=r"must be|must lie between"):
        goodarm.judge({"arm": ["a"] * 3, "reward": [0.0, 0.0, 0.0]}, **{"threshold": 0.5, **options})


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        ([0, 1, 3, 1], "int8", "The first lies outside: 3"),
        ([0, 1, None, 1], "int8", "1 reward is missing"),
        ([0.0, 1.0, float("nan"), 1.0], "double", "1 reward is missing"),
        ([0.0, 1.0, float("inf"), 1.0], "double", "The first is infinite: inf"),
        ([True, None, False, True], "bool", "1 reward is missing"),
    ],
)
def test_what_the_statistics_of_a_parquet_file_say_is_not_believed_too_far(
    tmp_path: Path, values: list[Any], kind: str, message: str
) -> None:
    """Row groups whose statistics prove the range are not checked row by row; all others are."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "log.parquet"
    arms = pa.array([7, 7, 8, 8], pa.int32())
    for statistics in (True, False):
        table = pa.table({"arm": arms, "reward": pa.array(values, kind)})
        pq.write_table(table, path, row_group_size=2, write_statistics=statistics)
        with pytest.raises(GoodarmError, match=message):
            goodarm.judge(str(path), threshold=0.5)
        fine = [1 if value else 0 for value in values]
        pq.write_table(pa.table({"arm": arms, "reward": fine}), path, row_group_size=2, write_statistics=statistics)
        found = goodarm.judge(str(path), threshold=0.5)
        assert sorted(zip(found.arms.arm, found.arms.pulls, strict=True)) == [("7", 2.0), ("8", 2.0)]


def test_an_unknown_control_is_told_without_harm_to_the_terminal() -> None:
    log = {"arm": ["\x1b[31mred", "two\nlines", "c"], "reward": [1, 0, 1]}
    with pytest.raises(GoodarmError) as told:
        goodarm.judge(log, versus="zzzzzz")
    assert "\x1b" not in str(told.value)
    assert "\n" not in str(told.value)


def test_many_segments_are_listed_in_part(tmp_path: Path) -> None:
    rows = "".join(f"s{i},{arm},{i % 2}\n" for i in range(50) for arm in "ab")
    (tmp_path / "log.csv").write_text("segment,arm,reward\n" + rows)
    arguments = ["judge", str(tmp_path / "log.csv"), "--by", "segment", "--threshold", "0.5"]
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 0
    assert shown.output.count("\nsegment s") == 20
    assert "30 more segments" in shown.output
    refused = CliRunner().invoke(app, [*arguments, "--out", ""])
    assert refused.exit_code == 2


@pytest.mark.filterwarnings("ignore::goodarm.errors.LogWarning")
def test_a_filter_by_the_reward_is_warned_of() -> None:
    log = {"arm": ["a", "b"] * 20, "click": [0, 1] * 20, "clicks_before": [1, 2] * 20}
    for where, warned in (("Click = 1", True), ("clicks_before > 1", False), ("arm = 'a'", False)):
        notes = goodarm.judge(log, reward="click", threshold=0.5, where=where).notes
        assert any("WARNING: `where` reads click" in note for note in notes) == warned


def test_arms_whose_names_look_alike_are_warned_of() -> None:
    log = {"ad": ["A", "A ", "b", "B", "c", "c\u200b", "d"], "reward": [1, 0, 1, 0, 1, 0, 1]}
    with pytest.warns(LogWarning, match="the arms 'A' and 'A ' differ only in blanks, case or invisible characters"):
        found = goodarm.judge(log, threshold=0.5)
    assert "and 2 more pairs" in found.warnings[0]
    assert found.guarantee == "certified only if 'A' and 'A ' are different arms"
    assert not goodarm.judge({"ad": ["1 10", "11 0", "a", "ab"], "reward": [1, 0, 1, 0]}, threshold=0.5).warnings


@pytest.mark.parametrize("per_ad", [1, 3])
def test_a_table_of_totals_is_recognised(tmp_path: Path, per_ad: int) -> None:
    path = tmp_path / "ads.csv"
    rows = [f"{ad},{1000 + i},{30 + i}" for i in range(per_ad) for ad in ("a", "b")]
    path.write_text("ad,impressions,clicks\n" + "\n".join(rows) + "\n")
    ran = CliRunner().invoke(app, ["judge", str(path), "--threshold", "2%"], env={"COLUMNS": "300"})
    assert ran.exit_code == 2
    advice = "Is this a table of totals, with clicks out of impressions? Give --pulls impressions and --total clicks."
    assert advice in " ".join(ran.stderr.split())
    options = {"threshold": 2.0, "rewards": "nonnegative"}
    found = goodarm.judge(path, pulls="impressions", total="clicks", threshold=0.02)
    assert not found.warnings
    if per_ad == 1:
        with pytest.warns(LogWarning, match="every arm has one row. If clicks is a total out of impressions"):
            goodarm.judge(path, **options)
    else:
        assert not goodarm.judge(path, **options).warnings


def test_yes_and_no_are_rewards_and_other_words_are_explained(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("arm,clicked\na,yes\na,No\nb,TRUE\nb,false\n")
    assert goodarm.judge(path, threshold=0.4).arms.mean.tolist() == [0.5, 0.5]
    path.write_text("arm,clicked\na,ja\na,nein\nb,1\nb,0\n")
    with pytest.raises(GoodarmError, match="rewards are numbers, true or false, yes or no") as error:
        goodarm.judge(path, threshold=0.4)
    assert "such as 1 for a success and 0 for a failure" in str(error.value)
    assert "bounded" not in str(error.value)
