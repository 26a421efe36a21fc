"""What batches cost: pulls until a goal is reached when rewards come back n at a time, against one at a time.

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
from scipy import stats

from benchmarks.section import Row, Section, Target
from goodarm import bernoulli
from goodarm.engine import loop
from goodarm.engine.live.assembly import kind_of_live
from goodarm.engine.live.threshold import ThresholdStep
from goodarm.engine.live.worst_case import PENDING_COLUMN
from goodarm.engine.loop import NO_TRACE
from goodarm.engine.rule_parts import Drawn, drawn
from goodarm.environments import Environment
from goodarm.environments.names import environment as find_environment
from goodarm.rules.beliefs import PULLS, VERDICT, Pool, read_arm_with_row
from goodarm.simulation.run import source_of
from goodarm.simulation.specification import specify
from goodarm.streams import ENVIRONMENT, generator

POLICY = "value+gap-mixture"
SEED = 40_000
BATCHES = (1, 10, 100)
STRIDE = 10_000
"""Rounds between two looks at whether the run is over, or a tenth of those played if that is more."""


class Goal(NamedTuple):
    """When a run of a problem counts as finished, and what may be asked of a batch size.

    left : maximum number of undecided arms; good : instead, the number of arms that must have been called good
    """

    name: str
    words: str
    runs: int
    targets: dict[int, Target]
    left: int = 0
    good: int | None = None

    def reached(self, verdicts: NDArray[np.float64], decided_at: NDArray[np.int64]) -> int | None:
        """The round at which a run had got there; None if it has not yet."""
        counted = verdicts == 1.0 if self.good is not None else np.abs(verdicts) == 1.0
        wanted = self.good if self.good is not None else len(verdicts) - self.left
        return int(np.sort(decided_at[counted])[wanted - 1]) if counted.sum() >= wanted else None


GOALS = (
    Goal("kano-1", "no arm is open", 40, {10: Target(at_most=1.1)}),
    Goal("headlines", "18 of the 36 good ones are called", 40, {}, good=18),
    Goal("headlines", "all but 2 arms are decided", 8, {100: Target(at_most=1.3)}, left=2),
)


class Queue(NamedTuple):
    """Tickets that are out: their arms, how many have been told, how many there are; and where rewards come from."""

    out: NDArray[np.int64]
    place: NDArray[np.int64]
    rewards: Drawn


def run() -> Section:
    notes = [
        "headlines: examples/headlines.csv, 200 arms and a bar of 2%. Its two nearest arms lie 0.010 and 0.012 "
        "points from the bar, half of the smallest gap that gap-mixture looks for, and take hundreds of millions "
        "of pulls by themselves; they are pulled here too, but a run is over when 198 arms are decided. Waiting "
        "for the last two should bring the ratio nearer to 1, since a batch's cost does not grow with the pulls. "
        "A batch is asked for when the one before has been told, and counts whole. The n-th reward of an arm is "
        "the same for each batch size. Interval: 95%, for the ratio of the means of paired runs."
    ]
    return Section(
        "batches", f"{POLICY}, pulls in batches", "by batch 1", [row for g in GOALS for row in rows(g)], notes
    )


def rows(goal: Goal) -> list[Row]:
    """One row per batch size."""
    seeds, environment = range(SEED, SEED + goal.runs), problem(goal.name)
    pulls = {n: np.array([pulls_until(goal, environment, n, seed) for seed in seeds], dtype=float) for n in BATCHES}
    found = []
    for batch in BATCHES:
        ratio, margin = paired_ratio(pulls[batch], pulls[1])
        cells = {
            "problem": goal.name, "until": goal.words, "runs": goal.runs, "batch": batch,
            "pulls": float(np.mean(pulls[batch])), "interval": f"{ratio - margin:.3f} to {ratio + margin:.3f}",
        }  # fmt: skip
        found.append(Row(cells, ratio, goal.targets.get(batch)))
    return found


def paired_ratio(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> tuple[float, float]:
    """The ratio of two means over the same runs, and half the length of its 95% interval (delta method, Student's t).

    >>> paired_ratio(np.array([2.0, 4.0, 6.0]), np.array([1.0, 2.0, 3.0]))
    (2.0, 0.0)
    """
    ratio = float(ours.mean() / theirs.mean())
    spread = float(np.std(ours - ratio * theirs, ddof=1) / theirs.mean())
    return ratio, float(stats.t.ppf(0.975, len(ours) - 1)) * spread / math.sqrt(len(ours))


def problem(name: str) -> Environment:
    if name != "headlines":
        return find_environment(name)
    with (Path(__file__).parents[1] / "examples" / "headlines.csv").open(encoding="utf-8") as lines:
        return bernoulli([float(row["mean"]) for row in csv.DictReader(lines)], threshold=0.02)


def pulls_until(goal: Goal, environment: Environment, batch: int, seed: int) -> int:
    """Pulls that were asked for until the goal was reached."""
    spec = specify(POLICY, environment, horizon=10**9, seed=seed)
    step = ThresholdStep(spec.policy, spec.problem, horizon=math.inf)
    instance = environment.instance(generator(seed, 0, ENVIRONMENT))
    queue = Queue(np.zeros(batch, dtype=np.int64), np.array([batch]), source_of(spec, 0, instance))
    play = played(step, environment.reward)
    state, assembly = step.state, step.assembly
    while (there := goal.reached(state.arms[:, VERDICT], state.decided_at)) is None:
        until = state.round + max(STRIDE, state.round // 10)
        state.pool, _ = play(
            state.tables, state.pool, queue, assembly.bar, assembly.parameters, step.generator, until, NO_TRACE
        )
    return batch * math.ceil(there / batch)


def played(step: ThresholdStep, reward: Callable[..., float]) -> Any:
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
