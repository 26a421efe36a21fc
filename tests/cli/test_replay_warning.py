"""`goodarm compare replay:LOG` says when it can't answer the question that people ask."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from goodarm.cli import app


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "stars.csv"
    path.write_text("film,stars\n" + "a,5\na,1\nb,2\nb,3\nc,4\n" * 4)
    return path


def run(*arguments: object) -> tuple[int, str, str]:
    ran = CliRunner().invoke(app, ["compare", *map(str, arguments), "--runs", "2", "--horizon", "400"])
    return ran.exit_code, ran.stdout, " ".join(ran.stderr.split())


OPTIONS = ("--arm", "film", "--reward", "stars", "--low", "1", "--high", "5", "--policy", "hdoc+kt")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_columns_and_scale_are_told_and_the_warning_names_judge(log: Path) -> None:
    code, out, said = run(f"replay:{log}", "--threshold", "3", *OPTIONS)
    assert code == 0, said
    assert "3 arms, 2 good; threshold 0.5" in " ".join(out.split())
    assert "pulled more often than the log has rows" in said
    assert f"goodarm judge {log}" in said


def test_options_of_a_log_belong_to_a_log() -> None:
    code, _, said = run("kano-1", *OPTIONS)
    assert code == 2
    assert "--arm requires replay:LOG with a --threshold or --bars; got kano-1" in said
