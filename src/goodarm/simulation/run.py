"""One run: an instance drawn from the run's own stream, played to the end or to the horizon."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goodarm.engine.assemble import Assembly, assemble
from goodarm.engine.loop import State
from goodarm.engine.structured import StructuredAssembly, StructuredState, assemble_structured
from goodarm.environments import Instance
from goodarm.models.misfit import shortfalls
from goodarm.rules.beliefs import POOL_FIELDS
from goodarm.simulation.specification import Specification
from goodarm.streams import ENVIRONMENT, POLICY, generator, run_key

STRIDE = 1 << 20
"""Rounds between two looks at `interrupted`: a fraction of a second."""

interrupted = threading.Event()
"""Set when the user wants to stop: runs that are under way give up at their next stride."""


class Interrupted(Exception):
    """A run was given up before its end."""


@dataclass(frozen=True, eq=False)
class Run:
    """What came out of one run. Arrays have one entry an arm."""

    number: int
    means: NDArray[np.float64]
    verdicts: NDArray[np.int8]
    verdict_rounds: NDArray[np.int64]  # 0 while open
    pulls: NDArray[np.int64]
    rounds: int  # rounds that were played
    open_arms: int
    reward: float  # sum of all rewards
    seconds: float
    evidence: NDArray[np.float64] = field(repr=False)  # (K, 2): for good, for bad
    pool: NDArray[np.float64] = field(repr=False)  # what was learned from all arms, a `Pool`
    trajectory: NDArray[np.float64] = field(repr=False)  # (points, 4 + pool): round, good, bad, reward, pool
    trace: NDArray[np.int64] = field(repr=False)  # (rounds,) the arm of each round, if it was asked for
    misfit: float = math.nan  # lack of fit of a model of the arms, a standard score; nan without one
    shortfalls: NDArray[np.float64] = field(repr=False, default_factory=lambda: np.zeros(0))  # of `models.misfit`


def play_runs(spec: Specification, numbers: Iterable[int]) -> list[Run]:
    """Several runs, one after the other: the unit of work of a worker."""
    assembly = assembly_of(spec)
    return [play(spec, number, assembly) for number in numbers]


def assembly_of(spec: Specification) -> Assembly | StructuredAssembly:
    """The compiled loop of a spec: with a model of the arms, or without."""
    if spec.policy.estimator is not None:
        return assemble_structured(spec.policy, spec.environment, spec.problem)
    return assemble(spec.policy, spec.environment, spec.problem, scan=spec.scan)


def play(
    spec: Specification, number: int, assembly: Assembly | StructuredAssembly, instance: Instance | None = None
) -> Run:
    """One run. Its result depends on (seed, number) and the policy alone."""
    if instance is None:
        instance = spec.environment.instance(generator(spec.seed, number, ENVIRONMENT))
    state = assembly.start(float(spec.horizon))
    trace = np.zeros(spec.horizon if spec.trace else 0, dtype=np.int64)
    # one signature, so that a pairing is compiled once: a read-only array is another type to numba
    means, extra, streams = (np.require(array, requirements=["C", "W"]) for array in instance[:3])
    arguments = (
        means, extra, streams, run_key(spec.seed, number), spec.problem.bar,
        assembly.parameters, generator(spec.seed, number, POLICY),
    )  # fmt: skip
    points: list[NDArray[np.float64]] = []
    started = time.perf_counter()
    for until in _stops(spec.horizon, spec.trajectory):
        _advance(assembly, state, arguments, until, trace)
        if spec.trajectory:
            points.append(_point(state))
        if state.progress[1] == 0:
            break
    seconds = time.perf_counter() - started
    rounds = int(state.progress[0])
    misfit = assembly.misfit(state.arms)
    return Run(
        number=number,
        means=instance.means,
        verdicts=state.arms[:, 7].astype(np.int8),
        verdict_rounds=state.decided_at,
        pulls=state.arms[:, 0].astype(np.int64),
        rounds=rounds,
        open_arms=int(state.progress[1]),
        reward=float(state.arms[:, 1].sum()),
        seconds=seconds,
        evidence=state.arms[:, 4:6].copy(),
        pool=state.pool,
        trajectory=np.array(points) if points else np.zeros((0, 4 + POOL_FIELDS)),
        trace=trace[:rounds] if spec.trace else trace,
        misfit=misfit,
        shortfalls=np.zeros(0) if math.isnan(misfit) else shortfalls(state.arms, spec.problem.bar),
    )


def _advance(
    assembly: Any, state: State | StructuredState, arguments: tuple[Any, ...], until: int, trace: NDArray[np.int64]
) -> None:
    while state.progress[0] < until and state.progress[1] > 0:
        if interrupted.is_set():
            raise Interrupted
        assembly.loop(state, *arguments, min(until, int(state.progress[0]) + STRIDE), trace)


def _stops(horizon: int, points: int) -> list[int]:
    """The rounds at which a trajectory is recorded: evenly spread, the last one at the horizon."""
    return sorted({max(1, round(horizon * (j + 1) / points)) for j in range(points)}) if points else [horizon]


def _point(state: State | StructuredState) -> NDArray[np.float64]:
    verdicts = state.arms[:, 7]
    head = [state.progress[0], (verdicts > 0).sum(), (verdicts < 0).sum(), state.arms[:, 1].sum()]
    return np.concatenate([np.array(head, dtype=np.float64), state.pool])
