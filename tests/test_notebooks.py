"""The notebooks are the tutorials, and they run from the first cell to the last."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TUTORIALS = sorted(path.stem for path in (ROOT / "docs" / "tutorials").glob("*.md"))


def test_the_notebooks_are_the_tutorials(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "docs" / "refresh_notebooks.py", tmp_path], check=True)
    for name in TUTORIALS:
        kept = ROOT / "docs" / "notebooks" / f"{name}.ipynb"
        assert kept.read_text() == (tmp_path / kept.name).read_text(), "run: python docs/refresh_notebooks.py"
    assert sorted(path.stem for path in (ROOT / "docs" / "notebooks").iterdir()) == TUTORIALS


@pytest.mark.slow
@pytest.mark.parametrize("name", TUTORIALS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:Proactor", "ignore::ResourceWarning")
def test_a_notebook_runs(name: str) -> None:
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: pip install '.[test]'")
    nbformat = pytest.importorskip("nbformat")
    book = nbformat.read(ROOT / "docs" / "notebooks" / f"{name}.ipynb", as_version=4)
    nbclient.NotebookClient(book, timeout=600, resources={"metadata": {"path": str(ROOT)}}).execute()
    said = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any(output.output_type == "stream" for output in said)
