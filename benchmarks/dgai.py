"""`dgai`: beta learned by gradients, against the formula of `dgai-spread` and against every fixed beta of a grid.

All policies play the same rewards, of a seed on which nothing was chosen. Parts can be run alone:
`python -m benchmarks.dgai [synth|real|linear|offline|track|speed ...]`; `track` measures Track-and-Stop.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.section import Row, Section, Target
from goodarm.environments import Environment
from goodarm.environments.laws import bernoulli_reward
from goodarm.environments.names import environment
from goodarm.environments.with_features import in_band, unit_vectors
from goodarm.learning import learn
from goodarm.simulation.runs import Runs
from goodarm.simulation.simulate import simulate

SEED, LEARNING_SEED = 90_210, 431
BETAS = (0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0)
SMALL = ("synth-small", 100_000, 100)
REAL = {
    "movielens": ("movielens", 100_000, 10),
    "caption-651": ("caption-651", 1_000_000, 2),
    "headlines": ("table:examples/headlines.csv", 200_000, 20),
    "open-bandit": ("open-bandit", 10_000_000, 2),
}
OFFLINE = {
    "synth-small": ("synth-small", 100_000, 40),
    "movielens": ("movielens", 100_000, 6),
    "caption-651": ("caption-651", 200_000, 3),
    "headlines": ("table:examples/headlines.csv", 200_000, 12),
    "open-bandit-sample": ("open-bandit-sample", 200_000, 20),
}
SPEED = ((50, 1_000_000), (1000, 1_000_000))


def found(name: str) -> Environment:
    return environment(name, threshold=0.02 if name.startswith("table:") else None)


def cells_of(what: str, policy: str, played: Runs) -> dict[str, Any]:
    score = played.exploit_score
    betas = [run.learned["beta"] for run in played.runs if "beta" in run.learned]
    return {
        "environment": what,
        "policy": policy,
        "runs": len(played),
        "score": score.mean,
        "+-": score.high - score.mean if len(played) > 1 else None,
        "of limit": score.mean / played.limit,
        "last beta": float(np.mean(betas)) if betas else None,
        "wrong runs": played.wrong_runs,
    }


def play(policy: object, where: Environment, horizon: int, runs: int) -> Runs:
    print(f"  {where.name}: {getattr(policy, 'name', policy)}", file=sys.stderr, flush=True)
    return simulate(policy, where, horizon=horizon, runs=runs, seed=SEED)


def best_of_grid(where: Environment, horizon: int, runs: int, model: str = "") -> tuple[str, Runs]:
    """The best fixed beta with gap-mixture, chosen in hindsight on the very runs that are reported."""
    grid = {f"ucb(beta={beta:g})+gap-mixture{model}": beta for beta in BETAS}
    played = {name: play(name, where, horizon, runs) for name in grid}
    best = max(played, key=lambda name: played[name].exploit_score.mean)
    return best, played[best]


def synth() -> Section:
    name, horizon, runs = SMALL
    where = found(name)
    best, fixed = best_of_grid(where, horizon, runs)
    spread = play("dgai-spread+kt", where, horizon, runs)
    wide = play("dgai-spread+gap-mixture", where, horizon, runs)
    ours = {beta: play(f"dgai(beta={beta:g})", where, horizon, runs) for beta in (2.0, 1.0, 6.0, 0.3)}
    reference = fixed.exploit_score.mean
    rows = [
        Row(cells_of(name, best, fixed), 1.0),
        Row(cells_of(name, "dgai-spread+kt", spread), spread.exploit_score.mean / reference),
    ]
    rows.append(Row(cells_of(name, "dgai-spread+gap-mixture", wide), wide.exploit_score.mean / reference))
    for beta, played in ours.items():
        target = Target(at_least=1.0) if beta != 0.3 else None
        rows.append(
            Row(cells_of(name, f"dgai, started at {beta:g}", played), played.exploit_score.mean / reference, target)
        )
    for other in ("dgai+gap-mixture", "value"):
        played = play(other, where, horizon, runs)
        rows.append(Row(cells_of(name, other, played), played.exploit_score.mean / reference))
    notes = [f"dgai over dgai-spread+kt: {ours[2.0].exploit_score.mean / spread.exploit_score.mean:.3f}."]
    ends = [ours[beta].exploit_score.mean for beta in (1.0, 2.0, 6.0)]
    notes.append(f"Largest over smallest score from the starts 1, 2 and 6: {max(ends) / min(ends):.3f}.")
    return Section("dgai", f"{name}, T = {horizon:,}", "of the best fixed beta", rows, notes)


def real() -> Section:
    rows = []
    for label, (name, horizon, runs) in REAL.items():
        where = found(name)
        best, fixed = best_of_grid(where, horizon, runs)
        spread, ours = play("dgai-spread", where, horizon, runs), play("dgai", where, horizon, runs)
        reference = fixed.exploit_score.mean
        rows.append(Row(cells_of(label, best, fixed), 1.0))
        rows.append(Row(cells_of(label, "dgai-spread", spread), spread.exploit_score.mean / reference))
        rows.append(Row(cells_of(label, "dgai", ours), ours.exploit_score.mean / reference, Target(at_least=0.95)))
    return Section("dgai", "recorded problems", "of the best fixed beta", rows)


def linear_family(width: float, arms: int = 200, dimension: int = 5) -> Environment:
    """Random unit vectors, means linear in them; theta is drawn anew in each run."""
    features = unit_vectors(arms, dimension)

    def draw(generator: np.random.Generator) -> Any:
        return in_band(features @ generator.standard_normal(dimension), width=width)

    return Environment(f"linear, gaps up to {width:g}", arms, 0.5, draw, bernoulli_reward, describe=lambda: features)


def linear() -> Section:
    rows = []
    for width, horizon in ((0.3, 30_000), (0.1, 30_000), (0.05, 100_000)):
        where = linear_family(width)
        spread = play("dgai-spread@linear", where, horizon, 16)
        for name in ("dgai@linear", "ucb(beta=1)+learned-bets@linear", "value@linear"):
            played = play(name, where, horizon, 16)
            target = Target(at_least=1.05) if name == "dgai@linear" else None
            rows.append(
                Row(cells_of(where.name, name, played), played.exploit_score.mean / spread.exploit_score.mean, target)
            )
    return Section("dgai", "K = 200, d = 5, 16 random instances each", "of dgai-spread@linear", rows)


def offline() -> Section:
    """Gradient epochs against two-point differences: the same index and bets, beta fixed at what was learned."""
    rows, notes = [], []
    for label, (name, horizon, runs) in OFFLINE.items():
        where = found(name)
        starts = (0.5, 2.0, 6.0) if label == "synth-small" else (2.0,)
        learned = {s: learn(where, f"dgai(beta={s:g})", horizon=horizon, seed=LEARNING_SEED) for s in starts}
        betas = {s: each.parameters["beta"] for s, each in learned.items()}
        two_point = learn(where, "ucb+learned-bets", horizon=horizon, seed=LEARNING_SEED)
        other = two_point.parameters["beta"]
        theirs = play(f"ucb(beta={other:.4g})+learned-bets", where, horizon, runs)
        reference = theirs.exploit_score.mean
        rows.append(Row(cells_of(label, f"two-point differences, beta {other:.3g}, 52 runs", theirs), 1.0))
        fixed = play(f"ucb(beta={betas[2.0]:.4g})+learned-bets", where, horizon, runs)
        took = learned[2.0].learned_on["runs"]
        rows.append(
            Row(
                cells_of(label, f"gradient epochs, beta {betas[2.0]:.3g}, {took} runs", fixed),
                fixed.exploit_score.mean / reference,
            )
        )
        online = play(learned[2.0].policy, where, horizon, runs)
        rows.append(Row(cells_of(label, "the same, learning on online", online), online.exploit_score.mean / reference))
        if len(betas) > 1:
            told = ", ".join(f"{beta:.3g} from {start:g}" for start, beta in betas.items())
            notes.append(f"{label}: {told}; largest over smallest {max(betas.values()) / min(betas.values()):.3f}.")
    return Section("dgai", "offline learning", "of two-point differences", rows, notes)


def with_margin() -> Environment:
    """100 unit vectors in 5 dimensions whose means, linear in them, are at least 0.05 from the threshold."""
    features, draw = unit_vectors(400, 5), np.random.default_rng(5)
    line = features @ draw.standard_normal(5)
    line *= 0.3 / np.abs(line).max()
    kept = np.flatnonzero(np.abs(line) >= 0.05)[:100]
    means, features = 0.5 + line[kept], features[kept]
    return Environment("unit vectors", 100, 0.5, lambda generator: means, bernoulli_reward, describe=lambda: features)


def with_short_arms() -> Environment:
    """Five unit vectors along the axes, and vectors of length 0.3 whose means are close to the threshold."""
    draw = np.random.default_rng(1)
    theta = draw.choice([-1.0, 1.0], 5) * draw.uniform(0.15, 0.3, 5)
    short = draw.standard_normal((55, 5))
    short *= 0.3 / np.linalg.norm(short, axis=1)[:, None]
    features = np.vstack([np.eye(5), short[np.abs(short @ theta) > 0.015]])
    means = 0.5 + features @ theta
    return Environment(
        "short vectors", len(means), 0.5, lambda generator: means, bernoulli_reward, describe=lambda: features
    )


def track() -> Section:
    """Samples until every arm has its verdict."""
    rows = []
    for where in (with_margin(), with_short_arms()):
        names = (
            "track-and-stop+self-normalised(norm=1)@linear",
            "widest+self-normalised(norm=1)@linear",
            "ucb+self-normalised(norm=1)@linear",
            "widest+design(norm=1)@linear",
            "settle",
        )
        played = {name: play(name, where, 1_000_000, 20) for name in names}
        reference = played[names[0]].stopped_at.mean
        for name, runs in played.items():
            stop = runs.stopped_at
            cells = {
                "environment": where.name,
                "policy": name,
                "runs": len(runs),
                "samples": stop.mean,
                "+-": stop.high - stop.mean,
                "wrong runs": runs.wrong_runs,
            }
            rows.append(Row(cells, stop.mean / reference))
    return Section("dgai", "samples until all arms of a linear problem are decided", "of track-and-stop", rows)


def seconds(policy: str, arms: int, horizon: int, number: int) -> float:
    where = Environment("uniform", arms, 0.5, lambda generator: generator.uniform(0.475, 0.55, arms), bernoulli_reward)
    started = time.process_time()
    played = simulate(policy, where, horizon=horizon, runs=1, seed=number)
    return (time.process_time() - started) / played.runs[0].rounds


def speed() -> Section:
    rows = []
    for arms, horizon in SPEED:
        names = ("ucb+gap-mixture", "dgai", "dgai+gap-mixture", "ucb+learned-bets", "value")
        for name in names:
            seconds(name, arms, horizon, 0)  # compiles
        taken = {name: [] for name in names}  # type: dict[str, list[float]]
        for number in range(1, 6):
            for name in names:  # in turn, so that a busy machine slows all alike
                taken[name].append(seconds(name, arms, horizon, number))
        reference = float(np.median(taken[names[0]]))
        for name in names:
            each = float(np.median(taken[name]))
            target = Target(at_most=2.0) if name == "dgai" else None
            cells = {"arms": arms, "rounds": horizon, "policy": name, "ns per round": 1e9 * each}
            rows.append(Row(cells, each / reference, target))
    return Section("dgai", "processor time of a round, median of 5 runs", "of ucb+gap-mixture", rows)


PARTS: dict[str, Callable[[], Section]] = {
    "synth": synth,
    "real": real,
    "linear": linear,
    "offline": offline,
    "track": track,
    "speed": speed,
}


def run() -> Section:
    """All parts as one section: `python -m benchmarks dgai`."""
    sections = [part() for part in PARTS.values()]
    rows = []
    for each in sections:
        for row in each.rows:
            rows.append(
                Row(
                    {"part": each.title, "what": " ".join(map(str, list(row.cells.values())[:2])), **_scores(row)},
                    row.ratio,
                    row.target,
                )
            )
    return Section(
        "dgai",
        "; ".join(f"{s.title}: {s.ratio}" for s in sections),
        "ratio",
        rows,
        [n for s in sections for n in s.notes],
    )


def _scores(row: Row) -> dict[str, Any]:
    return {
        name: row.cells.get(name)
        for name in ("runs", "score", "samples", "+-", "last beta", "wrong runs", "ns per round")
    }


if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        section = PARTS[part]()
        section.print(Console(width=170))
        print(section.markdown(), flush=True)
