"""Steps per second over HTTP: 2 workers, 16 clients that tell and ask in one request, on SQLite and on PostgreSQL.

GOODARM_BENCH_AGAINST names the Python of another checkout's environment. Both are then measured in turns, so that what
else the machine does meets both.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import socket
import statistics
import sys
import tempfile
import time
from typing import Any

from benchmarks.section import Row, Section
from benchmarks.service import database

import serving as servers  # isort: skip  # in the tests' folder, which the line before makes known
from serving import path_of, serving  # isort: skip

WORKERS, CLIENTS, ARMS = 2, 16, 1000
STEPS = int(os.environ.get("GOODARM_BENCH_STEPS", "20000"))
TURNS = int(os.environ.get("GOODARM_BENCH_TURNS", "3"))
NAME = "steps"
LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)


def client(host: str, port: int, number: int, steps: int, results: Any) -> None:
    """Tell and ask on one connection. Milliseconds of each step.

    It writes and reads HTTP itself: the standard library's client would use about as much processor time as the server.
    """
    connection = socket.create_connection((host, port), timeout=60)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    times: list[float] = []

    def call(rest: str, body: dict[str, Any], key: str) -> Any:
        began = time.perf_counter()
        content = json.dumps(body)
        connection.sendall(
            f"POST {path_of(NAME, rest)} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
            f"Idempotency-Key: {key}\r\nContent-Length: {len(content)}\r\n\r\n{content}".encode()
        )
        status, answer = _answer(connection)
        assert status == 200, answer
        times.append(1e3 * (time.perf_counter() - began))
        return json.loads(answer)

    (ticket,) = call("/ask", {"n": 1}, f"{number}")["tickets"]
    times.clear()
    for i in range(steps):
        told = {"ticket": ticket["ticket"], "reward": float((number + i) % 3 == 0)}
        ticket = call("/step", told, f"{number}-{i}")["ticket"]
    connection.close()
    results.put(times)


def _answer(connection: socket.socket) -> tuple[int, bytes]:
    """Status and body of one answer, which has a Content-Length."""
    read = b""
    while b"\r\n\r\n" not in read:
        read += _more(connection)
    head, _, body = read.partition(b"\r\n\r\n")
    found = LENGTH.search(head)
    assert found is not None, head
    while len(body) < int(found[1]):
        body += _more(connection)
    return int(head.split(b" ", 2)[1]), body


def _more(connection: socket.socket) -> bytes:
    piece = connection.recv(65_536)
    assert piece, "the server closed the connection"
    return piece


def play(store: str, python: str) -> tuple[float, list[float]]:
    """Steps per second, and the milliseconds of all steps."""
    servers.COMMAND = (python, *servers.COMMAND[1:])
    with serving(store, "--workers", str(WORKERS)) as server:
        terms = {"name": NAME, "arms": [f"arm {i}" for i in range(ARMS)], "threshold": 0.33}
        assert server.call("POST", "/api/v1/campaigns", terms).status == 201
        each = -(-STEPS // CLIENTS)
        _round(server.host, server.port, 300, "warm")  # long enough for the rules to be compiled
        began = time.perf_counter()
        times = _round(server.host, server.port, each, "")
        return CLIENTS * each / (time.perf_counter() - began), times


def _round(host: str, port: int, each: int, prefix: str) -> list[float]:
    context = multiprocessing.get_context("fork")
    results: Any = context.Queue()
    first = 10_000 if prefix else 0
    processes = [
        context.Process(target=client, args=(host, port, first + i, each, results), daemon=True) for i in range(CLIENTS)
    ]
    for process in processes:
        process.start()
    found = [results.get(timeout=3600) for _ in processes]
    for process in processes:
        process.join()
    return [value for times in found for value in times]


def run() -> Section:
    """The table: one row per store and version."""
    pythons = {"this version": sys.executable}
    if other := os.environ.get("GOODARM_BENCH_AGAINST"):
        pythons["the other"] = other
    rows = []
    with tempfile.TemporaryDirectory(prefix="goodarm-bench-") as folder, database() as address:
        stores = {"SQLite": lambda i: f"sqlite:///{folder}/{i}.db"}
        if address is not None:
            stores["PostgreSQL"] = lambda i: address.replace("/load?", f"/{_new(address, i)}?")
        for label, place in stores.items():
            speeds: dict[str, list[float]] = {name: [] for name in pythons}
            times: dict[str, list[float]] = {name: [] for name in pythons}
            for turn in range(TURNS):
                for name, python in pythons.items():
                    speed, found = play(place(f"{name.split()[-1]}{turn}"), python)
                    speeds[name].append(speed)
                    times[name] += found
            rows += [_row(label, name, speeds, sorted(times[name])) for name in pythons]
    about = f"steps over HTTP, {ARMS:,} arms, {WORKERS} workers, {CLIENTS} clients, {STEPS:,} steps, {TURNS} turns"
    return Section("steps", about, "", rows, ["Clients and server share this machine. Every step has a key."])


def _row(store: str, name: str, speeds: dict[str, list[float]], times: list[float]) -> Row:
    median = statistics.median(speeds[name])
    cells = {
        "store": store, "version": name, "steps per second": round(median), "slowest turn": round(min(speeds[name])),
        "p50 ms": round(statistics.median(times), 1), "p99 ms": round(times[int(0.99 * (len(times) - 1))], 1),
    }  # fmt: skip
    if "the other" in speeds:
        cells["times the other"] = round(median / statistics.median(speeds["the other"]), 2)
    return Row(cells)


def _new(address: str, name: str) -> str:
    """A new database on the same server."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"create database {name}")  # type: ignore[arg-type]  # a name of our own
    return name
