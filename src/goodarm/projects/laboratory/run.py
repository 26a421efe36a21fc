"""Which of these forty molecules have an activity of at least 1?"""

import numpy as np

from goodarm import Campaign, Gaussian

NOISE, BAR, DAYS, WELLS = 1.0, 1.0, 40, 24
nature = np.random.default_rng(5)
DESCRIPTORS = nature.normal(size=(40, 3))
ACTIVITY = DESCRIPTORS @ [1.2, -0.8, 0.4]  # unknown to the campaign


def measured(molecule):
    """Take one reading. Replace this with your own instrument."""
    return float(ACTIVITY[int(molecule[1:])] + NOISE * nature.normal())


if __name__ == "__main__":
    molecules = [{"id": f"M{i:02d}", "features": row.tolist()} for i, row in enumerate(DESCRIPTORS)]
    with Campaign.create(
        "memory:", "screen", molecules, threshold=BAR, rewards=Gaussian(NOISE), policy="ucb+normal-mixture@linear"
    ) as campaign:
        for day in range(1, DAYS + 1):
            plate = campaign.ask(WELLS)
            for row in campaign.tell_many([(well, measured(well.arm)) for well in plate]).verdicts:
                print(f"day {day}: {row.arm} is {row.verdict}")
        print(campaign)
        decided = [row for row in campaign.arms() if row.sign]
        wrong = [row for row in decided if (ACTIVITY[int(row.arm[1:])] >= BAR) != (row.sign > 0)]
        print(f"{len(wrong)} of {len(decided)} verdicts are wrong")
