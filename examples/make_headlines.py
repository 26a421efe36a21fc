"""Made-up click rates of 200 headlines: what `headlines.csv` was written by.

python examples/make_headlines.py > examples/headlines.csv
"""

import csv
import sys

import numpy as np

OPENINGS = (
    "Ten facts about", "The truth about", "How to start with", "Five mistakes with", "Why we love",
    "A short history of", "The future of", "What nobody says about", "A beginner's guide to",
    "How I stopped worrying about", "The cheapest way into", "Everything new in", "The quiet return of",
    "What experts think of", "A year of", "The secret life of", "How to save on", "The case against",
    "What children know about", "The best books on",
)  # fmt: skip
TOPICS = ("bread", "bicycles", "gardens", "sleep", "maps", "chess", "coffee", "rivers", "trains", "clouds")


def main() -> None:
    """Rates from a Beta distribution with mean 1.4%: about one headline in five clears 2%."""
    rates = np.random.default_rng(2024).beta(2.0, 141.0, size=len(OPENINGS) * len(TOPICS))
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["arm", "mean"])
    names = [f"{opening} {topic}" for opening in OPENINGS for topic in TOPICS]
    writer.writerows((name, f"{rate:.5f}") for name, rate in zip(names, rates, strict=True))


if __name__ == "__main__":
    main()
