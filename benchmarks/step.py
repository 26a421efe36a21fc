"""One step at a time: what choosing and absorbing cost, the first step of a fresh process, a replay of a million."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator

import numpy as np

from benchmarks.processes import fresh
from benchmarks.section import Row, Section, Target
from benchmarks.timing import DELTA, SEED, THRESHOLD, median, problem_means
from goodarm.engine.live.step import ASK, TELL
from goodarm.engine.live.threshold import ThresholdStep
from goodarm.policies import policy
from goodarm.problem import Problem

AS_PYTHON = ("hdoc", "ucb+gap-mixture", "value-normal+gap-mixture")
"""Index and line rules that need no numba one step at a time."""
NATIVE = ("value+gap-mixture",)
"""The default of live campaigns, whose formulas are compiled after the first few calls."""
ARMS = (10, 1000, 100_000)
STEPS = 3000
REPETITIONS = 5
REPLAYED = 1_000_000
FEW_STEPS = 1000
"""Steps of a native rule with an empty cache, all of them before its formulas are compiled."""
AT_FIRST = """
import json
from benchmarks.step import timed_steps
print(json.dumps(timed_steps({name!r}, {arms}, {steps})))
"""
FIRST_STEP = """
import json, sys, time
from goodarm.engine.live.threshold import ThresholdStep
from goodarm.policies import policy
from goodarm.problem import Problem
step = ThresholdStep(policy({name!r}), Problem(threshold={threshold}, arms={arms}))
arm = step.choose()
step.ask(arm)
step.absorb(arm, 1.0)
print(json.dumps([time.process_time(), "numba" in sys.modules]))
"""
"""Processor time since the process was started: Python's own start and all imports included."""
SLOWEST_STEP = """
import json, time
from benchmarks.step import made
step, slowest = made({name!r}, {arms}), 0.0
for _ in range({arms} + 100):
    started = time.process_time()
    arm = step.choose()
    step.ask(arm)
    step.absorb(arm, 1.0)
    slowest = max(slowest, time.process_time() - started)
print(json.dumps(slowest))
"""
"""The step in which compiled code is loaded, or compiled."""


def run() -> Section:
    return Section(
        "step",
        f"one step at a time; medians of {STEPS:,} steps, {REPETITIONS} processes, {REPETITIONS} replays",
        "measured",
        [*single_steps(), *first_steps(), *slowest_steps(), *replays()],
        [
            "Rewards are told one by one, after every arm was pulled once. The median does not show the rounds in "
            "which a learner fits its pool to all arms, which come at geometrically spaced times and take longer. A "
            "first step is judged by processor time since the start of the process, Python's own start and the imports "
            "included. A replay is compiled and comes from the disk cache; it reads as many asks as rewards."
        ],
    )


def row(
    what: str, name: str, arms: int, measured: float, most: float | None = None, choosing: float | None = None
) -> Row:
    cells = {"what": what, "policy": name, "K": arms, "to choose, µs": choosing}
    return Row(cells, measured, None if most is None else Target(at_most=most))


def made(name: str, arms: int) -> ThresholdStep:
    return ThresholdStep(policy(name), Problem(threshold=THRESHOLD, arms=arms, delta=DELTA))


def journal(arms: int, rewards: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Asks and tells in turns, arm after arm, as `ThresholdStep.replay` reads them."""
    which = np.arange(rewards) % arms
    drawn = np.random.default_rng(SEED).random(rewards) < problem_means(arms)[which]
    return np.tile([ASK, TELL], rewards), np.repeat(which, 2), np.repeat(drawn.astype(float), 2)


def single_steps() -> Iterator[Row]:
    for name in AS_PYTHON + NATIVE:
        if name in NATIVE:
            timed_steps(name, ARMS[0])  # compiled from now on, whatever the disk cache had
        for arms in ARMS:
            choosing, absorbing = timed_steps(name, arms)
            yield row("to absorb, µs", name, arms, absorbing, 100.0, choosing)
    for name in NATIVE:
        with tempfile.TemporaryDirectory() as folder:
            program = AT_FIRST.format(name=name, arms=ARMS[0], steps=FEW_STEPS)
            choosing, absorbing = fresh(program, NUMBA_CACHE_DIR=folder)
        yield row("to absorb before it is compiled, µs", name, ARMS[0], absorbing, 100.0, choosing)


def timed_steps(name: str, arms: int, steps: int = STEPS) -> tuple[float, float]:
    """Median microseconds of `choose` and of `absorb`."""
    step, means, rng = made(name, arms), problem_means(arms), np.random.default_rng(SEED)
    step.replay(*journal(arms, arms))
    choosing, absorbing = list[float](), list[float]()
    for uniform in rng.random(steps).tolist():
        started = time.perf_counter_ns()
        arm = step.choose()
        choosing.append(time.perf_counter_ns() - started)
        step.ask(arm)
        reward = float(uniform < means[arm])
        started = time.perf_counter_ns()
        step.absorb(arm, reward)
        absorbing.append(time.perf_counter_ns() - started)
    return 1e-3 * median(choosing), 1e-3 * median(absorbing)


def first_steps() -> Iterator[Row]:
    for name in AS_PYTHON + NATIVE:
        program = FIRST_STEP.format(name=name, threshold=THRESHOLD, arms=1000)
        found = [fresh(program) for _ in range(REPETITIONS)]
        if name in AS_PYTHON and any(loaded for _, loaded in found):
            raise SystemExit(f"the first step of {name} has loaded numba")
        seconds = median([used for used, _ in found])
        yield row("first step of a process, s", name, 1000, seconds, 1.0)


def slowest_steps() -> Iterator[Row]:
    """The longest of the first steps where formulas are compiled: from the disk cache, and without it."""
    for name in NATIVE:
        program = SLOWEST_STEP.format(name=name, arms=100)
        fresh(program)
        yield row(
            "longest of 200 steps, warm cache, s", name, 100, median([fresh(program) for _ in range(REPETITIONS)])
        )
        with tempfile.TemporaryDirectory() as folder:
            yield row("longest of 200 steps, empty cache, s", name, 100, fresh(program, NUMBA_CACHE_DIR=folder))


def replays() -> Iterator[Row]:
    for name in AS_PYTHON + NATIVE:
        events = journal(1000, REPLAYED)
        made(name, 1000).replay(*journal(1000, 1000))  # compiled from now on
        seconds = median([timed_replay(made(name, 1000), events) for _ in range(REPETITIONS)])
        yield row(f"replay of {REPLAYED:,} rewards, s", name, 1000, seconds, 1.0)


def timed_replay(step: ThresholdStep, events: tuple[np.ndarray, np.ndarray, np.ndarray]) -> float:
    started = time.thread_time()
    step.replay(*events)
    return time.thread_time() - started
