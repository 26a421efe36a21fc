"""Every example of docs/examples.md draws the pictures that the page shows."""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


def script() -> Any:
    spec = spec_from_file_location("refresh_examples", ROOT / "docs" / "refresh_examples.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


EXAMPLES = script().examples()


@pytest.mark.slow
@pytest.mark.parametrize(("code", "pictures"), EXAMPLES, ids=[pictures[0] for _, pictures in EXAMPLES])
def test_an_example_draws_its_pictures(code: str, pictures: list[str], tmp_path: Path) -> None:
    script().draw(code, tmp_path)
    assert {path.name for path in tmp_path.glob("*.png")} == set(pictures)


def test_the_page_shows_what_is_drawn() -> None:
    shown = re.findall(r"images/(example-[\w-]+\.png)", (ROOT / "docs" / "examples.md").read_text(encoding="utf-8"))
    assert shown == [picture for _, pictures in EXAMPLES for picture in pictures]
    assert all((ROOT / "docs" / "images" / picture).exists() for picture in shown)
