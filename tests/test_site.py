"""The site builds without a warning, and the page of commands is what the commands say."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_the_page_of_commands_is_what_they_say(tmp_path: Path) -> None:
    copy = tmp_path / "refresh_commands.py"
    shutil.copy(ROOT / "docs" / "refresh_commands.py", copy)
    subprocess.run([sys.executable, copy], check=True, capture_output=True)
    made, kept = (folder / "commands.md" for folder in (tmp_path, ROOT / "docs"))
    assert made.read_text() == kept.read_text(), "run: python docs/refresh_commands.py"


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    zensical = Path(sys.executable).with_name("zensical")
    if not zensical.exists():
        pytest.skip("zensical is not installed: pip install '.[docs]'")
    for name in ("docs", "src"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    built = subprocess.run([zensical, "build", "--strict"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    assert (tmp_path / "site" / "api.html").exists()
