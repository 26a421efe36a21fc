"""What a fingerprint sees. The disk cache's own tests edit files; these are about details."""

import json
import linecache
import math
import os
import os.path
import shutil
import subprocess
import sys
from itertools import count
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import goodarm
from goodarm.fingerprint import fingerprint, reachable, source_fingerprint

SCALE = 2.0
NUMBERS = count()


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


@pytest.mark.slow
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


RECORDED = {
    "helper": "af568405b354e718",
    "rule": "707649ef25d7463a",
    "closed over 2": "dfed55c6faadfeae",
    "first": "a76b07ad74f84b30",
    "second": "b25f37ee02012eb9",
}
"""Fingerprints of the source of functions in fingerprinted.py; they must be the same under every version of Python."""
RECORD = """
import json, fingerprinted as f
from goodarm.fingerprint import source_fingerprint as of
first, second = f.lambdas()
found = {"helper": f.helper, "rule": f.rule, "closed over 2": f.closed(2), "first": first, "second": second}
print(json.dumps({name: of([function])[:16] for name, function in found.items()}))
"""


def pythons() -> list[str]:
    """Interpreters of this machine that goodarm supports, one of each version: on the path, from pyenv, from uv."""
    found = {sys.version_info[:2]: sys.executable}
    for minor in range(11, 15):
        name = f"python3.{minor}"
        home = Path.home()
        places = [shutil.which(name), *home.glob(f".pyenv/versions/3.{minor}.*/bin/{name}")]
        places += home.glob(f".local/share/uv/python/*-3.{minor}.*/bin/{name}")
        for place in filter(None, places):
            ran = subprocess.run([place, "-c", "print(1)"], capture_output=True, check=False)
            if ran.returncode == 0:
                found.setdefault((3, minor), str(place))
    return list(found.values())


@pytest.mark.parametrize("python", pythons())
def test_a_source_has_the_same_fingerprint_under_every_python(python: str) -> None:
    paths = [str(Path(__file__).parent), str(Path(goodarm.__file__).parents[1])]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run([python, "-c", RECORD], env=variables, capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == RECORDED


def made_of(source: str, name: str = "rule", **seen: object) -> FunctionType:
    """A function of this source, with a separate file in the cache of source lines."""
    file = f"<test {next(NUMBERS)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space: dict[str, Any] = {"__name__": "made", **seen}
    exec(compile(source, file, "exec"), space)
    found = space[name]
    assert isinstance(found, FunctionType)
    return found


PLAIN = "def rule(x, y=1.0):\n    return [x * y, SCALE]\n"
SAME = {
    "a comment": PLAIN.replace("\n", "  # why\n", 1),
    "a docstring": PLAIN.replace("\n", '\n    "One line."\n', 1),
    "annotations": PLAIN.replace("(x, y=1.0)", "(x: float, y: float = 1.0) -> list[float]"),
    "another line": "\n\n\n" + PLAIN,
    "other spaces": PLAIN.replace("x * y", "(x*y)"),
}
OTHER = {
    "another constant": PLAIN.replace("1.0", "1.5"),
    "another operator": PLAIN.replace("*", "+"),
    "another order": PLAIN.replace("x * y", "y * x"),
    "an integer for a float": PLAIN.replace("1.0", "1"),
    "another name that it reads": PLAIN.replace("SCALE", "OTHER"),
}


@pytest.mark.parametrize("source", SAME.values(), ids=SAME)
def test_what_does_not_change_a_function_does_not_count(source: str) -> None:
    one, other = (source_fingerprint([made_of(text, SCALE=2.0)]) for text in (PLAIN, source))
    assert one == other


@pytest.mark.parametrize("source", OTHER.values(), ids=OTHER)
def test_what_changes_a_function_counts(source: str) -> None:
    one, other = (source_fingerprint([made_of(text, SCALE=2.0, OTHER=2.0)]) for text in (PLAIN, source))
    assert one != other


def test_values_that_a_function_sees_count_beside_its_source() -> None:
    table = np.arange(3.0)
    seen = [2.0, 2, 2.5, table, table + 1.0, np.float64(2.0), helper, rule]
    assert len({source_fingerprint([made_of(PLAIN, SCALE=value)]) for value in seen}) == len(seen)
    assert source_fingerprint([fresh(1.0)]) != source_fingerprint([fresh(1.5)])
    assert source_fingerprint([rule]) == source_fingerprint([rule])


def test_without_source_the_byte_code_counts() -> None:
    def made(source: str) -> FunctionType:
        space: dict[str, Any] = {}
        exec(source, space)
        return space["rule"]  # type: ignore[no-any-return]  # exec fills a dictionary of anything

    one, same, other = (made(text) for text in (PLAIN, PLAIN, PLAIN.replace("*", "+")))
    assert source_fingerprint([one]) == source_fingerprint([same]) != source_fingerprint([other])
