"""One run: draw an instance from the run's own stream and play it to the end or to the horizon."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from goodarm.engine.assemble import Assembly, State, assemble
from goodarm.engine.loop import NEVER
from goodarm.engine.rule_parts import Drawn
from goodarm.environments import Instance
from goodarm.models.misfit import shortfalls
from goodarm.policies.bounds import bounds_now, numbers_of
from goodarm.rules.beliefs import FOR_BAD, FOR_GOOD, PULLS, TOTAL, VERDICT
from goodarm.simulation.specification import Specification
from goodarm.simulation.stop import Stop
from goodarm.streams import ENVIRONMENT, POLICY, generator, run_key

STRIDE = 1 << 20
"""Number of rounds between two checks of the stop token, a fraction of a second."""


@dataclass(frozen=True, eq=False)
class Run:
    """Result of one run. Arrays have one entry per arm."""

    number: int
    means: NDArray[np.float64]
    verdicts: NDArray[np.int8]
    verdict_rounds: NDArray[np.int64]  # 0 while undecided
    pulls: NDArray[np.int64]
    rounds: int  # rounds that were played
    open_arms: int
    reward: float  # sum of all rewards
    seconds: float
    evidence: NDArray[np.float64] = field(repr=False)  # (K, 2): for good, for bad
    learned: dict[str, float] = field(repr=False)  # learned numbers, under the learner's names
    trajectory: NDArray[np.float64] = field(repr=False)  # (points, 4 + bounds): round, good, bad, reward, `bounds_of`
    trace: NDArray[np.int64] = field(repr=False)  # (rounds,) the arm of each round, if requested
    misfit: float = math.nan  # lack of fit of a model of the arms, a standard score; nan without one
    shortfalls: NDArray[np.float64] = field(repr=False, default_factory=lambda: np.zeros(0))  # of `models.misfit`
    spent: float = 0.0  # total cost of the samples
    verdict_spent: NDArray[np.float64] = field(
        repr=False, default_factory=lambda: np.zeros(0)
    )  # cost up to each verdict; 0 while undecided
    metric_means: NDArray[np.float64] = field(repr=False, default_factory=lambda: np.zeros((0, 0)))  # (metrics, K)
    failed: NDArray[np.int64] = field(repr=False, default_factory=lambda: np.zeros(0, dtype=np.int64))  # -1: none


def play_runs(spec: Specification, numbers: Iterable[int], stop: Stop | None = None) -> list[Run]:
    """Play several runs one after the other, a worker's unit of work. `stop` works within one process."""
    assembly = assembly_of(spec)
    return [play(spec, number, assembly, stop=stop) for number in numbers]


def assembly_of(spec: Specification) -> Assembly:
    """The compiled loop of a specification."""
    spec.check_compiled()
    environment = spec.environment
    return assemble(spec.policy, spec.problem, environment.reward, environment.features, scan=spec.scan)


def play(
    spec: Specification,
    number: int,
    assembly: Assembly,
    instance: Instance | None = None,
    stop: Stop | None = None,
) -> Run:
    """Play one run. Its result depends only on (seed, number) and the policy."""
    if instance is None:
        instance = spec.environment.instance(generator(spec.seed, number, ENVIRONMENT))
    state = assembly.start(float(spec.horizon), NEVER if spec.stop_after is None else spec.stop_after)
    trace = np.zeros(spec.horizon if spec.trace else 0, dtype=np.int64)
    source = source_of(spec, number, instance)
    draws = generator(spec.seed, number, POLICY)
    points: list[list[float]] = []
    started = time.perf_counter()
    for until in stops_of(spec.horizon, spec.trajectory):
        while state.round < until and state.goes_on:
            if stop is not None:
                stop.check()
            assembly.advance(state, source, draws, min(until, state.round + STRIDE), trace)
        if spec.trajectory:
            points.append(_point(assembly, state))
        if not state.goes_on:
            break
    seconds = time.perf_counter() - started
    return _finished(spec, number, assembly, instance, state, seconds, points, trace)


def _finished(
    spec: Specification,
    number: int,
    assembly: Assembly,
    instance: Instance,
    state: State,
    seconds: float,
    points: list[list[float]],
    trace: NDArray[np.int64],
) -> Run:
    arms = state.arms
    misfit = assembly.misfit(arms)
    return Run(
        number=number,
        means=instance.means,
        verdicts=arms[:, VERDICT].astype(np.int8),
        verdict_rounds=state.decided_at,
        pulls=arms[:, PULLS].astype(np.int64),
        rounds=state.round,
        open_arms=state.open_arms,
        reward=float(arms[:, TOTAL].sum()),
        seconds=seconds,
        evidence=arms[:, [FOR_GOOD, FOR_BAD]],
        learned=numbers_of(state.pool.learned),
        trajectory=np.array(points) if points else np.zeros((0, 4 + len(bounds_of(assembly, state)))),
        trace=trace[: state.round] if spec.trace else trace,
        misfit=misfit,
        spent=float(state.round),
        verdict_spent=state.decided_at.astype(np.float64),
        shortfalls=np.zeros(0) if math.isnan(misfit) else shortfalls(arms, spec.problem.bar),
    )


def source_of(spec: Specification, number: int, instance: Instance) -> Drawn:
    """The source of a run's rewards."""
    return drawn_from(instance, run_key(spec.seed, number))


def drawn_from(instance: Instance, key: np.uint64) -> Drawn:
    """The rewards of an instance under this key."""
    # copied to have one signature: numba treats a read-only array as another type and would compile again
    means, extra, streams = (np.require(array, requirements=["C", "W"]) for array in instance[:3])
    return Drawn(means, extra, streams, key)  # type: ignore[arg-type]  # a union of all three


def stops_of(horizon: int, points: int) -> list[int]:
    """The rounds at which a trajectory is recorded: evenly spread, the last one at the horizon."""
    return sorted({max(1, round(horizon * (j + 1) / points)) for j in range(points)}) if points else [horizon]


def bounds_of(assembly: Assembly, state: State) -> dict[str, float]:
    """Current alpha and beta, and other learned numbers."""
    return bounds_now(assembly.policy, state.arms, state.pool, assembly.bar)


def _point(assembly: Assembly, state: State) -> list[float]:
    verdicts = state.arms[:, VERDICT]
    counts = [state.round, int((verdicts > 0).sum()), int((verdicts < 0).sum()), state.arms[:, TOTAL].sum()]
    return [*map(float, counts), *bounds_of(assembly, state).values()]
