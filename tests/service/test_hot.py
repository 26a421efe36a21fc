"""`ask`, `tell` and `step` answer alike, with the framework's machinery and without it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from in_process import InProcess, in_process
from serving import path_of
from test_limits import create

from goodarm.service.side import open_side
from goodarm.service.tokens import Tokens

USUAL, BY_ROUTE = "application/json", "application/json; charset=utf-8"
"""A request with parameters in its Content-Type is handed to the route."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    with in_process(f"sqlite:///{tmp_path_factory.mktemp('hot')}/a.db") as running:
        yield running


def both(server: InProcess, name: str, rest: str, body: bytes, **headers: str) -> list[tuple[Any, ...]]:
    """Status, kind of refusal and headers of the same request to two equal campaigns."""
    answers = []
    for kind, campaign in ((USUAL, name), (BY_ROUTE, f"{name} by route")):
        found = server.call("POST", path_of(campaign, rest), body, headers={"Content-Type": kind, **headers})
        sent = {key: value for key, value in found.headers.items() if key != "content-length"}
        shown = found.json
        answers.append((found.status, shown.get("kind"), sorted(shown), sorted(sent), sent["content-type"]))
    return answers


@pytest.mark.parametrize("body", [
    b"", b"{", b"[]", b"null", b'{"n":2}', b'{"n":0}', b'{"n":2.0}', b'{"n":true}', b'{"m":1}', b'{"n":1}{', b"\xff",
    b'{"ticket":"1-none","reward":1}', b'{"ticket":"","reward":1}', b'{"ticket":"x","reward":"1"}', b'{"ticket":"x"}',
    b'{"ticket":"x","reward":NaN}', b'{"ticket":"x","reward":1e999}', b'{"n":' + 5000 * b"[" + b"}",
])  # fmt: skip
def test_bodies_are_answered_alike(server: InProcess, body: bytes) -> None:
    for name in ("c", "c by route"):
        create(server, name)
    for rest in ("/ask", "/tell", "/step", "/ask?n=1"):
        first, second = both(server, "c", rest, body)
        assert first == second, rest


@pytest.mark.parametrize("key", ["k", "k" * 200, "k" * 201, "é"])
def test_keys_are_answered_alike(server: InProcess, key: str) -> None:
    for name in ("k", "k by route"):
        create(server, name)
    headers = {"Idempotency-Key": key.encode().decode("latin-1")}
    first, second = both(server, "k", "/ask", b'{"n":1}', **headers)
    assert first == second


def test_a_step_is_told_once_and_the_figures_name_its_route(server: InProcess) -> None:
    assert create(server, "a/b") == 201
    (ticket,) = server.call("POST", path_of("a/b", "/ask"), {"n": 1}).json["tickets"]
    step, key = {"ticket": ticket["ticket"], "reward": 1.0}, {"Idempotency-Key": "once"}
    answers = [server.call("POST", path_of("a/b", "/step"), step, headers=key) for _ in range(2)]
    assert answers[0].json == answers[1].json
    assert server.call("POST", path_of("a/b", "/tell"), step | {"reward": 0.0}).status == 409
    assert server.call("POST", path_of("nobody", "/ask"), {"n": 1}).json["kind"] == "UnknownName"
    figures = server.call("GET", "/metrics").body.decode()
    assert 'goodarm_requests_total{method="POST",route="/api/v1/campaigns/{name}/step",status="200"}' in figures
    assert 'route="/api/v1/campaigns/{name}/tell",status="409"' in figures


def test_a_reader_asks_for_nothing(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    side = open_side(store)
    (_, admin), (_, reader) = (Tokens(side).create(role) for role in ("admin", "reader"))
    side.close()
    with in_process(store, open=False) as server:
        terms = {"name": "c", "arms": ["calm"], "threshold": 0.5}
        assert server.call("POST", "/api/v1/campaigns", terms, admin).status == 201
        refused = server.call("POST", path_of("c", "/ask"), {"n": 1}, reader)
        assert (refused.status, refused.json["kind"]) == (403, "role")
        assert server.call("POST", path_of("c", "/ask"), {"n": 1}, admin).status == 200
