"""The documents whose tables `python -m benchmarks --renew` writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks.section import Row, Section

ROOT = Path(command.__file__).parents[1]


@pytest.mark.parametrize("page", command.PAGES)
def test_every_page_has_a_place_for_its_tables(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    sections = [Section(name, "a title", "a ratio", [Row({"what": name})]) for name in command.PAGES[page]]
    renewed = command.written(text, sections)
    assert all(renewed.count(f"### `{name}`: a title") == 1 for name in command.PAGES[page])
    assert set(command.PAGES[page]) <= set(command.BENCHMARKS)


def test_a_busy_machine_is_refused_before_anything_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "LOAD_AT_START", 1e9)
    with pytest.raises(SystemExit, match="No document was changed"):
        command.renew([])
    with pytest.raises(SystemExit, match="no document of --renew has a table of 'dgai'"):
        command.renew(["dgai"])
