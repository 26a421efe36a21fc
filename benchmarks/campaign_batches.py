"""What batches cost: pulls until no arm is open when rewards come back n at a time, against one at a time.

The round is the engine's own, compiled; only where its arm comes from is written here: from a queue of tickets that
are out, filled n at a time.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.section import Row, Section, Target
from goodarm import bernoulli
from goodarm.engine import loop
from goodarm.engine.live import PENDING_COLUMN
from goodarm.engine.live_assembly import kind_of_live
from goodarm.engine.rule_parts import Drawn, drawn
from goodarm.engine.step import NO_TRACE, Step
from goodarm.environments import Environment
from goodarm.environments.names import environment as find_environment
from goodarm.rules.beliefs import PULLS, VERDICT, Pool, read_arm_with_row
from goodarm.simulation.run import source_of
from goodarm.simulation.specification import specify
from goodarm.streams import ENVIRONMENT, generator

POLICY = "value+gap-mixture"
RUNS = {"kano-1": 40, "headlines": 2}
SEED = 40_000
BATCHES = (1, 10, 100)
STRIDE = 1_000_000
"""Rounds between two looks at whether an arm is open."""
TARGETS = {("kano-1", 10): Target(at_most=1.1), ("headlines", 100): Target(at_most=1.3)}


class Queue(NamedTuple):
    """Tickets that are out: their arms, how many have been told, how many there are; and where rewards come from."""

    out: NDArray[np.int64]
    place: NDArray[np.int64]
    rewards: Drawn


def run() -> Section:
    notes = [
        "headlines: examples/headlines.csv, 200 arms at 2%, the nearest of them 0.01 points away. A batch is asked for "
        "when the one before has been told. Rewards are the same for each batch size: the n-th of an arm is."
    ]
    title = f"{POLICY}, pulls until no arm is open"
    return Section("batches", title, "by batch 1", [*rows("kano-1"), *rows("headlines")], notes)


def rows(name: str) -> list[Row]:
    """One row per batch size."""
    seeds, environment = range(SEED, SEED + RUNS[name]), problem(name)
    pulls = {batch: [until_decided(environment, batch, seed) for seed in seeds] for batch in BATCHES}
    found = []
    for batch in BATCHES:
        cells = {"problem": name, "runs": RUNS[name], "batch": batch, "pulls": float(np.mean(pulls[batch]))}
        found.append(Row(cells, float(np.sum(pulls[batch]) / np.sum(pulls[1])), TARGETS.get((name, batch))))
    return found


def problem(name: str) -> Environment:
    if name != "headlines":
        return find_environment(name)
    with (Path(__file__).parents[1] / "examples" / "headlines.csv").open(encoding="utf-8") as lines:
        return bernoulli([float(row["mean"]) for row in csv.DictReader(lines)], threshold=0.02)


def until_decided(environment: Environment, batch: int, seed: int) -> int:
    """Pulls that were asked for until no arm was open."""
    spec = specify(POLICY, environment, horizon=10**9, seed=seed)
    step = Step(spec.policy, spec.problem, horizon=math.inf)
    instance = environment.instance(generator(seed, 0, ENVIRONMENT))
    queue = Queue(np.zeros(batch, dtype=np.int64), np.array([batch]), source_of(spec, 0, instance))
    play = played(step, environment.reward)
    state, assembly = step.state, step.assembly
    while state.open_arms:
        until = state.round + STRIDE
        state.pool, _ = play(
            state.tables, state.pool, queue, assembly.bar, assembly.parameters, step.generator, until, NO_TRACE
        )
    return batch * math.ceil(int(state.decided_at.max()) / batch)


def played(step: Step, reward: Callable[..., float]) -> Any:
    """The compiled rounds of a campaign that is told its rewards batch by batch."""
    parts, draw = step.parts, drawn(reward)
    prepare, select, update = (getattr(each, "py_func", each) for each in (parts.prepare, parts.select, parts.update))

    def ask(kept: Any, arms: Any, pool: Pool, bar: Any, randomness: Any, choosing: Any, fresh: int, out: Any) -> None:
        ready = fresh >= len(arms)
        for j in range(len(out)):
            while fresh < len(arms) and arms[fresh, PULLS] + arms[fresh, PENDING_COLUMN] > 0.0:
                fresh += 1
            if fresh >= len(arms) and not ready:
                prepare(kept, arms, pool, bar, choosing)
                ready = True
            i = select(kept, arms, pool, bar, randomness, choosing) if ready else fresh
            arms[i, PENDING_COLUMN] += 1.0
            if ready and arms[i, VERDICT] == 0.0:
                update(kept, i, read_arm_with_row(arms, i), pool, bar, choosing)
            out[j] = i

    def choose(
        kept: Any, arms: Any, pool: Pool, bar: Any, randomness: Any, choosing: Any, fresh: int, source: Queue
    ) -> int:
        if source.place[0] >= len(source.out):
            ask(kept, arms, pool, bar, randomness, choosing, fresh, source.out)
            source.place[0] = 0
        i = source.out[source.place[0]]
        source.place[0] += 1
        arms[i, PENDING_COLUMN] -= 1.0
        return i

    def rewarded(i: int, pulls: float, source: Queue) -> float:
        return draw(i, pulls, source.rewards)

    assert parts.replay is not None
    whole = parts.replay._replace(prepare=prepare, update=update, choose=choose, reward=rewarded)
    return loop.compiled(loop.rounds(whole, kind_of_live(step.policy)))
