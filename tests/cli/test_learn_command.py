"""`goodarm learn`: what a user types, and what is on disk afterwards."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from goodarm.cli import app

pytestmark = pytest.mark.slow

runner = CliRunner()


def learn(*arguments: str) -> tuple[int, str, str]:
    result = runner.invoke(app, ["learn", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_learns_writes_and_plays(tmp_path: Path) -> None:
    out = tmp_path / "policy.json"
    code, told, _ = learn("kano-1", "--policy", "dgai", "--horizon", "2000", "--budget", "16", "--out", str(out))
    assert code == 0
    assert "dgai(beta=" in told
    assert "certified" in told
    assert {path.name for path in tmp_path.iterdir()} == {"policy.json", "policy.svg", "policy.png"}
    played = runner.invoke(app, ["compare", "kano-1", "-p", str(out), "--runs", "2", "--horizon", "2000", "--json"])
    assert played.exit_code == 0, played.output
    assert json.loads(played.stdout)["policies"][0]["guarantee"] == "certified"


def test_learns_from_the_rows_of_a_log(tmp_path: Path) -> None:
    """One row per reward, columns of other names, an arm of a Unicode name."""
    draw, log = np.random.default_rng(4), tmp_path / "clicks.csv"
    rates = draw.beta(6.0, 14.0, 30)
    rows = [f"überschrift {i},{int(draw.random() < rates[i])}" for i in range(30) for _ in range(100)]
    log.write_text("\n".join(["headline,clicked", *rows]), encoding="utf-8")
    given = ("--arm", "headline", "--reward", "clicked", "--threshold", "0.3", "--horizon", "3000", "--policy", "dgai")
    code, told, error = learn(str(log), *given, "--budget", "14", "--check", "3", "--out", str(tmp_path / "p.json"))
    assert code == 0, error
    assert "learned on family:clicks.csv (means drawn from Beta(" in told
    assert "fresh runs" in told
    code, _, error = learn(str(log), "--threshold", "0.3", "--out", str(tmp_path / "q.json"))
    assert code == 2
    assert "needs the columns pulls and total" in error
    assert not (tmp_path / "q.json").exists()


def test_calibrates_and_prints_the_certificate_as_json(tmp_path: Path) -> None:
    code, told, _ = learn(
        "kano-3",
        "--policy",
        "ucb",
        "--objective",
        "none",
        "--calibrate",
        "--learning-runs",
        "200",
        "--tests",
        "200",
        "--horizon",
        "2000",
        "--delta",
        "0.2",
        "--out",
        str(tmp_path / "p.json"),
        "--json",
    )
    assert code == 0
    content = json.loads(told)
    assert content["guarantee"] == "calibrated"
    assert content["certificate"]["runs"] == 200
    assert content["certificate"]["limit"] <= 0.2
    assert list(content["parameters"]) == ["alpha"]


def test_trains_as_the_paper_prints_it_and_says_what_that_is_worth(tmp_path: Path) -> None:
    """Most arms are good: alpha falls below 0, and what is written is labelled for what it is."""
    out = tmp_path / "printed.json"
    code, told, _ = learn(
        "synth-small",
        "--policy",
        "dgai-offline",
        "--objective",
        "paper",
        "--set",
        "rate=0.2",
        "--set",
        "every=10",
        "--budget",
        "12",
        "--horizon",
        "2000",
        "--out",
        str(out),
        "--json",
    )
    assert code == 0
    content = json.loads(told)
    assert content["guarantee"] == "heuristic"
    assert content["parameters"]["alpha"] < 0.0
    assert len(content["history"]) == content["learned_on"]["runs"] == 12
    assert {path.name for path in tmp_path.iterdir()} == {"printed.json", "printed.svg", "printed.png"}
    played = runner.invoke(
        app, ["compare", "synth-small", "-p", str(out), "--runs", "2", "--horizon", "2000", "--json"]
    )
    found = json.loads(played.stdout)["policies"][0]
    assert (found["guarantee"], found["wrong_runs"]) == ("heuristic", 2)


def test_learns_from_the_totals_of_a_log(tmp_path: Path) -> None:
    table = tmp_path / "überschriften.csv"
    table.write_text("arm,pulls,total\na,500,10\nb,400,16\nc,450,31\n", encoding="utf-8")
    code, told, _ = learn(
        "--from-table",
        str(table),
        "--threshold",
        "0.04",
        "--horizon",
        "20000",
        "--budget",
        "14",
        "--out",
        str(tmp_path / "p.json"),
        "--json",
    )
    assert code == 0
    assert json.loads(told)["learned_on"]["environment"] == "family:überschriften.csv"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("kano-1", "--from-table", "x.csv"), "give either kano-1 or --from-table x.csv"),
        (("--from-table", "x.csv"), "has no default threshold"),
        (("x.csv",), "has no default threshold"),
        (("x.csv", "--threshold", "0.5"), "there is no such file"),
        ((), "or a LOG"),
        (("kano-1", "--arm", "a"), "requires a LOG"),
        (("x.csv", "--threshold", "0.5", "--rewards", "nonnegative"), "there is no such file"),
        (("kano-1", "--out", "policy.txt"), "must end in .json"),
        (("kano-1", "--out", "nowhere/policy.json"), "does not exist"),
        (("kano-1", "--policy", "hdoc", "--horizon", "1000"), "has no parameter to learn"),
        (("kano-9",), "unknown environment"),
        (("kano-1", "--objective", "luck"), "objective must be one of score, paper, none"),
        (("kano-1", "--objective", "paper"), "trains dgai-offline"),
        (("kano-1", "--policy", "dgai-offline"), "give --objective paper"),
        (("kano-1", "--set", "rate=0.1"), "only the paper's objective has options"),
        (("kano-1", "--policy", "dgai-offline", "--objective", "paper", "--set", "rate"), "needs NAME=NUMBER"),
        (("kano-1", "--policy", "dgai-offline", "--objective", "paper", "--set", "luck=1"), "has no option 'luck'"),
        (("kano-1", "--policy", "dgai-offline", "--objective", "paper", "--set", "seed=3"), "has no option 'seed'"),
        (
            ("kano-1", "--policy", "dgai-offline", "--objective", "paper", "--set", "every=nan"),
            "whole number",
        ),
        (("kano-1", "--objective", "none"), "learns nothing"),
        (("kano-1", "--policy", "dgai-offline", "--objective", "paper", "--calibrate"), "not both"),
    ],
)
def test_bad_input_is_explained_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, told = learn("--budget", "14", *arguments)
    assert code == 2
    assert message in told
    assert list(tmp_path.iterdir()) == []
