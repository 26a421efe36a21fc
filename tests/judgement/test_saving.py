"""A judgement as files, as a dataframe and as a printed table."""

import csv

import pytest

import goodarm
from goodarm.errors import UnusableFolder

LOG = {"arm": ["a"] * 200 + ["=b"] * 200, "reward": [1.0] * 200 + [0.0] * 200}


@pytest.fixture(scope="module")
def judgement():
    return goodarm.judge(LOG, threshold="50%")


def test_to_csv(judgement, tmp_path):
    path = judgement.to_csv(tmp_path / "arms.csv")
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    assert [(row["arm"], row["verdict"]) for row in rows] == [("a", "good"), ("=b", "bad")]


def test_to_excel_has_the_sentence_and_no_formula(judgement, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(judgement.to_excel(tmp_path / "arms.xlsx"))
    assert [row[0] for row in book["arms"].values][:3] == ["arm", "a", "'=b"]
    assert book["about"]["A1"].value == judgement.sentence
    assert all(cell.data_type != "f" for row in book["arms"] for cell in row)


def test_to_html_is_the_page(judgement, tmp_path):
    text = judgement.to_html(tmp_path / "judgement.html").read_text(encoding="utf-8")
    assert judgement.sentence in text


def test_to_pandas(judgement):
    frame = judgement.to_pandas()
    assert frame["verdict"].tolist() == ["good", "bad"]


@pytest.mark.slow
def test_save_writes_what_out_writes(judgement, tmp_path):
    names = {path.name for path in judgement.save(tmp_path / "out")}
    assert names == {"arms.parquet", "arms.csv", "forest.svg", "forest.png", "judgement.html"}


@pytest.mark.parametrize("method", ["to_csv", "to_html"])
def test_a_folder_is_no_file(judgement, tmp_path, method):
    with pytest.raises(UnusableFolder, match="path of a file"):
        getattr(judgement, method)(tmp_path)
    with pytest.raises(UnusableFolder, match="can't write"):
        getattr(judgement, method)(tmp_path / "missing" / "file")
    assert list(tmp_path.iterdir()) == []


def test_arms_print_as_a_table(judgement):
    lines = str(judgement.arms).splitlines()
    assert lines[0].split() == ["arm", "samples", "mean", "interval", "verdict"]
    assert lines[1].split()[0] == "a"
    assert lines[1].split()[-1] == "good"
    assert max(map(len, lines)) <= 80
