"""Limits that apply before a client is known, over real sockets: heads, trailers, bodies and connections."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from socket import create_connection, socket
from typing import Any

import pytest

from goodarm.service.app import make
from goodarm.service.protocol import HEAD_BYTES, MOST_AHEAD, MOST_LINGERING, PIECE, Protocol
from goodarm.service.settings import Settings

KILOBYTE = b"X-Long: " + 1014 * b"x" + b"\r\n"
assert len(KILOBYTE) == 1024
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = (
    b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
)


@contextmanager
def listening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Iterator[int]:
    """uvicorn with our protocol in a thread of this process; the port."""
    from uvicorn import Config, Server

    settings = replace(Settings(f"sqlite:///{tmp_path}/a.db"), **options)
    monkeypatch.setenv("GOODARM_SERVICE", "")
    settings.to_environment()
    config = Config(make(settings), port=0, log_level="error", http="goodarm.service.protocol:Protocol", ws="none")
    server = Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()), name="goodarm-test-server")
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            thread.join(0.02)
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(60.0)


@pytest.fixture
def port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    with listening(tmp_path, monkeypatch) as found:
        yield found


def status(client: socket, pieces: Sequence[bytes]) -> int:
    """The status of the answer to what is sent; 0 if the server disconnects without one."""
    with suppress(OSError):
        for piece in pieces:
            client.sendall(piece)
    with suppress(OSError):
        line = client.makefile("rb").readline().split()
        return int(line[1]) if line else 0
    return 0


def answer_to(port: int, *pieces: bytes) -> int:
    with closing(create_connection(("127.0.0.1", port), timeout=60.0)) as client:
        return status(client, pieces)


def test_a_head_may_have_64_kilobytes_and_no_more(port: int) -> None:
    room = HEAD_BYTES // 1024 - 1
    assert answer_to(port, GET + room * KILOBYTE + b"\r\n") == 200
    assert answer_to(port, GET + (room + 2) * KILOBYTE + b"\r\n") == 431
    assert answer_to(port, GET, *(KILOBYTE for _ in range(1000))) == 431


def test_one_endless_header_and_an_endless_address_are_refused(port: int) -> None:
    assert answer_to(port, GET + b"X: ", *(64 * b"x" for _ in range(3000))) == 431
    assert answer_to(port, b"GET /", *(1024 * b"x" for _ in range(100))) == 431


def test_trailers_have_the_same_limit_as_heads(port: int) -> None:
    body = b"2\r\n{}\r\n0\r\n"
    assert answer_to(port, CHUNKED + body + KILOBYTE + b"\r\n") == 422
    assert answer_to(port, CHUNKED + body, *(KILOBYTE for _ in range(1000))) == 431


def test_a_long_body_in_small_chunks_is_neither_head_nor_trailers(port: int) -> None:
    letters = 20_000 * b"1\r\n \r\n"
    assert len(letters) > HEAD_BYTES
    request = CHUNKED.replace(b"/login", b"/api/v1/campaigns")  # a login has a shorter body
    assert answer_to(port, request + letters + b"2\r\n{}\r\n0\r\n\r\n") == 422


def test_the_refusal_of_a_head_says_what_to_do(port: int) -> None:
    with closing(create_connection(("127.0.0.1", port), timeout=60.0)) as client:
        client.sendall(GET + 100 * KILOBYTE)
        head, _, body = client.makefile("rb").read().partition(b"\r\n\r\n")
    assert b"application/problem+json" in head
    assert "65,536 bytes" in json.loads(body)["detail"]


@pytest.mark.slow
def test_a_body_that_grows_but_never_ends_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        listening(tmp_path, monkeypatch, body_seconds=0.2) as port,
        closing(create_connection(("127.0.0.1", port), timeout=60.0)) as client,
    ):
        client.settimeout(0.02)
        client.sendall(CHUNKED)
        while True:
            try:
                got = client.recv(4096)
                break
            except TimeoutError:
                client.sendall(b"1\r\n \r\n")
    assert b" 408 " in got


def test_one_connection_too_many_is_told_to_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(tmp_path, monkeypatch, most_connections=2) as port:
        with (
            closing(create_connection(("127.0.0.1", port), timeout=60.0)) as first,
            closing(create_connection(("127.0.0.1", port), timeout=60.0)) as second,
        ):
            assert status(first, [GET + b"\r\n"]) == 200
            assert status(second, [GET + b"\r\n"]) == 200
            assert answer_to(port, GET + b"\r\n") == 503
        while (found := answer_to(port, GET + b"\r\n")) == 503:
            """Until the server has noticed that the first two are gone."""
        assert found == 200


def test_clients_far_beyond_the_limit_are_disconnected_without_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as opened, listening(tmp_path, monkeypatch, most_connections=0) as port:
        for _ in range(MOST_LINGERING):  # each is refused and may send for a while
            client = opened.enter_context(closing(create_connection(("127.0.0.1", port), timeout=60.0)))
            assert b" 503 " in client.makefile("rb").readline()
        assert answer_to(port, GET + b"\r\n") == 0


def test_one_address_can_not_take_every_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trusted proxy can: it connects for many others."""
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "127.0.0.1")
    with ExitStack() as opened, listening(tmp_path, monkeypatch, most_per_address=2) as port:

        def status_from(address: str) -> int:
            client = create_connection(("127.0.0.1", port), timeout=60.0, source_address=(address, 0))
            return status(opened.enter_context(closing(client)), [GET + b"\r\n"])

        assert [status_from("127.0.0.2") for _ in range(3)] == [200, 200, 503]
        assert [status_from("127.0.0.3") for _ in range(2)] == [200, 200]
        assert [status_from("127.0.0.1") for _ in range(5)] == [200] * 5


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of requests that were waiting in a connection, noted at each new one."""
    noted: list[int] = []
    original = Protocol.on_headers_complete

    def noting(self: Any) -> None:
        original(self)
        noted.append(len(self.pipeline))

    monkeypatch.setattr(Protocol, "on_headers_complete", noting)
    return noted


@pytest.mark.parametrize("requests", [MOST_AHEAD + 1, 10_000])
def test_requests_sent_ahead_of_the_answers_are_few_or_the_client_is_disconnected(
    port: int, waiting: list[int], requests: int
) -> None:
    get, answers, got = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", b"", b" "
    with closing(create_connection(("127.0.0.1", port), timeout=60.0)) as client, suppress(ConnectionError):
        client.sendall(requests * get)
        while got and answers.count(b"HTTP/1.1 200") < requests:
            answers += (got := client.recv(65_536))
    assert (answers.count(b"HTTP/1.1 200") == requests) == (requests <= MOST_AHEAD + 1)
    assert 0 < max(waiting) <= MOST_AHEAD
    assert answer_to(port, GET + b"\r\n") == 200


def test_a_body_sent_ahead_of_an_answer_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer to the first request is a stream, which never ends. The server stops reading, or disconnects."""
    kept = [0]
    original = Protocol.on_body

    def noting(self: Any, body: bytes) -> None:
        original(self, body)
        kept.append(sum(len(cycle.body) for cycle, _ in self.pipeline))

    monkeypatch.setattr(Protocol, "on_body", noting)
    body = b'{"name": "c", "arms": ["calm"], "threshold": 0.5}'
    create = b"POST /api/v1/campaigns HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with listening(tmp_path, monkeypatch, body_seconds=1e6, stalled_after=1e6) as port:
        assert answer_to(port, create + b"Content-Length: %d\r\n\r\n" % len(body) + body) == 201
        with closing(create_connection(("127.0.0.1", port), timeout=60.0)) as client:
            client.sendall(b"GET /api/v1/campaigns/c/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b" 200 " in client.recv(1024)
            client.settimeout(3.0)
            with pytest.raises(OSError, match=r"timed out|reset|pipe"):
                client.sendall(create + b"Content-Length: 80000000\r\n\r\n" + 80_000_000 * b" ")
    assert max(kept) <= HEAD_BYTES + PIECE


def test_trailers_are_not_headers(port: int) -> None:
    """A trailer that arrived in time was seen by the checks of the request: `Via` was refused as a proxy's."""
    body = b"2\r\n{}\r\n0\r\nVia: x\r\nX-Forwarded-For: 203.0.113.7\r\n\r\n"
    assert answer_to(port, CHUNKED + body) == 422
