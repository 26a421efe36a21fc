"""A reproduction continues where it was stopped, and never uses results that were made differently."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from goodarm.errors import InvalidValue, UnknownName
from goodarm.paper.finished_tasks import PLAYS, FinishedTask, code_print, plays, read_finished, write_finished
from goodarm.paper.reproduction import reproduce
from goodarm.paper.scope import DATASETS, ETAS, FULL, QUICK, Request, entries_of
from goodarm.paper.tasks import Task, tasks_of
from goodarm.simulation.simulate import simulate

pytestmark = pytest.mark.slow

SMALL = Request(quick=True, only=("open-bandit-sample", "table1"), runs=2)


def finished_tasks(folder: Path) -> dict[str, int]:
    """Name and time of writing of every task that is finished."""
    kept = folder / "finished"
    return {p.name: p.stat().st_mtime_ns for p in kept.glob("[!.]*")} if kept.is_dir() else {}


def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(tmp_path: Path) -> None:
    """A real process, a real SIGINT. What it plays after that equals what an undisturbed one plays."""
    start = "from goodarm.cli import main; main()"
    command = [sys.executable, "-c", start, *SMALL.command().split()[1:], "--workers", "1", "--out"]
    process = subprocess.Popen([*command, str(tmp_path / "stopped")], stderr=subprocess.PIPE, text=True)
    patience = time.monotonic() + 300.0
    while len(finished_tasks(tmp_path / "stopped")) < 2 and process.poll() is None and time.monotonic() < patience:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 130, said
    assert "the same command continues from there" in said
    kept = finished_tasks(tmp_path / "stopped")
    wanted = {task.key for task in tasks_of(SMALL)}
    assert 2 <= len(kept) < len(wanted)
    assert set(kept) < wanted

    continued = reproduce(SMALL, tmp_path / "stopped")
    assert continued.played == len(wanted) - len(kept)
    assert {name: at for name, at in finished_tasks(tmp_path / "stopped").items() if name in kept} == kept
    assert reproduce(SMALL, tmp_path / "stopped").played == 0
    undisturbed = reproduce(SMALL, tmp_path / "undisturbed")
    for one, other in zip(continued.tasks, undisturbed.tasks, strict=True):
        for name, columns in one.tables.items():
            for column, values in columns.items():
                np.testing.assert_array_equal(values, other.tables[name][column])


def test_a_finished_task_holds_what_simulate_plays(tmp_path: Path) -> None:
    found = reproduce(SMALL, tmp_path)
    rows = [p.tables["rows"] for p in found.tasks if p.facts["entry"] == "value" and p.facts["goal"] == "verdicts"]
    direct = simulate("value", "open-bandit-sample", horizon=DATASETS[4].quick_horizon, runs=2)
    np.testing.assert_array_equal(
        np.concatenate([table["verdict_round"] for table in rows]),
        np.concatenate([run.verdict_rounds for run in direct.runs]),
    )


TASK = Task("verdicts", "synth-small", "hdoc", 1000, 0, 1, 0, QUICK)


@pytest.mark.parametrize(
    "changes",
    [
        {"goal": "reward", "entry": "ucb1"},
        {"dataset": "synth-large"},
        {"entry": "lucb-g"},
        {"horizon": 1001},
        {"first": 1},
        {"runs": 2},
        {"seed": 1},
        {"learned": "another"},
        {"scale": QUICK._replace(epochs=13)},
    ],
)
def test_whatever_changes_a_task_changes_its_key(changes: dict[str, object]) -> None:
    assert replace(TASK, **changes).key != TASK.key


def test_more_repetitions_keep_the_tasks_that_are_there() -> None:
    fewer, more = ({t.key for t in tasks_of(SMALL._replace(runs=n))} for n in (20, 40))
    assert fewer < more


def test_every_line_of_code_that_plays_is_part_of_the_key(tmp_path: Path) -> None:
    def changed(path: str, text: str) -> str:
        file = tmp_path / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        code_print.cache_clear()
        return code_print(tmp_path)

    first = changed("rules/rule.py", "index = 1")
    assert changed("rules/rule.py", "index = 2") != first
    assert changed("rules/rule.py", "index = 1") == first
    assert changed("report/page.py", "anything") == first, "what only shows results may change"
    assert changed("campaign/new.py", "anything") == first, "a new room discards nothing"
    assert changed("environments/data.csv", "1") != first


def test_every_file_that_a_task_loads_is_part_of_the_key() -> None:
    """In a fresh process: what is loaded after tasks of every kind were performed."""
    code = (
        "import sys, pathlib, tempfile\n"
        "from dataclasses import replace\n"
        "from goodarm.paper.tasks import Task, perform\n"
        "from goodarm.paper.scope import QUICK\n"
        "from goodarm.simulation.stop import Stop\n"
        "for goal, entry in (('verdicts', 'value'), ('verdicts', 'dgai-offline'), ('reward', 'ucb1'),"
        " ('policy', 'dgai learned offline')):\n"
        "    task = Task(goal, 'synth-small', entry, 20_000, 0, 1, 0, QUICK._replace(epochs=2))\n"
        "    perform(task, pathlib.Path(), Stop())\n"
        "print(*(name for name in sys.modules if name.startswith('goodarm.')))"
    )
    ran = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True)
    loaded = {name.removeprefix("goodarm.").replace(".", "/") + ".py" for name in ran.stdout.split()}
    aside = {
        "errors.py",
        "arguments.py",
        "paper/finished_tasks.py",
        "scores.py",
        "simulation/declared.py",
        "simulation/progress.py",
        "simulation/runs.py",
        "simulation/stop.py",
        "simulation/tables.py",
        "wire.py",
        "version.py",
        "whole_files.py",
    }
    rooms = {f"{name}.py" for name in ("paper", "simulation")}  # their __init__ files hold no code
    assert {name for name in loaded if not plays(name) and name not in aside | rooms} == {
        f"{name}.py" for name in PLAYS if "." not in name and f"{name}.py" in loaded
    }, "a room's own __init__ is named as its folder"


def test_a_damaged_task_counts_as_missing(tmp_path: Path) -> None:
    write_finished(tmp_path / "task", FinishedTask({"rows": {"run": np.arange(3)}}, {"entry": "hdoc"}))
    assert read_finished(tmp_path / "task") is not None
    table = tmp_path / "task" / "rows.parquet"
    table.write_bytes(table.read_bytes()[: os.path.getsize(table) // 2])
    assert read_finished(tmp_path / "task") is None
    (tmp_path / "task" / "facts.json").unlink()
    assert read_finished(tmp_path / "task") is None
    assert read_finished(tmp_path / "absent") is None


def test_the_full_reproduction_has_ten_repetitions_of_the_papers_four_datasets() -> None:
    assert FULL.runs == 10
    tasks = tasks_of(Request())
    for dataset in DATASETS[:4]:
        played = [t for t in tasks if t.dataset == dataset.name and t.goal == "verdicts"]
        runs = {e.name: sum(t.runs for t in played if t.entry == e.name) for e in entries_of(dataset, FULL)}
        assert {name for name, count in runs.items() if count != 10} <= {"tt-ts", "tt-ts-printed"}


def test_the_full_reproduction_plays_every_model_and_both_signs_of_d() -> None:
    tasks = tasks_of(Request())
    with_features = {
        (t.dataset, t.spec.policy.partition("@")[2]) for t in tasks if t.dataset in ("linear", "bumps", "network")
    }
    assert with_features >= {("linear", "linear"), ("bumps", "kernel"), ("network", "neural")}
    swept = {(t.spec.options[0][1], t.spec.options[2][1]) for t in tasks if t.goal == "sweep"}
    assert swept == {(eta, sign) for eta in ETAS for sign in (0.0, 1.0)}
    assert {t.dataset for t in tasks_of(Request(only=("structured",)))} == {"linear", "bumps", "network"}
    assert {t.goal for t in tasks_of(Request(only=("sweep",)))} == {"sweep"}


@pytest.mark.parametrize(
    ("request_", "error", "words"),
    [
        (Request(only=("movielen",)), UnknownName, "movielens"),
        (Request(runs=0), InvalidValue, "runs must be at least 1; got 0"),
        (Request(seed=-1), InvalidValue, "seed must be 0 or larger; got -1"),
        (Request(workers=0), InvalidValue, "workers must be at least 1; got 0"),
    ],
)
def test_what_cannot_be_reproduced_is_refused_first(
    request_: Request, error: type[Exception], words: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=words):
        reproduce(request_, tmp_path)
    assert not (tmp_path / "finished").exists()
