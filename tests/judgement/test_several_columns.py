"""Several bars on a log: one column per metric, on files and tables, and the words of the answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import goodarm
from goodarm import Bars, Campaign
from goodarm.cli import app
from goodarm.errors import GoodarmError

BARS = "correct >= 90%, slow <= 5%"
MEANS = {"fine": (0.97, 0.01), "slow": (0.97, 0.3), "wrong": (0.5, 0.01)}


def log(rows: int = 3000) -> dict[str, Any]:
    rng = np.random.default_rng(4)
    banner = rng.choice(list(MEANS), rows)
    rewards = (rng.random((rows, 2)) < np.array([MEANS[each] for each in banner])).astype(float)
    country = rng.choice(["de", "fr"], rows)
    return {
        "banner_id": banner.tolist(),
        "country": country.tolist(),
        "correct": rewards[:, 0].tolist(),
        "slow": rewards[:, 1].tolist(),
    }


def write_csv(path: Path, table: dict[str, Any]) -> Path:
    lines = [",".join(map(str, row)) for row in zip(*table.values(), strict=True)]
    path.write_text("\n".join([",".join(table), *lines]), encoding="utf-8")
    return path


def test_verdicts_name_the_column_that_fails(tmp_path: Path) -> None:
    found = goodarm.judge(log(), arm="banner_id", bars=BARS)
    assert str(found) == (
        "1 of 3 banners is clearing all bars (correct at least 90%, slow at most 5%), 2 failing one, 0 undecided"
    )
    rows = {row["arm"]: row for row in found.as_dict()["arms"]}
    assert {arm: (row["verdict"], row["failed"]) for arm, row in rows.items()} == {
        "fine": ("good", ""),
        "slow": ("bad", "slow"),
        "wrong": ("bad", "correct"),
    }
    assert rows["slow"]["metrics"]["slow"]["low"] > 0.05
    assert rows["fine"]["metrics"]["slow"]["high"] <= 0.05
    assert rows["fine"]["low"] >= 0.0 > rows["wrong"]["high"]
    assert found.as_dict()["bars"] == Bars(BARS).as_json()["bars"]
    assert any("the bars were fixed before" in each for each in found.conditions)
    assert "bad: slow" in str(found.arms)
    again = goodarm.judge(str(write_csv(tmp_path / "log.csv", log())), arm="banner_id", bars=BARS)
    assert again.as_dict()["arms"] == found.as_dict()["arms"]
    assert {path.name for path in found.save(tmp_path / "out")} >= {"arms.csv"}
    assert "failed" in (tmp_path / "out" / "arms.csv").read_text(encoding="utf-8").splitlines()[0]


def test_a_log_and_a_campaign_have_the_same_evidence() -> None:
    table = log(300)
    campaign = Campaign.create("memory:", "c", list(MEANS), bars=BARS, delta=1e-200)
    for arm, correct, slow in zip(table["banner_id"], table["correct"], table["slow"], strict=True):
        campaign.tell_arm(arm, {"correct": correct, "slow": slow})
    judged = {
        row["arm"]: row for row in goodarm.judge(table, arm="banner_id", bars=BARS, delta=1e-200).as_dict()["arms"]
    }
    for row in campaign.arms():
        assert judged[row.arm]["evidence"] == pytest.approx(row.evidence, abs=1e-6)
        assert judged[row.arm]["low"] == pytest.approx(row.low, abs=1e-6)
        assert judged[row.arm]["high"] == pytest.approx(row.high, abs=1e-6)


@pytest.mark.filterwarnings("ignore::goodarm.errors.LogWarning")
def test_a_filter_that_reads_a_metric_gives_a_warning(tmp_path: Path) -> None:
    path = str(write_csv(tmp_path / "log.csv", log(300)))
    for where, warned in (("CAST(slow AS DOUBLE) >= 0", True), ("banner_id <> 'x'", False)):
        notes = goodarm.judge(path, arm="banner_id", bars=BARS, where=where).notes
        assert any("WARNING: `where` reads slow" in note for note in notes) == warned


def test_segments_are_counted_as_pairs() -> None:
    found = goodarm.judge(log(), arm="banner_id", reward="correct", threshold=0.9, by="country")
    assert found.sentence.startswith("4 of 6 banner\u2013country pairs are above 90%")
    assert [each["sentence"][:17] for each in found.as_dict()["segments"]] == ["2 of 3 banners ar"] * 2
    both = goodarm.judge(log(), arm="banner_id", bars=BARS, by="country")
    assert both.sentence.startswith("2 of 6 banner\u2013country pairs are clearing all bars")


@pytest.mark.parametrize(
    "given",
    [
        {"threshold": 0.5},
        {"versus": "fine"},
        {"reward": "correct"},
        {"order": "country"},
        {"rewards": "bounded:0,5"},
        {"rewards": "gaussian:1"},
        {"criterion": "fdr"},
        {"rule": "kt"},
        {"bars": "correct >= 0.9, speed <= 0.1"},
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(GoodarmError):
        goodarm.judge(log(50), **{"arm": "banner_id", "bars": BARS, **given})


def test_an_arm_without_a_metric_is_refused() -> None:
    table = {"arm": ["a", "b"], "correct": [1.0, 0.0], "slow": [0.0, None]}
    with pytest.raises(GoodarmError, match="not every arm has values of slow"):
        goodarm.judge(table, arm="arm", bars=BARS, nulls="drop")
    none = {"arm": ["a", "b"], "correct": [1.0, None], "slow": [0.0, None]}
    found = goodarm.judge(none, arm="arm", bars=BARS, nulls="drop")
    assert sorted(zip(found.arms.arm, found.arms.pulls, found.arms.verdict, strict=True)) == [("a", 1, 0), ("b", 0, 0)]


def test_from_the_shell(tmp_path: Path) -> None:
    path, run = write_csv(tmp_path / "log.csv", log()), CliRunner()
    shown = run.invoke(app, ["judge", str(path), "--arm", "banner_id", "--bars", BARS])
    assert shown.exit_code == 0, shown.output
    assert "bad: correct" in shown.output
    answer = run.invoke(app, ["judge", str(path), "--arm", "banner_id", "--bars", BARS, "--json"])
    assert json.loads(answer.stdout)["good"] == 1
    wrong = run.invoke(app, ["judge", str(path), "--arm", "banner_id", "--bars", "correct = 3"])
    assert wrong.exit_code == 2
