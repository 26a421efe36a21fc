"""`goodarm gate`: exit codes, the summary for a pull request, and JUnit XML."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from typer.testing import CliRunner

from goodarm.cli import app

RESULTS = Path(__file__).parents[1] / "judgement" / "results"
CASES = 100


def log(folder: Path, **rates: float) -> str:
    """Results of each arm on all cases, as a CSV file."""
    rows = [f"{arm},q{j},{int(j < rate * CASES)}" for arm, rate in rates.items() for j in range(CASES)]
    (folder / "log.csv").write_text("\n".join(["prompt,question,passed", *rows]), encoding="utf-8")
    return str(folder / "log.csv")


def run(*arguments: str):
    return CliRunner().invoke(app, ["gate", *arguments])


def judged(file: str, *more: str):
    return run(file, "--threshold", "0.8", "--arm", "prompt", "--reward", "passed", "--case", "question", *more)


@pytest.mark.slow
def test_exit_codes(tmp_path: Path) -> None:
    assert judged(log(tmp_path, a=0.9, b=0.8)).exit_code == 0
    found = judged(log(tmp_path, a=0.9, b=0.79))
    assert found.exit_code == 1
    assert "failed: 1 of 2 prompts is above 80%, 1 below" in found.output
    assert judged(log(tmp_path, a=0.9, b=0.81), "--cases", "1000").exit_code == 3
    found = judged(str(tmp_path / "nothing.csv"))
    assert found.exit_code == 2
    assert "nothing.csv" in found.output
    assert "Traceback" not in found.output


def test_files(tmp_path: Path) -> None:
    summary, xml = tmp_path / "summary.md", tmp_path / "gate.xml"
    file = log(tmp_path, **{"a|b <c>": 0.9, "plain": 0.5})
    assert judged(file, "--markdown", str(summary), "--junit", str(xml)).exit_code == 1
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("### goodarm: failed\n")
    assert "| ✅ | a\\|b \\<c\\> | good | 90% | 90% to 90% | 100 |" in text
    assert "| ❌ | plain | bad | 50% | 50% to 50% | 100 |" in text
    assert "The verdicts are certified, at delta 0.05, if:" in text
    assert "- the threshold was fixed before anyone looked at these rewards" in text
    suite = ElementTree.parse(xml).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    assert [case.get("name") for case in suite] == ["a|b <c>", "plain"]


def test_an_undecided_arm_is_an_error_in_junit(tmp_path: Path) -> None:
    xml = tmp_path / "gate.xml"
    judged(log(tmp_path, a=0.81), "--cases", "1000", "--junit", str(xml))
    (case,) = ElementTree.parse(xml).getroot()
    assert case.find("error").get("message").startswith("undecided: mean 81%")


def test_a_file_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    found = judged(log(tmp_path, a=0.9), "--markdown", str(tmp_path / "no" / "summary.md"))
    assert found.exit_code == 2
    assert "can't write into" in found.output


def test_json(tmp_path: Path) -> None:
    found = judged(log(tmp_path, a=0.9, b=0.5), "--json")
    content = json.loads(found.output)
    assert (content["outcome"], content["exit_code"], content["good"], content["bad"]) == ("failed", 1, 1, 1)


@pytest.mark.parametrize("verb", ["gate", "judge"])
def test_result_files(verb: str) -> None:
    arguments = [verb, str(RESULTS / "lm-eval"), "--format", "lm-eval", "--threshold", "0.5"]
    found = CliRunner().invoke(app, arguments)
    assert found.exit_code == 0
    assert "1 of 1 arms is above 50%" in found.output
    found = CliRunner().invoke(app, [*arguments[:3], "deepeval", "--threshold", "0.5"])
    assert found.exit_code == 2
    assert "unknown format 'deepeval'" in found.output
