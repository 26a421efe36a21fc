"""Opening a campaign: the first ask in a fresh process, and a journal with a model of the arms."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.processes import fresh
from benchmarks.section import Row, Section, Target
from benchmarks.timing import median
from goodarm import Campaign
from goodarm.campaign import open_store

REPETITIONS = 7
ARMS = 1000
ROUNDS = 3
"""Rewards of each arm before the first ask is measured."""
MODELLED = 10_000
"""Told rewards of the journal with a model of the arms."""
FIRST_ASK = """
import json, time
started = (time.process_time(), time.perf_counter())
from goodarm import Campaign
campaign = Campaign.open({store!r}, "c")
campaign.ask()
print(json.dumps([time.process_time() - started[0], time.perf_counter() - started[1]]))
"""

Cost = tuple[float, float]
"""Seconds of processor time and on the wall, per unit of work."""


def run() -> Section:
    notes = [
        f"First ask: medians of {REPETITIONS} fresh processes, from the first import to the ticket. `seconds` is "
        "processor time; the wall exceeds it when the machine is busy with other things."
    ]
    with tempfile.TemporaryDirectory() as folder:
        path, rng = Path(folder) / "ours.db", random.Random(1)
        with Campaign.create(f"sqlite:///{path}", "c", [f"arm {i}" for i in range(ARMS)], 0.5) as campaign:
            for _ in range(ROUNDS):
                campaign.tell_many([(ticket, float(rng.random() < 0.5)) for ticket in campaign.ask(ARMS)])
        found = [first_ask(path, ARMS), *with_model(Path(folder))]
    return Section("opening", "a campaign in SQLite", "seconds", found, notes)


def seconds_row(what: str, processor: float, wall: float, target: Target | None = None) -> Row:
    cells = {"what": what, "processor, µs": 1e6 * processor, "wall, µs": 1e6 * wall, "per second": None}
    return Row(cells, processor, target)


def timed(work: Callable[[], int]) -> Cost:
    """Processor and wall time per unit of the work, which returns how many units it did."""
    processor, wall = time.process_time(), time.perf_counter()
    units = work()
    return (time.process_time() - processor) / units, (time.perf_counter() - wall) / units


def opened(address: str, ask: bool = True) -> int:
    with Campaign.open(address, "c") as campaign:
        if ask:
            campaign.ask()
    return 1


def with_model(folder: Path) -> list[Row]:
    """A policy with a model of the arms: without a snapshot the model is told everything once more."""
    address, arms, rng = f"sqlite:///{folder / 'model.db'}", 200, random.Random(3)
    given = [{"id": f"arm {i}", "features": [rng.gauss(0.0, 0.35) for _ in range(8)]} for i in range(arms)]
    with Campaign.create(address, "c", given, 0.5, delta=1e-12, policy="ucb+gap-mixture@linear") as campaign:
        for _ in range(MODELLED // 100):
            campaign.tell_many([(ticket, float(rng.random() < 0.5)) for ticket in campaign.ask(100)])
    what = f"opening {MODELLED:,} told rewards, {arms} arms with a linear model of 8 features"
    with_one = seconds_row(f"{what}, with a snapshot, processor seconds", *timed(lambda: opened(address, ask=False)))
    with open_store(address) as store:
        number = store.find("c") or 0
        with store.transaction(number):
            store.keep(number, None)
    return [
        with_one,
        seconds_row(f"{what}, without one, processor seconds", *timed(lambda: opened(address, ask=False))),
    ]


def first_ask(path: Path, arms: int) -> Row:
    """A fresh process: import, open, ask."""
    found = [fresh(FIRST_ASK.format(store=f"sqlite:///{path}")) for _ in range(REPETITIONS)]
    processor, wall = (median([each[j] for each in found]) for j in (0, 1))
    return seconds_row(
        f"first ask in a fresh process, {arms:,} arms, processor seconds", processor, wall, Target(at_most=1.0)
    )
