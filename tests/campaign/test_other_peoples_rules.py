"""Rules of another package in a live campaign: what can't be compiled, or fails, is named before it does harm."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

RULES = """
import math

from goodarm.sampling import IndexRule

TABLE = {"bonus": 1.0}

def reads_a_dict(arm, pool, bar):
    return arm.mean + TABLE["bonus"]  # line 9

def fails_at_zero(arm, pool, bar):
    return math.log(arm.mean) if arm.pulls > 1.5 else 0.0  # line 12

def fine(arm, pool, bar):
    return arm.mean + arm.width

reading = IndexRule(name="reading", index=reads_a_dict)
failing = IndexRule(name="failing", index=fails_at_zero)
working = IndexRule(name="working", index=fine)
"""
ENTRY_POINTS = """
[goodarm.sampling]
reading = stranger:reading
failing = stranger:failing
working = stranger:working
"""
CAMPAIGN = """
import sys
from goodarm import Campaign, GoodarmError
try:
    with Campaign.create("memory:", "c", ["a", "b"], 0.5, policy=f"{sys.argv[1]}+gap-mixture") as campaign:
        print("created")
        for _ in range(4):
            (ticket,) = campaign.ask()
            campaign.tell(ticket, 0.0)
        print("told", campaign.check().ok)
except GoodarmError as error:
    print(error)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package of somebody else, as it lies on the path once it is installed."""
    (tmp_path / "stranger.py").write_text(RULES)
    about = tmp_path / "stranger-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    return tmp_path


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (
            "reading",
            ["the rule 'reading' runs in Python but can't be compiled: stranger.py, line 9, in reads_a_dict: "],
        ),
        ("failing", ["created", "the rule 'failing' failed: stranger.py, line 12, in fails_at_zero: ValueError: "]),
        ("working", ["created", "told True"]),
    ],
)
def test_what_is_wrong_with_it_is_said_at_once(package: Path, rule: str, said: list[str]) -> None:
    path = os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")])
    ran = subprocess.run(
        [sys.executable, "-c", CAMPAIGN, rule],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = ran.stdout.splitlines()
    assert len(lines) == len(said), ran.stdout + ran.stderr
    assert all(line.startswith(words) for line, words in zip(lines, said, strict=True)), ran.stdout
