"""Logs and options that are not quite right: each is refused in plain words with a fix, or noted."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import goodarm
from goodarm.cli import app
from goodarm.errors import DeltaWarning, UnreadableTable

REFUSED = {
    "no header": ("a,1\nb,0\na,1\n", [], "the first line looks like data (a, 1)", "Add a header line"),
    "named data": (
        "a,1\nb,0\n",
        ["--arm", "a", "--reward", "1"],
        "the first line looks like data (a, 1)",
        "Add a header",
    ),
    "ragged": ("arm,reward\na,1\nb,0,3\n", [], "line 3 has 3 columns, but the header has 2", "in double quotes"),
    "where": ("arm,reward\na,1\n", ["--where", "rewrd === 1"], "--where", "is not a condition in SQL"),
    "negative": (
        "arm,reward\na,-3\nb,5\n",
        ["--rewards", "nonnegative"],
        "-3 of arm 'a'",
        "Negative rewards need a range",
    ),
    "infinite": ("arm,reward\na,inf\nb,0\n", [], "is infinite: inf", "must be a finite number"),
    "comma": ("arm;reward\na;0,5\nb;0\n", [], "0,5 of arm 'a'", "with a decimal point: 0.5"),
    "percent": ("arm,reward\na,80%\nb,0\n", [], "80% of arm 'a'", "as a number: 0.8"),
    "only a header": ("arm,reward\n", [], "there are no rows", "Give a log with rows"),
    "fraction": ("arm,pulls,total\na,100.5,1\n", [], "'a' has 100.5 pulls", "samples are whole numbers"),
    "twice": ("arm,reward,reward\na,1,0\n", [], "two columns have the name 'reward'", "'reward (3)'"),
    "by the arm": ("arm,reward\na,1\n", ["--arm", "arm", "--by", "arm"], "arm is the column of the arms", "--by"),
    "no arm": ("arm,reward\na,1\n,1\n", [], "1 row has no arm, of 2 rows", "rows without an arm are left out"),
}


def judge(path: Path, *options: str) -> Result:
    return CliRunner().invoke(app, ["judge", str(path), "--threshold", "0.5", *options], env={"COLUMNS": "200"})


@pytest.mark.parametrize(("text", "options", "reason", "fix"), REFUSED.values(), ids=REFUSED)
def test_refused_in_plain_words(text, options, reason, fix, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(text, encoding="utf-8")
    result = judge(path, *options)
    said = " ".join(result.stderr.split())
    assert result.exit_code == 2, result.output
    assert reason in said
    assert fix in said
    assert "Error" not in said or "where" in reason
    if "nonnegative" in options:  # is not suggested again
        assert "nonnegative" not in said


def test_a_truncated_parquet_file(tmp_path):
    path = tmp_path / "log.parquet"
    path.write_bytes(b"PAR1" + b"a" * 40)
    with pytest.raises(UnreadableTable, match=r"truncated, or not a Parquet file .* Copy it again"):
        goodarm.judge(path, threshold=0.5)


def test_a_missing_file_of_arms(tmp_path):
    wanted = ["campaign", "create", str(tmp_path / "c.db"), "x", "--arms", "nofile.csv", "--threshold", "0.5"]
    result = CliRunner().invoke(app, wanted)
    assert result.exit_code == 2
    assert "nofile.csv: there is no such file" in " ".join(result.stderr.split())


def test_columns_with_numbers_as_names_are_no_missing_header(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("arm,reward,2024\n" + "a,1,7\nb,0,8\n" * 20, encoding="utf-8")
    assert goodarm.judge(path, threshold=0.5).rows == 40
    path.write_text("x,y,2024\n" + "a,1,7\nb,0,8\n" * 20, encoding="utf-8")
    assert goodarm.judge(path, threshold=0.5, arm="x", reward="y").rows == 40


def test_the_later_of_two_columns_can_be_given(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("arm,reward,reward\n" + "a,1,0\nb,0,1\n" * 40, encoding="utf-8")
    assert goodarm.judge(path, threshold=0.5, arm="arm", reward="reward (3)").good == ["b"]


def test_rows_without_an_arm_are_counted_in_a_note(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("arm,reward\na,1\nb,\n,1\n", encoding="utf-8")
    notes = goodarm.judge(path, threshold=0.5, nulls="zero").notes
    assert "1 row without arm left out" in notes


def test_a_delta_like_a_confidence_gives_a_warning(tmp_path):
    log = {"arm": ["a", "b"], "reward": [1.0, 0.0]}
    with pytest.warns(DeltaWarning, match=r"not the confidence; did you mean 0.05\?"):
        goodarm.judge(log, threshold=0.5, delta=0.95)
    store = f"sqlite:///{tmp_path / 'd.db'}"
    with pytest.warns(DeltaWarning), goodarm.Campaign.create(store, "x", arms=["a"], threshold=0.5, delta=0.9):
        pass
    goodarm.judge(log, threshold=0.5, delta=0.5)


def test_units_without_a_window_say_nothing_about_earlier_looks():
    log = {"arm": ["a", "b"] * 40, "reward": [1.0, 0.0] * 40, "country": [f"c{i // 2 % 20}" for i in range(80)]}
    found, other = goodarm.judge(log, threshold=0.5, unit="country"), goodarm.judge(log, threshold=0.5, unit=None)
    assert "Earlier looks" not in found.captions.looks
    assert "Earlier looks" in other.captions.looks
    assert found.captions.counted == "countries"


def test_the_table_for_people(tmp_path):
    """Undecided arms have no guarantee, and unlimited evidence is infinite, so the column has numbers only."""
    log = {"arm": ["a", "b", "b"], "case": ["1", "1", "2"], "passed": [1.0, 1.0, 1.0]}
    path = goodarm.judge(log, threshold=0.6, case="case", reward="passed", cases=2).to_csv(tmp_path / "arms.csv")
    rows = {row["arm"]: row for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines())}
    assert (rows["b"]["verdict"], rows["b"]["evidence"], rows["b"]["guarantee"]) == ("good", "inf", "certified")
    assert (rows["a"]["verdict"], rows["a"]["guarantee"]) == ("undecided", "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--where", "contry='DE'"], "--where \"contry='DE'\": {path} has no column 'contry'. Did you mean 'country'?"),
        (["--rule", "hdoc"], "--rule hdoc: hdoc is a policy's rule for choosing arms."),
        (["--delta", "5"], "got 5.0. Did you mean 5%? Write '5%' or 0.05."),
    ],
)
def test_a_likely_slip_is_named(options, message, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("arm,reward,country\na,1,DE\nb,0,FR\n", encoding="utf-8")
    ran = CliRunner().invoke(app, ["judge", str(path), "--threshold", "0.5", *options])
    assert ran.exit_code == 2
    assert " ".join(message.format(path=path).split()) in " ".join(ran.output.split())
