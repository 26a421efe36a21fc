"""A judgement as files, as a dataframe and as a printed table."""

import csv

import pytest
from typer.testing import CliRunner

import goodarm
from goodarm.cli import app
from goodarm.errors import UnusableFolder

LOG = {"arm": ["a"] * 200 + ["=b"] * 200, "reward": [1.0] * 200 + [0.0] * 200}


@pytest.fixture(scope="module")
def judgement():
    return goodarm.judge(LOG, threshold="50%")


def test_to_csv(judgement, tmp_path):
    path = judgement.to_csv(tmp_path / "arms.csv")
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    assert [(row["arm"], row["verdict"]) for row in rows] == [("a", "good"), ("'=b", "bad")]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t"])
def test_text_never_becomes_a_formula_and_numbers_stay_numbers(tmp_path, start):
    name = f"{start}1+1"
    found = goodarm.judge(
        {"arm": ["-3", name] * 50, "reward": [-2.0, -1.0] * 50}, threshold=-1.5, rewards="bounded:-3,0"
    )
    rows = list(csv.DictReader(found.to_csv(tmp_path / "arms.csv").read_text(encoding="utf-8").splitlines()))
    assert {row["arm"] for row in rows} == {"'-3", f"'{name}"}
    assert sorted(float(row["mean"]) for row in rows) == pytest.approx([-2.0, -1.0])
    openpyxl = pytest.importorskip("openpyxl")
    lines = list(openpyxl.load_workbook(found.to_excel(tmp_path / "arms.xlsx"))["arms"].values)
    assert {line[0] for line in lines[1:]} == {"'-3", f"'{name}"}
    assert sorted(line[lines[0].index("mean")] for line in lines[1:]) == pytest.approx([-2.0, -1.0])


def test_to_excel_has_the_sentence_and_no_formula(judgement, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(judgement.to_excel(tmp_path / "arms.xlsx"))
    assert [row[0] for row in book["arms"].values][:3] == ["arm", "a", "'=b"]
    about = {topic: line for topic, line in book["about"].values if topic}
    assert about["question"] == "Which arms are above 50%?"
    assert about["answer"] == judgement.sentence
    assert about["guarantee"].startswith("certified: delta 0.05 bounds the probability that any verdict is wrong")
    assert judgement.conditions[0] in {line for _, line in book["about"].values}
    formats = {cell.value: book["arms"][f"{cell.column_letter}2"].number_format for cell in book["arms"][1]}
    assert (formats["mean"], formats["pulls"], formats["evidence"]) == ("0.00%", "#,##0", "0.00")
    assert all(cell.data_type != "f" for row in book["arms"] for cell in row)


def test_the_page_names_the_column_of_the_rewards(tmp_path):
    log = {"offer": ["a", "b"] * 20, "paid": [1.0, 0.0] * 20}
    found = goodarm.judge(log, threshold=0.5, arm="offer", reward="paid")
    assert ": 40 rows, rewards in paid;" in found.to_html(tmp_path / "a.html").read_text(encoding="utf-8")


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


UNITS = {"arm": ["a"] * 400 + ["b"] * 400, "user_id": [*range(200)] * 4, "reward": [1.0] * 400 + [0.0, 1.0] * 200}


def test_tables_name_the_units(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    found = goodarm.judge(UNITS, threshold=0.5, unit="user_id")
    assert "users" in str(found)
    assert ">users<" in found.to_html(tmp_path / "a.html").read_text(encoding="utf-8")
    book = openpyxl.load_workbook(found.to_excel(tmp_path / "a.xlsx"))
    assert "users" in next(book["arms"].values)


def test_unknown_numbers_are_words(tmp_path):
    (tmp_path / "log.csv").write_text("arm,reward\na,1\na,2\nb,5\nb,1\n")
    wish = ["judge", str(tmp_path / "log.csv"), "--threshold", "2", "--rewards", "nonnegative"]
    said = CliRunner().invoke(app, wish).output
    assert "∞" not in said
    assert "- more" not in said
    assert "0 or more" in said
    assert "too many to tell" in said


@pytest.mark.parametrize(("name", "start"), [("a.xlsx", b"PK"), ("a.CSV", b"arm,"), ("a.html", b"<!doctype")])
def test_out_writes_the_file_that_its_ending_names(tmp_path, name, start):
    pytest.importorskip("openpyxl")
    (tmp_path / "log.csv").write_text("arm,reward\na,1\na,0\n")
    wish = ["judge", str(tmp_path / "log.csv"), "--threshold", "0.5", "--out"]
    result = CliRunner().invoke(app, [*wish, str(tmp_path / name)])
    assert result.exit_code == 0, result.output
    assert (tmp_path / name).read_bytes().lower().startswith(start.lower())
    missing = CliRunner().invoke(app, [*wish, str(tmp_path / "nowhere" / name)])
    assert missing.exit_code == 2
    assert "there is no folder" in " ".join(missing.output.split())


def test_files_against_a_control_explain_themselves(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    log = {"arm": ["now", "new", "odd"], "pulls": [9000, 9000, 90], "total": [900, 1800, 9]}
    found = goodarm.judge(log, versus="now", margin=0.01)
    rows = list(csv.DictReader(found.to_csv(tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()))
    assert [(row["arm"], row["asked"], row["verdict"]) for row in rows] == [
        ("new", found.captions.clears, "better"),
        ("odd", found.captions.clears, "undecided"),
    ]
    assert "now" in found.captions.clears
    assert float(rows[0]["difference"]) == pytest.approx(0.1)
    assert "mean" not in rows[0]
    book = openpyxl.load_workbook(found.to_excel(tmp_path / "a.xlsx"))
    heads = [cell.value for cell in book["arms"][1]]
    assert heads[:6] == ["arm", "pulls", "difference", "low", "high", "asked"]
    assert "assuming" in {topic for topic, _ in book["about"].values}


def test_csv_has_numbers_only_where_numbers_belong(tmp_path):
    log = {"arm": ["a", "a", "b", "b"], "case": [0, 1, 0, 1], "reward": [1, 1, 0, 1]}
    found = goodarm.judge(log, threshold=0.6, case="case")
    rows = list(csv.DictReader(found.to_csv(tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()))
    assert {row["asked"] for row in rows} == {"at least 60%"}
    for row in rows:
        for name in ("mean", "low", "high", "evidence"):
            assert row[name] == "" or float(row[name]) == float(row[name])
    assert "inf" in {row["evidence"] for row in rows}
    waiting = goodarm.judge({"arm": ["a", "b"], "reward": [1, None]}, threshold=0.5, nulls="drop")
    rows = list(csv.DictReader(waiting.to_csv(tmp_path / "b.csv").read_text(encoding="utf-8").splitlines()))
    assert next(row["mean"] for row in rows if row["arm"] == "b") == ""


def test_a_column_of_cases_is_pointed_out():
    log = {"arm": ["a", "a", "b", "b"], "case": [0, 1, 0, 1], "reward": [1, 1, 0, 1]}
    assert any("give `case='case'`" in note for note in goodarm.judge(log, threshold=0.6).notes)
