"""Every example runs, to its end, and finds what it should."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[1] / "examples"
LIVE = {
    "live_headlines.py": ["'Your knife is blunt, and you know it' is good", "'Ten ways to sharpen a knife' is good"],
    "live_prompts.py": ["good  all", " bad  bare", "every arm is decided"],
    "live_laboratory.py": ["is good", "of 40 above 1"],
}


@pytest.mark.parametrize("name", LIVE)
def test_a_live_example_runs_and_its_campaign_lasts(name: str, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'store.db'}"
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), store], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    for words in LIVE[name]:
        assert words in done.stdout
    from goodarm.campaign import open_store
    from goodarm.campaign.check import check

    with open_store(store) as opened:
        (campaign,) = opened.names()
        found = opened.find(campaign)
        assert found is not None
        assert check(opened, found).ok


def test_the_shell_script_runs_a_whole_campaign(tmp_path: Path) -> None:
    tools = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", str(EXAMPLES / "live_shell.sh"), str(tmp_path / "coins.db")],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    words = [line.split()[:3] for line in done.stdout.splitlines()]
    assert ["loaded", "+", "good"] in words
    assert ["unlucky", "-", "bad"] in words
    assert "ok: " in done.stdout


def test_every_live_example_is_run_here() -> None:
    assert {path.name for path in EXAMPLES.glob("live_*.py")} == set(LIVE)


def test_the_demo_goes_from_creation_to_verdicts_and_says_where_to_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    demo = runpy.run_path(str(EXAMPLES / "demo.py"))
    monkeypatch.setitem(demo["main"].__globals__, "READERS", 30_000)
    demo["main"](tmp_path)
    said = capsys.readouterr().out
    assert re.search(r"letters: '.+' is good\n", said)
    assert re.search(r"letters: '.+' is bad\n", said)
    assert "30,000 rewards told, 0 tickets out" in said
    assert "The same 30,000 rows judged as a log, in any order:\n" in said
    assert re.search(r"^█+·+▒+  \d+ good, \d+ undecided, \d+ bad$", said, re.MULTILINE)
    assert re.search(r"^0 of \d+ verdicts wrong", said, re.MULTILINE)
    assert (tmp_path / "verdicts.png").read_bytes().startswith(b"\x89PNG")
    assert f"serve --store sqlite:///{tmp_path / 'goodarm.db'}" in said
    assert said.endswith("http://127.0.0.1:8000/#/campaign/letters in a browser.\n")
