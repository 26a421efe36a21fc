"""The verdicts of a campaign as files: the page, the workbook and the tables that a judgement of a log has."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from typer.testing import CliRunner

from goodarm import Campaign
from goodarm.campaign.rows import Verdicts
from goodarm.cli import app
from goodarm.errors import Refused, UnusableFolder

PASSES = {"today": 0.5, "better": 0.9, "worse": 0.1}


def finished(store: str = "memory:", **terms: object) -> Campaign:
    """Three prompts on 40 cases, of which each passes the first ones of every ten."""
    arms = {"today": "Today's prompt", "better": "<b>New</b>", "worse": "=1+1"}
    given = {"threshold": 0.5, "cases": 40} | terms
    campaign = Campaign.create(store, "prompts", arms, **given)  # type: ignore[arg-type]  # as a caller writes them
    while tickets := campaign.ask():
        for ticket in tickets:
            campaign.tell(ticket, float(int(ticket.case or 0) % 10 < 10 * PASSES[ticket.arm]))
    return campaign


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_the_table_has_ids_labels_and_the_verdicts_of_the_campaign(tmp_path: Path) -> None:
    campaign = finished()
    rows = read(campaign.verdicts().to_csv(tmp_path / "arms.csv"))
    assert {row["arm"]: row["verdict"] for row in rows} == {row.arm: row.verdict for row in campaign.arms()}
    assert {row["arm"]: row["label"] for row in rows}["better"] == "<b>New</b>"
    assert [int(row["pulls"]) for row in rows] == [campaign.arm(row["arm"]).pulls for row in rows]
    assert [row["verdict"] for row in rows] == ["good", "good", "bad"]
    assert campaign.verdicts().to_pandas().shape[0] == 3


def test_the_page_and_the_workbook_say_the_same_sentence_and_conditions(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="needs openpyxl: pip install 'goodarm[excel]'")
    verdicts = finished(cases=4).verdicts()  # so few that every arm is decided with certainty
    page = verdicts.to_html(tmp_path / "boss.html").read_text("utf-8")
    assert "2 of 3 above 50%, 1 below, 0 undecided" in page
    assert "&lt;b&gt;New&lt;/b&gt;" in page
    assert "<b>New</b>" not in page
    assert "the question is about these 4 cases" in page
    assert ">certain<" in page
    assert ">1000000000" not in page
    book = openpyxl.load_workbook(verdicts.to_excel(tmp_path / "boss.xlsx"))
    about = {row[0]: row[1] for row in book["about"].iter_rows(values_only=True) if row[0]}
    assert about["answer"].startswith("prompts: 2 of 3 above 50%")
    assert about["question"] == "Which arms are above 50%?"
    cells = {row[0]: row for row in book["arms"].iter_rows(values_only=True)}
    assert cells["worse"][1] == "'=1+1"
    assert all("certain" in cells[arm] for arm in PASSES)


def test_a_control_without_intervals_is_written_with_the_reason(tmp_path: Path) -> None:
    verdicts = finished(threshold=None, control="today").verdicts()
    page = verdicts.to_html(tmp_path / "boss.html").read_text("utf-8")
    assert "There are no intervals" in page
    assert "1 of 2 better than today" in page
    assert "Today&#x27;s prompt" not in page  # the control gets no verdict
    assert " pp<" in page


def test_several_bars_have_their_metrics_and_the_one_that_failed(tmp_path: Path) -> None:
    campaign = Campaign.create("memory:", "bots", ["quick", "slow"], bars="correct >= 0.5, late <= 0.5")
    while tickets := campaign.ask(10):
        campaign.tell_many((each, {"correct": 1, "late": float(each.arm == "slow")}) for each in tickets)
    quick, slow = read(campaign.verdicts().to_csv(tmp_path / "bots.csv"))
    assert (quick["arm"], quick["failed"], float(quick["correct mean"])) == ("quick", "", 1.0)
    assert (slow["verdict"], slow["failed"], float(slow["late mean"])) == ("bad", "late", 1.0)


def test_before_any_reward_and_without_a_campaign(tmp_path: Path) -> None:
    fresh = Campaign.create("memory:", "new", ["a", "b"], threshold=0.5).verdicts()
    assert [row["verdict"] for row in read(fresh.to_csv(tmp_path / "new.csv"))] == ["undecided", "undecided"]
    assert "0 of 2 above 50%, 0 below, 2 undecided" in fresh.to_html(tmp_path / "new.html").read_text("utf-8")
    with pytest.raises(UnusableFolder, match="is a folder"):
        fresh.to_csv(tmp_path)
    with pytest.raises(Refused, match=r"campaign\.verdicts\(\)"):
        Verdicts(0, 0, 0, []).to_csv(tmp_path / "no.csv")
    assert not (tmp_path / "no.csv").exists()


def test_the_command_writes_one_file_or_a_folder(tmp_path: Path) -> None:
    store = str(tmp_path / "store.db")
    finished(store).close()
    run = CliRunner()
    for name in ("boss.html", "boss.xlsx", "boss.csv"):
        found = run.invoke(app, ["campaign", "verdicts", store, "prompts", "--out", str(tmp_path / name)])
        assert found.exit_code == 0, found.output
        assert (tmp_path / name).stat().st_size > 100
    run.invoke(app, ["campaign", "verdicts", store, "prompts", "--out", str(tmp_path / "folder")])
    assert {path.name for path in (tmp_path / "folder").iterdir()} >= {"arms.csv", "forest.svg", "judgement.html"}
    missing = run.invoke(app, ["campaign", "verdicts", store, "prompts", "--out", str(tmp_path / "no" / "boss.csv")])
    assert missing.exit_code == 2
    assert "there is no folder" in missing.output
    assert not (tmp_path / "no").exists()
