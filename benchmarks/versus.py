"""People who come back, against a control: arms decided by totals and by sums of squares, of the same log."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.section import Row, Section
from goodarm.rules.identification.versus import against_control
from goodarm.rules.identification.versus_squares import Moments, against_control_by_squares

SEED, ARMS, DELTA, BASE = 31, 300, 0.05, 0.02
VISITS, CONCENTRATION = 5, 30.0
PEOPLE = (2_000, 20_000)


def run() -> Section:
    chance, rows = np.random.default_rng(SEED), []
    for visits, kind in ((VISITS, "means of 5 visits"), (1, "0/1, one visit")):
        for people in PEOPLE:
            rates = np.concatenate([[BASE], BASE * np.exp(chance.normal(0.0, 0.4, ARMS))])
            seen = [observed(chance, rate, people, visits) for rate in rates]
            own, control = Moments(*np.array(seen[1:]).T), Moments(*(np.array([each]) for each in seen[0]))
            squares = against_control_by_squares(own, control, 0.0)
            totals = np.array([against_control(n, s, float(people), seen[0][1], 0.0) for n, s, _ in seen[1:]]).T
            level, better = math.log(ARMS / DELTA), rates[1:] > BASE
            counts = []
            for good, bad in (totals, squares):
                called = (good >= level, bad >= level)
                counts += [
                    int(called[0].sum()),
                    int(called[1].sum()),
                    int((called[0] & ~better | called[1] & better).sum()),
                ]
            names = ("better", "not better", "wrong")
            cells = {"rewards": kind, "people per arm": people}
            cells |= {
                f"{how}: {name}": counts[3 * j + k]
                for j, how in enumerate(("totals", "squares"))
                for k, name in enumerate(names)
            }
            rows.append(Row(cells, (counts[3] + counts[4]) / max(1, counts[0] + counts[1])))
    notes = [
        f"{ARMS} arms around {BASE:.0%}, control {BASE:.0%}, delta {DELTA}; people differ (Beta of size "
        f"{CONCENTRATION:g})."
    ]
    return Section("versus", "arms decided against a control", "of totals", rows, notes)


def observed(chance: np.random.Generator, rate: float, people: int, visits: int) -> tuple[float, float, float]:
    own = chance.beta(rate * CONCENTRATION, (1.0 - rate) * CONCENTRATION, people)
    rewards = chance.binomial(visits, own) / visits
    return float(people), float(rewards.sum()), float(np.square(rewards).sum())
