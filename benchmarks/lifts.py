"""Revenue per user against a control: the share of comparisons that are decided, by lift, users and cap."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from benchmarks.revenue import revenue
from benchmarks.section import Row, Section
from goodarm.rules.identification.versus_squares import Moments, better_by_squares

Floats = NDArray[np.float64]
SEED, DELTA, COMPARISONS = 41, 0.05, 100
LIFTS = (0.05, 0.1, 0.2, 0.5, 1.0)
USERS = (2_000, 10_000, 50_000, 100_000, 200_000)
CAPS = (50.0, 100.0, 200.0, 1000.0)
ONE_SIDED = 1.6449
"""Quantile of the normal distribution at 1 - delta."""


def moments(paid: Floats, cap: float) -> list[tuple[float, float, float]]:
    """Counts, sums and sums of squares of the first users, for each number of users."""
    cut = np.minimum(paid, cap) / cap
    sums, squares = np.cumsum(cut), np.cumsum(cut * cut)
    return [(float(n), float(sums[n - 1]), float(squares[n - 1])) for n in USERS]


def by_t_test(arms: Moments, control: Moments) -> NDArray[np.bool_]:
    """Whether a t-test with a single look, at this number of users, calls the arm better."""
    means = [each.total / each.pulls for each in (arms, control)]
    spread = sum(
        (each.squares / each.pulls - mean * mean) / each.pulls
        for each, mean in zip((arms, control), means, strict=True)
    )
    return np.asarray(means[0] - means[1] > ONE_SIDED * np.sqrt(spread))


def run() -> Section:
    chance, level = np.random.default_rng(SEED), math.log(1.0 / DELTA)
    seen: dict[tuple[float, float], list[tuple[list[tuple[float, ...]], list[tuple[float, ...]]]]] = {}
    for _ in range(COMPARISONS):
        control, other = revenue(chance, USERS[-1]), revenue(chance, USERS[-1])
        for lift in (0.0, *LIFTS):
            for cap in (*CAPS, math.inf):
                part = cap if math.isfinite(cap) else 1e9
                seen.setdefault((lift, cap), []).append((moments((1.0 + lift) * other, part), moments(control, part)))
    rows = []
    for lift in (0.0, *LIFTS):
        called = {}
        for cap in (*CAPS, math.inf):
            pairs = np.array(seen[lift, cap])  # (comparisons, arm or control, users, 3)
            evidence = []
            for place in range(len(USERS)):
                arms, control = (Moments(*pairs[:, side, place].T) for side in (0, 1))
                if math.isfinite(cap):
                    evidence.append(better_by_squares(arms, control, 0.0))
                else:
                    called[f"t-test, one look at {USERS[place]}"] = by_t_test(arms, control)
            for place, users in enumerate(USERS if math.isfinite(cap) else ()):
                called[f"cap {cap:g} at {users}"] = np.max(evidence[: place + 1], axis=0) >= level
        for users in USERS:
            cells = {"lift": f"{lift:.0%}", "users per arm": users}
            cells |= {f"cap {cap:g}": float(called[f"cap {cap:g} at {users}"].mean()) for cap in CAPS}
            test = float(called[f"t-test, one look at {users}"].mean())
            rows.append(Row({**cells, "t-test, one look": test}, cells["cap 100"] / max(test, 1e-9)))
    notes = [
        f"{COMPARISONS} comparisons of one arm with a control, as many users of both; 96% of users pay nothing, the "
        f"mean is 1.6 and the standard deviation 15. Share called better at delta {DELTA:g}, with looks at every "
        "number of users in the table. The t-test looks once, at the uncut rewards. With a lift of 0 every call is "
        "wrong."
    ]
    return Section("lifts", "comparisons of revenue that are decided", "cap 100 of t-test", rows, notes)
