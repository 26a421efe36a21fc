"""Live campaigns: pairs of ask and tell beside Optuna on the same store, opening a long journal."""

from __future__ import annotations

import random
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.campaign_opening import Cost, opened, seconds_row, timed
from benchmarks.section import Row, Section, Target
from benchmarks.timing import median
from goodarm import Campaign
from goodarm.campaign import open_store
from goodarm.campaign.check import check_named
from goodarm.campaign.journal import ASKED, TOLD, Event, chained

ARMS = 1000
REPETITIONS = 3
PAIRS, OPTUNA_PAIRS, REWARDS = 150, 20, 5_000
AT_ONCE = 100
"""Tickets of a batch."""
LONG = 1_000_000
"""Told rewards of the long journal."""
BATCH = 10_000


def run() -> Section:
    with tempfile.TemporaryDirectory() as folder:
        return Section("campaign", f"{ARMS} arms, SQLite, every commit flushed", "ratio", rows(Path(folder)), NOTES)


NOTES = [
    "Optuna asks for a categorical parameter with 1000 values by its RandomSampler, the cheapest it has, on SQLite "
    "with the same journal mode (WAL) and synchronous=FULL. Measured in turns; medians. Processor time does not depend "
    "on the disk, pairs per second do: each commit waits for a flush, and on a machine that is busy with other things "
    "for its turn as well.",
]


def rows(folder: Path) -> list[Row]:
    costs = measured_in_turns(folder)
    processor = {name: median([each[0] for each in found]) for name, found in costs.items()}
    wall = {name: median([each[1] for each in found]) for name, found in costs.items()}
    long = long_journal(folder)
    return [
        pairs_row("Optuna: ask and tell", processor["optuna"], wall["optuna"]),
        pairs_row(
            "goodarm: ask and tell, Optuna's processor time by ours",
            processor["pairs"],
            wall["pairs"],
            processor["optuna"] / processor["pairs"],
            Target(at_least=20.0),
        ),
        pairs_row(
            "goodarm: step, our pairs per second by Optuna's",
            processor["step"],
            wall["step"],
            wall["optuna"] / wall["step"],
            Target(at_least=10.0),
        ),
        pairs_row("SQLite: a transaction with two rows and its flush", processor["flush"], wall["flush"]),
        pairs_row(
            "goodarm: step, µs of processor time beyond that",
            processor["step"],
            wall["step"],
            1e6 * (processor["step"] - processor["flush"]),
            Target(at_most=250.0),
        ),
        pairs_row(
            f"goodarm: tell_many of {AT_ONCE}, rewards per second",
            processor["many"],
            wall["many"],
            1.0 / wall["many"],
            Target(at_least=5000.0),
        ),
        pairs_row(
            f"goodarm: ask({AT_ONCE}) and tell_many, rewards per second",
            processor["batches"],
            wall["batches"],
            1.0 / wall["batches"],
            Target(at_least=15_000.0),
        ),
        *long,
    ]


def pairs_row(what: str, processor: float, wall: float, ratio: float | None = None, target: Any = None) -> Row:
    cells = {"what": what, "processor, µs": 1e6 * processor, "wall, µs": 1e6 * wall, "per second": 1.0 / wall}
    return Row(cells, ratio, target)


def measured_in_turns(folder: Path) -> dict[str, list[Cost]]:
    rng = random.Random(1)
    campaign = Campaign.create(f"sqlite:///{folder / 'ours.db'}", "c", [f"arm {i}" for i in range(ARMS)], 0.5)
    for ticket in campaign.ask(ARMS):  # each arm once first, for either
        campaign.tell_arm(ticket.arm, 1.0)
    study, waiting, bare = optuna_study(folder), list[Any](), bare_database(folder)
    contenders = {
        "optuna": lambda: optuna_pairs(study, rng),
        "pairs": lambda: pairs(campaign, rng),
        "step": lambda: steps(campaign, rng),
        "flush": lambda: flushes(bare),
        "many": lambda: many(campaign, rng, waiting),
        "batches": lambda: batches(campaign, rng),
    }
    costs: dict[str, list[Cost]] = {name: [] for name in contenders}
    for repetition in range(REPETITIONS + 1):  # the first one warms up
        for name, work in contenders.items():
            waiting[:] = campaign.ask(REWARDS) if name == "many" else []
            cost = timed(work)
            if repetition:
                costs[name].append(cost)
    campaign.close()
    return costs


