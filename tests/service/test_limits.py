"""Values and sizes that the service refuses with a message, so that no request can harm a campaign or a worker."""

from __future__ import annotations

import asyncio
import math
import socket
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from in_process import InProcess, in_process
from serving import path_of
from typer.testing import CliRunner

from goodarm.campaign import open_store
from goodarm.cli.token import token
from goodarm.errors import InvalidValue
from goodarm.service.guard import Guard
from goodarm.service.run import serve
from goodarm.service.sender import PER_RECEIVER
from goodarm.service.settings import Settings
from goodarm.service.side import open_side
from goodarm.service.tokens import Tokens


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    with in_process(f"sqlite:///{tmp_path_factory.mktemp('limits')}/a.db") as running:
        yield running


def create(server: InProcess, name: str, **terms: Any) -> int:
    body = {"name": name, "arms": ["calm", "loud"], "threshold": 0.5, **terms}
    return server.call("POST", "/api/v1/campaigns", body).status


@pytest.mark.filterwarnings("ignore::goodarm.errors.ScaleWarning")  # rewards of 1e9 scales are accepted, and doubted
@pytest.mark.parametrize("reward", [1e308, -1e308, 1.1e9])
def test_a_reward_beyond_the_declared_scale_is_refused_and_the_campaign_goes_on(
    server: InProcess, reward: float
) -> None:
    name = f"gaussian {reward}"
    assert create(server, name, rewards="gaussian:1", threshold=0.0) == 201
    for _ in range(2):
        asked = server.call("POST", path_of(name, "/ask"), {"n": 1}).json["tickets"][0]["ticket"]
        refused = server.call("POST", path_of(name, "/tell"), {"ticket": asked, "reward": reward})
        assert refused.status == 400
        assert "1e+09 times the declared scale 1" in refused.json["detail"]
        for told in (1e9, -1e9):
            arm = {"arm": "calm", "reward": told}
            assert server.call("POST", path_of(name, "/tell-arm"), arm).status == 200
        assert server.call("POST", path_of(name, "/void"), {"ticket": asked, "reason": "wrong unit"}).status == 204
    assert server.call("GET", path_of(name, "/verdicts")).status == 200
    assert server.call("POST", path_of(name, "/end")).status == 200


@pytest.mark.parametrize("scale", ["1e-151", "1e151", "1e308", "1e-308"])
def test_a_scale_whose_square_is_no_float_is_refused(server: InProcess, scale: str) -> None:
    body = {"name": "scale", "arms": ["calm"], "threshold": 0.0, "rewards": f"gaussian:{scale}"}
    refused = server.call("POST", "/api/v1/campaigns", body)
    assert refused.status == 400
    assert "another unit" in refused.json["detail"]


