"""The service under load: 4 workers, 32 clients, ask and tell over HTTP, on SQLite and on PostgreSQL.

Every client keeps a book of what was acknowledged; in the end the journal must agree with all books, entry by entry.
Every 10,000 operations a worker is killed with -9; at every third of these moments PostgreSQL is stopped as well, as
by a power cut, and started again.
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

from servers import PostgresqlServer, postgresql  # noqa: E402
from serving import Server, path_of, serving  # noqa: E402

WORKERS, CLIENTS = 4, 32
OPERATIONS = int(os.environ.get("GOODARM_BENCH_OPERATIONS", "100000"))
STORES = os.environ.get("GOODARM_BENCH_STORES", "SQLite PostgreSQL").split()
SECONDS = float(os.environ.get("GOODARM_BENCH_SECONDS", "900"))
"""A benchmark ends by itself."""
KILL_EVERY = int(os.environ.get("GOODARM_BENCH_KILL_EVERY", "10000"))
"""Number of operations between two kills."""
STOP_EVERY = 3
"""Number of kills between two stops of the database."""
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


def load(store: str, label: str, database: PostgresqlServer | None = None) -> dict[str, Any]:
    """One store under load, with kills."""
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
        kills, stops = _disturb(server, database, books)
        found = [books.get() for _ in clients]
        seconds = time.perf_counter() - began
        for process in clients:
            process.join()
        wrong = differences(server, found)
        checked = _read(server, "/check")["ok"]
    return _row(label, found, seconds, wrong, checked) | {"workers killed": kills, "database stopped": stops}


def _disturb(server: Server, database: PostgresqlServer | None, books: Any) -> tuple[int, int]:
    """Kill workers at regular numbers of operations until the first client is done; numbers of kills and stops."""
    kills = stops = 0
    while books.empty():
        time.sleep(0.2)
        workers = server.workers()
        if len(workers) < WORKERS or _operations(server) < KILL_EVERY * (kills + 1):
            continue
        os.kill(workers[kills % WORKERS], signal.SIGKILL)
        kills += 1
        if database is not None and kills % STOP_EVERY == 0:
            database.stop("immediate")
            database.start()
            stops += 1
    return kills, stops


def _operations(server: Server) -> int:
    """Number of operations in the journal; 0 while the server can't say."""
    try:
        answer = server.call("GET", path_of(NAME))
    except (OSError, HTTPException):
        return 0
    return int(answer.json["asked"] + answer.json["told"]) if answer.status == 200 else 0


def _read(server: Server, rest: str) -> Any:
    """An answer of the server. After a stop of the database, the first answer of each worker is 503."""
    for _ in range(10 * WORKERS):
        answer = server.call("GET", path_of(NAME, rest))
        if answer.status == 200:
            return answer.json
        assert answer.status == 503, answer
        time.sleep(0.2)
    raise AssertionError(f"no answer but 503 to {rest}")


def differences(server: Server, books: list[Book]) -> int:
    """Entries on which the journal and the clients' books differ: lost, doubled or changed."""
    asked: Counter[str] = Counter()
    told: Counter[tuple[str, float]] = Counter()
    after: int | None = 0
    while after is not None:
        piece = _read(server, f"/history?after={after}&limit=10000")
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


def _row(label: str, books: list[Book], seconds: float, wrong: int, checked: bool) -> dict[str, Any]:
    times = sorted(value for book in books for value in book.milliseconds)
    pairs = sum(len(book.told) for book in books)
    faults = Counter(status for book in books for status in book.faults)
    return {
        "store": label, "operations": 2 * pairs, "seconds": round(seconds, 1),
        "pairs per second": round(pairs / seconds), "p50 ms": round(statistics.median(times), 1),
        "p99 ms": round(times[int(0.99 * (len(times) - 1))], 1), "lost or doubled": wrong,
        "answers 503": faults.pop(503, 0), "other errors": sum(faults.values()),
        "broken connections": sum(book.broken for book in books), "journal checks": "yes" if checked else "NO",
    }  # fmt: skip


@contextmanager
def database_server() -> Iterator[PostgresqlServer | None]:
    """A PostgreSQL server of our own; None, with the reason on stderr, where there is none."""
    with ExitStack() as stack:
        try:
            server = stack.enter_context(postgresql())
        except BaseException as error:  # the tests' way to say that something is missing
            if type(error).__name__ != "Skipped":
                raise
            print(f"not measured: {error}", file=sys.stderr)
            yield None
            return
        yield server


@contextmanager
def database() -> Iterator[str | None]:
    """An empty database of such a server."""
    with database_server() as server:
        yield None if server is None else server.new_database("load")


def run() -> Section:
    """The table of the load."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="goodarm-bench-") as name:
        folder = Path(name)
        if "SQLite" in STORES:
            rows.append(load(f"sqlite:///{folder}/load.db", f"SQLite, {WORKERS} workers, {CLIENTS} clients"))
        if "PostgreSQL" in STORES:
            with database_server() as server:
                if server is not None:
                    label = f"PostgreSQL, {WORKERS} workers, {CLIENTS} clients"
                    rows.append(load(server.new_database("load"), label, server))
    return Section(
        "service", f"ask and tell over HTTP, {ARMS:,} arms; a worker is killed every {KILL_EVERY:,} operations", "",
        [Row(row) for row in rows],
        ["An operation is an ask or a tell. Clients and server share this machine. The broken connections are those of "
         "the killed workers; their clients sent the same requests again, and so did those that were answered 503."],
    )  # fmt: skip
