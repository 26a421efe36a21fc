"""No written file replaces a store, or an input of the same command."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import goodarm
from goodarm.cli import app
from goodarm.errors import UnusableFolder
from goodarm.whole_files import write_whole

LOG = "arm,reward\n" + "a,1\nb,0\n" * 100


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "200"})


def refused(*arguments: str | Path) -> str:
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    return " ".join(result.stderr.split())


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "d.db"
    with goodarm.Campaign.create(f"sqlite:///{path}", "x", arms=["a", "b"], threshold=0.5, seed=1) as campaign:
        (ticket,) = campaign.ask()
        campaign.tell(ticket, 1.0)
    return path


@pytest.mark.parametrize("verb", ["results", "verdicts"])
def test_no_table_replaces_the_store(store, verb):
    before = store.read_bytes()
    assert f"{store} is a database, and writing this file would destroy it" in refused(
        "campaign", verb, f"sqlite:///{store}", "x", "--out", store
    )
    assert store.read_bytes() == before


def test_no_writer_replaces_a_database_or_the_files_of_one(store, tmp_path):
    with goodarm.Campaign.open(f"sqlite:///{store}", "x") as campaign:
        rows, verdicts = campaign.results(), campaign.verdicts()
        database = tmp_path / "d.jsonl"
        database.write_bytes(store.read_bytes())
        with pytest.raises(UnusableFolder, match="is a database"):
            campaign.export(database)
    for write in (rows.to_csv, verdicts.to_csv, goodarm.judge(_columns(), threshold=0.5).to_csv):
        for place in (store, f"{store}-wal", f"{store}.lock"):
            with pytest.raises(UnusableFolder, match="database"):
                write(place)
    assert database.read_bytes() == store.read_bytes()


def test_a_backup_replaces_an_earlier_backup_but_never_a_store(store, tmp_path):
    before, kept = store.read_bytes(), tmp_path / "kept.db"
    assert f"{store} is a store, and a backup would replace it" in refused("backup", f"sqlite:///{store}", store)
    assert f"{store}.lock belongs to the database" in refused("backup", f"sqlite:///{store}", f"{store}.lock")
    assert store.read_bytes() == before
    for _ in range(2):
        assert run("backup", f"sqlite:///{store}", kept).exit_code == 0


def _columns() -> dict[str, list[object]]:
    return {"arm": ["a", "b"] * 100, "reward": [1.0, 0.0] * 100}


def test_judge_never_replaces_the_log_or_the_ledger(tmp_path):
    log, ledger = tmp_path / "log.csv", tmp_path / "ledger.csv"
    log.write_text(LOG, encoding="utf-8")
    other = tmp_path / "same.csv"
    other.symlink_to(log)
    for out in (log, other):
        assert "is an input of this command" in refused("judge", log, "--threshold", "0.5", "--out", out)
    assert run("judge", log, "--threshold", "0.5", "--ledger", ledger).exit_code == 0
    kept = ledger.read_text(encoding="utf-8")
    assert "is an input of this" in refused("judge", log, "--threshold", "0.5", "--ledger", ledger, "--out", ledger)
    found = goodarm.judge(log, threshold=0.5)
    for write in (found.to_csv, found.to_html, found.save):
        with pytest.raises(UnusableFolder, match="is an input of"):
            write(log)
    assert "is an input of" in refused("gate", log, "--threshold", "0.5", "--markdown", log)
    assert (log.read_text(encoding="utf-8"), ledger.read_text(encoding="utf-8")) == (LOG, kept)


def test_judge_writes_no_table_that_the_next_look_would_read(tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "one.csv").write_text(LOG, encoding="utf-8")
    for source, out in ((folder, folder / "v.csv"), (folder / "*.csv", folder / "v.csv"), (folder, folder / "out")):
        assert "would become part of" in refused("judge", source, "--threshold", "0.5", "--out", out)
    assert [each.name for each in folder.iterdir()] == ["one.csv"]
    assert run("judge", folder, "--threshold", "0.5", "--out", folder / "page.html").exit_code == 0
    assert run("judge", folder / "o*.csv", "--threshold", "0.5", "--out", folder / "v.csv").exit_code == 0


@pytest.mark.parametrize("name", ["x.pdf", "x.txt", "v.docx"])
def test_unknown_endings_are_refused_with_the_known_ones(name, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text(LOG, encoding="utf-8")
    said = refused("judge", log, "--threshold", "0.5", "--out", tmp_path / name)
    assert f"the ending .{name.split('.')[1]} is unknown" in said
    assert ".xlsx, .csv, .parquet or .html" in said
    assert not (tmp_path / name).exists()


def test_other_files_are_replaced(tmp_path):
    path = tmp_path / "a.csv"
    for text in ("one", "two"):
        write_whole(path, lambda part, text=text: part.write_text(text, encoding="utf-8"))
        assert path.read_text(encoding="utf-8") == text
