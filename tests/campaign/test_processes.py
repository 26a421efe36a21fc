"""Several processes on one campaign, killed at any moment: nothing acknowledged is lost, nothing counts twice."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections import Counter
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
import workers
from servers import PostgresqlServer

from goodarm import Campaign

pytestmark = pytest.mark.slow

WORKERS = 4
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["goodarm.campaign", "goodarm.campaign.stores.sqlite", "psycopg"])


def begin(address: str, folder: Path, seed: int, pairs: int = 10_000, batch: int = 1) -> BaseProcess:
    process = CONTEXT.Process(
        target=workers.ask_and_tell, args=(address, str(folder / f"book-{seed}"), seed, pairs, batch), daemon=True
    )
    process.start()
    return process


def compare_books(address: str, folder: Path) -> int:
    """What the processes wrote down against the journal; returns how many tells were acknowledged."""
    asked, told = {}, {}
    for book in folder.glob("book-*"):
        for line in book.read_text().splitlines():
            what, ticket, value = line.split(" ", 2)
            mine = asked if what == "asked" else told
            assert mine.setdefault(ticket, value) == value
    with Campaign.open(address, "c") as campaign:
        entries = list(campaign.history())
        assert campaign.check().ok
    in_journal = {entry["ticket"]: entry for entry in entries if entry["kind"] == "told"}
    endings = Counter(entry["ticket"] for entry in entries if entry["kind"] == "told")
    arms = {entry["ticket"]: entry["arm"] for entry in entries if entry["kind"] == "asked"}
    assert set(endings.values()) <= {1}
    assert {ticket: arms.get(ticket) for ticket in asked} == asked
    assert {ticket: str(in_journal[ticket]["reward"]) for ticket in told} == told
    return len(told)


def wait_for(path: Path, lines: int, seconds: float = 120.0) -> None:
    """Wait until a book has this many lines; a process that never gets there fails the test."""
    until = time.monotonic() + seconds
    while not path.exists() or path.read_text().count("\n") < lines:
        assert time.monotonic() < until, f"{path.name} did not get {lines} lines"
        time.sleep(0.01)


def test_four_processes_share_a_campaign(durable: str, tmp_path: Path) -> None:
    Campaign.create(durable, "c", [f"arm {i}" for i in range(5)], 0.5, delta=1e-9).close()
    processes = [begin(durable, tmp_path, seed, pairs=20, batch=3) for seed in range(WORKERS)]
    for process in processes:
        process.join(300)
        assert process.exitcode == 0
    assert compare_books(durable, tmp_path) == WORKERS * 60


def test_killed_at_any_moment_nothing_is_lost_and_nothing_doubled(durable: str, tmp_path: Path) -> None:
    Campaign.create(durable, "c", [f"arm {i}" for i in range(5)], 0.5, delta=1e-9).close()
    rng = random.Random(7)
    steady = begin(durable, tmp_path, 0, pairs=10_000_000)  # until it is killed
    for seed in range(1, 9):
        victim = begin(durable, tmp_path, seed, batch=rng.choice([1, 4]))
        wait_for(tmp_path / f"book-{seed}", rng.randrange(1, 30))
        time.sleep(rng.random() * 0.02)
        assert victim.pid is not None
        os.kill(victim.pid, signal.SIGKILL)
        victim.join()
    done = (tmp_path / "book-0").read_text().count("\n")
    wait_for(tmp_path / "book-0", done + 4)  # the survivor goes on
    assert steady.pid is not None
    os.kill(steady.pid, signal.SIGKILL)
    steady.join()
    assert compare_books(durable, tmp_path) > 30


def test_whatever_is_done_when_it_is_killed(durable: str, tmp_path: Path) -> None:
    """Steps, blocks, keys, snapshots, export and import: each acknowledged one is there, once."""
    with Campaign.create(durable, "c", [f"arm {i}" for i in range(3)], 0.5, delta=1e-9) as campaign:
        rng = random.Random(11)
        for seed in range(6):
            book = tmp_path / f"book-{seed}"
            victim = CONTEXT.Process(target=workers.everything, args=(durable, str(book), seed), daemon=True)
            victim.start()
            wait_for(book, rng.randrange(1, 20))
            time.sleep(rng.random() * 0.02)
            assert victim.pid is not None
            os.kill(victim.pid, signal.SIGKILL)
            victim.join()
        assert campaign.check().ok
        assert campaign.store.snapshot(campaign.store.find("c") or 0) is not None
        found = Counter(what for entry in campaign.history() for what in left_behind(entry))
        names, number = campaign.store.names(), campaign.number
    lines = [line for book in tmp_path.glob("book-?") for line in book.read_text().splitlines()]
    missing = [line for line in lines if not line.startswith("copy") and found[line] != 1]
    assert (missing, set(found.values())) == ([], {1})
    copies = dict(line.removeprefix("copy ").split(" ") for line in lines if line.startswith("copy"))
    assert {f"copy {key}" for key in copies} <= set(names)
    for name in names:
        with Campaign.open(durable, name) as copy:
            entries = int(copies.get(name.removeprefix("copy "), copy.number))
            assert (copy.number, copy.check().ok) == (entries, True)
    with Campaign.open(durable, "c") as again:
        assert again.number == number


def left_behind(entry: dict[str, Any]) -> list[str]:
    """An entry in the words of the workers' books."""
    content = entry.get("content", {})
    if entry["kind"] == "told":
        return [f"told {entry['ticket']} {entry['reward']}"]
    if entry["kind"] == "request" and content.get("for") == "tell_arm":
        return [f"given {content['key']} {content['reward']}"]
    if entry["kind"] == "part":
        return [f"part {entry['ticket']}/{arm} {told}" for arm, (told, _) in content["arms"].items()]
    return []


def test_the_server_itself_is_killed(server: PostgresqlServer, tmp_path: Path) -> None:
    address = server.new_database("killed")
    Campaign.create(address, "c", [f"arm {i}" for i in range(5)], 0.5, delta=1e-9).close()
    processes = [begin(address, tmp_path, seed, pairs=60) for seed in range(2)]
    for lines in (10, 40):
        for seed in range(2):
            wait_for(tmp_path / f"book-{seed}", lines)
        server.kill()
        server.start()
    for process in processes:
        process.join(300)
        assert process.exitcode == 0
    assert compare_books(address, tmp_path) == 120


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # JAX, where an earlier test has loaded it, warns of every fork
def test_a_hold_survives_a_fork(tmp_path: Path) -> None:
    """A store that came through a fork opens its own connection: the parent's stays untouched."""
    address = f"sqlite:///{tmp_path / 'store.db'}"
    with Campaign.create(address, "c", ["a", "b"], 0.5) as campaign:
        (first,) = campaign.ask()
        child = os.fork()
        if child == 0:
            try:
                campaign.ask()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        campaign.tell(first, 1.0)
        tally = campaign.tally()
        assert (tally.told, tally.pending) == (1, 1)
        assert campaign.check().ok
