"""Properties whose checks need a compilation or a new process, and a few seconds each."""

from __future__ import annotations

import numpy as np

from goodarm.simulation.run import Run
from goodarm.testing.checks import require, require_same
from goodarm.testing.reference import scan
from goodarm.testing.subject import Subject


def check_tree_and_scans_agree(subject: Subject) -> None:
    """The engine, its plain scan and the scan in Python pull the same arms and give the same verdicts."""
    for number in range(3):
        fast, slow, plain = subject.play(number), subject.play(number, scan=True), scan(subject.spec, number)
        require_same(fast, slow, f"between tree and scan, run {number}")
        for name in ("trace", "verdicts", "verdict_rounds", "pulls"):
            a, b = getattr(fast, name), getattr(plain, name)
            require(np.array_equal(a, b), f"{name} differs between the engine and Python, run {number}: {a} and {b}")


def check_same_in_a_new_process(subject: Subject) -> None:
    """A newly spawned process plays the same run."""
    require_same(subject.first, in_a_new_process([subject])[0], "in a new process")


def in_a_new_process(subjects: list[Subject]) -> list[Run]:
    """Run 0 of each subject, played in a process that shares nothing with this one."""
    from joblib.externals.loky import (
        ProcessPoolExecutor,
    )  # this executor can send functions, which environments contain

    with ProcessPoolExecutor(max_workers=1) as process:
        runs: list[Run] = process.submit(_played, subjects).result()
    return runs


def _played(subjects: list[Subject]) -> list[Run]:
    return [subject.play() for subject in subjects]
