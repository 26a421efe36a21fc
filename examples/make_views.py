"""Made-up views and clicks of the 200 headlines: what `views.csv` was written by.

python examples/make_views.py > examples/views.csv
"""

import csv
import sys
from pathlib import Path

import numpy as np


def main() -> None:
    """Every headline was shown 2000 to 12,000 times; its clicks follow its rate in `headlines.csv`."""
    with Path(__file__).with_name("headlines.csv").open(newline="", encoding="utf-8") as stream:
        headlines = list(csv.DictReader(stream))
    chance = np.random.RandomState(5)  # numpy never changes its stream
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["headline", "pulls", "total"])
    for row in headlines:
        views = chance.randint(2000, 12_001)
        writer.writerow([row["arm"], views, chance.binomial(views, float(row["mean"]))])


if __name__ == "__main__":
    main()
