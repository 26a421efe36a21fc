"""hdoc+hoeffding against the same algorithm in C: two plain scans, and the same tree. Same rewards, same arms."""

from __future__ import annotations

import ctypes
import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.section import Row, Section, Target
from benchmarks.timing import Contender, goodarm_contender, in_turns, median, plan_for, player, ratio
from goodarm.simulation.run import Run
from goodarm.simulation.specification import Specification
from goodarm.streams import run_key

SOURCES = Path(__file__).parent / "c"
FLAGS = shlex.split(os.environ.get("CFLAGS", "-O3"))
REPETITIONS = 7
SIZES = {10: 1_000_000, 50: 1_000_000, 200: 600_000, 1000: 300_000, 100_000: 2_000_000}
"""Rounds for each number of arms."""

LABELS = {
    "scan_formula": "scan of the formula",
    "scan_line": "scan of kept lines",
    "kinetic_tree": "same tree",
}
TARGETS = {
    ("scan_line", 10): Target(at_most=1.0),
    ("scan_line", 50): Target(at_most=1.0),
    ("scan_line", 200): Target(at_most=1.0),
    ("scan_formula", 50): Target(at_most=1.0),
    ("scan_formula", 1000): Target(at_most=0.1),
    ("kinetic_tree", 50): Target(at_most=1.6),
    ("kinetic_tree", 1000): Target(at_most=1.6),
    ("kinetic_tree", 100_000): Target(at_most=1.6),
}


class Bar(ctypes.Structure):
    _fields_ = [(name, ctypes.c_double) for name in ("threshold", "delta", "arms", "sigma")]


class Problem(ctypes.Structure):
    _fields_ = [
        ("arms", ctypes.c_int64),
        ("horizon", ctypes.c_int64),
        ("means", ctypes.c_void_p),
        ("run", ctypes.c_uint64),
        ("bar", Bar),
    ]


class Result(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("arms", "decided_at", "trace")]


def run() -> Section:
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        library = compiled(Path(folder))
        for arms, horizon in SIZES.items():
            names = [name for name in LABELS if arms <= 1000 or name == "kinetic_tree"]
            rows += compare(library, names, plan_for("hdoc", arms, horizon))
    compiler = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    return Section(
        "c",
        "hdoc+hoeffding against the same algorithm in C, one thread",
        "goodarm / C",
        rows,
        [
            f"{compiler}, {' '.join(FLAGS)}. Nanoseconds of processor time per round, medians of {REPETITIONS} turns. "
            "Arms pulled, round by round, and rounds of verdicts were compared first and are equal.",
            "`scan of the formula` evaluates mean + sqrt(2 sigma^2 log t / N) for each open arm from its counts, as "
            "the algorithm is printed. `scan of kept lines` keeps mean and 1/sqrt(N) of each open arm in two arrays: "
            "one multiplication and one addition per arm. goodarm does the same with few arms (`engine/few_lines.py`).",
        ],
    )


def compiled(folder: Path) -> ctypes.CDLL:
    """The C files as a library. No contraction of a * b + c: it rounds differently, and the arms would differ."""
    library = folder / "hdoc.so"
    sources = sorted(map(str, SOURCES.glob("*.c")))
    strict = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"]
    subprocess.run(["cc", *strict, *FLAGS, "-shared", "-fPIC", "-o", str(library), *sources, "-lm"], check=True)
    return ctypes.CDLL(str(library))


def compare(library: ctypes.CDLL, names: list[str], spec: Specification) -> list[Row]:
    arms = spec.environment.arms
    check_equal(library, names, arms, min(spec.horizon, arms + 200_000))
    contenders: dict[str, Contender] = {"goodarm": goodarm_contender(spec)}
    contenders |= {name: c_contender(library, name, spec) for name in names}
    seconds = in_turns(contenders, REPETITIONS)
    ours = seconds["goodarm"]
    return [
        Row(
            {"K": arms, "against": LABELS[name], "C ns": 1e9 * median(seconds[name]), "goodarm ns": 1e9 * median(ours)},
            ratio(ours, seconds[name]),
            TARGETS.get((name, arms)),
        )
        for name in names
    ]


def check_equal(library: ctypes.CDLL, names: list[str], arms: int, horizon: int) -> None:
    """Every implementation pulls the same arm in every round and gives its verdicts in the same rounds."""
    spec = plan_for("hdoc", arms, horizon, trace=True)
    ours: Run = player(spec)()
    for name in names:
        rounds, decided_at, trace = c_player(library, name, spec, trace=True)()
        same = rounds == ours.rounds and np.array_equal(trace[:rounds], ours.trace)
        if not (same and np.array_equal(decided_at, ours.verdict_rounds)):
            raise AssertionError(f"{name} and goodarm differ at K = {arms}: the comparison would mean nothing.")


def c_player(
    library: ctypes.CDLL, name: str, spec: Specification, *, trace: bool = False
) -> Callable[[], tuple[int, Any, Any]]:
    """Plays the plan's first run in C: rounds, rounds of verdicts, arms pulled."""
    function = getattr(library, name)
    function.restype = ctypes.c_int64
    bar = spec.problem.bar
    means = np.ascontiguousarray(spec.environment.draw(np.random.default_rng()))
    problem = Problem(
        means.size,
        spec.horizon,
        means.ctypes.data,
        int(run_key(spec.seed, 0)),
        Bar(bar.threshold, bar.delta, bar.arms, bar.sigma),
    )

    def play() -> tuple[int, Any, Any]:
        table = np.zeros((means.size, 4))
        decided_at = np.zeros(means.size, dtype=np.int64)
        pulled = np.zeros(spec.horizon if trace else 0, dtype=np.int64)
        result = Result(table.ctypes.data, decided_at.ctypes.data, pulled.ctypes.data if trace else None)
        rounds: int = function(ctypes.byref(problem), ctypes.byref(result))
        return rounds, decided_at, pulled

    return play


def c_contender(library: ctypes.CDLL, name: str, spec: Specification) -> Contender:
    play = c_player(library, name, spec)

    def seconds_per_round() -> float:
        started = time.thread_time()
        rounds, _, _ = play()
        return (time.thread_time() - started) / rounds

    return seconds_per_round
