"""DGAI on arms with features: the printed algorithm and the certified one."""

import warnings

import numpy as np

import goodarm
from goodarm.errors import ModelWarning

warnings.simplefilter("ignore", ModelWarning)  # the printed algorithm decides by its model, which may not fit

features = np.random.default_rng(0).normal(size=(200, 5))
means = 0.5 + features @ [0.06, -0.03, 0.03, 0.0, 0.0]  # unknown to every policy
arms = goodarm.bernoulli(means, threshold=0.5, horizon=20_000)
model = goodarm.Linear(features)

if __name__ == "__main__":
    for name in ("dgai", "dgai-online"):
        runs = goodarm.simulate(goodarm.policy(name, model=model), arms, runs=5, trajectory=20)
        beta = [row["beta"] for row in runs.trajectories.rows()][-20:]
        print(
            f"{runs.policy}, {runs.guarantee}: {runs.found.mean:.0f} of {(means >= 0.5).sum()} good arms found,",
            end=" ",
        )
        print(f"{runs.wrong_runs} of 5 runs wrong; last run: beta from {beta[0]:.2f} to {beta[-1]:.2f}")
