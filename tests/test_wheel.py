"""The wheel, in an empty environment: it installs with what it needs, and works."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    made = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode != 0:
        pytest.skip(
            f"the wheel can't be built here, which needs hatchling from a package registry: {made.stderr[-300:]}"
        )
    (found,) = folder.glob("*.whl")
    return found


def test_it_brings_what_is_not_python(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "goodarm/py.typed" in names
    assert "goodarm/service/static/index.html" in names
    assert {"goodarm/paper/page.css", "goodarm/webpage/sort.js", "goodarm/judgement/page.js"} <= set(names)
    assert "goodarm/judgement/notebook.css" in names
    assert not [name for name in names if name.startswith(("tests", "benchmarks"))]


def test_it_runs_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "empty", with_pip=True)
    python = tmp_path / "empty" / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel],
        check=True,
        capture_output=True,
    )
    store = f"sqlite:///{tmp_path / 'c.db'}"
    for arguments in (
        ("--version",),
        ("compare", "kano-1", "--runs", "2", "--horizon", "2000", "--policy", "hdoc+kt"),
        ("campaign", "create", store, "headlines", "--arms", "a,b", "--threshold", "0.5"),
        ("campaign", "ask", store, "headlines", "--json"),
    ):
        done = subprocess.run(
            [python.with_name("goodarm"), *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
