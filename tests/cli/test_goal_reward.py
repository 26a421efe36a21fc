"""`goodarm compare --goal reward`: cumulative reward and regret with intervals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from goodarm.cli import app

pytestmark = pytest.mark.slow

runner = CliRunner()


def test_reward_and_regret_add_up(tmp_path: Path) -> None:
    arguments = ["compare", "kano-1", "--goal", "reward", "--policy", "ucb1", "--policy", "dgai-reward", "--runs", "8"]
    result = runner.invoke(app, [*arguments, "--horizon", "3000", "--json", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["goal"] == "reward"
    assert told["best"] == 3000 * 0.9
    for line in told["policies"]:
        assert line["reward"]["low"] <= line["reward"]["mean"] <= line["reward"]["high"]
        # rewards are random, regret is not: they agree within a few standard deviations of 3000 coin tosses
        assert abs(told["best"] - line["regret"]["mean"] - line["reward"]["mean"]) < 4.0 * (3000 * 0.25 / 8) ** 0.5
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "rewards.png",
        "rewards.svg",
        "rows.parquet",
        "summary.json",
    ]


def test_a_sampling_rule_gives_no_verdicts_here() -> None:
    result = runner.invoke(
        app, ["compare", "kano-1", "--goal", "reward", "-p", "thompson", "--runs", "2", "--horizon", "50"]
    )
    assert result.exit_code == 0, result.output
    assert "thompson+none" in result.stdout


def test_an_unknown_goal_is_named() -> None:
    result = runner.invoke(app, ["compare", "kano-1", "--goal", "rewards"])
    assert result.exit_code == 2
    assert "unknown goal 'rewards'. Did you mean 'reward'?" in result.stderr
