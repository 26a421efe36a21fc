"""Two servers, as on two machines, on one PostgreSQL database."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from servers import postgresql
from serving import events, make_token, path_of, serving

from goodarm import Campaign
from goodarm.service.side import Lease, open_side
from goodarm.service.tokens import Caller, Role, Tokens

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    with postgresql() as server:
        yield server.new_database("service")


def test_tokens_and_leases_are_tables_of_the_same_database(store: str) -> None:
    first, second = open_side(store), open_side(store)
    made, text = Tokens(first).create("writer", "checkout")
    assert Tokens(second).caller(text) == Caller(Role.writer, made.id)
    Tokens(second).revoke(made.id)
    assert Tokens(first).caller(text) is None
    assert Tokens(first).failed("10.0.0.1") == 1
    assert (Lease(first, "job").take(), Lease(second, "job").take()) == (True, False)
    first.close()
    second.close()


def test_two_servers_on_one_database_act_as_one(store: str) -> None:
    token = make_token(store, "admin")
    with serving(store) as one, serving(store, "--workers", "2") as other:
        terms = {"name": "shared", "arms": ["calm", "loud"], "threshold": 0.5}
        assert one.call("POST", "/api/v1/campaigns", terms, token).status == 201
        connection, response = other.stream(path_of("shared", "/events"), {"Authorization": f"Bearer {token}"})
        stream = events(response)
        assert json.loads(next(stream)["data"])["asked"] == 0
        with (
            Campaign.open(one.address, "shared", token=token) as here,
            Campaign.open(other.address, "shared", token=token) as there,
        ):
            for campaign, back in ((here, there), (there, here)) * 15:
                for ticket in campaign.ask(2):
                    back.tell(ticket, float(ticket.arm == "calm"))
            assert here.tally() == there.tally()
            assert (there.tally().good, there.tally().bad) == (1, 1)
            assert here.check().ok
        heard = json.loads(next(stream)["data"])
        while heard["open"]:
            heard = json.loads(next(stream)["data"])
        connection.close()
        for server in (one, other):
            text = server.call("GET", "/metrics", token=token).body.decode()
            assert 'goodarm_campaign_good{campaign="shared"} 1.0' in text
