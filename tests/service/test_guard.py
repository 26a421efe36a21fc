"""Who gets in: roles on every route, cookies and their origin, wrong tokens, hosts, headers."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from http.cookies import SimpleCookie
from typing import Any

import pytest
from serving import COMMAND, Server, make_token, path_of, revoke_token, serving

pytestmark = pytest.mark.slow

ROLES = ("reader", "writer", "admin")
OPEN_TO_ALL = {("POST", "/login"), ("POST", "/logout"), ("GET", "/healthz"), ("GET", "/readyz")}
WRITERS = ("/ask", "/tell", "/tell-many", "/tell-arm", "/step", "/void", "/ask-block", "/tell-block")
WRITERS += ("/tell-units", "/close-units")
READING_POSTS = ("/api/v1/plan",)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('guard')}/a.db"


@pytest.fixture(scope="module")
def tokens(store: str) -> dict[str, str]:
    return {role: make_token(store, role) for role in ROLES}


@pytest.fixture(scope="module")
def server(store: str, tokens: dict[str, str]) -> Iterator[Server]:
    with serving(store, "--failed-logins", "1000") as running:
        terms = {"name": "headlines", "arms": ["calm", "loud"], "threshold": 0.5}
        assert running.call("POST", "/api/v1/campaigns", terms, tokens["admin"]).status == 201
        yield running


def role_for(method: str, path: str) -> str | None:
    """Written down here a second time, so that a route that forgets its guard is found."""
    if (method, path) in OPEN_TO_ALL:
        return None
    if method == "GET":
        return "admin" if "/webhooks" in path or "/deliveries" in path else "reader"
    if path in READING_POSTS:
        return "reader"
    return "writer" if path.endswith(WRITERS) else "admin"


def operations(server: Server) -> list[tuple[str, str, dict[str, Any]]]:
    document = server.call("GET", "/api/v1/openapi.json").json
    return [(method.upper(), path, each) for path, entry in document["paths"].items() for method, each in entry.items()]


def try_it(server: Server, method: str, path: str, token: str | None) -> int:
    """The status, with a body that has the wrong form: a caller who gets that far changes nothing."""
    address = path.format(name="headlines", arm="calm", id="0123456789ab")
    if path.endswith("/events"):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        connection, response = server.stream(address, headers)
        connection.close()
        return response.status
    return server.call(method, address, {"wrong": "form"} if method == "POST" else None, token).status


def test_every_route_lets_in_its_role_and_those_above_and_nobody_else(server: Server, tokens: dict[str, str]) -> None:
    found = operations(server)
    assert len(found) > 25
    for method, path, described in found:
        needed = role_for(method, path)
        assert described["x-role"] == (needed or "none"), (method, path)
        if path == "/logout" or path.endswith(("/close", "/end")):
            continue  # they have no body: tested below
        for mine in (None, *ROLES):
            status = try_it(server, method, path, tokens[mine] if mine else None)
            if needed is None:
                assert status not in (401, 403), (method, path, mine)
            elif mine is None:
                assert status == 401, (method, path)
            elif ROLES.index(mine) < ROLES.index(needed):
                assert status == 403, (method, path, mine)
            else:
                assert status not in (401, 403), (method, path, mine, status)


def test_ending_needs_an_admin(server: Server, tokens: dict[str, str]) -> None:
    server.call("POST", "/api/v1/campaigns", {"name": "short", "arms": ["a"], "threshold": 0.5}, tokens["admin"])
    end = path_of("short", "/end")
    assert [server.call("POST", end, None, tokens.get(role)).status for role in ("", *ROLES)] == [401, 403, 403, 200]


def test_a_refusal_says_what_is_missing_and_nothing_else(server: Server, tokens: dict[str, str]) -> None:
    nobody = server.call("GET", path_of("headlines"))
    assert nobody.headers["www-authenticate"] == "Bearer"
    assert "token is needed" in nobody.json["detail"]
    assert "headlines" not in nobody.body.decode()
    assert server.call("GET", path_of("no such campaign")).status == 401
    reader = server.call("POST", path_of("headlines", "/ask"), {"n": 1}, tokens["reader"])
    assert reader.json["detail"] == "This needs the role writer; your token has the role reader."
    assert server.call("GET", path_of("headlines"), token=tokens["reader"][:-1]).status == 401


def login(server: Server, token: str, **headers: str) -> tuple[int, str, str]:
    answer = server.call("POST", "/login", {"token": token}, headers=headers)
    morsel = SimpleCookie(answer.headers.get("set-cookie", "")).get("goodarm_session")
    return answer.status, morsel.value if morsel else "", answer.headers.get("set-cookie", "")


def test_a_browser_logs_in_changes_things_from_its_own_origin_only_and_logs_out(
    server: Server, tokens: dict[str, str]
) -> None:
    status, session, cookie = login(server, tokens["writer"])
    assert status == 200
    for word in ("HttpOnly", "SameSite=strict", "Path=/"):
        assert word in cookie
    assert session not in tokens["writer"]
    mine = {"Cookie": f"goodarm_session={session}"}
    assert server.call("GET", "/api/v1/me", headers=mine).json == {"role": "writer"}
    ask = path_of("headlines", "/ask")
    origins = {server.address: 200, "https://evil.example": 403, "null": 403, f"http://{server.host}:1": 403}
    for origin, expected in origins.items():
        assert server.call("POST", ask, {"n": 1}, headers=mine | {"Origin": origin}).status == expected, origin
    assert server.call("POST", ask, {"n": 1}, headers=mine).status == 403
    assert server.call("POST", "/logout", headers=mine | {"Origin": server.address}).status == 204
    assert server.call("GET", "/api/v1/me", headers=mine).status == 401


def test_a_page_of_another_origin_may_not_log_somebody_in(server: Server, tokens: dict[str, str]) -> None:
    assert login(server, tokens["reader"], Origin="https://evil.example")[0] == 403


def test_a_form_of_another_page_is_no_json(server: Server, tokens: dict[str, str]) -> None:
    body, token = b'{"n": 1}', tokens["writer"]
    answer = server.call("POST", path_of("headlines", "/ask"), body, token, {"Content-Type": "text/plain"})
    assert answer.status == 422


def test_a_revoked_token_is_refused_within_seconds_and_so_are_its_sessions(server: Server) -> None:
    token = make_token(server.store, "reader")
    _, session, _ = login(server, token)
    assert server.call("GET", "/api/v1/me", token=token).status == 200
    id = token.split("_")[1]
    revoke_token(server.store, id)
    headers = {"Cookie": f"goodarm_session={session}"}
    deadline, statuses = time.monotonic() + 300.0, (0, 0)
    while statuses != (401, 401):
        assert time.monotonic() < deadline, f"let in although the token was revoked: {statuses}"
        time.sleep(0.1)
        statuses = (
            server.call("GET", "/api/v1/me", token=token).status,
            server.call("GET", "/api/v1/me", headers=headers).status,
        )
    listed = subprocess.run(
        (*COMMAND, "token", "list", "--store", server.store, "--json"), check=True, capture_output=True, text=True
    )
    (mine,) = (each for each in json.loads(listed.stdout)["tokens"] if each["id"] == id)
    assert mine["used_at"]
    assert mine["revoked_at"]


def test_every_answer_has_the_headers_that_keep_browsers_safe(server: Server, tokens: dict[str, str]) -> None:
    for path in ("/", "/healthz", "/api/v1/campaigns", "/nothing", "/api/v1/openapi.json"):
        headers = server.call("GET", path).headers
        assert headers["content-security-policy"].startswith("default-src 'self';")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"


@pytest.fixture(scope="module")
def unguarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Without a token, on loopback: everyone on this machine is an admin."""
    with serving(f"sqlite:///{tmp_path_factory.mktemp('open')}/a.db") as running:
        yield running


