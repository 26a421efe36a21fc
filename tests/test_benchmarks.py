"""The documents whose tables `python -m benchmarks --renew` writes, and comparisons with another checkout."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return import_module("benchmarks.__main__")


def test_every_page_has_a_place_for_its_tables(command: Any) -> None:
    parts = import_module("benchmarks.section")
    for page, names in command.PAGES.items():
        sections = [parts.Section(name, "a title", "a ratio", [parts.Row({"what": name})]) for name in names]
        renewed = command.written((ROOT / page).read_text(encoding="utf-8"), sections)
        assert all(renewed.count(f"### `{name}`: a title") == 1 for name in names), page
        assert set(names) <= set(command.BENCHMARKS)


def test_every_mark_in_a_document_belongs_to_a_benchmark_that_is_renewed(command: Any) -> None:
    marks: dict[str, list[str]] = {}
    for page in sorted((ROOT / "docs").rglob("*.md")):
        found = re.findall(r"<!-- measured ?(\w*): begin -->", page.read_text(encoding="utf-8"))
        assert len(set(found)) == len(found), page
        if found:
            marks[page.relative_to(ROOT).as_posix()] = found
    assert set(marks) == set(command.PAGES)
    for page, found in marks.items():
        without = set(command.PAGES[page]) - set(found)  # these are written between marks without a name
        assert set(found) - {""} <= set(command.PAGES[page]), page
        assert ("" in found) == bool(without), page
    assert set(command.LONG) <= {name for names in command.PAGES.values() for name in names}


def test_the_architecture_lists_every_walk_that_is_counted(command: Any) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("walk                 functions  files\n")[2].partition("```")[0]
    rows = re.findall(r"^(.+?) +(\d+) +(\d+)$", table, re.MULTILINE)
    assert [name for name, _, _ in rows] == list(import_module("benchmarks.walks").WALKS)


def test_a_busy_machine_is_refused_before_anything_is_measured(command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "LOAD_AT_START", 1e9)
    with pytest.raises(SystemExit, match="No document was changed"):
        command.renew([])
    with pytest.raises(SystemExit, match="no document of --renew has a table of 'dgai'"):
        command.renew(["dgai"])


def section(*rows: dict[str, Any], ratio: str = "of kt") -> dict[str, Any]:
    return {"ratio": ratio, "rows": [{**row, "target": "", "verdict": ""} for row in rows]}


def test_versions_are_compared_by_label_and_what_is_slower_is_flagged(command: Any) -> None:
    against = import_module("benchmarks.against")
    ours, theirs = list[Any](), list[Any]()

    def row(policy: str, nanoseconds: float) -> dict[str, Any]:
        return {"policy": policy, "K": 50, "ns per round": nanoseconds, "wall, ns": nanoseconds, "ratio": 1.0}

    for ucb, hdoc in ((42.0, 60.0), (44.0, 61.0), (90.0, 62.0)):
        ours.append(against.times_of(section(row("ucb", ucb), row("hdoc", hdoc), row("new", 1.0))))
        theirs.append(against.times_of(section(row("hdoc", hdoc), row("ucb", 40.0))))
    rows, on_the_wall = [against.compared("rules", ours, theirs)[start::2] for start in (0, 1)]
    assert [row.verdict for row in on_the_wall] == ["", "", ""]
    assert [(row.cells["row"], row.ratio, row.verdict) for row in rows] == [
        ("ucb, K = 50: ns per round", 1.1, "not met"),
        ("hdoc, K = 50: ns per round", 1.0, "met"),
        ("new, K = 50: ns per round", None, ""),
    ]
    assert (rows[0].cells["this version"], rows[0].cells["the other"]) == (44.0, 40.0)


def test_the_column_of_ratios_is_compared_where_it_has_times(command: Any) -> None:
    step = {"what": "to absorb, µs", "K": 10, "to choose, µs": 2.0, "ratio": 15.0}
    pairs = {"what": "pairs, our processor time by theirs", "processor, µs": 300.0, "per second": 3000.0, "ratio": 20.0}
    times = import_module("benchmarks.against").times_of
    assert times(section(step, ratio="measured")) == {
        ("to absorb, µs, K = 10", "to choose, µs"): 2.0,
        ("to absorb, µs, K = 10", "measured"): 15.0,
    }
    assert times(section(pairs, ratio="ratio")) == {(pairs["what"], "processor, µs"): 300.0}


def test_a_checkout_is_measured_with_its_own_sources(command: Any, tmp_path: Path) -> None:
    check_import = import_module("benchmarks.against").check_import
    check_import(ROOT)
    with pytest.raises(SystemExit, match="not with its own in src"):
        check_import(tmp_path)
    package = tmp_path / "src" / "goodarm"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    check_import(tmp_path)
