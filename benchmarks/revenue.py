"""Revenue without a ceiling: visitors until an arm is called good, and errors at the bar."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.section import Row, Section
from goodarm.engine.totals import evidence_from_totals
from goodarm.problem import Bar, Bounded, NonNegative, Problem
from goodarm.rules.identification.bet_mixture import LOG_WEIGHTS, STEPS, bets
from goodarm.rules.identification.gap_mixture import gap_mixture

Floats = NDArray[np.float64]
SEED, ARMS, DELTA, BAR = 21, 20, 0.05, 1.0
GOOD, LONGEST = 100, 100_000
AT_BAR, SHORTER = 2_000, 10_000
BUYS, LOGNORMAL, PARETO, TAIL = 0.04, 21.5, 114.1, 2.5
"""Share of visitors who buy; means of the two kinds of sales, 80% and 20% of them; index of the Pareto tail."""


def revenue(chance: np.random.Generator, size: int) -> Floats:
    """Mean 1.6 and standard deviation 15, of which 96% are zeros."""
    pareto = PARETO * (1.0 - 1.0 / TAIL) * (1.0 + chance.pareto(TAIL, size))
    lognormal = LOGNORMAL * chance.lognormal(-0.5, 1.0, size)
    sale = np.where(chance.random(size) < 0.2, pareto, lognormal)
    return np.where(chance.random(size) < BUYS, sale, 0.0)


def by_sums(paid: Floats, bar: Bar) -> Floats:
    """log E+ of `bet-mixture` after each visitor."""
    cut = np.minimum(paid, bar.ceiling) - bar.threshold
    logs: Any = [
        weight + np.cumsum(np.log1p(bet * cut)) for weight, bet in zip(LOG_WEIGHTS, bets(bar)[:STEPS], strict=True)
    ]
    return np.asarray(np.logaddexp.reduce(logs, axis=0))


def by_totals(paid: Floats, cap: float) -> Floats:
    """log E+ of `gap-mixture` after each 50th visitor, rewards cut at the cap and divided by it; -inf between."""
    bar = Problem(BAR / cap, ARMS, DELTA, Bounded()).bar
    found = np.full(paid.size, -math.inf)
    at = np.arange(49, paid.size, 50)
    found[at] = evidence_from_totals(gap_mixture, at + 1.0, np.cumsum(np.minimum(paid, cap) / cap)[at], bar)[0]
    return found


def asymptotic(paid: Floats, least: int) -> Floats:
    """Infinite where the lower end of an asymptotic confidence sequence lies above the bar, from a visitor on.

    mean - sd sqrt(2 (n r^2 + 1)/(n^2 r^2) log(1 + sqrt(n r^2 + 1)/(2 a))), a = delta/arms, r chosen for 5,000 visitors;
    sd of the rewards so far. It promises the level only in the limit of late first looks. Reference: Waudby-Smith,
    Arbour, Sinha, Kennedy & Ramdas 2024, Annals of Statistics 52(6), one-sided form.
    """
    n, a = np.arange(1.0, paid.size + 1.0), DELTA / ARMS
    mean = np.cumsum(paid) / n
    sd = np.sqrt(np.maximum(np.cumsum(paid * paid) / n - mean * mean, 0.0))
    r2 = (-2.0 * math.log(a) + math.log(-2.0 * math.log(a)) + 1.0) / 5_000.0
    below = sd * np.sqrt(2.0 * (n * r2 + 1.0) / (n * n * r2) * np.log1p(np.sqrt(n * r2 + 1.0) / (2.0 * a)))
    return np.where((mean - below > BAR) & (n >= least), math.inf, -math.inf)


def first(evidence: Floats) -> float:
    """The visitor at whom the arm is called good; inf if never."""
    there = np.flatnonzero(evidence >= math.log(ARMS / DELTA))
    return float(there[0] + 1) if there.size else math.inf


def run() -> Section:
    chance = np.random.default_rng(SEED)
    ways = {
        "nonnegative": lambda paid: by_sums(paid, Problem(BAR, ARMS, DELTA, NonNegative()).bar),
        "nonnegative:1000": lambda paid: by_sums(paid, Problem(BAR, ARMS, DELTA, NonNegative(1000.0)).bar),
        "bounded:0,1000 (rewards cut)": lambda paid: by_totals(paid, 1000.0),
        "bounded:0,5000 (rewards cut)": lambda paid: by_totals(paid, 5000.0),
        "asymptotic sequence": lambda paid: asymptotic(paid, 2),
        "asymptotic sequence, from visitor 1,000 on": lambda paid: asymptotic(paid, 1000),
    }
    good = {name: [] for name in ways}
    for _ in range(GOOD):
        paid = revenue(chance, LONGEST)
        for name, way in ways.items():
            good[name].append(first(way(paid)))
    wrong = dict.fromkeys(ways, 0)
    for _ in range(AT_BAR):
        paid = revenue(chance, SHORTER) / 1.6
        for name, way in ways.items():
            wrong[name] += math.isfinite(first(way(paid)))
    base = float(np.median(good["nonnegative"]))
    rows = []
    for name, visitors in good.items():
        middle = float(np.median(visitors))
        cells = {"rewards": name, "visitors to good, median": middle, "called at the bar": wrong[name]}
        rows.append(Row(cells, middle / base))
    notes = [
        f"{GOOD} arms of mean 1.6 and standard deviation 15 against a bar of 1, each at the level of one of {ARMS} "
        f"arms at delta {DELTA:g}; up to {LONGEST:,} visitors. Called at the bar: of {AT_BAR:,} arms of mean 1 "
        f"exactly, with {SHORTER:,} visitors each and a look after every visitor (bounded: after every 50th); "
        f"{AT_BAR * DELTA / ARMS:g} are allowed on average."
    ]
    return Section("revenue", "visitors until an arm is called good, no ceiling", "to the first", rows, notes)
