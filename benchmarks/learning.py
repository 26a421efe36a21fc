"""What learning is worth: shares of the best exploit score that any fixed beta of a grid reaches, on fresh seeds."""

from __future__ import annotations

from benchmarks.section import Row, Section, Target
from goodarm.learning import learn
from goodarm.simulation.runs import Runs
from goodarm.simulation.simulate import simulate

BETAS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.6, 8.0)
RUNS = {"synth-small": 20, "synth-large": 8, "movielens": 20, "open-bandit": 3, "caption-651": 4}
VALUE_AT_LEAST = {"synth-large": 1.2}
STOPS = {"kano-1": 3700, "kano-3": 13500}
LEARNING_SEED, GRID_SEED = 2024, 7
"""Everything is judged on the same runs, of a seed that neither learning nor any choice of ours has seen."""


def run() -> Section:
    rows = [row for name, runs in RUNS.items() for row in _shares(name, runs)]
    rows += [_stop(name, most) for name, most in STOPS.items()]
    return Section(
        "learning",
        "score as a share of the best fixed beta with kt; mean stop as a share of its limit",
        "share",
        rows,
        [
            f"Grid of betas {BETAS}, {LEARNING_SEED} the seed of learning, {GRID_SEED} the seed of all scores.",
            "dgai-spread offline: 52 runs of the environment, then fixed; the others learn within each run.",
        ],
    )


def _play(policy: object, name: str, runs: int) -> Runs:
    return simulate(policy, name, runs=runs, seed=GRID_SEED, workers=2)


def _shares(name: str, runs: int) -> list[Row]:
    grid = {beta: _play(f"ucb(beta={beta})+kt", name, runs).exploit_score.mean for beta in BETAS}
    best = max(grid, key=lambda beta: grid[beta])
    offline = learn(name, "dgai-spread", seed=LEARNING_SEED)
    rows = []
    for what, policy, target in (
        (f"dgai-spread offline (beta {offline.parameters['beta']:.2f}, best {best:g})", offline.policy, 0.95),
        ("dgai-spread online", "dgai-spread", 0.85),
        ("value", "value", VALUE_AT_LEAST.get(name, 0.98)),
    ):
        played = _play(policy, name, runs)
        score = played.exploit_score.mean
        cells = {
            "environment": name,
            "policy": what,
            "runs": runs,
            "score": score,
            "of ceiling": score / played.ceiling,
            "of limit": score / played.limit,
            "wrong runs": played.wrong_runs,
        }
        rows.append(Row(cells, score / grid[best], Target(at_least=target)))
    return rows


def _stop(name: str, most: int) -> Row:
    played = _play("value", name, 2000)
    stop = played.stopped_at.mean
    cells = {
        "environment": name,
        "policy": "value, mean stop",
        "runs": 2000,
        "score": stop,
        "of ceiling": None,
        "of limit": None,
        "wrong runs": played.wrong_runs,
    }
    return Row(cells, stop / most, Target(at_most=1.0))
