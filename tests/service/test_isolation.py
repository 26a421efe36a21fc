"""One caller's long request, one silent part or one lost file must not stop the others."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import signal
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from fastapi import Request
from in_process import InProcess, in_process
from servers import PostgresqlServer, postgresql
from serving import events, make_token, path_of, serving
from test_limits import create

from goodarm.campaign import Campaign, open_store
from goodarm.campaign.journal import Row
from goodarm.campaign.stores import file_lock, sqlite
from goodarm.campaign.stores.postgresql import Patience
from goodarm.campaign.stores.sqlite import SqliteStore
from goodarm.errors import InvalidValue, UnusableStore
from goodarm.service import beside, campaigns, sender, side, stream
from goodarm.service.beside import Beside
from goodarm.service.campaigns import MOST_LISTED
from goodarm.service.problems import Refusal
from goodarm.service.routes.tickets import CUT
from goodarm.service.run import serve
from goodarm.service.settings import Settings
from goodarm.simulation.stop import Stop

# Long computations


@pytest.mark.slow
def test_a_forecast_runs_beside_the_desk_and_is_given_up_when_its_client_leaves(tmp_path: Path) -> None:
    computing, given_up = threading.Event(), threading.Event()

    def endless(stop: Stop) -> None:
        computing.set()
        while not stop.wait(0.01):
            pass
        given_up.set()
        stop.check()

    async def gone() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    with in_process(f"sqlite:///{tmp_path}/a.db") as server:
        assert create(server, "c") == 201
        request = Request({"type": "http", "headers": []}, gone)
        long = asyncio.run_coroutine_threadsafe(server.app.state.campaigns.beside.run(endless, request), server.loop)
        assert computing.wait(60.0)
        assert server.call("POST", path_of("c", "/ask"), {"n": 1}).status == 200  # while it computes
        assert given_up.wait(60.0)
        with pytest.raises(Refusal):
            long.result(300.0)


def test_long_computations_are_few_at_a_time_and_refused_beyond_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "MOST_WAITING", 3)
    under_way, most = 0, 0

    def compute(stop: Stop) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        time.sleep(0.02)
        under_way -= 1

    async def play() -> list[Any]:
        room = Beside()
        return await asyncio.gather(*(room.run(compute) for _ in range(5)), return_exceptions=True)

    answers = asyncio.run(play())
    assert most == beside.AT_ONCE
    assert [answer.status for answer in answers if isinstance(answer, Refusal)] == [429, 429]


def test_a_list_of_many_campaigns_does_not_wait_for_its_estimates_where_many_are_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "MOST_WAITING", 0)
    with in_process(f"sqlite:///{tmp_path}/a.db") as server:
        assert [create(server, f"c{j}") for j in range(3)] == [201] * 3
        for path in ("/api/v1/campaigns", "/metrics", path_of("c1"), path_of("c1", "/verdicts")):
            assert server.call("GET", path).status == 200
        assert server.call("GET", path_of("c1", "/remaining")).status == 429


def test_estimates_leave_room_for_other_long_computations(tmp_path: Path) -> None:
    with in_process(f"sqlite:///{tmp_path}/a.db") as server:
        most = 0

        class Counting(set[Stop]):
            def add(self, stop: Stop) -> None:
                nonlocal most
                super().add(stop)
                most = max(most, len(self))

        server.app.state.campaigns.beside._stops = Counting()
        for j in range(MOST_LISTED + 4):
            Campaign.create(server.settings.store, f"c{j}", ["calm"], 0.5).close()
        assert server.call("GET", "/api/v1/campaigns").status == 200
        assert 0 < most <= MOST_LISTED < beside.MOST_WAITING


@pytest.mark.slow
def test_a_forecast_with_too_many_draws_is_refused(tmp_path: Path) -> None:
    with in_process(f"sqlite:///{tmp_path}/a.db") as server:
        assert create(server, "many", arms=[f"arm {i}" for i in range(10_000)]) == 201
        refused = server.call("GET", path_of("many", "/remaining?draws=1000"))
        assert refused.status == 400
        assert "draws may be at most 200 with 10,000 arms" in refused.json["detail"]


def test_a_block_is_cut(tmp_path: Path) -> None:
    with in_process(f"sqlite:///{tmp_path}/a.db") as server:
        assert create(server, "c") == 201
        key = {"Idempotency-Key": "k"}
        blocks = [server.call("POST", path_of("c", "/ask-block"), {"n": 1_000_000}, headers=key) for _ in range(2)]
        assert [sum(block.json["pulls"].values()) for block in blocks] == [CUT, CUT]
        assert blocks[0].json == blocks[1].json
        assert server.call("GET", path_of("c", "/check")).json["ok"]


# Limits of a campaign


def test_tickets_out_and_the_journal_have_limits_and_what_was_asked_can_be_told(tmp_path: Path) -> None:
    with in_process(f"sqlite:///{tmp_path}/a.db", most_tickets=3, most_entries=9) as server:
        assert create(server, "c") == 201
        tickets = server.call("POST", path_of("c", "/ask"), {"n": 3}).json["tickets"]
        full = server.call("POST", path_of("c", "/ask"), {"n": 1})
        assert (full.status, "3 tickets of 'c' are out" in full.json["detail"]) == (409, True)
        step = {"ticket": tickets[0]["ticket"], "reward": 1.0}
        while (stepped := server.call("POST", path_of("c", "/step"), step)).status == 200:
            step["ticket"] = stepped.json["ticket"]["ticket"]
        assert (stepped.status, "entries, and the server allows 9" in stepped.json["detail"]) == (409, True)
        for ticket in (step["ticket"], *(each["ticket"] for each in tickets[1:])):
            told = server.call("POST", path_of("c", "/tell"), {"ticket": ticket, "reward": 1.0})
            assert told.status == 200
        full = server.call("POST", path_of("c", "/tell-arm"), {"arm": "calm", "reward": 1.0})
        assert (full.status, "the server allows 9" in full.json["detail"]) == (409, True)


# Streams


def test_the_first_look_of_300_streams_is_shared() -> None:
    looks = 0

    async def look(name: str, after: int | None) -> stream.Change:
        nonlocal looks
        looks += 1
        await asyncio.sleep(0.01)
        return stream.Change(1, {"number": 1})

    async def play() -> int:
        fanout = stream.Fanout(look, every=1000.0)
        streams = [fanout.follow("a", None) for _ in range(300)]
        firsts = await asyncio.gather(*(anext(each) for each in streams))
        for each in streams:
            await each.aclose()
        await fanout.stop()
        return len({id(first.event) for first in firsts if first is not None})

    assert asyncio.run(play()) == 1
    assert looks == 1


def test_few_first_looks_are_kept_however_many_numbers_clients_have_seen() -> None:
    async def look(name: str, after: int | None) -> stream.Change:
        return stream.Change(1, {"number": 1})

    async def play() -> int:
        fanout = stream.Fanout(look, every=1000.0)
        streams = [fanout.follow("a", 1_000_000 + seen) for seen in range(50)]
        await asyncio.gather(*(anext(each) for each in streams))
        kept = len(fanout._looked["a"])
        for each in streams:
            await each.aclose()
        await fanout.stop()
        return kept

    assert asyncio.run(play()) == stream.MOST_LOOKS


def test_a_stream_without_news_is_pinged() -> None:
    async def look(name: str, after: int | None) -> stream.Change | None:
        return stream.Change(1, {"number": 1}) if after is None else None

    async def play() -> list[object]:
        fanout = stream.Fanout(look, every=0.001)
        following = fanout.follow("a", None, ping_seconds=0.01)
        found: list[object] = [await anext(following) for _ in range(3)]
        await following.aclose()
        await fanout.stop()
        return found

    assert asyncio.run(play())[1:] == [None, None]


@pytest.mark.slow
def test_a_silent_stream_ends_at_a_ping_after_its_token_was_revoked(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    admin, reader = make_token(store, "admin"), make_token(store, "reader")
    with serving(store) as running:
        terms = {"name": "c", "arms": ["calm", "loud"], "threshold": 0.5}
        assert running.call("POST", "/api/v1/campaigns", terms, admin).status == 201
        connection, response = running.stream(path_of("c", "/events"), {"Authorization": f"Bearer {reader}"})
        following = events(response)
        next(following)
        from goodarm.service.side import open_side
        from goodarm.service.tokens import Tokens

        side = open_side(store)
        Tokens(side).revoke(reader.split("_")[1])
        side.close()
        assert list(following) == []  # nothing happens in the campaign: the ping finds that the token is revoked
        connection.close()


# Stores that do not answer


@pytest.mark.slow
def test_waiting_for_the_lock_of_a_file_ends_with_503_and_works_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_lock, "LONGEST_WAIT", 0.2)
    with in_process(f"sqlite:///{tmp_path}/a.db") as server:
        assert create(server, "c") == 201
        holder = os.open(tmp_path / "a.db.lock", os.O_RDWR)
        fcntl.flock(holder, fcntl.LOCK_EX)
        for _ in range(2):  # the second attempt goes on waiting in the place of the first
            refused = server.call("POST", path_of("c", "/ask"), {"n": 1})
            assert (refused.status, refused.headers["retry-after"]) == (503, "1")
            assert "locked by another process" in refused.json["detail"]
        assert server.call("GET", "/readyz").status == 503
        fcntl.flock(holder, fcntl.LOCK_UN)
        os.close(holder)
        for _ in range(3):
            assert server.call("POST", path_of("c", "/ask"), {"n": 1}).status == 200
        assert server.call("GET", "/readyz").status == 200


def test_a_lock_that_comes_after_the_wait_was_given_up_is_returned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_lock, "LONGEST_WAIT", 0.05)
    first, second, third = (file_lock.FileLock(tmp_path / "lock") for _ in range(3))
    for lock in (first, second, third):
        lock.open()
    first.take()
    with pytest.raises(UnusableStore, match="locked by another process"):
        second.take()
    first.free()
    monkeypatch.setattr(file_lock, "LONGEST_WAIT", 60.0)
    third.take()  # the thread of `second` had the lock for a moment
    third.free()
    second.take()
    monkeypatch.setattr(file_lock, "LONGEST_WAIT", 0.05)
    with pytest.raises(UnusableStore):
        third.take()


@pytest.mark.parametrize("damage", ["drop table events", "drop table snapshots"])
def test_a_store_that_lost_a_table_is_not_ready(tmp_path: Path, damage: str) -> None:
    with in_process(f"sqlite:///{tmp_path}/a.db") as server:
        assert server.call("GET", "/readyz").status == 200
        with sqlite3.connect(tmp_path / "a.db") as connection:
            connection.execute(damage)
        connection.close()
        server.app.state.campaigns._probed_at = 0.0
        assert server.call("GET", "/readyz").status == 503


@pytest.fixture(scope="module")
def database() -> Iterator[PostgresqlServer]:
    with postgresql() as server:
        yield server


def processes(database: PostgresqlServer) -> list[int]:
    """The server and all of its children."""
    first = int((database.folder / "data" / "postmaster.pid").read_text().split()[0])
    found = [first]
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if parent == first:
                found.append(int(folder.name))
    return found


@pytest.mark.slow
def test_a_database_that_is_silent_is_answered_with_503_and_stopping_is_obeyed(database: PostgresqlServer) -> None:
    store = database.new_database("silent")
    with serving(store) as running:
        terms = {"name": "c", "arms": ["calm", "loud"], "threshold": 0.5}
        assert running.call("POST", "/api/v1/campaigns", terms).status == 201
        stopped = processes(database)
        for process in stopped:
            os.kill(process, signal.SIGSTOP)
        try:
            answer = running.call("POST", path_of("c", "/ask"), {"n": 1})
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")
            assert running.call("GET", "/readyz").status == 503
            assert running.call("GET", "/healthz").status == 200
            assert running.stop() == 0
        finally:
            for process in stopped:
                os.kill(process, signal.SIGCONT)
    with Campaign.open(store, "c") as campaign:
        assert campaign.check().ok


@pytest.mark.slow
def test_a_silent_database_is_waited_for_once_per_request_where_tokens_are_needed(
    database: PostgresqlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guard looked a token up twice, and then the route did."""
    waits: list[str] = []

    class Noting(Patience):
        def connected(self, *given: Any, **options: Any) -> Any:
            waits.append("connecting")
            return super().connected(*given, **options)

        def awaiting(self, connection: Any) -> Any:
            waits.append("asking")
            return super().awaiting(connection)

    monkeypatch.setattr(side, "Patience", Noting)
    monkeypatch.setattr(sender, "EVERY", 1e6)  # it asks the same tables
    store = database.new_database("silent_tokens")
    token = make_token(store, "admin")
    with in_process(store, open=False) as server:
        terms = {"name": "c", "arms": ["calm", "loud"], "threshold": 0.5}
        assert server.call("POST", "/api/v1/campaigns", terms, token).status == 201
        stopped = processes(database)
        for process in stopped:
            os.kill(process, signal.SIGSTOP)
        try:
            for method, rest, body in (("POST", "/ask", {"n": 1}), ("GET", "", None)):
                server.app.state.tokens.forget()
                waits.clear()
                answer = server.call(method, path_of("c", rest), body, token)
                assert (answer.status, answer.headers["retry-after"]) == (503, "1")
                assert len(waits) == 1
        finally:
            for process in stopped:
                os.kill(process, signal.SIGCONT)


