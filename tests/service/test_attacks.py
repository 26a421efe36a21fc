"""What somebody may try who means no good: headers that are none, revoked rights, a store that goes away."""

from __future__ import annotations

import json
import resource
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from servers import postgresql
from serving import Server, events, make_token, path_of, revoke_token, serving

from goodarm.errors import InvalidValue
from goodarm.service.settings import Settings

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(f"sqlite:///{tmp_path_factory.mktemp('attacks')}/a.db", "--workers", "2") as running:
        assert running.call("POST", "/api/v1/campaigns", terms("c")).status == 201
        yield running


def terms(name: str) -> dict[str, object]:
    return {"name": name, "arms": ["calm", "loud"], "threshold": 0.5}


def raw_status(server: Server, head: str, body: bytes = b"") -> int:
    """The status of a request as it is written here, letter by letter."""
    with socket.create_connection((server.host, server.port), timeout=60.0) as client:
        client.sendall(head.replace("\n", "\r\n").encode("latin-1") + b"\r\n\r\n" + body)
        answer = client.makefile("rb").readline().split()
    return int(answer[1])


@pytest.mark.parametrize("host", ["[", "[::1", "", "evil.example", "localhost@evil.example", "127.0.0.1.evil.example"])
def test_a_host_that_is_not_this_machine_is_refused_however_it_is_written(server: Server, host: str) -> None:
    assert raw_status(server, f"GET /api/v1/campaigns HTTP/1.1\nHost: {host}") == 403


@pytest.mark.parametrize("origin", ["null", "", "http://[", "http://", "file://", "http://localhost", "\xff"])
def test_an_origin_that_is_not_ours_is_refused_however_it_is_written(server: Server, origin: str) -> None:
    head = (
        f"POST {path_of('c', '/ask')} HTTP/1.1\nHost: {server.host}:{server.port}\nOrigin: {origin}\n"
        "Content-Type: application/json\nContent-Length: 7"
    )
    assert raw_status(server, head, b'{"n":1}') == 403


