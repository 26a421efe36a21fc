"""The service under load: 4 workers, 32 clients, ask and tell over HTTP, on SQLite and on PostgreSQL.

Every client keeps a book of what was acknowledged; in the end the journal must agree with all books, entry by entry.
In the middle one worker is killed with -9.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from benchmarks.section import Row, Section

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "service")]

from serving import Server, path_of, serving  # noqa: E402

WORKERS, CLIENTS = 4, 32
OPERATIONS = int(os.environ.get("GOODARM_BENCH_OPERATIONS", "100000"))
SECONDS = float(os.environ.get("GOODARM_BENCH_SECONDS", "900"))
"""A benchmark ends by itself."""
ARMS = 1000
NAME = "load"


@dataclass
class Book:
    """What one client saw acknowledged."""

    asked: list[str]
    told: dict[str, float]
    milliseconds: list[float]
    faults: list[int]
    broken: int


def client(host: str, port: int, number: int, operations: int, until: float, books: Any) -> None:
    """Ask, tell, ask, tell; a broken connection is opened again and the same request sent again, with its key."""
    book = Book([], {}, [], [], 0)
    connection = HTTPConnection(host, port, timeout=60)

    def call(rest: str, body: dict[str, Any], key: str = "") -> Any:
        nonlocal connection
        headers = {"Content-Type": "application/json"} | ({"Idempotency-Key": key} if key else {})
        while True:
            began = time.perf_counter()
            try:
                connection.request("POST", path_of(NAME, rest), json.dumps(body), headers)
                answer = connection.getresponse()
                content = answer.read()
            except (OSError, HTTPException):
                book.broken += 1
                connection.close()
                connection = HTTPConnection(host, port, timeout=60)
                time.sleep(0.05)
                continue
            book.milliseconds.append(1e3 * (time.perf_counter() - began))
            if answer.status == 200:
                return json.loads(content)
            book.faults.append(answer.status)
            time.sleep(0.05)

    for i in range(-(-operations // 2)):
        if time.time() > until:
            break
        for ticket in call("/ask", {"n": 1}, f"{number}-{i}")["tickets"]:
            book.asked.append(ticket["ticket"])
            reward = float((number + i) % 3 == 0)
            call("/tell", {"ticket": ticket["ticket"], "reward": reward})
            book.told[ticket["ticket"]] = reward
    connection.close()
    books.put(book)


def load(store: str, label: str) -> Row:
    """One store under load; a worker is killed in the middle."""
    with serving(store, "--workers", str(WORKERS)) as server:
        terms = {"name": NAME, "arms": [f"arm {i}" for i in range(ARMS)], "threshold": 0.33}
        assert server.call("POST", "/api/v1/campaigns", terms).status == 201
        context = multiprocessing.get_context("fork")
        books: Any = context.Queue()
        until, each = time.time() + SECONDS, -(-OPERATIONS // CLIENTS)
        arguments = ((server.host, server.port, i, each, until, books) for i in range(CLIENTS))
        clients = [context.Process(target=client, args=given, daemon=True) for given in arguments]
        began = time.perf_counter()
        for process in clients:
            process.start()
        _kill_one(server, until)
        found = [books.get() for _ in clients]
        seconds = time.perf_counter() - began
        for process in clients:
            process.join()
        wrong = differences(server, found)
        checked = server.call("GET", path_of(NAME, "/check")).json["ok"]
    return _row(label, found, seconds, wrong, checked)


def _kill_one(server: Server, until: float) -> None:
    """Half-way, as the journal sees it."""
    while time.time() < until:
        time.sleep(0.5)
        if server.call("GET", path_of(NAME)).json["told"] * 4 >= OPERATIONS:
            os.kill(server.workers()[0], signal.SIGKILL)
            return


def differences(server: Server, books: list[Book]) -> int:
    """Entries on which the journal and the clients' books differ: lost, doubled or changed."""
    asked: Counter[str] = Counter()
    told: Counter[tuple[str, float]] = Counter()
    after: int | None = 0
    while after is not None:
        piece = server.call("GET", path_of(NAME, f"/history?after={after}&limit=10000")).json
        for event in piece["events"]:
            if event["kind"] == "asked":
                asked[event["ticket"]] += 1
            elif event["kind"] == "told":
                told[event["ticket"], event["reward"]] += 1
        after = piece["next"]
    books_asked = Counter(ticket for book in books for ticket in book.asked)
    books_told = Counter(pair for book in books for pair in book.told.items())
    both = ((asked, books_asked), (told, books_told))
    return sum(sum(((a - b) + (b - a)).values()) for a, b in both)


def _row(label: str, books: list[Book], seconds: float, wrong: int, checked: bool) -> Row:
    times = sorted(value for book in books for value in book.milliseconds)
    pairs = sum(len(book.told) for book in books)
    return Row(
        {
            "store": label, "operations": len(times), "seconds": round(seconds, 1),
            "pairs per second": round(pairs / seconds), "p50 ms": round(statistics.median(times), 1),
            "p99 ms": round(times[int(0.99 * (len(times) - 1))], 1), "lost or doubled": wrong,
            "answers of 500 and more": sum(status >= 500 for book in books for status in book.faults),
            "broken connections": sum(book.broken for book in books), "journal checks": "yes" if checked else "NO",
        }
    )  # fmt: skip


@contextmanager
def database() -> Iterator[str | None]:
    """A PostgreSQL server of our own; None, with the reason on stderr, where there is none."""
    from servers import postgresql

    with ExitStack() as stack:
        try:
            server = stack.enter_context(postgresql())
        except BaseException as error:  # the tests' way to say that something is missing
            if type(error).__name__ != "Skipped":
                raise
            print(f"not measured: {error}", file=sys.stderr)
            yield None
            return
        yield server.new_database("load")


def run() -> Section:
    """The table of the load."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="goodarm-bench-") as name:
        folder = Path(name)
        rows.append(load(f"sqlite:///{folder}/load.db", f"SQLite, {WORKERS} workers, {CLIENTS} clients"))
        with database() as address:
            if address is not None:
                rows.append(load(address, f"PostgreSQL, {WORKERS} workers, {CLIENTS} clients"))
    return Section(
        "service", f"ask and tell over HTTP, {ARMS:,} arms; one worker is killed with -9 half-way", "", rows,
        ["An operation is an ask or a tell. Clients and server share this machine. The broken connections are those of "
         "the killed worker; its clients sent the same requests again."],
    )  # fmt: skip
