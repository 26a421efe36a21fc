"""The documents whose tables `python -m benchmarks --renew` writes."""

from __future__ import annotations

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


def test_a_busy_machine_is_refused_before_anything_is_measured(command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "LOAD_AT_START", 1e9)
    with pytest.raises(SystemExit, match="No document was changed"):
        command.renew([])
    with pytest.raises(SystemExit, match="no document of --renew has a table of 'dgai'"):
        command.renew(["dgai"])
