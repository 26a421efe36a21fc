"""How often a live campaign asks for its control: pulls until every arm is told from it, by share of Dunnett's number.

Dunnett's allocation gives the control sqrt(open arms) times the pulls of an arm; `share` multiplies that. The same
rewards for each share: the n-th reward of an arm is the same.
"""

from __future__ import annotations

import numpy as np

from benchmarks.section import Row, Section
from goodarm.engine.live.control import SHARE, ControlStep
from goodarm.policies import policy
from goodarm.problem import Problem
from goodarm.rules.identification.versus import versus

SHARES = (0.25, 0.5, 1.0, 2.0)
RUNS, SEED, LONGEST = 6, 50_000, 150_000
PROBLEMS = {
    "5 prompts near 50%, margin 2%": (0.02, [0.5, 0.6, 0.62, 0.45, 0.58, 0.4]),
    "20 pages at 10%, 4 better": (0.0, [0.1] + [0.16] * 4 + [0.06] * 16),
    "40 headlines at 3%, 10 better": (0.0, [0.03] + [0.06] * 10 + [0.015] * 30),
}


def run() -> Section:
    rows = []
    for name, (margin, means) in PROBLEMS.items():
        found = {share: [until(np.array(means), margin, share, seed) for seed in range(RUNS)] for share in SHARES}
        base = float(np.mean([pulls for pulls, _, _ in found[1.0]]))
        for share in SHARES:
            pulls, control, better = (float(np.mean(each)) for each in zip(*found[share], strict=True))
            cells = {"problem": name, "share": share, "pulls": pulls, "of the control": control, "half better": better}
            rows.append(Row(cells, pulls / base))
    notes = [
        f"value-normal+versus, delta 0.05, {RUNS} runs, told one by one; 'half better': the pull at which half of the "
        f"better arms have their verdict. A run ends after {LONGEST:,} pulls at the latest. The default is {SHARE:g}."
    ]
    return Section("control", "pulls until every arm is decided against the control", "by share 1", rows, notes)


def until(means: np.ndarray, margin: float, share: float, seed: int) -> tuple[int, int, int]:
    """Pulls in all, of the control, and until half of the better arms were called."""
    problem = Problem(threshold=0.5 * (1.0 + margin), arms=means.size - 1)
    step = ControlStep(policy("value-normal", versus), problem, control=0, margin=margin, share=share)
    streams = [np.random.default_rng((SEED, seed, arm)) for arm in range(means.size)]
    kept = [iter(()) for _ in means]
    half, called, better = LONGEST, 0, int((means[1:] >= means[0] + margin).sum())
    for pull in range(1, LONGEST + 1):
        arm = step.choose()
        if arm < 0:
            return pull, int(step.row(0).pulls), half
        reward = next(kept[arm], None)
        if reward is None:
            kept[arm] = iter((streams[arm].random(500) < means[arm]).tolist())
            reward = next(kept[arm])
        step.ask(arm)
        called += sum(step.row(each).verdict > 0 for each in step.absorb(arm, float(reward)))
        if called * 2 >= better and half == LONGEST:
            half = pull
    return LONGEST, int(step.row(0).pulls), half
