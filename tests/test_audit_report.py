"""`make audit` never lets "nothing was checked" look like "nothing was found"."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("audit_report.sh")
SKIPPED = "{0} | Dependency not found on PyPI and could not be audited: {0} (1.0)\n"


@pytest.mark.parametrize(
    ("ran", "report", "first"),
    [
        (
            True,
            "Name | Skip Reason\n" + SKIPPED.format("one") + SKIPPED.format("two"),
            "NOTHING WAS CHECKED: the database",
        ),
        (True, "Name | Skip Reason\n" + SKIPPED.format("one"), "1 of 2 installed packages could not be checked"),
        (True, "", "All 2 installed packages were checked."),
        (False, "", "NOTHING WAS CHECKED: pip-audit did not run"),
        (False, None, "NOTHING WAS CHECKED: pip-audit did not run"),
    ],
)
def test_the_first_line_says_what_was_checked(tmp_path: Path, ran: bool, report: str | None, first: str) -> None:
    (tmp_path / "packages.txt").write_text("one==1.0\ntwo==1.0\n")
    if report is not None:
        (tmp_path / "report.md").write_text(report)
    if ran:
        (tmp_path / "ran").touch()
    subprocess.run(("sh", str(SCRIPT), str(tmp_path)), check=True)
    lines = (tmp_path / "report.md").read_text().splitlines(keepends=True)
    assert lines[0].startswith(first)
    assert "".join(lines[2:]) == (report or "")
