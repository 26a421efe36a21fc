"""Files are whole or not there, and say what the runs were."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

from goodarm import bernoulli, table
from goodarm.errors import UnusableFolder
from goodarm.report.files import prepare_folder, whole, write_files, write_rows
from goodarm.simulation.compare import Comparison, compare
from goodarm.simulation.summary import as_json, summarise

SMALL = bernoulli([0.2, 0.8, 0.5], threshold=0.5, horizon=300, name="small")


@pytest.fixture(scope="module")
def results() -> Comparison:
    return compare(SMALL, ("hdoc", "hdoc+kt"), runs=4)


@pytest.mark.slow
def test_all_files_are_written_and_nothing_else(results: Comparison, tmp_path: Path) -> None:
    folder = tmp_path / "Ergebnisse für später 🎯"
    prepare_folder(folder)
    assert list(folder.iterdir()) == []
    paths = write_files(results, summarise(results), folder)
    assert sorted(folder.iterdir()) == sorted(paths)
    assert {path.name for path in paths} == {
        "rows.parquet",
        "summary.json",
        *(f"{name}.{kind}" for name in ("verdicts", "learning", "bound") for kind in ("svg", "png")),
    }
    assert (folder / "verdicts.png").read_bytes().startswith(b"\x89PNG")
    assert ElementTree.parse(folder / "verdicts.svg").getroot().tag.endswith("svg")
    told = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert told["policies"][0]["found"] == as_json(summarise(results))["policies"][0]["found"]


@pytest.mark.slow
def test_the_parquet_rows_are_the_rows(results: Comparison, tmp_path: Path) -> None:
    write_rows(results.finished, tmp_path / "rows.parquet")
    read = parquet.read_table(tmp_path / "rows.parquet").to_pylist()
    assert read == [row for runs in results.finished for row in runs.rows()]
    opens = [row for row in read if row["verdict"] == "open"]
    assert opens
    assert all(row["verdict_round"] is None for row in opens)


@pytest.mark.slow
def test_labels_are_written(tmp_path: Path) -> None:
    named = table({"arm": ["rouge", "bleu foncé"], "mean": [0.1, 0.9]}, threshold=0.5, horizon=20)
    write_rows(compare(named, ("hdoc",), runs=1).finished, tmp_path / "rows.parquet")
    assert parquet.read_table(tmp_path / "rows.parquet")["label"].to_pylist() == ["rouge", "bleu foncé"]


@pytest.mark.slow
def test_same_runs_same_bytes(results: Comparison, tmp_path: Path) -> None:
    written = []
    for name in ("first", "second"):
        prepare_folder(tmp_path / name)
        paths = write_files(results, summarise(results), tmp_path / name)
        written.append({path.name: path.read_bytes() for path in paths})
    assert written[0] == written[1]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    path.write_text("old")

    def fail(partial: Path) -> None:
        partial.write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        whole(path, fail)
    assert [each.name for each in tmp_path.iterdir()] == ["rows.parquet"]
    assert path.read_text() == "old"


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UnusableFolder, match="is a file, not a folder"):
        prepare_folder(tmp_path / "file")
    with pytest.raises(UnusableFolder, match="can't write into"):
        prepare_folder(tmp_path / "file" / "below")