def test_without_tokens_everyone_on_this_machine_may_do_everything(unguarded: Server) -> None:
    assert unguarded.call("GET", "/api/v1/me").json == {"role": "admin"}


def test_a_name_that_leads_to_loopback_is_refused(unguarded: Server) -> None:
    """DNS rebinding: a page of evil.example whose name suddenly leads here."""
    answer = unguarded.call("GET", "/api/v1/campaigns", headers={"Host": "evil.example:8000"})
    assert answer.status == 403
    assert "only to the name localhost" in answer.json["detail"]
    assert unguarded.call("GET", "/healthz", headers={"Host": f"localhost:{unguarded.port}"}).status == 200


def test_a_page_of_another_origin_changes_nothing_without_tokens_either(unguarded: Server) -> None:
    terms = {"name": "x", "arms": ["a"], "threshold": 0.5}
    answer = unguarded.call("POST", "/api/v1/campaigns", terms, headers={"Origin": "https://evil.example"})
    assert answer.status == 403


def test_who_guesses_must_wait(tmp_path_factory: pytest.TempPathFactory) -> None:
    store = f"sqlite:///{tmp_path_factory.mktemp('guess')}/a.db"
    token = make_token(store, "admin")
    with serving(store, "--failed-logins", "3") as running:
        wrong = token[:-1] + ("a" if token[-1] != "a" else "b")
        statuses = [login(running, wrong)[0] for _ in range(5)]
        assert statuses == [401, 401, 401, 429, 429]
        assert running.call("POST", "/login", {"token": token}).headers["retry-after"] == "60"
        assert running.call("GET", "/api/v1/me", token=wrong).status == 429
        assert running.call("GET", "/api/v1/me", token=token).json == {"role": "admin"}


def test_a_server_for_others_needs_a_token_first(tmp_path_factory: pytest.TempPathFactory) -> None:
    store = f"sqlite:///{tmp_path_factory.mktemp('others')}/a.db"
    ran = subprocess.run(
        (*COMMAND, "serve", "--store", store, "--host", "0.0.0.0", "--port", "0"),
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert ran.returncode == 2
    assert "goodarm token create" in ran.stderr
    make_token(store, "admin")
    with serving(store, "--host", "0.0.0.0") as running:
        assert running.call("GET", "/api/v1/campaigns").status == 401
