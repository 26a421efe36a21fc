"""How long a server takes to stop: from SIGTERM until no process of it is left, while clients hold streams open."""

from __future__ import annotations

import os
import signal
import socket
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.section import Row, Section, Target

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "service")]

from serving import Server, is_held, path_of, serving  # noqa: E402

STOPS = int(os.environ.get("GOODARM_BENCH_STOPS", "7"))
MOST_SECONDS = 3.0
WORKERS, STREAMS = 4, 32
LOOKS = 0.01
"""Seconds between two looks at whether a process is still there."""


def run() -> Section:
    """The table."""
    plain = [_row("1 worker, no clients", 1, 0, False), _row(f"1 worker, {STREAMS} open streams", 1, STREAMS, False)]
    several = f"{WORKERS} workers, {STREAMS} open streams"
    rows = [
        *plain,
        _row(several, WORKERS, STREAMS, False),
        _row(f"{several}, a body that never ends", WORKERS, STREAMS, True),
    ]
    return Section(
        "stopping", "from SIGTERM until the last process is gone and the port is free", "slowest seconds", rows,
        ["The clients do not close their streams. A request whose body never ends gets two seconds like any other; the "
         "target does not apply to it."],
    )  # fmt: skip


def _row(what: str, workers: int, streams: int, unfinished: bool) -> Row:
    seconds = [_stop(workers, streams, unfinished) for _ in range(STOPS)]
    cells = {"server": what, "stops": STOPS, "median seconds": round(statistics.median(seconds), 2)}
    return Row(cells, max(seconds), None if unfinished else Target(at_most=MOST_SECONDS))


def _stop(workers: int, streams: int, unfinished: bool) -> float:
    with (
        tempfile.TemporaryDirectory(prefix="goodarm-bench-") as folder,
        serving(f"sqlite:///{folder}/a.db", "--workers", str(workers)) as server,
    ):
        terms = {"name": "c", "arms": [f"arm {i}" for i in range(100)], "threshold": 0.5}
        assert server.call("POST", "/api/v1/campaigns", terms).status == 201
        opened = [server.stream(path_of("c", "/events")) for _ in range(streams)]
        for _, response in opened:
            assert response.readline()
        held = [_unfinished(server)] if unfinished else []
        seconds = _until_gone(server)
        for connection, _ in opened:
            connection.close()
        for client in held:
            client.close()
    return seconds


def _unfinished(server: Server) -> socket.socket:
    made = socket.create_connection((server.host, server.port))
    head = f"POST {path_of('c', '/ask')} HTTP/1.1\r\nHost: {server.host}:{server.port}\r\nContent-Length: 9\r\n\r\n{{"
    made.sendall(head.encode())
    while not is_held(server, made):
        time.sleep(LOOKS)
    return made


def _until_gone(server: Server) -> float:
    processes = server.workers()
    began = time.perf_counter()
    server.process.send_signal(signal.SIGTERM)
    server.process.wait(60)
    while any(Path(f"/proc/{each}").exists() for each in processes):
        time.sleep(LOOKS)
    seconds = time.perf_counter() - began
    with socket.create_server((server.host, server.port)):
        return seconds
