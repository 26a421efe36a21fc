"""Measuring in turns, and the runs that are measured."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from goodarm.environments import bernoulli
from goodarm.policies import policy
from goodarm.simulation.run import Run, assembly_of, play
from goodarm.simulation.specification import Specification

THRESHOLD, DELTA, SEED = 0.5, 0.05, 3

Contender = Callable[[], float]
"""Does its work once and returns the seconds for one unit of it."""


def in_turns(contenders: dict[str, Contender], repetitions: int) -> dict[str, list[float]]:
    """Seconds of each contender: A, B, ..., A, B, ..., so that all of them run under the same conditions."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(repetitions):
        for name, contender in contenders.items():
            seconds[name].append(contender())
    return seconds


def median(values: list[float]) -> float:
    return float(np.median(values))


def ratio(above: list[float], below: list[float]) -> float:
    """Median over the repetitions of above/below: both of a pair were measured next to each other."""
    return median([a / b for a, b in zip(above, below, strict=True)])


def problem_means(arms: int) -> np.ndarray:
    """Means on both sides of the threshold, too close to it for many verdicts: the arms stay in play."""
    return np.random.default_rng(1).uniform(0.475, 0.55, arms)


def plan_for(name: str, arms: int, horizon: int, *, trace: bool = False) -> Specification:
    environment = bernoulli(problem_means(arms), THRESHOLD)
    return Specification(policy(name), environment, environment.problem(DELTA), max(horizon, arms), SEED, trace=trace)


def player(spec: Specification) -> Callable[[], Run]:
    """Plays the plan's first run; compiled and warm when it is returned."""
    assembly = assembly_of(spec)
    few = spec.environment.arms + 1
    play(replace(spec, horizon=few, trace=False), 0, assembly)
    return lambda: play(spec, 0, assembly)


def goodarm_contender(spec: Specification) -> Contender:
    """Seconds per round of one run, with everything that a run allocates and returns.

    Processor time of the thread: on a shared machine the clock on the wall also counts other people's work.
    """
    run = player(spec)

    def seconds_per_round() -> float:
        started = time.thread_time()
        rounds = run().rounds
        return (time.thread_time() - started) / rounds

    return seconds_per_round
