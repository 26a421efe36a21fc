"""What a newcomer types: help, lists, files that are not quite right, folders, signals."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from goodarm.cli import VERBS, app
from goodarm.cli.compare import ReplayWarning
from goodarm.policies import PAIRINGS

SMALL = ("compare", "kano-1", "--horizon", "300", "--runs", "1", "--policy", "hdoc")


def goodarm(*arguments: str | Path, columns: int = 120) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": str(columns)})


def refused(*arguments: str | Path) -> str:
    result = goodarm(*arguments)
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    return " ".join(result.stderr.replace("│", " ").split())


# --- help ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", [*(verb.__name__ for verb in VERBS), "campaign", "data", "token"])
def test_help_ends_with_two_examples_and_shows_flags_as_flags(verb: str) -> None:
    shown = goodarm(verb, "--help").stdout
    assert "<bool>" not in shown
    examples = [line for line in shown.split("Examples:")[1].splitlines() if line.strip().startswith("goodarm ")]
    assert len(examples) >= 2
    for example in examples:
        assert f"goodarm {verb} " in f"{example} "


@pytest.mark.slow
def test_no_command_shows_a_flag_as_if_it_took_a_value() -> None:
    root = typer.main.get_command(app)
    groups = {name: group for name, group in root.commands.items() if hasattr(group, "commands")}
    assert set(groups) == {"campaign", "data", "token"}
    for arguments in [(), *((name, each) for name, group in groups.items() for each in group.commands)]:
        shown = goodarm(*arguments, "--help").stdout
        assert "--help" in shown
        assert "<bool>" not in shown, arguments


# --- one policy, one environment --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*sorted(PAIRINGS), "ucb", "betting", "kernel", "ucb(beta=1.5)+betting"])
def test_one_policy_is_shown_with_an_example_that_is_accepted(name: str) -> None:
    shown = goodarm("policies", name).stdout
    (example,) = [line.removeprefix("try it: ") for line in shown.splitlines() if line.startswith("try it: ")]
    arguments = shlex.split(example)
    assert arguments[:2] == ["goodarm", "compare"]
    assert "nan" not in shown.split()


@pytest.mark.slow
def test_the_example_of_a_policy_runs() -> None:
    (line,) = [line for line in goodarm("policies", "betting").stdout.splitlines() if line.startswith("try it: ")]
    arguments = shlex.split(line.removeprefix("try it: goodarm "))
    assert goodarm(*arguments, "--runs", "1", "--horizon", "200").exit_code == 0


def test_value_is_listed_for_gaussian_rewards_and_nothing_is_nan() -> None:
    told = json.loads(goodarm("policies", "--json").stdout)
    value = next(each for each in told["policies"] if each["name"] == "value")
    assert value["valid_for"] == ["rewards in [0, 1]", "sub-Gaussian rewards"]
    assert all(None not in each["parameters"].values() for kind in told.values() for each in kind)
    assert "did you mean 'hdoc'" in refused("policies", "hdco").lower()


def test_one_environment_is_shown_with_an_example() -> None:
    shown = goodarm("environments", "kano-1").stdout
    assert "kano-1: 10 arms, threshold 0.5" in shown
    assert "try it: goodarm compare kano-1" in shown
    assert [
        each["name"] for each in json.loads(goodarm("environments", "kano-1", "--json").stdout)["environments"]
    ] == ["kano-1"]
    assert "kano-1" in refused("environments", "kano-9")


# --- files ------------------------------------------------------------------------------------------------------------

TABLES = {
    "folder": (None, "is a folder"),
    "empty": (b"", "found an empty file"),
    "header": (b"arm,mean\n", "a header without rows"),
    "latin": ("arm,mean\né,0.1\n".encode("latin-1"), "not in UTF-8 (byte 0xe9 at place 9; perhaps Latin-1"),
    "bars": (b"arm|mean\na|0.1\n", "found 'arm|mean'"),
}


@pytest.mark.parametrize("case", TABLES)
def test_each_table_that_is_not_quite_right_has_its_own_message(case: str, tmp_path: Path) -> None:
    content, message = TABLES[case]
    path = tmp_path / "t.csv"
    path.mkdir() if content is None else path.write_bytes(content)
    assert message in refused("compare", f"table:{path}", "--threshold", "0.5")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_separators_are_seen(separator: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"arm{separator}mean\nred{separator}0.1\nblue{separator}0.7\n")
    shown = goodarm("environments", f"table:{tmp_path / 't.csv'}", "--threshold", "0.5", "--json")
    assert json.loads(shown.stdout)["environments"][0]["arms"] == 2


@pytest.mark.slow
def test_true_and_false_are_rewards(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("arm,reward\na,true\na,False\nb,TRUE\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReplayWarning)  # three rows are few
        result = goodarm(*SMALL[:1], f"replay:{tmp_path / 'log.csv'}", *SMALL[2:], "--threshold", "0.6", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["good_arms"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("compare", "uni.csv"), "Write table:uni.csv"),
        (("compare", ""), "the environment's name is empty"),
        (("compare", "table:", "--threshold", "0.1"), "names no file"),
        (("compare", "table:x.csv"), "Give one, for example --threshold 0.05"),
        (
            ("compare", "kano-1", "--threshold", "1.5"),
            "declare it: --rewards bounded:0,HIGH, or nonnegative if they have no ceiling.",
        ),
        (("compare", "kano-1", "--threshold", "80"), "Did you mean 80%? Write '80%' or 0.8."),
        (
            ("plan", "--arms", "25"),
            "(--threshold 0.02), or the expected mean of a control to compare every arm with (--control 0.3, with its ",
        ),
        (("compare", "kano-1", "--workers", "100000"), "workers must be at most 1000; got 100000"),
        (("compare", "kano-1", "--out", ""), "the path is empty"),
        (("plan", "--arms", "3", "--threshold", "0.5", "--out", ""), "the path is empty"),
        (("learn", "kano-1", "--out", ""), "the path is empty"),
        (("reproduce", "--out", ""), "the path is empty"),
        (("learn", "kano-1", "--policy", "hdoc", "--horizon", "1000"), "with --calibrate and --objective none"),
    ],
)
def test_advice_speaks_the_language_of_the_command_line(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in refused(*arguments)
    assert list(tmp_path.iterdir()) == []


def test_plan_has_the_option_that_its_message_names() -> None:
    plans = [
        goodarm("plan", "--arms", "4", name, "0.3", "--gap", "0.2", "--runs", "2") for name in ("--control", "--versus")
    ]
    assert [plan.exit_code for plan in plans] == [0, 0]
    assert plans[0].stdout == plans[1].stdout


def test_advice_in_python_names_arguments() -> None:
    from goodarm import learn
    from goodarm.errors import InvalidValue

    with pytest.raises(InvalidValue, match="with `calibrate=True` and `objective='none'`"):
        learn("kano-1", "hdoc", horizon=1000)


# --- folders ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_another_comparisons_results_are_not_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "results"
    assert goodarm(*SMALL, "--out", out).exit_code == 0
    before = (out / "summary.json").read_bytes()
    assert goodarm(*SMALL, "--out", out).exit_code == 0, "the same comparison may be written again"
    assert "holds other results: seed there is 0, and now 1" in refused(*SMALL, "--seed", "1", "--out", out)
    assert "compared there is hdoc" in refused(*SMALL, "--policy", "hdoc+kt", "--out", out)
    assert "holds other results" in refused(*SMALL, "--goal", "reward", "--out", out)
    assert (out / "summary.json").read_bytes()[:40] == before[:40]


def test_a_policy_that_cannot_be_written_is_refused_first(tmp_path: Path) -> None:
    (tmp_path / "p.json").mkdir()
    assert "is a folder" in refused("learn", "kano-1", "--out", tmp_path / "p.json")
    assert "does not exist" in refused("learn", "kano-1", "--out", tmp_path / "no" / "p.json")
    if Path("/proc/self").exists():  # not even root can make a file there
        assert "can't write /proc/p.json" in refused("learn", "kano-1", "--out", "/proc/p.json")


@pytest.mark.slow
def test_an_interrupted_comparison_leaves_no_empty_folder(tmp_path: Path) -> None:
    """A long run, stopped before its first batch ends."""
    command = (sys.executable, "-m", "goodarm", "compare", "synth-large", "--horizon", "1e9", "--runs", "2")
    process = subprocess.Popen(
        (*command, "--policy", "hdoc", "--workers", "1", "--out", str(tmp_path / "a" / "b")),
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    patience = time.monotonic() + 300.0
    while not (tmp_path / "a" / "b").exists() and time.monotonic() < patience:
        time.sleep(0.02)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("module", ["typer", "goodarm.cli", "goodarm.cli.learn"])
def test_ctrl_c_during_the_start_is_no_traceback(module: str) -> None:
    """Ctrl-C at the moment when this module is imported, as it may be at any."""
    code = (
        "import sys\n"
        "class Impatient:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}:\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Impatient())\n"
        "from goodarm.__main__ import main\n"
        "main()"
    )
    ran = subprocess.run(
        (sys.executable, "-c", code, "compare", "kano-3"), capture_output=True, text=True, check=False, timeout=120
    )
    assert (ran.returncode, ran.stderr) == (130, "goodarm: interrupted.\n")


@pytest.mark.slow
def test_a_script_that_uses_dask_without_a_main_guard_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("import goodarm\ngoodarm.simulate('hdoc', 'kano-1', runs=2, backend='dask')\n")
    ran = subprocess.run(
        (sys.executable, str(tmp_path / "script.py")), capture_output=True, text=True, check=False, timeout=120
    )
    assert ran.returncode == 1
    assert 'Put its actions below the line: if __name__ == "__main__":' in ran.stderr


# --- learn ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_learn_says_what_it_gained_on_fresh_runs(tmp_path: Path) -> None:
    arguments = ("learn", "kano-1", "--policy", "ucb(beta=8)", "--horizon", "2000", "--budget", "16", "--check", "12")
    result = goodarm(*arguments, "--out", tmp_path / "p.json")
    assert result.exit_code == 0, result.stderr
    words = " ".join(result.stdout.split())
    assert "over ucb(beta=8)+" in words
    assert "over value it" in words
    assert "12 fresh runs" in words
    told = json.loads(goodarm(*arguments, "--out", tmp_path / "q.json", "--json").stdout)
    start, value = told["gains"]
    assert start["difference"]["low"] > 0.0, "a beta of 8 is far too large, and learning sees it"
    assert start["score"] == value["score"]
    assert start["difference"]["mean"] == pytest.approx(start["score"] - start["other"])


@pytest.mark.slow
def test_learn_begins_with_what_we_recommend(tmp_path: Path) -> None:
    told = json.loads(
        goodarm(
            "learn",
            "kano-1",
            "--horizon",
            "2000",
            "--budget",
            "16",
            "--check",
            "3",
            "--out",
            tmp_path / "p.json",
            "--json",
        ).stdout
    )
    assert told["policy"].startswith("value(patience=")
    assert [each["over"] for each in told["gains"]] == ["value"]


@pytest.mark.slow
def test_ctrl_c_during_compilation_leaves_no_policy(tmp_path: Path) -> None:
    """Ctrl-C at the moment when the first loop is compiled, or read from the disk cache."""
    code = (
        "import os, signal\n"
        "from numba.core.dispatcher import Dispatcher\n"
        "compile = Dispatcher.compile\n"
        "def impatient(self, signature):\n"
        "    Dispatcher.compile = compile\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    return compile(self, signature)\n"
        "Dispatcher.compile = impatient\n"
        "from goodarm.__main__ import main\n"
        "main()"
    )
    learn = ("learn", "kano-1", "--horizon", "500", "--budget", "14", "--check", "0", "--out", str(tmp_path / "p.json"))
    ran = subprocess.run((sys.executable, "-c", code, *learn), capture_output=True, text=True, check=False, timeout=300)
    assert (ran.returncode, ran.stderr) == (130, "goodarm: interrupted.\n")
    assert list(tmp_path.iterdir()) == []
