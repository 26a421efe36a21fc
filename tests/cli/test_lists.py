"""`goodarm policies` and `goodarm environments`, and what other packages add to them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from goodarm.cli import VERBS, app
from goodarm.environments.names import environment, environment_names
from goodarm.policies import PAIRINGS, policy
from goodarm.policies.names import identification_names, sampling_names


def printed(*arguments: str, columns: int = 100) -> str:
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": str(columns)})
    assert result.exit_code == 0, result.output
    return result.stdout


def test_policies_as_json_are_all_there_with_what_they_promise() -> None:
    told = json.loads(printed("policies", "--json"))
    assert [each["name"] for each in told["policies"]] == sorted(PAIRINGS)
    assert [each["name"] for each in told["sampling"]] == sampling_names()
    assert [each["name"] for each in told["identification"]] == identification_names()
    for each in told["policies"]:
        assert each["guarantee"] == str(policy(each["name"]).guarantee)
        assert each["summary"]
        assert each["reference"]
    kt = next(each for each in told["identification"] if each["name"] == "kt")
    assert kt["valid_for"] == ["rewards in [0, 1]"]
    assert next(each for each in told["sampling"] if each["name"] == "ucb")["parameters"] == {"beta": 2.0}


@pytest.mark.parametrize("columns", [80, 120])
def test_policies_as_text_fit_and_name_everything(columns: int) -> None:
    text = printed("policies", columns=columns)
    assert max(map(len, text.splitlines())) <= columns
    for name in (*PAIRINGS, *sampling_names(), *identification_names()):
        assert f" {name} " in text, name
    assert "parameters beta=2" in " ".join(text.split())


def test_environments_as_json() -> None:
    told = json.loads(printed("environments", "--json"))["environments"]
    assert [each["name"] for each in told] == environment_names()
    for each in told:
        found = environment(each["name"])
        assert (each["arms"], each["threshold"], each["horizon"]) == (found.arms, found.threshold, found.horizon)
        assert each["reading"]
        assert each["reference"]


@pytest.mark.parametrize("columns", [80, 120])
def test_environments_as_text(columns: int) -> None:
    text = printed("environments", columns=columns)
    assert max(map(len, text.splitlines())) <= columns
    for name in environment_names():
        assert f" {name} " in text, name


@pytest.mark.slow
def test_every_verb_has_help_and_speaks_json() -> None:
    for verb in VERBS:
        text = printed(verb.__name__, "--help")
        assert "--json" in text


def test_no_verb_shows_help_and_an_unknown_one_is_refused() -> None:
    assert "Usage" in CliRunner().invoke(app, []).output
    result = CliRunner().invoke(app, ["compair"])
    assert result.exit_code == 2
    assert "compare" in result.stderr


def test_version() -> None:
    assert printed("--version").startswith("goodarm ")


PLUGIN = '''
from goodarm import bernoulli
from goodarm.rules.sampling import IndexRule


def index(arm, pool, bar, bonus=1.0):
    """Standard errors above the threshold, plus a bonus."""
    return (arm.mean - bar.threshold) / (bar.spread * arm.width) + bonus * arm.width


boldest = IndexRule(name="boldest", reference="a plugin", index=index)


def easy():
    return bernoulli([0.1, 0.9], threshold=0.5, horizon=100, name="easy-plugin")
'''
ENTRY_POINTS = """
[goodarm.sampling]
boldest = my_rules:boldest
[goodarm.environments]
easy-plugin = my_rules:easy
"""


@pytest.mark.slow
def test_rules_and_environments_of_other_packages_are_found(tmp_path: Path) -> None:
    """A package on the path with entry points, as pip would have installed it."""
    (tmp_path / "my_rules.py").write_text(PLUGIN)
    (tmp_path / "my_rules-1.0.dist-info").mkdir()
    (tmp_path / "my_rules-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: my_rules\nVersion: 1.0\n"
    )
    (tmp_path / "my_rules-1.0.dist-info" / "entry_points.txt").write_text(ENTRY_POINTS)
    call = (sys.executable, "-c", "from goodarm.cli import main; main()")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    asked = ("compare", "easy-plugin", "--policy", "boldest(bonus=2)+kt", "--runs", "2", "--json")
    ran = subprocess.run(
        (*call, *asked), capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path}
    )
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["environment"] == "easy-plugin"
    assert told["policies"][0]["policy"] == "boldest(bonus=2)+kt"
    assert told["policies"][0]["found"] == 1.0