def pairs(campaign: Campaign, rng: random.Random) -> int:
    for _ in range(PAIRS):
        (ticket,) = campaign.ask()
        campaign.tell(ticket, float(rng.random() < 0.5))
    return PAIRS


def steps(campaign: Campaign, rng: random.Random) -> int:
    ticket = campaign.ask()[0]
    for _ in range(PAIRS):
        following = campaign.step(ticket, float(rng.random() < 0.5))
        if following is None:
            raise SystemExit("no arm is open any more; the benchmark needs more of them")
        ticket = following
    return PAIRS


def many(campaign: Campaign, rng: random.Random, asked: list[Any]) -> int:
    """Tell what was asked for before the clock was started."""
    told = [(ticket, float(rng.random() < 0.5)) for ticket in asked]
    for start in range(0, len(told), AT_ONCE):
        campaign.tell_many(told[start : start + AT_ONCE])
    return len(told)


def batches(campaign: Campaign, rng: random.Random) -> int:
    for _ in range(REWARDS // AT_ONCE):
        campaign.tell_many([(ticket, float(rng.random() < 0.5)) for ticket in campaign.ask(AT_ONCE)])
    return REWARDS


def bare_database(folder: Path) -> sqlite3.Connection:
    """A table of entries in SQLite, without goodarm."""
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE events (number INTEGER PRIMARY KEY, chain BLOB)")
    return connection


def flushes(connection: sqlite3.Connection) -> int:
    for _ in range(PAIRS):
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO events (chain) VALUES (?)", [(b"0" * 100,)] * 2)
        connection.execute("COMMIT")
    return PAIRS


def optuna_study(folder: Path) -> Any:
    import optuna
    from sqlalchemy import event

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = optuna.storages.RDBStorage(f"sqlite:///{folder / 'theirs.db'}")

    @event.listens_for(storage.engine, "connect")
    def flushed(connection: Any, record: Any) -> None:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")

    storage.engine.dispose()
    return optuna.create_study(storage=storage, sampler=optuna.samplers.RandomSampler(seed=1))


def optuna_pairs(study: Any, rng: random.Random) -> int:
    for _ in range(OPTUNA_PAIRS):
        trial = study.ask()
        trial.suggest_categorical("arm", range(ARMS))
        study.tell(trial, float(rng.random() < 0.5))
    return OPTUNA_PAIRS


def long_journal(folder: Path) -> list[Row]:
    """Opening a campaign of a million told rewards, without a snapshot and with the one that the first ask leaves."""
    address = f"sqlite:///{folder / 'long.db'}"
    names = [f"arm {i}" for i in range(ARMS)]
    Campaign.create(address, "c", names, 0.5, delta=1e-12, policy="uniform+gap-mixture").close()
    with open_store(address) as store:
        number = store.find("c") or 0
        with store.transaction(number):
            for events in told_one_by_one(next(iter(store.read(number)))):
                store.append(number, events)
    opened(address, ask=False)  # the compiled replay comes from the disk cache from now on
    without = timed(lambda: opened(address))
    with_snapshot = timed(lambda: opened(address))
    checked(address)
    check = timed(lambda: checked(address))
    return [
        seconds_row(
            f"opening {LONG:,} told rewards, without a snapshot, processor seconds", *without, Target(at_most=5.0)
        ),
        seconds_row(f"opening {LONG:,} told rewards, with one, processor seconds", *with_snapshot, Target(at_most=3.0)),
        seconds_row(f"checking {LONG:,} told rewards, processor seconds", *check, Target(at_most=30.0)),
    ]


def checked(address: str) -> int:
    with open_store(address) as store:
        result = check_named(store, "c")
    if not result.ok:
        raise SystemExit(result.problem)
    return 1


def told_one_by_one(previous: Event) -> Iterator[list[Event]]:
    """What a campaign writes that asks for every arm in turn and is told 0 or 1 by a coin."""
    rng, events, at = random.Random(2), list[Event](), previous.at
    for ticket in range(1, LONG + 1):
        arm = (ticket - 1) % ARMS
        for kind, reward in ((ASKED, None), (TOLD, float(rng.random() < 0.5))):
            previous = chained(previous.chain, previous.number + 1, kind, at, ticket=ticket, arm=arm, reward=reward)
            events.append(previous)
        if ticket % BATCH == 0:
            yield events
            events = []


if __name__ == "__main__":
    from rich.console import Console

    run().print(Console(file=sys.stdout))