def test_a_store_that_is_deleted_while_it_is_served_is_answered_with_503(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with in_process(f"sqlite:///{path}") as server:
        assert create(server, "c") == 201
        assert server.call("POST", path_of("c", "/ask"), {"n": 1}).status == 200
        path.unlink()
        told = server.call("POST", path_of("c", "/tell-arm"), {"arm": "calm", "reward": 1.0})
        assert (told.status, told.headers["retry-after"]) == (503, "1")
        assert server.call("GET", "/readyz").status == 503
        assert (tmp_path / "a.db.service").stat().st_mode & 0o777 == 0o600


def test_a_server_whose_file_of_tokens_is_replaced_lets_nobody_in(tmp_path: Path) -> None:
    store, file = f"sqlite:///{tmp_path}/a.db", tmp_path / "a.db.service"
    side = open_side(store)
    try:
        _, text = Tokens(side).create("admin")
    finally:
        side.close()
    with in_process(store, open=False) as server:
        assert server.call("GET", "/api/v1/me", token=text).status == 200
        assert server.call("GET", "/readyz").status == 200
        (tmp_path / "older").write_bytes(file.read_bytes())
        (tmp_path / "older").replace(file)
        server.app.state.tokens.forget()
        server.app.state.campaigns._probed_at = -math.inf
        for method, path in (("GET", "/api/v1/me"), ("POST", path_of("c", "/ask")), ("GET", "/readyz")):
            assert server.call(method, path, token=text).status == 503


def test_nothing_is_kept_for_campaigns_that_do_not_exist(tmp_path: Path) -> None:
    with in_process(f"sqlite:///{tmp_path}/a.db") as server:
        for rest in ("/progress", "/arms/calm", "/deliveries", "/score", "/events", "/remaining"):
            assert server.call("GET", path_of("none", rest)).status == 404
        campaigns, sender = server.app.state.campaigns, server.app.state.sender
        kept = [campaigns._trails, campaigns._reading, campaigns._peeking, sender._reading, sender._journals]
        assert kept == [{}] * 5


def test_a_server_that_is_ahead_of_its_store_writes_nothing_after_the_gap(tmp_path: Path) -> None:
    """Entries were removed under a running server, as by restoring an older copy into the same tables."""
    path = tmp_path / "a.db"
    with in_process(f"sqlite:///{path}") as server:
        assert create(server, "c") == 201
        for _ in range(5):
            assert server.call("POST", path_of("c", "/tell-arm"), {"arm": "calm", "reward": 1.0}).status == 200
        with closing(sqlite3.connect(path)) as connection, connection:
            kept = connection.execute("SELECT * FROM events ORDER BY number DESC LIMIT 2").fetchall()
            connection.execute("DELETE FROM events WHERE number > (SELECT max(number) - 2 FROM events)")
        for rest, body in (("/ask", {"n": 1}), ("/tell-arm", {"arm": "calm", "reward": 0.0})) * 2:
            refused = server.call("POST", path_of("c", rest), body)
            assert (refused.status, refused.headers["retry-after"]) == (503, "1")
            assert "no longer has entry" in refused.json["detail"]
        assert server.call("GET", path_of("c", "/verdicts")).status == 503
        with closing(sqlite3.connect(path)) as connection, connection:
            places = ", ".join("?" * len(kept[0]))
            connection.executemany(f"INSERT INTO events VALUES ({places})", kept)
        assert server.call("POST", path_of("c", "/tell-arm"), {"arm": "calm", "reward": 1.0}).status == 200
        assert server.call("GET", path_of("c", "/check")).json["ok"]


SECRET = "xyz%2Fzy/#w@plugh"


@pytest.mark.parametrize("address", [
    f"postgresql://ann:{SECRET}@localhost:1/db", "postgresql://ann@localhost:1/db?password=xyz%2Fzy", f"other://a:{SECRET}@h/d"
])  # fmt: skip
def test_no_message_shows_a_part_of_the_password(address: str) -> None:
    for open_it in (open_store, open_side, lambda store: serve(Settings(store), print)):
        with pytest.raises(Exception, match=r"store|server|tables") as caught:
            open_it(address)
        assert not any(part in str(caught.value) for part in ("xyz", "zy", "plugh"))


def test_the_store_comes_from_the_environment_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text(f"sqlite:///{tmp_path}/named.db\n")
    for store in (f"sqlite:///{tmp_path}/named.db", f"file:{tmp_path}/secret"):
        monkeypatch.setenv("GOODARM_STORE", store)
        assert CliRunner().invoke(token, ["create", "--role", "reader"]).exit_code == 0
    assert len(Tokens(open_side(f"sqlite:///{tmp_path}/named.db")).all()) == 2


def test_a_server_behind_a_proxy_needs_a_token(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"behind a proxy.*goodarm token create"):
        serve(Settings(f"sqlite:///{tmp_path}/a.db", origin="https://goodarm.example"), print)


@pytest.mark.parametrize("header", [
    "X-Forwarded-For", "Forwarded", "X-Real-IP", "Via", "X-Forwarded", "X-Forwarded-Port", "X-Forwarded-Server",
    "X-Forwarded-Scheme", "X-Client-IP", "CF-Connecting-IP", "True-Client-IP", "X-Original-Host", "X-Original-URL",
    "Fastly-Client-IP", "X-Envoy-External-Address", "Tailscale-User-Login",
])  # fmt: skip
def test_an_open_server_refuses_what_a_proxy_forwards(server: InProcess, header: str) -> None:
    refused = server.call("GET", "/api/v1/campaigns", headers={header: "203.0.113.7"})
    assert (refused.status, refused.json["kind"]) == (403, "forwarded")


@pytest.mark.parametrize("authorization", ["Bearer wrong", "Bearer goodarm_00000000_wrong", "Basic x", ""])
def test_a_change_without_a_valid_token_is_refused_before_its_body_is_read(tmp_path: Path, authorization: str) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    side = open_side(store)
    Tokens(side).create("writer")
    side.close()

    async def receive() -> Any:
        raise AssertionError("the body is read")

    with in_process(store, open=False) as server:
        sent: list[Any] = []
        headers = [(b"host", b"127.0.0.1:8000"), (b"authorization", authorization.encode())]
        call = http("POST", "/api/v1/campaigns", headers if authorization else headers[:1])

        async def send(message: Any) -> None:
            sent.append(message)

        asyncio.run_coroutine_threadsafe(server.app(call, receive, send), server.loop).result(300.0)
        assert sent[0]["status"] == 401


def http(method: str, path: str, headers: list[tuple[bytes, bytes]]) -> dict[str, Any]:
    """The scope of a request."""
    return {
        "type": "http", "http_version": "1.1", "method": method, "scheme": "http", "path": path, "query_string": b"",
        "raw_path": path.encode(), "root_path": "", "headers": headers, "client": ("127.0.0.1", 5), "server": ("h", 80),
    }  # fmt: skip


def test_a_login_is_short(server: InProcess) -> None:
    refused = server.call("POST", "/login", {"token": 10_000 * "x"})
    assert (refused.status, "10,000 bytes" in refused.json["detail"]) == (413, True)


def test_a_request_that_a_stopping_server_gives_up_is_told_to_come_back() -> None:
    async def play() -> list[Any]:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def never(*ignored: Any) -> None:
            await asyncio.Event().wait()

        guard = Guard(never, Settings("sqlite:///a.db"), lambda *ignored: None)
        request = asyncio.create_task(guard(http("GET", "/healthz", [(b"host", b"localhost")]), never, send))
        await asyncio.sleep(0.01)
        request.cancel("the server stops")
        await request
        return sent

    start, body = asyncio.run(play())
    assert start["status"] == 503
    assert (b"retry-after", b"1") in start["headers"]
    assert b'"kind":"ending"' in body["body"]


def test_operations_on_a_stopped_server_are_told_to_come_back(tmp_path: Path) -> None:
    with in_process(f"sqlite:///{tmp_path}/a.db") as server:
        server.app.state.desk.stop()
        refused = server.call("POST", path_of("c", "/ask"), {"n": 1})
        assert (refused.status, refused.headers["retry-after"], refused.json["kind"]) == (503, "1", "ending")


@pytest.mark.parametrize("name", [".", ".."])
def test_names_that_browsers_remove_from_addresses_are_refused(server: InProcess, name: str) -> None:
    assert create(server, name) == 400


@pytest.mark.parametrize("arms", [
    ["calm", "calm "], ["ca\u200blm"], ["caf\u00e9", "cafe\u0301"], ["\ufb01t", "fit"],
    ["calm", "calm\ufe0f"], ["calm", "ca\u034flm"], ["calm", "calm\u3164"], ["calm", "calm\u2800"],
    ["calm", "ca\u202elm"],
    ["calm", "calm\x7f"], ["calm", "calm\U000e0041"], ["calm sea", "calm\tsea"], ["calm sea", "calm  sea"],
    ["\u3164"],
])  # fmt: skip
def test_arms_that_can_not_be_told_apart_are_refused(server: InProcess, arms: list[str]) -> None:
    assert create(server, "look-alikes", arms=arms) == 400


def test_an_arm_may_be_written_with_characters_that_fonts_combine(server: InProcess) -> None:
    assert create(server, "emoji", arms=["\u2764\ufe0f", "\u2b50\ufe0f", "\u202eright to left"]) == 201


def test_one_live_stream_too_many_is_told_to_come_back(tmp_path: Path) -> None:
    with in_process(f"sqlite:///{tmp_path}/a.db", most_streams=0) as server:
        assert create(server, "c") == 201
        refused = server.call("GET", path_of("c", "/events"))
        assert (refused.status, refused.json["kind"], refused.headers["retry-after"]) == (503, "streams", "10")


@pytest.mark.slow
def test_a_receiver_that_never_answers_delays_no_login(tmp_path: Path) -> None:
    """With 30 verdicts owed to each of its webhooks, more than there are threads for tokens and for the store."""
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        in_process(f"sqlite:///{tmp_path}/a.db", private_targets=True) as server,
    ):
        arms = [f"arm {i}" for i in range(30)]
        assert create(server, "c", arms=arms, policy="uniform+gap-mixture", delta=0.5) == 201
        for i in range(3):
            hook = {"url": f"http://127.0.0.1:{silent.getsockname()[1]}/{i}"}
            assert server.call("POST", path_of("c", "/webhooks"), hook).status == 201
        while tickets := server.call("POST", path_of("c", "/ask"), {"n": 300}).json["tickets"]:
            told = {"rewards": [{"ticket": each["ticket"], "reward": 1.0} for each in tickets]}
            assert server.call("POST", path_of("c", "/tell-many"), told).status == 200
        silent.settimeout(60.0)
        connections = [silent.accept()[0] for _ in range(PER_RECEIVER)]
        threads = [thread for thread in threading.enumerate() if thread.name.startswith("goodarm-webhooks")]
        assert len(threads) == PER_RECEIVER
        assert server.call("GET", "/readyz").status == 200
        for connection in connections:
            connection.close()
