"""What it is worth: samples against tests of a fixed size, and what peeking at naive intervals costs.

The problem is examples/headlines.csv: 200 click rates around 1.4%, the bar at 2%. Wanted: 80% of the headlines with a
rate of 3% or more, called good, and any wrong verdict with probability at most 5%.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

import goodarm
from benchmarks.section import Row, Section
from goodarm.identification import RadiusRule

HEADLINES = Path(__file__).parents[1] / "examples" / "headlines.csv"
BAR, CLEAR, DELTA, SHARE = 0.02, 0.03, 0.05, 0.8
RUNS, HORIZON, SEED = 20, 400_000, 11
Floats = NDArray[np.float64]


def run() -> Section:
    with HEADLINES.open(newline="", encoding="utf-8") as file:
        rates = np.array([float(row["mean"]) for row in csv.DictReader(file)])
    ours, naive = certified(), peeking()
    fixed, staged = fixed_size(rates), two_stages(rates)
    at_most = f"{DELTA:.0%} at most"
    methods = {
        "goodarm, value+gap-mixture": (ours[0], f"{ours[1]} of {RUNS}"),
        "two stages, the best of a grid": (staged, at_most),
        "one test of a fixed size per headline": (fixed, at_most),
        "UCB and a 95% interval per headline, with peeking": (naive[0], f"{naive[1]} of {RUNS}"),
    }
    rows = [
        Row({"method": name, "samples": samples, "wrong runs": wrong}, samples / ours[0])
        for name, (samples, wrong) in methods.items()
    ]
    title = "samples to find 80% of the headlines of 3% or more, bar 2%, 200 headlines"
    note = "Tests of a fixed size are sized for 3% by the normal approximation and divide 5% among the headlines."
    return Section("worth", title, "of goodarm's samples", rows, [note])


def certified() -> tuple[float, int]:
    """Mean samples until 80% of the clearly good ones are called good, and runs with any wrong verdict."""
    return _until_found("value+gap-mixture")


def peeking() -> tuple[float, int]:
    """The same with an interval that was made for one look and one arm."""
    naive = RadiusRule(name="naive", radius=_naive_radius)
    return _until_found(goodarm.policy("ucb", naive))


def _naive_radius(arm, pool, bar):  # type: ignore[no-untyped-def]  # a rule is a plain function
    """1.96 standard errors, from the tenth success on."""
    if arm.total < 10.0:
        return math.inf
    mean = arm.total / arm.pulls
    return 1.96 * math.sqrt(mean * (1.0 - mean) / arm.pulls)


def _until_found(policy: object) -> tuple[float, int]:
    table = goodarm.table(HEADLINES, threshold=BAR)
    result = goodarm.simulate(policy, table, horizon=HORIZON, runs=RUNS, seed=SEED, delta=DELTA)
    rounds = []
    for each in result.runs:
        clear = np.where((each.means >= CLEAR) & (each.verdicts == 1), each.verdict_rounds, HORIZON)[
            each.means >= CLEAR
        ]
        rounds.append(np.sort(clear)[math.ceil(SHARE * clear.size) - 1])
    return float(np.mean(rounds)), result.wrong_runs


def _size(level: float, power: float) -> float:
    """Samples of one test of 2% against 3%."""
    z = NormalDist().inv_cdf
    spread = z(1.0 - level) * math.sqrt(BAR * (1.0 - BAR)) + z(power) * math.sqrt(CLEAR * (1.0 - CLEAR))
    return math.ceil((spread / (CLEAR - BAR)) ** 2)


def fixed_size(rates: Floats) -> float:
    """Every headline gets the samples of one test."""
    return float(rates.size * _size(DELTA / rates.size, SHARE))


def two_stages(rates: Floats) -> float:
    """Drop headlines after a first stage, test the others on both stages together; the cheapest with power 80%."""
    best, normal = math.inf, NormalDist()
    for power in (0.82, 0.85, 0.9, 0.95):
        whole = _size(DELTA / rates.size, power)
        for part in (0.1, 0.2, 0.3, 0.4):
            first = math.ceil(part * whole)
            stays = SHARE / power  # what the first stage must keep of the clearly good ones
            cut = CLEAR + normal.inv_cdf(1.0 - min(stays, 0.999)) * math.sqrt(CLEAR * (1.0 - CLEAR) / first)
            kept = sum(1.0 - normal.cdf((cut - rate) / math.sqrt(rate * (1.0 - rate) / first)) for rate in rates)
            best = min(best, rates.size * first + kept * (whole - first))
    return best
