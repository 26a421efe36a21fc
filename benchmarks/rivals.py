"""goodarm beside methods that look for one winner: GrowthBook's bandit, and KL-LUCB for best-arm identification.

Ten prompts with 0/1 results and a bar of 75%, which four of them clear. Both other methods are written here
from their published descriptions: GrowthBook's bandits are a part of its server, and we know of no established library
for best-arm identification.

- GrowthBook (docs.growthbook.io, packages/stats/gbstats/bayesian/bandits.py): normal posteriors of the means; the share
  of the traffic is how often a variation is among the two best of 10,000 joint draws, at least 1%; no update before 100
  samples per variation. It ends here when one variation is the best with probability 95%.
- KL-LUCB (Kaufmann & Kalyanakrishnan 2013, COLT), with the rate log(405.5 K t^1.1/delta) of its theorem.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

import goodarm
from benchmarks.section import Row, Section

Floats = NDArray[np.float64]

BAR, DELTA, RUNS, HORIZON, SEED = 0.75, 0.05, 100, 200_000, 90310
REST = [0.85, 0.80, 0.70, 0.65, 0.60, 0.55, 0.50, 0.50]
PROBLEMS = {"a clear winner": [0.95, 0.88, *REST], "two nearly equal": [0.92, 0.915, *REST]}
UPDATE = 500
"""Samples between two updates of the bandit's weights."""
DRAWS, LEAST_WEIGHT, BEFORE = 10_000, 0.01, 100


class End(NamedTuple):
    """How a run ended: its samples, its options named as good or best, an error, and its expected reward per sample."""

    ended: bool
    samples: int
    named: int
    wrong: bool
    reward: float


def ours(means: list[float], stop_after: int | None) -> list[End]:
    """The default policy of live campaigns, until every option is decided or until one is called good."""
    truth = np.array(means)
    prompts = goodarm.bernoulli(means, threshold=BAR, horizon=HORIZON)
    extra = {} if stop_after is None else {"stop_after": stop_after}
    found = goodarm.simulate("value+gap-mixture", prompts, runs=RUNS, seed=SEED, delta=DELTA, **extra)
    ends = []
    for run in found.runs:
        named = run.verdicts == 1
        wrong = bool(np.any(named & (truth < BAR)) or np.any((run.verdicts == -1) & (truth >= BAR)))
        reward = float(run.pulls @ truth / run.rounds)
        ends.append(End(run.rounds < HORIZON, int(run.rounds), int(named.sum()), wrong, reward))
    return ends


def bandit(means: list[float], run: int) -> End:
    """GrowthBook's weights, renewed after every `UPDATE` samples, until one variation is the best at 95%."""
    chance, truth = np.random.default_rng([SEED, run]), np.array(means)
    weights = np.full(truth.size, 1.0 / truth.size)
    pulls, totals = np.zeros(truth.size), np.zeros(truth.size)
    best = np.zeros(truth.size)
    while pulls.sum() < HORIZON and best.max() < 1.0 - DELTA:
        shown = chance.multinomial(UPDATE, weights)
        pulls += shown
        totals += chance.binomial(shown, truth)
        if pulls.sum() < BEFORE * truth.size:
            continue
        estimates = totals / pulls
        widths = np.sqrt(estimates * (1.0 - estimates) / pulls)
        order = np.argsort(chance.normal(estimates, widths, (DRAWS, truth.size)), axis=1)
        best = np.bincount(order[:, -1], minlength=truth.size) / DRAWS
        top_two = np.bincount(order[:, -2:].ravel(), minlength=truth.size) / (2 * DRAWS)
        weights = np.maximum(top_two, LEAST_WEIGHT)
        weights /= weights.sum()
    ended = bool(best.max() >= 1.0 - DELTA)
    wrong = ended and int(best.argmax()) != int(truth.argmax())
    return End(ended, int(pulls.sum()), int(ended), wrong, float(pulls @ truth / pulls.sum()))


@numba.njit
def _bound(mean: float, level: float, upper: bool) -> float:
    """The farthest q above or below the mean with kl(mean, q) at most `level`."""
    near, far = mean, 1.0 if upper else 0.0
    for _ in range(40):
        q = 0.5 * (near + far)
        kl = 0.0
        if mean > 0.0:
            kl += mean * math.log(mean / q)
        if mean < 1.0:
            kl += (1.0 - mean) * math.log((1.0 - mean) / (1.0 - q))
        if kl > level:
            far = q
        else:
            near = q
    return near


@numba.njit
def _kl_lucb(truth: Floats, horizon: int, seed: int) -> tuple[bool, int, Floats]:
    np.random.seed(seed)
    arms = truth.size
    pulls, totals = np.ones(arms), np.zeros(arms)
    for arm in range(arms):
        totals[arm] = 1.0 if np.random.random() < truth[arm] else 0.0
    rounds = arms
    while True:
        means = totals / pulls
        first = int(np.argmax(means))
        rate = math.log(405.5 * arms * rounds**1.1 / 0.05)
        second, highest = -1, -1.0
        for arm in range(arms):
            if arm != first:
                high = _bound(means[arm], rate / pulls[arm], True)
                if high > highest:
                    second, highest = arm, high
        if _bound(means[first], rate / pulls[first], False) > highest:
            return True, first, pulls
        if rounds >= horizon:
            return False, first, pulls
        for arm in (first, second):
            pulls[arm] += 1.0
            totals[arm] += 1.0 if np.random.random() < truth[arm] else 0.0
        rounds += 2


def best_arm(means: list[float], run: int) -> End:
    """KL-LUCB until the best option is certain."""
    truth = np.array(means)
    ended, found, pulls = _kl_lucb(truth, HORIZON, SEED + run)
    wrong = bool(ended and found != int(truth.argmax()))
    return End(bool(ended), int(pulls.sum()), int(ended), wrong, float(pulls @ truth / pulls.sum()))


def run() -> Section:
    """The table."""
    methods: dict[str, Callable[[list[float]], list[End]]] = {
        "goodarm, every option": lambda means: ours(means, None),
        "goodarm, `stop_after=1`": lambda means: ours(means, 1),
        "GrowthBook's bandit, a winner at 95%": lambda means: [bandit(means, number) for number in range(RUNS)],
        "KL-LUCB, the best option": lambda means: [best_arm(means, number) for number in range(RUNS)],
    }
    rows = []
    for problem, means in PROBLEMS.items():
        for method, play in methods.items():
            ends = play(means)
            cells = {
                "problem": problem,
                "method": method,
                "ended": f"{sum(end.ended for end in ends)} of {RUNS}",
                "samples, mean": round(float(np.mean([end.samples for end in ends]))),
                "options named, mean": float(np.mean([end.named for end in ends])),
                "wrong runs": f"{sum(end.wrong for end in ends)} of {RUNS}",
                "mean reward": float(np.mean([end.reward for end in ends])),
            }
            rows.append(Row(cells))
    notes = [
        f"Ten options, bar {BAR:.0%}, delta {DELTA:g}, at most {HORIZON:,} samples; seed {SEED}. Pass rates: "
        + "; ".join(f"{name}: {', '.join(map(str, means))}" for name, means in PROBLEMS.items())
        + f". The bandit's weights are renewed every {UPDATE} samples.",
        "Named: called good by goodarm, or the winner. Wrong: any wrong verdict, or a winner that is not the best.",
    ]
    return Section("rivals", "all options above the bar, or one winner", "", rows, notes)
