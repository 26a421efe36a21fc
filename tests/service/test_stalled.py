"""Clients that do not read, over real sockets: dropped, and never waited for."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import Server, events, is_held, path_of, serving

pytestmark = pytest.mark.slow

ARMS = 10_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(f"sqlite:///{tmp_path_factory.mktemp('stalled')}/a.db", "--stalled-after", "1") as running:
        arms = [{"id": f"arm {i}", "label": f"An arm with a label that is long enough, {i}"} for i in range(ARMS)]
        assert running.call("POST", "/api/v1/campaigns", {"name": "c", "arms": arms, "threshold": 0.5}).status == 201
        yield running


def stalled(server: Server, path: str) -> socket.socket:
    """Somebody who asks for a lot and reads nothing."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.connect((server.host, server.port))
    made.sendall(f"GET {path} HTTP/1.1\r\nHost: {server.host}:{server.port}\r\n\r\n".encode())
    return made


@pytest.mark.parametrize("rest", ["/events", "/arms"])
def test_who_does_not_read_is_hung_up_on_and_nobody_waits_for_them(server: Server, rest: str) -> None:
    clients = [stalled(server, path_of("c", rest)) for _ in range(5)]
    connection, response = server.stream(path_of("c", "/events"))
    reader = events(response)
    assert len(json.loads(next(reader)["data"])["arms"]) == ARMS
    deadline = time.monotonic() + 300.0
    held, turns = True, 0
    while held or turns < 3:
        assert server.call("POST", path_of("c", "/ask"), {"n": 1}).status == 200
        assert json.loads(next(reader)["data"])["arms"]
        held, turns = any(is_held(server, client) for client in clients), turns + 1
        assert time.monotonic() < deadline, "a client that does not read is still held"
    assert is_held(server, connection.sock), "one that reads was dropped too"
    connection.close()
    for client in clients:
        client.close()


def test_a_server_stops_although_somebody_does_not_read(tmp_path: Path) -> None:
    with serving(f"sqlite:///{tmp_path}/a.db") as server:
        arms = [f"an arm with a name that is long enough {i}" for i in range(ARMS)]
        assert server.call("POST", "/api/v1/campaigns", {"name": "c", "arms": arms, "threshold": 0.5}).status == 201
        client = stalled(server, path_of("c", "/events"))
        while not is_held(server, client):
            time.sleep(0.05)
        assert server.stop() == 0
        client.close()


@pytest.mark.parametrize("begun", [
    b"", b"G", b"GET /healthz HTTP/1.1\r\n", b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{",
])  # fmt: skip
def test_who_does_not_finish_a_request_is_hung_up_on(server: Server, begun: bytes) -> None:
    with socket.create_connection((server.host, server.port), timeout=300.0) as client:
        client.sendall(begun)
        with contextlib.suppress(ConnectionResetError):
            while client.recv(4096):
                """At most the answer to a request that was whole."""
        assert not is_held(server, client)


def test_a_head_that_comes_letter_by_letter_is_hung_up_on(server: Server) -> None:
    with socket.create_connection((server.host, server.port)) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nX: ")
        deadline = time.monotonic() + 300.0
        while is_held(server, client):
            with contextlib.suppress(OSError):
                client.sendall(b"x")
            assert time.monotonic() < deadline, "a request that never ends is still held"
            time.sleep(0.1)
