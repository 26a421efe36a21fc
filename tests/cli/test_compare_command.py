"""`goodarm compare` as a user calls it."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from rich.console import Console
from rich.table import Table
from typer.testing import CliRunner, Result

from goodarm.cli import app
from goodarm.report.text_table import PolicyText

SMALL = ("kano-1", "--horizon", "300", "--runs", "3", "--policy", "hdoc", "--policy", "hdoc+kt")


def goodarm(*arguments: str | Path, **environment: str) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "120", **environment})


def told(*arguments: str | Path) -> dict[str, Any]:
    result = goodarm("compare", *arguments, "--json")
    assert result.exit_code == 0, result.output
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


def without_speed(answer: dict[str, Any]) -> dict[str, Any]:
    for policy in answer["policies"]:
        assert policy.pop("rounds_per_second") > 0.0
    return answer


def test_the_table_has_a_row_for_each_policy_and_nothing_is_on_stderr() -> None:
    result = goodarm("compare", *SMALL)
    assert result.exit_code == 0
    # a machine that has never compiled these policies is told so
    assert all(line.startswith("Compiling hdoc") for line in result.stderr.splitlines())
    assert re.search(r"^ hdoc +certified .* 0/3 ", result.stdout, re.MULTILINE)
    assert re.search(r"^ hdoc\+kt +certified .* 0/3 ", result.stdout, re.MULTILINE)
    assert "3 runs of at most 300 rounds; seed 0; fwer at delta 0.05" in result.stdout
    assert "threshold setting 1, 5 of 10 good" in result.stdout


def test_json_is_what_was_asked_for() -> None:
    answer = told(*SMALL, "--seed", "7", "--delta", "0.1")
    assert (answer["environment"], answer["horizon"], answer["runs"]) == ("kano-1", 300, 3)
    assert (answer["seed"], answer["delta"]) == (7, 0.1)
    assert [policy["policy"] for policy in answer["policies"]] == ["hdoc", "hdoc+kt"]
    assert answer["ceiling"] == pytest.approx(300 * (3 * 0.4 + 0.15 + 0.05))
    assert answer["policies"][1]["output_at"][0]["runs"] == 3


def test_same_seed_same_result_whatever_the_workers() -> None:
    one = without_speed(told(*SMALL, "--workers", "1"))
    assert one == without_speed(told(*SMALL, "--workers", "2"))
    assert one != without_speed(told(*SMALL, "--workers", "1", "--seed", "1"))


@pytest.mark.slow
def test_no_policy_named_compares_the_default_with_hdoc() -> None:
    answer = told("kano-1", "--horizon", "1e2", "--runs", "1")
    assert [policy["policy"] for policy in answer["policies"]] == ["value", "hdoc"]
    assert answer["horizon"] == 100


def test_threshold_moves_the_bar() -> None:
    answer = told("kano-1", "--horizon", "100", "--runs", "1", "--policy", "hdoc", "--threshold", "0.85")
    assert answer["ceiling"] == pytest.approx(100 * 3 * 0.05)


@pytest.mark.slow
def test_false_discovery_rate() -> None:
    answer = told("kano-1", "--horizon", "300", "--runs", "2", "--policy", "hdoc+kt", "--criterion", "fdr")
    assert answer["policies"][0]["found"] >= 1.0


@pytest.mark.slow
def test_out_writes_what_was_printed(tmp_path: Path) -> None:
    folder = tmp_path / "neu" / "résultats 🎯"
    result = goodarm("compare", *SMALL, "--out", folder, "--json")
    assert result.exit_code == 0
    assert json.loads((folder / "summary.json").read_text("utf-8")) == json.loads(result.stdout)
    assert len(parquet.read_table(folder / "rows.parquet")) == 2 * 3 * 10
    assert f"written: {folder / 'verdicts.png'}" in result.stderr
    assert sorted(path.name for path in folder.iterdir()) == [
        "bound.png",
        "bound.svg",
        "learning.png",
        "learning.svg",
        "rows.parquet",
        "summary.json",
        "verdicts.png",
        "verdicts.svg",
    ]


@pytest.mark.slow
def test_beside_a_table_the_paths_are_on_stdout(tmp_path: Path) -> None:
    result = goodarm("compare", *SMALL, "--out", tmp_path)
    assert f"written: {tmp_path / 'verdicts.png'}" in result.stdout


BAD = {
    "unknown policy": (("kano-1", "--policy", "hdco"), "unknown policy 'hdco'. Did you mean 'hdoc'"),
    "unicode policy": (("kano-1", "--policy", "hdöc"), "unknown policy 'hdöc'. Did you mean 'hdoc'"),
    "unknown rule": (("kano-1", "--policy", "hdoc+kd"), "unknown identification rule 'kd'. Did you mean 'kt'"),
    "unreadable policy": (("kano-1", "--policy", "hdoc+kt("), "can't read"),
    "empty policy": (("kano-1", "--policy", ""), "can't read"),
    "unknown parameter": (("kano-1", "--policy", "ucb(gamma=1)"), "has no parameter 'gamma'. Its parameters: beta"),
    "no number": (("kano-1", "--policy", "ucb(beta=x)"), "a parameter is written name=number"),
    "infinite parameter": (("kano-1", "--policy", "ucb(beta=inf)"), "must be a finite number; got inf"),
    "twice": (("kano-1", "--policy", "hdoc", "--policy", "hdoc"), "'hdoc' is named twice"),
    "unsound pairing": (("medical-2", "--policy", "hdoc+kt"), "Use 'hdoc+gap-mixture'"),
    "fdr without evidence": (("kano-1", "--policy", "hdoc", "--criterion", "fdr"), "for example 'hdoc+gap-mixture'"),
    "unknown criterion": (("kano-1", "--criterion", "fwr"), "Did you mean 'fwer'"),
    "unknown environment": (("kano1",), "Did you mean 'kano-1'"),
    "delta 0": (("kano-1", "--delta", "0"), "delta must lie strictly between 0 and 1; got 0"),
    "delta 1": (("kano-1", "--delta", "1"), "got 1.0"),
    "delta nan": (("kano-1", "--delta", "nan"), "got nan"),
    "threshold 0": (("kano-1", "--threshold", "0"), "threshold must lie strictly between 0 and 1"),
    "threshold nan": (("kano-1", "--threshold", "nan"), "got nan"),
    "no runs": (("kano-1", "--runs", "0"), "runs must be at least 1; got 0"),
    "half a run": (("kano-1", "--runs", "1.5"), "'1.5' is not a whole number"),
    "short horizon": (("kano-1", "--horizon", "9"), "at least the number of arms, 10"),
    "long horizon": (("kano-1", "--horizon", "1e30"), "horizon must be at most"),
    "negative seed": (("kano-1", "--seed", "-1"), "seed must be 0 or larger"),
    "no workers": (("kano-1", "--workers", "0"), "workers must be at least 1"),
    "unknown backend": (("kano-1", "--backend", "threads"), "Did you mean 'threading'"),
    "table without threshold": (("table:none.csv",), "Give one, for example --threshold"),
    "missing table": (("table:none.csv", "--threshold", "0.5"), "none.csv: there is no such file"),
    "unknown option": (("kano-1", "--horizont", "10"), "No such option"),
    "no number for delta": (("kano-1", "--delta", "five"), "'five' is not a number. Write it like 0.05 or 5%."),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_explained_and_nothing_is_written(case: str, tmp_path: Path) -> None:
    arguments, words = BAD[case]
    result = goodarm("compare", *arguments, "--out", tmp_path / "out", TERMINAL_WIDTH="300", COLUMNS="300")
    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == []


def test_out_that_is_a_file_is_refused(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("mine")
    for out in (taken, taken / "below"):
        result = goodarm("compare", *SMALL, "--out", out)
        assert (result.exit_code, result.stdout) == (2, "")
        assert str(taken) in result.stderr
    assert taken.read_text() == "mine"


def write_table(path: Path, means: list[float]) -> None:
    parquet.write_table(pa.table({"arm": [f"été {i}" for i in range(len(means))], "mean": means}), path)


def in_table(path: Path, *more: str) -> Result:
    small = ("--threshold", "0.5", "--horizon", "200", "--runs", "2", "--policy", "hdoc+kt")
    return goodarm("compare", f"table:{path}", *small, *more)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["arme für später.csv", "arme für später.parquet"])
def test_a_table_of_means_is_an_environment(name: str, tmp_path: Path) -> None:
    if name.endswith(".csv"):
        (tmp_path / name).write_text("arm,mean\nrouge,0.1\nbleu foncé,0.9\n", encoding="utf-8")
    else:
        write_table(tmp_path / name, [0.1, 0.9])
    result = in_table(tmp_path / name, "--out", str(tmp_path / "out"))
    assert result.exit_code == 0, result.output
    labels = parquet.read_table(tmp_path / "out" / "rows.parquet")["label"].to_pylist()
    assert set(labels) == ({"rouge", "bleu foncé"} if name.endswith(".csv") else {"été 0", "été 1"})


def test_one_arm_is_enough(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("arm,mean\nonly,0.9\n")
    result = in_table(tmp_path / "one.csv", "--json")
    assert json.loads(result.stdout)["policies"][0]["found"] == 1.0
    assert "one.csv: 1 arm, 1 good" in in_table(tmp_path / "one.csv").stdout


TABLES = {
    "cut in a row": ("arm,mean\nred,0.1\nblu", "row 2"),
    "no rows": ("arm,mean\n", "a header without rows"),
    "empty": ("", "arm and mean"),
    "nan": ("arm,mean\nred,0.1\nblue,nan\n", "nan"),
    "out of range": ("arm,mean\nred,1.1\n", "between 0 and 1; got 1.1"),
    "no number": ("arm,mean\nred,many\n", "many"),
    "twice": ("arm,mean\nred,0.1\nred,0.2\n", "'red' is listed twice"),
    "other columns": ("name,rate\nred,0.1\n", "arm"),
}


@pytest.mark.parametrize("case", TABLES)
def test_a_bad_table_is_explained(case: str, tmp_path: Path) -> None:
    text, words = TABLES[case]
    (tmp_path / "means.csv").write_text(text)
    result = in_table(tmp_path / "means.csv", "--out", str(tmp_path / "out"))
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert "means.csv" in result.stderr
    assert words in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_parquet_file_that_ends_in_the_middle_is_explained(tmp_path: Path) -> None:
    write_table(tmp_path / "means.parquet", [0.1] * 100)
    whole = (tmp_path / "means.parquet").read_bytes()
    for size in (0, 3, len(whole) // 2, len(whole) - 1):
        (tmp_path / "means.parquet").write_bytes(whole[:size])
        result = in_table(tmp_path / "means.parquet")
        assert (result.exit_code, result.stdout) == (2, ""), result.output
        assert "means.parquet" in result.stderr


def test_a_parquet_table_with_nan_is_explained(tmp_path: Path) -> None:
    write_table(tmp_path / "means.parquet", [0.1, float("nan")])
    result = in_table(tmp_path / "means.parquet")
    assert result.exit_code == 2
    assert "nan" in result.stderr


def start(*arguments: str | Path, stderr: int = subprocess.PIPE) -> subprocess.Popen[str]:
    call = (sys.executable, "-c", "from goodarm.cli import main; main()", *map(str, arguments))
    return subprocess.Popen(call, stdout=subprocess.PIPE, stderr=stderr, text=True, start_new_session=True)


def read_until(terminal: int, pattern: str, seconds: float = 300.0) -> str:
    """What a terminal shows until the pattern appears."""
    shown, deadline = "", time.monotonic() + seconds
    while not re.search(pattern, shown):
        assert time.monotonic() < deadline, shown
        shown += os.read(terminal, 4096).decode(errors="replace")
    return shown


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_ctrl_c_leaves_what_is_finished_and_says_so(workers: str, tmp_path: Path) -> None:
    """A real process on a real terminal: wait for the progress bar to show finished runs, then press Ctrl-C."""
    terminal, its_side = pty.openpty()
    wanted = ("--runs", "1_000_000", "--horizon", "100_000", "--workers", workers, "--out", tmp_path)
    process = start("compare", "kano-1", "--policy", "hdoc+kt", "--policy", "hdoc", *wanted, stderr=its_side)
    try:
        read_until(terminal, r"[1-9]\d*/1000000")
        os.killpg(process.pid, signal.SIGINT)
        printed = process.stdout.read() if process.stdout else ""
        assert process.wait() == 130
    finally:
        process.kill()
        process.communicate()
    os.close(its_side)
    said = read_until(terminal, "They are in ")
    os.close(terminal)
    finished = re.search(r"interrupted\. Finished runs, of 1000000 wanted: (\d+) of hdoc\+kt", said)
    assert finished is not None
    assert "hdoc+kt" in printed
    rows = parquet.read_table(tmp_path / "rows.parquet")
    assert len(rows) == 10 * int(finished[1])
    assert json.loads((tmp_path / "summary.json").read_text())["interrupted"] == {"hdoc+kt": int(finished[1])}
    assert (tmp_path / "verdicts.svg").is_file()
    assert "Traceback" not in said


@pytest.mark.slow
def test_a_pipe_that_closes_early_is_no_error() -> None:
    process = start("policies")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.wait()
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()


def test_long_names_of_policies_are_broken_between_their_parts(capsys: pytest.CaptureFixture[str]) -> None:
    name = "dgai-offline(beta=0.001005)+learned-bets"
    text = PolicyText.assemble(PolicyText(name, style="bold"), "\n", "certified")
    drawn = Table(box=None, pad_edge=False)
    drawn.add_column(overflow="fold")
    drawn.add_row(text)
    Console(width=16).print(drawn)
    lines = capsys.readouterr().out.split()
    assert lines == ["dgai-offline", "(beta=0.001005)", "+learned-bets", "certified"]
