"""A user's script under mypy --strict: every public name has a type that a type checker understands."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import goodarm

SCRIPT = Path(__file__).parent / "typed_script.py"
BROKEN = """
import goodarm

goodarm.plan(arms="three", threshold=0.5)
goodarm.simulate("hdoc", "kano-1").no_such_field
"""


def checked(script: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """mypy as a user runs it: strict, without our configuration."""
    arguments = ["--strict", "--config-file=", f"--cache-dir={folder / 'cache'}", str(script)]
    return subprocess.run([sys.executable, "-m", "mypy", *arguments], capture_output=True, text=True, check=False)


def test_it_touches_every_public_name() -> None:
    nodes = list(ast.walk(ast.parse(SCRIPT.read_text(encoding="utf-8"))))
    used = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    used |= {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert set(goodarm.__all__) - used == set()


@pytest.mark.slow
def test_it_is_well_typed_and_a_wrong_one_is_not(tmp_path: Path) -> None:
    found = checked(SCRIPT, tmp_path)
    assert found.returncode == 0, found.stdout
    wrong = tmp_path / "wrong.py"
    wrong.write_text(BROKEN, encoding="utf-8")
    said = checked(wrong, tmp_path).stdout
    assert "arg-type" in said
    assert "attr-defined" in said


@pytest.mark.slow
def test_it_runs() -> None:
    variables = {**os.environ, "PYTHONWARNINGS": "error"}
    ran = subprocess.run([sys.executable, SCRIPT], env=variables, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "['A']" in ran.stdout
