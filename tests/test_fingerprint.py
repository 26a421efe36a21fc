"""What a fingerprint sees. The disk cache's own tests edit files; these are about details."""

import math
import os
import os.path
import subprocess
import sys
from pathlib import Path

import numpy as np

from goodarm.fingerprint import fingerprint, reachable

SCALE = 2.0


def helper(x: float) -> float:
    return SCALE * x


def rule(x: float) -> float:
    return helper(x) + math.pi


def uses_a_module_that_contains_itself(x: str) -> str:
    return os.path.join(x, "y") + os.path.os.sep


def fresh(constant: float):
    def closed(x: float) -> float:
        return constant * x

    return closed


def with_table(table: np.ndarray):
    def closed(i: int) -> float:
        return table[i]

    return closed


def test_helpers_are_reached() -> None:
    assert reachable([rule]) == [rule, helper]


def test_a_fingerprint_is_stable() -> None:
    assert fingerprint([rule]) == fingerprint([rule])
    assert fingerprint([fresh(1.0)]) == fingerprint([fresh(1.0)])


def test_closures_and_arrays_count() -> None:
    assert fingerprint([fresh(1.0)]) != fingerprint([fresh(1.5)])
    long, other = np.zeros(5000), np.zeros(5000)
    other[2500] = 1.0  # repr() would not show it
    assert fingerprint([with_table(long)]) != fingerprint([with_table(other)])


def test_globals_count(monkeypatch) -> None:
    before = fingerprint([rule])
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert fingerprint([rule]) != before


def test_modules_that_contain_themselves_are_walked_once() -> None:
    assert fingerprint([uses_a_module_that_contains_itself])


def uses_a_set_of_words(x: str) -> bool:
    return x in {"one", "two", "three", "four", "five"}


def test_a_set_of_words_has_the_same_fingerprint_in_every_process() -> None:
    """The order of a set depends on the process; once, so did its fingerprint."""
    code = "import test_fingerprint as t; print(t.fingerprint([t.uses_a_set_of_words]))"
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            text=True,
            cwd=Path(__file__).parent,
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
        ).stdout
        for seed in range(3)
    }
    assert len(told) == 1


def test_a_walk_may_stay_in_its_own_package() -> None:
    own = {__name__.partition(".")[0]}
    assert reachable([uses_a_module_that_contains_itself], own) == [uses_a_module_that_contains_itself]
    assert len(reachable([uses_a_module_that_contains_itself])) > 1
