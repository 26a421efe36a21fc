"""`POST …/step` is one operation: refused, it has told nothing; sent again with its key, it answers the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from in_process import InProcess, in_process
from serving import Answer, path_of


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    with in_process(f"sqlite:///{tmp_path_factory.mktemp('steps')}/a.db") as running:
        yield running


def start(server: InProcess, name: str) -> list[str]:
    """A new campaign, and two of its tickets."""
    terms = {"name": name, "arms": ["calm", "loud"], "threshold": 0.5}
    assert server.call("POST", "/api/v1/campaigns", terms).status == 201
    tickets = server.call("POST", path_of(name, "/ask"), {"n": 2}).json["tickets"]
    return [each["ticket"] for each in tickets]


def step(server: InProcess, name: str, ticket: str, key: str) -> Answer:
    body = {"ticket": ticket, "reward": 1.0}
    return server.call("POST", path_of(name, "/step"), body, headers={"Idempotency-Key": key})


@pytest.mark.parametrize("ended", [False, True])
def test_a_step_refused_for_its_key_counts_nothing(server: InProcess, ended: bool) -> None:
    name = f"refused, ended: {ended}"
    first, second = start(server, name)
    assert step(server, name, first, "k").status == 200
    if ended:
        assert server.call("POST", path_of(name, "/end")).status == 200
    before = server.call("GET", path_of(name)).json["number"]
    refused = step(server, name, second, "k")
    assert (refused.status, refused.json["kind"]) == (409, "Refused")
    assert "used for another request" in refused.json["detail"]
    now = server.call("GET", path_of(name)).json
    assert (now["number"], now["told"]) == (before, 1)


def test_a_repeated_step_names_its_verdict_and_its_ticket_again(server: InProcess) -> None:
    """Also after the campaign has ended: the client may not have received the ticket that is out."""
    told, _ = start(server, "repeated")
    for turn in range(200):
        stepped = step(server, "repeated", told, f"k{turn}").json
        if stepped["verdicts"]:
            break
        told = stepped["ticket"]["ticket"]
    assert [row["verdict"] for row in stepped["verdicts"]] == ["good"]
    assert stepped["ticket"] is not None
    assert server.call("POST", path_of("repeated", "/end")).status == 200
    before = server.call("GET", path_of("repeated")).json["number"]
    assert step(server, "repeated", told, f"k{turn}").json == stepped
    assert server.call("GET", path_of("repeated")).json["number"] == before
