"""Large reads come compressed, with their ETag; secrets and streams never do. And what is out is listed."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import Server, events, path_of, serving

from goodarm import Campaign
from goodarm.service.beside import MOST_WAITING

pytestmark = pytest.mark.slow

ARMS = 2_000
GZIP = {"Accept-Encoding": "gzip, deflate, br"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(f"sqlite:///{tmp_path_factory.mktemp('reads')}/a.db", "--private-webhooks") as running:
        terms = {"name": "many", "arms": [f"headline {i}" for i in range(ARMS)], "threshold": 0.5}
        assert running.call("POST", "/api/v1/campaigns", terms).status == 201
        yield running


@pytest.mark.parametrize("rest", ["/verdicts", "/arms", "/remaining", "/export"])
def test_large_reads_are_compressed_for_who_takes_it_and_say_the_same(server: Server, rest: str) -> None:
    until = time.monotonic() + 60.0
    while True:  # a forecast may be renewed between the two reads
        plain = server.call("GET", path_of("many", rest))
        small = server.call("GET", path_of("many", rest), headers=GZIP)
        if gzip.decompress(small.body) == plain.body or time.monotonic() > until:
            break
    assert "content-encoding" not in plain.headers
    assert small.headers["vary"] == "Accept-Encoding"
    assert small.headers["content-encoding"] == "gzip"
    assert gzip.decompress(small.body) == plain.body
    assert len(small.body) == int(small.headers["content-length"]) < len(plain.body) / 3


def test_an_etag_holds_for_both_forms(server: Server) -> None:
    plain = server.call("GET", path_of("many", "/verdicts"))
    small = server.call("GET", path_of("many", "/verdicts"), headers=GZIP)
    assert small.headers["etag"] == f"W/{plain.headers['etag']}"
    for tag in (plain.headers["etag"], small.headers["etag"]):
        for form in ({}, GZIP):
            again = server.call("GET", path_of("many", "/verdicts"), headers={"If-None-Match": tag, **form})
            assert (again.status, again.body) == (304, b"")


@pytest.mark.parametrize("path", ["/", "/js/app.js", "/vendor/uplot/uPlot.iife.min.js"])
def test_the_files_of_the_dashboard_too(server: Server, path: str) -> None:
    plain, small = server.call("GET", path), server.call("GET", path, headers=GZIP)
    if len(plain.body) < 1000:
        assert small.body == plain.body
        return
    assert gzip.decompress(small.body) == plain.body
    again = server.call("GET", path, headers={"If-None-Match": small.headers["etag"], **GZIP})
    assert again.status == 304


def test_streams_secrets_and_who_refuses_it_are_left_alone(server: Server) -> None:
    connection, response = server.stream(path_of("many", "/events"), GZIP)
    assert response.headers["content-encoding"] is None
    assert len(json.loads(next(events(response))["data"])["arms"]) == ARMS
    connection.close()
    hook = server.call("POST", path_of("many", "/webhooks"), {"url": "http://127.0.0.1:9/" + "x" * 1500}, headers=GZIP)
    assert hook.status == 201
    listed = server.call("GET", path_of("many", "/webhooks"), headers=GZIP)
    refused = server.call("GET", path_of("many", "/verdicts"), headers={"Accept-Encoding": "gzip;q=0, identity"})
    for answer in (hook, listed, refused):
        assert "content-encoding" not in answer.headers
        assert len(answer.body) > 1000


def test_what_is_out_is_listed_the_oldest_first_by_the_client_as_by_the_library(server: Server) -> None:
    for store in ("memory:", server.address):
        with Campaign.create(store, "waiting", ["a", "b"], 0.5, after=0.2) as campaign:
            assert campaign.waiting() == []
            tickets = campaign.ask(3)
            block = campaign.ask_block(10)
            campaign.tell(tickets[1], 1.0)
            found = campaign.waiting()
            assert [row.ticket for row in found] == [tickets[0].ticket, tickets[2].ticket, block.ticket]
            assert [row.arm for row in found] == [tickets[0].arm, tickets[2].arm, None]
            assert [row.pulls for row in found] == [1, 1, 10]
            time.sleep(0.3)
            assert [row.overdue for row in campaign.waiting(1)] == [True]
            assert campaign.tally().overdue == 12
            campaign.void(block, "lost")
            assert len(campaign.waiting()) == 2


def test_a_ticket_becomes_overdue_although_nothing_happens(server: Server) -> None:
    """The journal does not grow, and still the answer is another one; against a control no estimate is the cause."""
    for after in (5, 30, 120):  # a busy machine may need longer for the first answer than a ticket may take
        name = f"left alone for {after} seconds"
        terms = {"name": name, "arms": ["now", "new"], "control": "now", "after": f"{after}s"}
        assert server.call("POST", "/api/v1/campaigns", terms).status == 201
        (warm,) = server.call("POST", path_of(name, "/ask"), {"n": 1}).json["tickets"]  # compiles
        server.call("POST", path_of(name, "/void"), {"ticket": warm["ticket"], "reason": "only to be warm"})
        server.call("POST", path_of(name, "/ask"), {"n": 2})
        first = server.call("GET", path_of(name))
        if first.json["tally"]["overdue"] == 0:
            break
    assert first.json["tally"]["overdue"] == 0
    deadline = time.monotonic() + 300.0 + after
    while (found := server.call("GET", path_of(name)).json)["tally"]["overdue"] < 2:
        assert time.monotonic() < deadline, "no ticket became overdue"
        time.sleep(0.1)
    assert found["number"] == first.json["number"]
    again = server.call("GET", path_of(name), headers={"If-None-Match": first.headers["etag"]})
    assert again.status == 200
    assert again.json["tally"]["overdue"] == 2
    shown = server.call("GET", path_of(name, "/waiting?limit=1")).json
    assert (shown["pending"], shown["overdue"], shown["after"], len(shown["tickets"])) == (2, 2, float(after), 1)
    assert server.call("GET", path_of(name, "/waiting?limits=1")).status == 422


def test_a_list_of_many_campaigns_is_not_refused_for_its_estimates(tmp_path: Path) -> None:
    store, names = f"sqlite:///{tmp_path}/a.db", [f"c{i}" for i in range(MOST_WAITING + 8)]
    for name in names:
        Campaign.create(store, name, ["a", "b"], threshold=0.5).close()
    with serving(store) as server:
        listed = server.call("GET", "/api/v1/campaigns")
        assert listed.status == 200, listed.body
        assert sorted(each["name"] for each in listed.json["campaigns"]) == sorted(names)


def test_a_guess_from_before_the_first_reward_is_not_shown_after_it(server: Server) -> None:
    terms = {"name": "fed", "arms": ["a", "b"], "threshold": 0.02}
    assert server.call("POST", "/api/v1/campaigns", terms).status == 201
    until = time.monotonic() + 60.0
    while "no rewards yet" not in server.call("GET", path_of("fed")).json["sentence"]:
        assert time.monotonic() < until
        time.sleep(0.1)
    assert server.call("POST", path_of("fed", "/tell-arm"), {"arm": "a", "reward": 1.0}).status == 200
    for path in (path_of("fed"), path_of("fed", "/verdicts")):
        assert "no rewards yet" not in server.call("GET", path).json["sentence"]
