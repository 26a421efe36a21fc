"""`goodarm init` writes projects that run as they are."""

import subprocess
import sys

import pytest

from goodarm.errors import UnusableFolder
from goodarm.projects import PROJECTS, write_project

SAID = {
    "prompts": "2 of 5 above 80%, 3 below, 0 undecided",
    "headlines": "0 of 7 verdicts are wrong",
    "laboratory": "960 rewards told, 0 tickets out",
    "paper": "dgai@linear, certified",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROJECTS)
def test_a_project_runs(tmp_path, name):
    written = write_project(name, tmp_path / name)
    assert {path.name for path in written} == {"README.md", "run.py"}
    run = subprocess.run([sys.executable, "run.py"], cwd=tmp_path / name, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert SAID[name] in run.stdout


@pytest.mark.slow
def test_headlines_go_on_with_the_tickets_of_an_interrupted_run(tmp_path):
    write_project("headlines", tmp_path / "headlines")
    opening = "import run; from goodarm import Campaign; "
    terms = "'sqlite:///headlines.db', 'headlines', run.HEADLINES, threshold='2%'"
    steps = (
        f"{opening}Campaign.create({terms}).ask(300)",
        "import runpy; runpy.run_path('run.py', run_name='__main__')",
    )
    for code in steps:
        ran = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path / "headlines", capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
    assert "30,000 rewards told, 0 tickets out" in ran.stdout


def test_files_that_are_there_are_kept(tmp_path):
    (tmp_path / "run.py").write_text("mine")
    with pytest.raises(UnusableFolder, match="not empty"):
        write_project("prompts", tmp_path)
    assert (tmp_path / "run.py").read_text() == "mine"
    with pytest.raises(UnusableFolder, match="is a file"):
        write_project("prompts", tmp_path / "run.py")


@pytest.mark.slow
def test_the_command(tmp_path):
    goodarm = [sys.executable, "-m", "goodarm", "init"]
    made = subprocess.run([*goodarm, str(tmp_path / "new")], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert "python run.py" in made.stdout
    wrong = subprocess.run(
        [*goodarm, "--example", "promts", str(tmp_path / "other")], capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 2
    assert "Did you mean 'prompts'" in wrong.stderr
    assert not (tmp_path / "other").exists()
