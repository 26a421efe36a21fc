"""Early stopping of real Inspect evaluations, in an environment that `make inspect` creates."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv" / "inspect" / "bin" / "python"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict]]:
    if not PYTHON.exists():
        pytest.skip("inspect-ai could not be installed: `make inspect` creates .venv/inspect")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "INSPECT_DISABLE_MODEL_API": "1"}
    logs = tmp_path_factory.mktemp("logs")
    script = Path(__file__).with_name("inspect_run.py")
    run = subprocess.run([PYTHON, script, logs], capture_output=True, text=True, env=environment, cwd=logs, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout.splitlines()[-1])


def test_three_programs_share_delta_and_stop_early(found: dict[str, list[dict]]) -> None:
    good, bad, at_the_bar = found["three"]
    assert (good["verdict"], good["guarantee"]) == ("good", "certified")
    assert (bad["verdict"], bad["guarantee"]) == ("bad", "certified")
    assert at_the_bar["verdict"] == "good"  # 80% exactly, which only all cases can show
    assert at_the_bar["samples"] > 250
    for each in found["three"]:
        assert each["status"] == "success"
        assert each["arms"] == 3
        assert each["samples"] == each["scored"] == 300 - each["stopped"]
        assert each["low"] <= each["passed"] / each["samples"] <= each["high"]
    assert good["samples"] < 150
    assert good["reason"] == "the pass rate is certainly above 80%"
    assert bad["samples"] < 60
    assert bad["reason"] == "the pass rate is certainly below 80%"


def test_samples_that_fail_to_run_count_at_their_worst(found: dict[str, list[dict]]) -> None:
    """A tenth of the samples never answers. They count as failed in the evidence for good."""
    (crashing,) = found["crashing"]
    assert crashing["verdict"] in ("good", "open")
    assert crashing["samples"] > found["three"][0]["samples"]


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("unshuffled", "samples must come in random order"),
        ("too many", "this is evaluation 2, but delta was divided among 1"),
        ("epochs", "must have one epoch; got 2"),
    ],
)
def test_what_would_break_the_promise_is_refused(found: dict[str, list[dict]], what: str, message: str) -> None:
    refused = [each for each in found[what] if each["status"] == "error"]
    assert len(refused) == 1
    assert message in refused[0]["error"]


def test_without_inspect_the_reader_says_what_to_install() -> None:
    code = "import goodarm.integrations.inspect_stopping as s; s.stop_when_certain(0.8, arms=2)"
    subprocess.run([sys.executable, "-c", code], check=True)
