"""A percentage is a share of rewards in [0, 1]. For rewards in another range it is refused wherever it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from goodarm import Campaign, judge
from goodarm.cli import app
from goodarm.errors import InvalidValue
from goodarm.planning.quick import quick_plan
from goodarm.question import Control, Threshold

LOG = {"arm": ["a"] * 50 + ["b"] * 50, "reward": [50.0, 100.0] * 50}
OTHERS = ["bounded:0,100", "nonnegative", "gaussian:2"]
EITHER = r"80%: is it 80 or 0[.]8[?]"


@pytest.mark.parametrize("rewards", [*OTHERS, "nonnegative:100"])
@pytest.mark.parametrize("given", [{"threshold": "80%"}, {"question": {"threshold": " 80 %"}}])
def test_a_log(rewards: str, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue, match=f"threshold {EITHER}"):
        judge(LOG, rewards=rewards, **given)


@pytest.mark.parametrize("rewards", ["bounded:0,100", "nonnegative:100"])
def test_a_comparison_in_a_log(rewards: str) -> None:
    with pytest.raises(InvalidValue, match=r"margin 5%: is it 5 or 0[.]05[?]"):
        judge(LOG, rewards=rewards, versus="a", margin="5%")


@pytest.mark.parametrize("rewards", OTHERS)
def test_a_campaign(rewards: str) -> None:
    with pytest.raises(InvalidValue, match=f"threshold {EITHER}"):
        Campaign.create("memory:", "c", ["a", "b"], threshold="80%", rewards=rewards)


def test_a_plan() -> None:
    with pytest.raises(InvalidValue, match=f"threshold {EITHER}"):
        quick_plan(threshold="80%", arms=5, gap=0.1, rewards="gaussian:2")


def test_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("arm,reward\na,50\nb,100\n")
    for command in (
        ["judge", str(tmp_path / "log.csv"), "--rewards", "bounded:0,100"],
        ["campaign", "create", f"sqlite:///{tmp_path}/s.db", "c", "--arms", "a,b", "--rewards", "bounded:0,100"],
    ):
        ran = CliRunner().invoke(app, [*command, "--threshold", "80%"])
        said = " ".join(f"{ran.output} {ran.exception}".split())
        assert ran.exit_code != 0
        assert "is it 80 or 0.8?" in said, said


def test_shares_may_be_percentages() -> None:
    assert Threshold("80%") == Threshold(0.8)
    assert Control("a", "5%").as_json() == {"control": "a", "margin": 0.05}
    assert repr(Threshold("80%")) == "Threshold(value=0.8)"
