"""When a function runs as Python and when it is compiled, and that both give the same bits."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from goodarm.engine.compile import JustInTime, Patience, compiled
from goodarm.problem import Problem
from goodarm.rules.beliefs import ARM_FIELDS, PULLS, TOTAL, Pool
from goodarm.rules.learners import ladder


def doubled(number):
    return 2.0 * number


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    from numba import config

    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))


def is_compiled(function):
    """Has a call run as compiled code? The dispatcher alone may exist before."""
    return function._built is not None and bool(function._built.signatures)


def test_a_function_that_is_not_on_the_disk_stays_python_for_longer(empty_cache):
    patience = Patience(1, in_total=3, uncached=10)
    first = JustInTime(doubled, patience, None)
    assert [first(1.5) for _ in range(10)] == [3.0] * 10
    assert not is_compiled(first)
    assert first(1.5) == 3.0
    assert is_compiled(first)  # from here on it is on the disk
    second = JustInTime(doubled, patience, None)
    assert [second(1.5) for _ in range(3)] == [3.0] * 3
    assert not is_compiled(second)
    assert second(1.5) == 3.0
    assert is_compiled(second)


def test_a_long_pass_waits_for_the_compiler(empty_cache):
    function = JustInTime(len, Patience(5, in_total=5, uncached=100), 0)
    assert function(np.zeros(5)) == 5
    assert not is_compiled(function)
    assert function(np.zeros(6)) == 6
    assert is_compiled(function)


IN_BACKGROUND = """
import time
from goodarm.engine.compile import JustInTime, Patience, compile_in_background

def doubled(number):
    return 2.0 * number

compile_in_background()
function = JustInTime(doubled, Patience(1, 3, uncached=5), None)
assert [function(float(n)) for n in range(20)] == [2.0 * n for n in range(20)]  # 6 calls would wait in this process
assert function._compiler is not None, "no thread compiles"
until = time.monotonic() + 300.0
while not function._ready:
    assert function(3.0) == 6.0
    assert time.monotonic() < until, "the thread's code is never used"
assert function._built.signatures and function(4.0) == 8.0

refused = JustInTime(lambda text: {}[text], Patience(1, 3, uncached=5), None)
try:
    while time.monotonic() < until:
        try:
            refused("a")
        except KeyError:  # as Python
            pass
except Exception as error:  # as compiled code
    print(type(error).__name__)
"""


def test_a_server_never_waits_for_the_compiler(tmp_path):
    """A thread compiles while calls run as Python. A rule that can't be compiled fails as without it."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", IN_BACKGROUND], env=environment, capture_output=True, text=True, timeout=600
    )
    assert (done.stdout, done.stderr) == ("RuleFailed\n", "")


@pytest.mark.parametrize("cases", [np.inf, 300.0])
def test_a_fit_of_the_ladder_has_the_same_bits_as_python_and_compiled(cases):
    rng = np.random.default_rng(4)
    bar = Problem(threshold=0.3, arms=40).bar._replace(cases=cases)
    arms = np.zeros((40, ARM_FIELDS))
    arms[:, PULLS] = rng.integers(0, 200, 40)
    arms[:, TOTAL] = np.floor(arms[:, PULLS] * rng.beta(1, 2, 40))
    pool = Pool(3000.0, 10_000.0, ladder.start(bar))

    def fit(arms, pool, bar):
        return ladder.fit(arms, pool, bar)

    python, native = ladder.fit(arms, pool, bar).learned, compiled(fit)(arms, pool, bar).learned
    assert python.table.tobytes() == native.table.tobytes()
    assert python[1:] == native[1:]


def test_without_numba_live_steps_stay_python_and_simulations_say_what_is_missing() -> None:
    program = """
import sys
sys.modules["numba"] = None
import goodarm
from goodarm.engine.live.threshold import ThresholdStep
from goodarm.policies import policy
from goodarm.problem import Problem

step = ThresholdStep(policy("value+gap-mixture"), Problem(threshold=0.5, arms=3))
for n in range(70):
    arm = step.choose()
    step.ask(arm)
    step.absorb(arm, float(n % 2))
try:
    goodarm.simulate("hdoc", "kano-1", runs=1, horizon=10)
except goodarm.GoodarmError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("numba is not installed")
