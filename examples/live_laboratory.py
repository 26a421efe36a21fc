"""A laboratory screen: readings with Gaussian noise, and a model that knows what the molecules have in common.

Forty molecules are described by three numbers each. A linear model of the readings guides which one is measured next;
a molecule is called good or bad by its own readings alone, so that a wrong model costs time and not truth.

    python examples/live_laboratory.py [sqlite:///laboratory.db]
"""

from __future__ import annotations

import sys

import numpy as np

from goodarm import Campaign, Gaussian

NOISE = 1.0
BAR = 1.0


def main(store: str) -> None:
    rng = np.random.default_rng(5)
    descriptors = rng.normal(size=(40, 3))
    activity = descriptors @ np.array([1.2, -0.8, 0.4])  # what nature knows and the campaign does not
    molecules = [{"id": f"M{i:02d}", "features": list(map(float, row))} for i, row in enumerate(descriptors)]
    with Campaign.create(
        store, "screen", molecules, threshold=BAR, rewards=Gaussian(NOISE), policy="ucb+normal-mixture@linear"
    ) as campaign:
        for day in range(60):
            plate = campaign.ask(24)  # a plate has 24 wells, and all are read at the end of the day
            readings = [(well, float(activity[int(well.arm[1:])] + NOISE * rng.normal())) for well in reversed(plate)]
            for row in campaign.tell_many(readings).verdicts:
                print(f"day {day + 1}: {row.arm} is {row.verdict}")
        print(campaign)


if __name__ == "__main__":
    main(*(sys.argv[1:2] or ["memory:"]))