def test_a_page_without_tls_is_not_the_one_that_browsers_see_with_it(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    token = make_token(store, "admin")
    with serving(store, "--origin", "https://goodarm.example/") as behind:
        statuses = {}
        for origin in ("https://goodarm.example", "http://goodarm.example", "https://goodarm.example:444"):
            headers = {"Host": "goodarm.example", "Origin": origin}
            statuses[origin] = behind.call("POST", "/login", {"token": token}, headers=headers).status
        assert list(statuses.values()) == [200, 403, 403]
        inside = {"Origin": behind.address}  # past the proxy, on the machine itself
        assert behind.call("POST", "/login", {"token": token}, headers=inside).status == 200
    with pytest.raises(InvalidValue, match="must look like"):
        Settings(store, origin="goodarm.example/path")


@pytest.mark.parametrize("path", [
    "/../../../etc/passwd", "/..%2f..%2f..%2fetc/passwd", "/js/%2e%2e/%2e%2e/app.py", "/js/..%5c..%5capp.py", "/%00",
    "/js/%00.js", "//etc/passwd", "/js/app.js/x", f"/{'a' * 5000}", "/%ff%fe", "/vendor",
])  # fmt: skip
def test_no_path_leads_out_of_the_dashboards_folder(server: Server, path: str) -> None:
    assert raw_status(server, f"GET {path} HTTP/1.1\nHost: localhost") == 404


@pytest.mark.parametrize("body", [
    b"[" * 1_000_000, b'{"n":' + b"9" * 5000 + b"}", b"\xff\xfe", b"\x1f\x8b\x08\x00", b'{"n":1e400}', b'{"n":NaN}',
])  # fmt: skip
def test_bodies_that_break_parsers_are_refused(server: Server, body: bytes) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    assert server.call("POST", path_of("c", "/ask"), body, headers=headers).status in (400, 422)


def test_an_arm_that_no_address_could_name_is_refused(server: Server) -> None:
    given = terms("nul") | {"arms": ["a\0b"]}
    assert server.call("POST", "/api/v1/campaigns", given).status == 422


def test_many_who_create_the_same_campaign_at_once_create_one(server: Server) -> None:
    statuses: Counter[int] = Counter()
    start = threading.Barrier(8)

    def create() -> None:
        start.wait()
        statuses[server.call("POST", "/api/v1/campaigns", terms("same")).status] += 1

    threads = [threading.Thread(target=create) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == {201: 1, 409: 7}
    assert server.call("GET", path_of("same", "/check")).json["ok"]


def test_an_etag_ends_when_another_worker_writes(server: Server) -> None:
    """Each request may meet either worker: a tag that was right before a change never matches after it."""
    assert server.call("POST", "/api/v1/campaigns", terms("tagged")).status == 201
    for i in range(20):
        tag = server.call("GET", path_of("tagged", "/arms")).headers["etag"]
        assert server.call("GET", path_of("tagged", "/arms"), headers={"If-None-Match": tag}).status == 304
        told = {"arm": "calm", "reward": float(i % 2)}
        assert server.call("POST", path_of("tagged", "/tell-arm"), told).status == 200
        for _ in range(4):
            found = server.call("GET", path_of("tagged", "/arms"), headers={"If-None-Match": tag})
            assert found.status == 200
            assert found.json["arms"][0]["pulls"] == i + 1


def test_an_etag_stands_for_one_body_although_the_estimate_is_renewed_by_the_clock(server: Server) -> None:
    arms = [f"arm {i}" for i in range(500)]
    assert server.call("POST", "/api/v1/campaigns", terms("estimated") | {"arms": arms}).status == 201
    bodies: dict[tuple[str, str], set[bytes]] = {}
    for i in range(8):
        server.call("POST", path_of("estimated", "/tell-arm"), {"arm": arms[i], "reward": 1.0})
        for _ in range(6):
            for rest in ("", "/verdicts"):
                found = server.call("GET", path_of("estimated", rest))
                bodies.setdefault((rest, found.headers["etag"]), set()).add(found.body)
    assert [tag for tag, seen in bodies.items() if len(seen) > 1] == []


def test_a_key_is_known_to_every_worker_and_after_a_restart(tmp_path: Path) -> None:
    store, answers = f"sqlite:///{tmp_path}/a.db", set()
    for workers in ("2", "1"):
        with serving(store, "--workers", workers) as running:
            made = running.call("POST", "/api/v1/campaigns", terms("c"), headers={"Idempotency-Key": "made"})
            assert made.status == 201
            for _ in range(10):
                asked = running.call("POST", path_of("c", "/ask"), {"n": 2}, headers={"Idempotency-Key": "asked"})
                answers.add(asked.body)
            other = running.call("POST", path_of("c", "/ask"), {"n": 3}, headers={"Idempotency-Key": "asked"})
            assert other.status == 409
            assert running.call("GET", path_of("c")).json["asked"] == 2
    assert len(answers) == 1


def test_labels_for_prometheus_do_not_grow_with_what_people_ask_for(server: Server) -> None:
    def routes() -> set[str]:
        lines = server.call("GET", "/metrics").body.decode().splitlines()
        return {line.partition(" ")[0] for line in lines if line.startswith("goodarm_requests_total")}

    routes()
    for i, method in enumerate(("PROPFIND", "MKCOL", "REPORT")):
        for path in (f"/nothing/{i}", path_of(f"none {i}"), path_of("c", f"/arms/{i}"), f"/api/v1/none-{i}"):
            server.call("GET", path)
        raw_status(server, f"{method} / HTTP/1.1\nHost: localhost")
        if i == 0:
            before = routes()
    assert routes() == before


def revoke(store: str, token: str) -> None:
    revoke_token(store, token.split("_")[1])


def wait_until_refused(server: Server, token: str) -> None:
    deadline = time.monotonic() + 300.0
    while server.call("GET", "/api/v1/me", token=token).status != 401:
        assert time.monotonic() < deadline, "let in although the token was revoked"
        time.sleep(0.1)


class Guarded(NamedTuple):
    """A server with a token, and the token."""

    server: Server
    admin: str


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    store = f"sqlite:///{tmp_path_factory.mktemp('guarded')}/a.db"
    admin = make_token(store, "admin")
    with serving(store) as running:
        yield Guarded(running, admin)


def test_the_body_of_somebody_without_a_token_is_not_waited_for(guarded: Guarded) -> None:
    head = f"POST {path_of('c', '/ask')} HTTP/1.1\nHost: localhost\nContent-Length: 7000000"
    assert raw_status(guarded.server, head, b"{") == 401


def test_the_body_of_a_stranger_is_not_waited_for_where_a_later_token_closed_the_server(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    with serving(store) as running:
        make_token(store, "admin")
        head = f"POST {path_of('c', '/ask')} HTTP/1.1\nHost: localhost\nContent-Length: 7000000"
        assert raw_status(running, head, b"{") == 401


def test_a_stream_ends_when_its_token_is_revoked(guarded: Guarded) -> None:
    running, admin = guarded
    reader = make_token(running.store, "reader")
    assert running.call("POST", "/api/v1/campaigns", terms("c"), admin).status == 201
    connection, response = running.stream(path_of("c", "/events"), {"Authorization": f"Bearer {reader}"})
    stream = events(response)
    assert json.loads(next(stream)["data"])["asked"] == 0
    revoke(running.store, reader)
    wait_until_refused(running, reader)
    assert running.call("POST", path_of("c", "/ask"), {"n": 1}, admin).status == 200
    assert list(stream) == []
    connection.close()


def test_the_first_token_closes_a_server_that_was_open_and_revoking_it_does_not_open_it(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    with serving(store, "--workers", "2") as running:
        assert running.call("GET", "/api/v1/campaigns").status == 200
        token = make_token(store, "admin")
        deadline = time.monotonic() + 300.0
        refused = 0
        while refused < 20:  # by both workers
            refused = refused + 1 if running.call("GET", "/api/v1/campaigns").status == 401 else 0
            assert time.monotonic() < deadline, "still open although there is a token"
            time.sleep(0.1)
        assert running.call("GET", "/api/v1/campaigns", token=token).status == 200
        revoke(store, token)
        wait_until_refused(running, token)
        assert running.call("GET", "/api/v1/campaigns").status == 401


def test_a_token_that_was_made_and_revoked_before_anyone_asked_closes_it_too(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    with serving(store) as running:
        revoke(store, make_token(store, "admin"))
        deadline = time.monotonic() + 300.0
        while running.call("GET", "/api/v1/campaigns").status != 401:
            assert time.monotonic() < deadline, "open although a token was made"
            time.sleep(0.1)


def test_a_database_that_goes_away_is_said_to_be_away_and_comes_back() -> None:
    with postgresql() as database:
        store = database.new_database("away")
        with serving(store, "--workers", "2") as running:
            assert running.call("POST", "/api/v1/campaigns", terms("c")).status == 201
            database.stop()
            for method, rest, body in (("GET", "", None), ("POST", "/ask", {"n": 1}), ("GET", "/events", None)) * 2:
                answer = running.call(method, path_of("c", rest), body)
                assert answer.status == 503, answer.body
                assert answer.headers["content-type"] == "application/problem+json"
                assert answer.headers["retry-after"] == "1"
            time.sleep(1.1)  # a worker remembers for one second that the store could be written
            assert running.call("GET", "/readyz").status == 503
            assert running.call("GET", "/healthz").status == 200
            database.start()
            deadline = time.monotonic() + 300.0
            answered = 0
            while answered < 20:  # by both workers: each meets its broken connection once
                status = running.call("POST", path_of("c", "/ask"), {"n": 1}).status
                assert status in (200, 503)
                answered = answered + 1 if status == 200 else 0
                assert time.monotonic() < deadline, "the database is back, and the server does not notice"
            assert running.call("GET", path_of("c", "/check")).json["ok"]


def test_a_server_whose_disk_is_full_is_not_ready_until_there_is_room(tmp_path: Path) -> None:
    """No file of the process may grow: SQLite is told by the system what a full disk tells it."""
    with serving(f"sqlite:///{tmp_path}/a.db") as running:
        assert running.call("POST", "/api/v1/campaigns", terms("c")).status == 201
        assert running.call("GET", "/readyz").status == 200
        before = resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, (1, before[1]))
        time.sleep(1.1)  # the server remembers for one second that the store could be written
        assert running.call("GET", "/readyz").status == 503
        refused = running.call("POST", path_of("c", "/ask"), {"n": 1})
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert running.call("GET", "/healthz").status == 200
        resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, before)
        assert running.call("GET", "/readyz").status == 200
        assert running.call("POST", path_of("c", "/ask"), {"n": 1}).status == 200
        assert running.call("GET", path_of("c", "/check")).json["ok"]