@pytest.mark.slow
def test_a_lock_that_another_program_holds_in_the_database_is_not_waited_for(database: PostgresqlServer) -> None:
    import psycopg

    store = database.new_database("locked")
    with Campaign.create(store, "c", ["calm", "loud"], threshold=0.5) as campaign, psycopg.connect(store) as other:
        other.execute("LOCK TABLE goodarm_events IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(UnusableStore, match="statement timeout"):
            campaign.ask()
        with open_store(store) as opened, pytest.raises(UnusableStore, match="statement timeout"):
            opened.probe()
        other.rollback()
        assert campaign.ask()


# Doors


@pytest.mark.slow
def test_a_store_that_had_tokens_is_not_served_to_everyone_when_their_file_is_lost(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    make_token(store, "admin")
    for path in tmp_path.glob("a.db.service*"):
        path.unlink()
    with pytest.raises(InvalidValue, match=r"had tokens.*goodarm token create"):
        serve(Settings(store), print)


def test_a_store_whose_tokens_are_all_revoked_is_not_served_to_everyone(tmp_path: Path) -> None:
    from goodarm.service.side import open_side
    from goodarm.service.tokens import Tokens

    store = f"sqlite:///{tmp_path}/a.db"
    side = open_side(store)
    made, _ = Tokens(side).create("admin")
    Tokens(side).revoke(made.id)
    side.close()
    with pytest.raises(InvalidValue, match="none is valid now"):
        serve(Settings(store), print)


# Readers and writers


@contextmanager
def busy(server: InProcess) -> Iterator[None]:
    """Every place for long computations is taken until the block ends."""
    ending, computing = threading.Event(), threading.Barrier(beside.AT_ONCE + 1)

    def compute(stop: Stop) -> None:
        computing.wait(60.0)
        ending.wait(60.0)

    run = server.app.state.campaigns.beside.run
    under_way = [asyncio.run_coroutine_threadsafe(run(compute), server.loop) for _ in range(beside.AT_ONCE)]
    computing.wait(60.0)
    try:
        yield
    finally:
        assert not any(each.done() for each in under_way), "they ended before what should not wait for them"
        ending.set()
        for each in under_way:
            each.result(60.0)


def test_a_first_block_does_not_wait_for_the_computations_of_readers(tmp_path: Path) -> None:
    with in_process(f"sqlite:///{tmp_path}/a.db") as server:
        assert create(server, "c") == 201
        with busy(server):
            assert server.call("POST", path_of("c", "/ask-block"), {"n": 10}).status == 200


def test_a_block_whose_rules_could_not_be_compiled_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = []

    def rehearse(terms: object) -> None:
        tries.append(terms)
        if len(tries) == 1:
            raise MemoryError

    monkeypatch.setattr(campaigns, "rehearse_block", rehearse)
    with in_process(f"sqlite:///{tmp_path}/a.db") as server:
        assert create(server, "c") == 201
        for _ in range(3):
            assert server.call("POST", path_of("c", "/ask-block"), {"n": 10}).status == 200
    assert len(tries) == 2


def test_an_export_is_given_up_when_its_client_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BLOCK_OF_ROWS", 10)
    entries = []
    original = SqliteStore.chunks

    def chunks(*given: Any) -> Iterator[list[Row]]:
        for rows in original(*given):
            entries.extend(rows)
            time.sleep(0.02)
            yield rows

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    with in_process(f"sqlite:///{tmp_path}/a.db") as server:
        assert create(server, "c") == 201
        for _ in range(10):
            told = {"rewards": [{"ticket": each["ticket"], "reward": 0.5} for each in asked(server, 200)]}
            assert server.call("POST", path_of("c", "/tell-many"), told).status == 200
        number = server.call("GET", path_of("c")).json["number"]
        monkeypatch.setattr(SqliteStore, "chunks", chunks)
        request = Request({"type": "http", "headers": []}, receive)
        export = server.app.state.campaigns.export(request, "c", "jsonl", gzip=True)
        with pytest.raises(Refusal, match="disconnected"):
            asyncio.run_coroutine_threadsafe(export, server.loop).result(300.0)
        deadline = time.monotonic() + 60.0
        while list(Path(tempfile.gettempdir()).glob("goodarm-export-*")):
            assert time.monotonic() < deadline, "the files of the export are still there"
            time.sleep(0.05)
    assert 0 < len(entries) < number


def asked(server: InProcess, n: int) -> list[dict[str, str]]:
    tickets: list[dict[str, str]] = server.call("POST", path_of("c", "/ask"), {"n": n}).json["tickets"]
    return tickets


def test_one_token_does_not_take_every_place_for_long_computations(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    readers, admin = [make_token(store, "reader") for _ in range(2)], make_token(store, "admin")
    with in_process(store, open=False) as server:
        terms = {"name": "c", "arms": ["calm", "loud"], "threshold": 0.5}
        assert server.call("POST", "/api/v1/campaigns", terms, admin).status == 201

        def export(token: str) -> int:
            return server.call("GET", path_of("c", "/export"), token=token).status

        with ThreadPoolExecutor(16) as pool, busy(server):
            first = [pool.submit(export, readers[0]) for _ in range(beside.MOST_PER_TOKEN + 2)]
            other = pool.submit(export, readers[1])
            deadline = time.monotonic() + 60.0
            while sum(each.done() for each in first) < 2:
                assert time.monotonic() < deadline, "none was refused"
                time.sleep(0.05)
            assert not other.done()
        assert sorted(each.result() for each in first) == [200] * beside.MOST_PER_TOKEN + [429] * 2
        assert other.result() == 200
        assert export(readers[0]) == 200


@pytest.mark.slow
def test_a_download_holds_its_place_and_its_file_until_it_ends(tmp_path: Path) -> None:
    """Until its client has read everything, or is gone."""
    store = f"sqlite:///{tmp_path}/a.db"
    reader, admin = make_token(store, "reader"), make_token(store, "admin")
    with serving(store, environment={"TMPDIR": str(tmp_path)}) as server:
        arms = [{"id": f"arm {i}", "label": 400 * "x"} for i in range(10_000)]
        terms = {"name": "c", "arms": arms, "threshold": 0.5}
        assert server.call("POST", "/api/v1/campaigns", terms, admin).status == 201
        open_ones = []
        for _ in range(beside.MOST_PER_TOKEN):
            connection = HTTPConnection(server.host, server.port, timeout=60.0)
            connection.request("GET", path_of("c", "/export"), headers={"Authorization": f"Bearer {reader}"})
            open_ones.append((connection, connection.getresponse()))
        assert [answer.status for _, answer in open_ones] == [200] * beside.MOST_PER_TOKEN
        assert server.call("GET", path_of("c", "/export"), token=reader).status == 429
        assert server.call("GET", path_of("c", "/export"), token=admin).status == 200
        for connection, answer in open_ones[:2]:
            assert json.loads(answer.readline())["name"] == "c"
            answer.close()
            connection.close()
        while server.call("GET", path_of("c", "/export"), token=reader).status != 200:
            """Until the server has noticed that their clients have gone."""
        for connection, answer in open_ones[2:]:
            assert len(answer.read()) == int(answer.headers["content-length"])
            connection.close()
        deadline = time.monotonic() + 60.0
        while list(tmp_path.glob("goodarm-export-*")):
            assert time.monotonic() < deadline, "the files are still there"
            time.sleep(0.05)
