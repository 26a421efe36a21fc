"""`goodarm plan`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from goodarm.cli import app

runner = CliRunner()
QUICK = ["plan", "--arms", "10", "--threshold", "0.5", "--gap", "0.2", "--runs", "4", "--workers", "1"]


def test_text() -> None:
    shown = runner.invoke(app, [*QUICK, "--budget", "5e3"])
    assert shown.exit_code == 0, shown.stderr
    assert "10 arms, threshold 0.5, delta 0.05, budget 5,000 samples" in shown.stdout
    words = " ".join(shown.stdout.split())
    assert "To find half, 80%, 90% of the good arms: " in words
    assert "All 4 simulated ones find half, 80%, 90% within" in words
    assert "The budget finds 100.0% of the good arms on average; the same in every campaign." in words
    assert "at least 322.1 samples, 32.21 for the median arm" in words
    assert words.index("To find half") < words.index("any policy needs"), "what people plan for comes first"
    for setting in ("as asked", "delta 0.1", "threshold 0.45", "threshold 0.55"):
        assert setting in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80


def test_json() -> None:
    shown = json.loads(runner.invoke(app, [*QUICK, "--json"]).stdout)
    assert shown["arms"] == 10
    assert shown["possible"] is True
    assert shown["budget"] is None
    assert shown["asked"]["rounds"]["runs"] == 4
    assert shown["asked"]["rounds"]["mean"] == pytest.approx(10 * shown["pulls_per_arm"]["mean"])
    assert [each["share"] for each in shown["asked"]["milestones"]] == [0.5, 0.8, 0.9]
    assert shown["asked"]["end"]["median"] <= shown["asked"]["end"]["high"]
    assert [each["words"] for each in shown["alternatives"]] == ["delta 0.1", "threshold 0.45", "threshold 0.55"]


def test_impossible_wish_is_told() -> None:
    shown = runner.invoke(app, [*QUICK, "--budget", "200"])
    assert shown.exit_code == 0
    words = " ".join(shown.stdout.split())
    assert "A verdict on every arm is impossible: no policy with delta = 0.05" in words
    assert "Impossible" not in words, "good arms are found all the same"
    shown = runner.invoke(app, [*QUICK, "--budget", "9"])
    assert "Impossible: 9 rounds are too few to pull each of the 10 arms once." in shown.stdout


@pytest.mark.slow
def test_means_from_a_file_and_a_picture(tmp_path) -> None:
    (tmp_path / "arms.csv").write_text("arm,mean\nred,0.9\nblue,0.1\n")
    out = tmp_path / "out"
    arguments = ["plan", "--threshold", "0.5", "--means", str(tmp_path / "arms.csv"), "--runs", "2", "--out", str(out)]
    shown = runner.invoke(app, arguments)
    assert shown.exit_code == 0, shown.stderr
    assert "means of table:arms.csv" in shown.stdout
    assert sorted(path.name for path in out.iterdir()) == ["plan.json", "plan.png", "plan.svg"]
    assert json.loads((out / "plan.json").read_text())["arms"] == 2
    assert (out / "plan.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plan", "--threshold", "0.5"], "arms must be the number of arms"),
        (["plan", "--threshold", "0.5", "--arms", "3", "--prior", "normal:0,1"], "can't read the prior"),
        (["plan", "--threshold", "5", "--arms", "3"], "threshold must lie strictly between 0 and 1"),
        (["plan", "--threshold", "30", "--arms", "20", "--gap", "5"], "divide the threshold and the gap by HIGH"),
        (["plan", "--threshold", "0.5", "--arms", "1e9"], "Plan for a sample, --arms 100000:"),
        (
            ["plan", "--threshold", "0.5", "--arms", "3", "--gap", "0.1", "--prior", "beta:1,1"],
            "give only one of --gap, --means and --prior",
        ),
    ],
)
def test_wrong_input_is_one_message(arguments: list[str], message: str) -> None:
    shown = runner.invoke(app, arguments)
    assert shown.exit_code == 2
    assert shown.stderr.startswith("goodarm: ")
    assert message in shown.stderr


@pytest.mark.slow
def test_a_folder_with_another_plan_is_not_overwritten(tmp_path: Path) -> None:
    wish = ["plan", "--arms", "4", "--threshold", "0.5", "--runs", "2", "--out", str(tmp_path / "kept")]
    run = CliRunner().invoke
    assert run(app, [*wish, "--gap", "0.25"]).exit_code == 0
    kept = (tmp_path / "kept" / "plan.json").read_bytes()
    refused = run(app, [*wish, "--gap", "0.2"])
    assert refused.exit_code == 2
    assert "holds other results" in refused.output
    assert (tmp_path / "kept" / "plan.json").read_bytes() == kept
    assert run(app, [*wish, "--gap", "0.25"]).exit_code == 0


def test_percentages_for_means_and_distances() -> None:
    arguments = ["plan", "--arms", "3", "--versus", "20%", "--margin", "2%", "--gap", "10%", "--runs", "1"]
    shown = runner.invoke(app, [*arguments, "--budget", "200", "--json"])
    assert shown.exit_code == 0, shown.stderr
    assert json.loads(shown.stdout)["margin"] == 0.02


def test_the_default_guess_names_options() -> None:
    shown = runner.invoke(app, ["plan", "--arms", "3", "--threshold", "0.5", "--runs", "1", "--budget", "100"])
    assert "give --gap, --means or --prior" in " ".join(shown.stdout.split())


def test_several_bars_and_costs_by_arm() -> None:
    bars = ["plan", "--arms", "4", "--bars", "correct >= 90%, slow <= 8%", "--gap", "correct=0.08, slow=6%"]
    result = runner.invoke(app, [*bars, "--cost", "1,1,1,9", "--budget", "20000", "--runs", "2", "--json"])
    assert result.exit_code == 0, result.output
    made = json.loads(result.stdout)
    assert (made["costs"], made["money"], made["threshold"]) == ([1, 1, 1, 9], 20000, None)
    assert made["asked"]["money"]["end"]["median"] > made["asked"]["end"]["median"]
    for more, message in (
        (["--cost", "1,dear"], "cost must be a number; got 'dear'"),
        (["--cost", "a=1,b"], "can't read the cost"),
        (["--gap", "wide"], "gap must be a number"),
    ):
        wrong = runner.invoke(app, [*bars, *more])
        assert wrong.exit_code == 2
        assert message in " ".join(wrong.output.split())
