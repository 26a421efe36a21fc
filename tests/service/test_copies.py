"""Reads of campaigns with many arms: computed from a copy, in threads that the writers never wait for."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from in_process import InProcess, in_process
from serving import path_of
from test_limits import create

from goodarm.campaign import campaign, views
from goodarm.service import copies, hosted
from goodarm.service.copies import KEPT
from goodarm.service.replies import PIECE

READS = ("/verdicts", "/arms", "/verdicts.csv", "/verdicts.csv?only=open", "/waiting")
ARMS = [f"arm {i}" for i in range(2 * PIECE + 1)]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InProcess]:
    monkeypatch.setattr(hosted, "MANY_ARMS", PIECE)
    with in_process(f"sqlite:///{tmp_path}/a.db") as running:
        assert create(running, "c", arms=ARMS) == 201
        yield running


def tell(server: InProcess, n: int) -> None:
    tickets = server.call("POST", path_of("c", "/ask"), {"n": n}).json["tickets"]
    told = {"rewards": [{"ticket": each["ticket"], "reward": 1.0} for each in tickets]}
    assert server.call("POST", path_of("c", "/tell-many"), told).status == 200


def test_the_rows_of_a_large_campaign_are_not_computed_by_the_thread_that_writes(
    server: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[tuple[str, int]] = []
    original = views.arm_rows

    def noting(*given: Any) -> Any:
        rows = original(*given)
        threads.append((threading.current_thread().name, len(rows)))
        return rows

    monkeypatch.setattr(campaign.views, "arm_rows", noting)
    tell(server, 10)
    for rest in READS:
        assert server.call("GET", path_of("c", rest)).status == 200
    look = server.app.state.campaigns.changes
    assert len(server.loop_result(look("c", None)).data["arms"]) == len(ARMS)
    many = {name for name, rows in threads if rows > PIECE}
    assert many == {"goodarm-beside"}


def test_the_answers_are_the_same_as_those_of_a_small_campaign(
    server: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in (0, 10, 300):
        if n:
            tell(server, n)
        server.loop_result(server.app.state.campaigns.estimated("c", lambda each: None))  # none is renewed in between
        found = {}
        for most in (PIECE, len(ARMS)):
            monkeypatch.setattr(hosted, "MANY_ARMS", most)
            found[most] = [server.call("GET", path_of("c", rest)) for rest in READS[:-1]]
            event = server.loop_result(server.app.state.campaigns.changes("c", None)).event
            found[most].append(event)
        large, small = found[PIECE], found[len(ARMS)]
        assert [each.body for each in large[:-1]] == [each.body for each in small[:-1]]
        assert [each.headers.get("etag") for each in large[:-1]] == [each.headers.get("etag") for each in small[:-1]]
        assert large[-1] == small[-1]
        monkeypatch.setattr(hosted, "MANY_ARMS", PIECE)
        for answer, rest in zip(large, READS[:2], strict=False):
            again = server.call("GET", path_of("c", rest), headers={"If-None-Match": answer.headers["etag"]})
            assert (again.status, again.body) == (304, b"")


def test_each_answer_is_the_state_after_one_entry_while_others_write(server: InProcess) -> None:
    """Entries are the first two, one for each reward without a ticket, and the verdicts that follow from them."""
    ending = threading.Event()

    def write() -> None:
        i = 0
        while not ending.is_set():
            i += 1
            told = {"arm": ARMS[i * 7 % len(ARMS)], "reward": 1.0}
            assert server.call("POST", path_of("c", "/tell-arm"), told).status == 200

    first = server.call("GET", path_of("c")).json["number"]
    writer = threading.Thread(target=write)
    writer.start()
    try:
        numbers = []
        for _ in range(15):
            for rest in ("/verdicts", "/arms"):
                found = server.call("GET", path_of("c", rest)).json
                decided = sum(row["verdict"] != "open" for row in found["arms"])
                assert sum(row["pulls"] for row in found["arms"]) == found["number"] - first - decided
                numbers.append(found["number"])
        assert numbers == sorted(numbers)
        assert numbers[0] < numbers[-1]
    finally:
        ending.set()
        writer.join()
    told = {"arm": ARMS[0], "reward": 1.0}
    before = server.call("GET", path_of("c", "/arms")).json["arms"][0]["pulls"]
    assert server.call("POST", path_of("c", "/tell-arm"), told).status == 200
    assert server.call("GET", path_of("c", "/arms")).json["arms"][0]["pulls"] == before + 1


def test_copies_are_few_and_opened_again_where_they_are_far_behind(
    server: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "MOST_BEHIND", 5)
    for j in range(KEPT + 2):
        assert create(server, f"c{j}", arms=ARMS) == 201
        assert len(server.call("GET", path_of(f"c{j}", "/arms")).json["arms"]) == len(ARMS)
    assert server.call("GET", path_of("c", "/arms")).status == 200
    kept = server.app.state.campaigns._copies._copies
    assert list(kept) == [f"c{j}" for j in range(3, KEPT + 2)] + ["c"]
    opened = kept["c"].campaign
    tell(server, 10)
    assert sum(row["pulls"] for row in server.call("GET", path_of("c", "/arms")).json["arms"]) == 10
    assert kept["c"].campaign is not opened


def test_an_event_of_a_large_campaign_is_what_a_plain_encoder_writes(server: InProcess) -> None:
    change = server.loop_result(server.app.state.campaigns.changes("c", None))
    data = change.event.split(b"data: ")[1].partition(b"\n")[0]
    assert json.loads(data) == change.data
    assert server.loop_result(server.app.state.campaigns.changes("c", change.number)) is None
