"""The client's connection: tried again while the server is away or busy; refusals are the library's errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from goodarm.campaign import connection as connections
from goodarm.campaign.connection import Connection, ServerRefused, ServerUnreachable
from goodarm.errors import InvalidValue, UnknownName

pytestmark = pytest.mark.slow


class Script:
    """Answers one after the other; the last one again and again. None breaks the connection off."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, Any] | None] = []
        self.got: list[tuple[str, dict[str, str], Any]] = []
        self.address = ""


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    monkeypatch.setattr(connections, "FIRST_WAIT", 0.001)
    made = Script()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            made.got.append((self.path, dict(self.headers), json.loads(body) if body else None))
            answer = made.answers.pop(0) if len(made.answers) > 1 else made.answers[0]
            if answer is None:
                self.close_connection = True
                return
            content = json.dumps(answer[1]).encode()
            self.send_response(answer[0])
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self) -> None:
            self.answer()

        def do_POST(self) -> None:
            self.answer()

        def log_message(self, *ignored: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        made.address = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield made
        server.shutdown()
        thread.join()


def problem(status: int, kind: str, detail: str = "why") -> tuple[int, Any]:
    return status, {"type": "about:blank", "title": "t", "status": status, "kind": kind, "detail": detail}


def test_a_broken_connection_and_a_busy_server_are_tried_again_with_the_same_key(script: Script) -> None:
    script.answers = [None, problem(429, "busy"), (200, {"tickets": []})]
    connection = Connection(script.address, "secret")
    assert connection.post("/ask", {"n": 1}, key="k1") == {"tickets": []}
    connection.close()
    assert len(script.got) == 3
    assert {headers["Idempotency-Key"] for _, headers, _ in script.got} == {"k1"}
    assert {headers["Authorization"] for _, headers, _ in script.got} == {"Bearer secret"}


def test_one_connection_serves_many_calls(script: Script) -> None:
    script.answers = [(200, {"a": 1})]
    connection = Connection(script.address + "/behind/a/proxy/")
    assert [connection.get("/x") for _ in range(3)] == [{"a": 1}] * 3
    connection.close()
    assert [path for path, *_ in script.got] == ["/behind/a/proxy/x"] * 3


@pytest.mark.parametrize(("kind", "error"), [("InvalidValue", InvalidValue), ("UnknownName", UnknownName),
                                             ("role", ServerRefused), ("Exception", ServerRefused)])  # fmt: skip
def test_a_refusal_is_the_same_error_as_without_a_server_and_is_not_tried_again(
    script: Script, kind: str, error: type[Exception]
) -> None:
    script.answers = [problem(400, kind, "threshold must lie in [0, 1]; got 2.")]
    connection = Connection(script.address)
    with pytest.raises(error, match=r"threshold must lie in \[0, 1\]; got 2\."):
        connection.post("/x")
    connection.close()
    assert len(script.got) == 1


def test_an_answer_of_something_else_is_refused(script: Script) -> None:
    script.answers = [(404, ["a page of another server"])]
    connection = Connection(script.address)
    with pytest.raises(ServerRefused, match="answered 404"):
        connection.get("/x")
    connection.close()


def test_a_server_that_stays_away_is_named(script: Script) -> None:
    script.answers = [None]
    connection = Connection(script.address, attempts=3)
    with pytest.raises(ServerUnreachable, match=r"did not answer GET /x in 3 attempts.*Is it running\?"):
        connection.get("/x")
    connection.close()
    assert len(script.got) == 3


def test_too_many_wrong_tokens_are_a_refusal_at_once(script: Script) -> None:
    script.answers = [problem(429, "token", "Too many wrong tokens from this address. Wait 60 seconds.")]
    connection = Connection(script.address, "wrong")
    with pytest.raises(ServerRefused, match=r"^Too many wrong tokens from this address\. Wait 60 seconds\.$"):
        connection.get("/x")
    connection.close()
    assert len(script.got) == 1


def test_a_server_that_stays_busy_says_so(script: Script) -> None:
    script.answers = [problem(429, "busy", "10 operations are already waiting. Try again in a second.")]
    connection = Connection(script.address, attempts=2)
    with pytest.raises(ServerRefused, match="10 operations are already waiting"):
        connection.get("/x")
    script.answers = [problem(503, "UnusableStore", "the store is away.")]
    with pytest.raises(ServerUnreachable, match=r"in 2 attempts: the store is away\. Is it running\?"):
        connection.get("/x")
    connection.close()


def test_patience_replaces_the_number_of_attempts(script: Script) -> None:
    script.answers = [*[None] * 12, (200, {"a": 1})]
    connection = Connection(script.address, patience="30s", attempts=1)
    assert connection.get("/x") == {"a": 1}
    connection.close()
    with pytest.raises(InvalidValue, match="patience must be a positive time"):
        Connection(script.address, patience=-1)


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidValue, match="looks like http://127"):
        Connection("ftp://example.org")
