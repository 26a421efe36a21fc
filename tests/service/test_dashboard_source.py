"""The dashboard's files: types, vendored libraries, nothing from elsewhere, small modules."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

STATIC = Path(str(files("goodarm") / "service" / "static"))
MODULES = sorted((STATIC / "js").glob("*.js"))
NODE = Path(sys.prefix) / "node" / "node_modules"


def test_types_hold(tmp_path: Path) -> None:
    compiler = NODE / ".bin" / "tsc"
    if not compiler.is_file():
        pytest.skip("needs TypeScript: make node installs it where there is npm")
    settings = tmp_path / "tsconfig.json"
    settings.write_text(f"""{{
        "extends": "{Path(__file__).parent / "tsconfig.json"}",
        "compilerOptions": {{"paths": {{"uplot": ["{NODE / "uplot" / "dist" / "uPlot.d.ts"}"]}}}},
        "include": ["{STATIC / "js"}/*.js"]
    }}""")
    checked = subprocess.run((compiler, "-p", settings), capture_output=True, text=True, check=False)
    assert checked.stdout == ""
    assert checked.returncode == 0, checked.stderr


def test_vendored_files_are_what_their_readme_says() -> None:
    folder = STATIC / "vendor" / "uplot"
    rows = dict(re.findall(r"^\| (\S+) \| ([0-9a-f]{64}) \|$", (folder / "README.md").read_text(), re.MULTILINE))
    found = {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.iterdir()
        if file.name not in {"README.md", "LICENSE"}
    }
    assert found == rows
    assert "MIT" in (folder / "LICENSE").read_text()
    version = re.search(r"^# uPlot (\S+)$", (folder / "README.md").read_text(), re.MULTILINE)
    assert version
    assert f"(v{version[1]})" in (folder / "uPlot.iife.min.js").read_text()


def test_modules_are_small_and_all_are_used() -> None:
    assert {file.name: lines for file in MODULES if (lines := len(file.read_text().splitlines())) > 400} == {}
    imported = {name for file in MODULES for name in re.findall(r'from "\./(\w+\.js)"', file.read_text())}
    assert imported | {"app.js", "docs.js", "notebook.js", "types.js"} == {file.name for file in MODULES}


@pytest.mark.parametrize(
    "file",
    [STATIC / "index.html", STATIC / "docs" / "index.html", *sorted(STATIC.glob("*.css")), *MODULES],
    ids=lambda file: file.relative_to(STATIC).as_posix(),
)
def test_nothing_comes_from_elsewhere_and_nothing_is_inline(file: Path) -> None:
    text = file.read_text().replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://", text)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text)
    if file.suffix == ".html":
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", text)
