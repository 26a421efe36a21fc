"""`goodarm backup` and `restore` while a server writes; heads, and what `check` finds when entries are removed."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from servers import PostgresqlServer, postgresql
from serving import make_token, path_of, serving
from typer.testing import CliRunner

from goodarm import Campaign
from goodarm.campaign import open_store
from goodarm.campaign.check import check_named
from goodarm.campaign.journal import Head
from goodarm.cli import app
from goodarm.errors import DamagedJournal, InvalidValue, Refused
from goodarm.service.backup import backup, restore
from goodarm.service.side import open_side
from goodarm.service.tokens import Tokens


@pytest.fixture(scope="module")
def database() -> Iterator[PostgresqlServer]:
    with postgresql() as server:
        yield server


def fill(store: str, name: str = "c", steps: int = 30) -> None:
    with Campaign.create(store, name, ["calm", "loud"], threshold=0.999) as campaign:
        for _ in range(steps):
            (ticket,) = campaign.ask()
            campaign.tell(ticket, 1.0)


def test_a_restored_store_is_the_same_and_its_backup_is_one_private_file(tmp_path: Path) -> None:
    first, second = f"sqlite:///{tmp_path}/a.db", f"sqlite:///{tmp_path}/b.db"
    fill(first)
    fill(first, "größe/🜚", steps=3)
    side = open_side(first)
    _, text = Tokens(side).create("writer", "shop")
    side.close()
    file = tmp_path / "kept"
    assert backup(first, file) == (2, 68, 1, 0)
    assert file.stat().st_mode & 0o777 == 0o600
    assert not [path for path in tmp_path.iterdir() if path.name.startswith((".kept", "kept."))]
    assert restore(file, second) == (2, 68, 1, 0)
    for name in ("c", "größe/🜚"):
        with Campaign.open(first, name) as before, Campaign.open(second, name) as after:
            assert before.head() == after.head()
            assert after.check(before.head()).ok
            assert [ticket.arm for ticket in after.ask(3)] == [ticket.arm for ticket in before.ask(3)]
    side = open_side(second)
    assert Tokens(side).caller(text) is not None
    assert Tokens(side).all()[0].name == "shop"
    assert side.is_guarded()
    side.close()


def test_a_store_that_is_not_empty_is_left_as_it_is(tmp_path: Path) -> None:
    first, second = f"sqlite:///{tmp_path}/a.db", f"sqlite:///{tmp_path}/b.db"
    fill(first)
    fill(second, "other")
    backup(first, tmp_path / "kept")
    with pytest.raises(Refused, match=r"b\.db has campaigns, tokens or webhooks already"):
        restore(tmp_path / "kept", second)
    with open_store(second) as opened:
        assert opened.names() == ["other"]


def test_what_can_not_be_copied_leaves_the_last_backup_in_place(tmp_path: Path) -> None:
    store, file = f"sqlite:///{tmp_path}/a.db", tmp_path / "kept"
    fill(store)
    backup(store, file)
    before = file.read_bytes()
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("update events set reward = 0 where number = 3")
    connection.close()
    with pytest.raises(DamagedJournal, match=r"'c' can't be copied: entry 3"):
        backup(store, file)
    assert file.read_bytes() == before
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".kept")]


def test_wrong_names_are_refused_with_a_message(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    fill(store)
    with pytest.raises(InvalidValue, match="no folder"):
        backup(store, tmp_path / "nowhere" / "kept")
    with pytest.raises(InvalidValue, match="no backup"):
        restore(tmp_path / "nothing", f"sqlite:///{tmp_path}/b.db")
    with pytest.raises(InvalidValue, match="a store, not a backup"):
        restore(tmp_path / "a.db", f"sqlite:///{tmp_path}/b.db")
    shown = CliRunner().invoke(app, ["restore", str(tmp_path / "nothing"), f"sqlite:///{tmp_path}/b.db"])
    assert (shown.exit_code, "there is no backup" in shown.output) == (2, True)
    shown = CliRunner().invoke(app, ["backup", store, str(tmp_path / "kept"), "--json"])
    assert json.loads(shown.stdout)["entries"] == 61


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_backup_under_load_has_everything_that_was_acknowledged_before(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Backed up while eight clients write, restored to the other kind of store, and served from there."""
    database: PostgresqlServer = request.getfixturevalue("database")
    files = [f"sqlite:///{tmp_path}/{name}.db" for name in ("a", "b")]
    tables = [database.new_database(f"{name}_{kind}") for name in ("one", "two")]
    store, other = (files[0], tables[1]) if kind == "sqlite" else (tables[0], files[1])
    token = make_token(store, "admin")
    told: list[str] = []
    ending = threading.Event()

    def play(address: str, name: str) -> None:
        with Campaign.open(address, name, token=token) as campaign:
            while not ending.is_set():
                (ticket,) = campaign.ask()
                campaign.tell(ticket, 1.0)
                told.append(ticket.ticket)

    with serving(store, "--private-webhooks") as running:
        for name in ("c", "d"):
            terms = {"name": name, "arms": ["calm", "loud"], "threshold": 0.999}
            assert running.call("POST", "/api/v1/campaigns", terms, token).status == 201
        hook = {"url": "http://127.0.0.1:1/"}
        assert running.call("POST", path_of("c", "/webhooks"), hook, token).status == 201
        threads = [threading.Thread(target=play, args=(running.address, name)) for name in "cdcdcdcd"]
        for thread in threads:
            thread.start()
        while len(told) < 100:
            threading.Event().wait(0.05)
        before = list(told)
        copied = backup(store, tmp_path / "kept")
        ending.set()
        for thread in threads:
            thread.join()
    assert (copied.campaigns, copied.tokens, copied.webhooks) == (2, 1, 1)
    assert copied.entries >= 2 * len(before)
    restore(tmp_path / "kept", other)
    found: set[str] = set()
    with serving(other) as running:
        for name in ("c", "d"):
            with Campaign.open(running.address, name, token=token) as campaign:
                assert campaign.check().ok
                found |= {entry["ticket"] for entry in campaign.history() if entry["kind"] == "told"}
                (ticket,) = campaign.ask()
                campaign.tell(ticket, 1.0)
        assert len(running.call("GET", path_of("c", "/webhooks"), token=token).json["webhooks"]) == 1
    assert set(before) <= found


# Heads


def cut(path: Path, after: int) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("delete from events where number > ?", (after,))
    connection.close()


@pytest.mark.slow
def test_a_journal_without_its_last_entries_does_not_match_a_head(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    fill(store)
    head = CliRunner().invoke(app, ["campaign", "head", store, "c"]).stdout.strip()
    assert Head.read(head).number == 61
    good = CliRunner().invoke(app, ["campaign", "check", store, "c", "--head", head])
    assert (good.exit_code, good.stdout[:2]) == (0, "ok")
    cut(tmp_path / "a.db", 57)
    bad = CliRunner().invoke(app, ["campaign", "check", store, "c", "--head", head])
    assert bad.exit_code == 1
    assert "ends with entry 57, but it had 61 entries: the last ones were removed" in bad.stdout
    fill(f"sqlite:///{tmp_path}/b.db")
    with Campaign.open(f"sqlite:///{tmp_path}/b.db", "c") as another:  # as long, but another one
        assert "has been rewritten" in another.check(Head.read(head)).problem
    for wrong in ("61", "x:y", f"1:{'G' * 32}", ""):
        shown = CliRunner().invoke(app, ["campaign", "check", store, "c", "--head", wrong])
        assert (shown.exit_code, "a head looks like 12:" in shown.output) == (2, True)


def test_a_journal_that_is_shorter_than_its_snapshot_is_found_without_a_head(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    with Campaign.create(store, "c", ["calm", "loud"], threshold=0.999) as campaign:
        for _ in range(3):
            campaign.tell_many([(ticket, 1.0) for ticket in campaign.ask(500)])
        assert campaign.check().ok
    cut(tmp_path / "a.db", 1000)
    with open_store(store) as opened:
        assert "entries: the last ones were removed" in check_named(opened, "c").problem


def test_a_ticket_that_is_newer_than_the_backup_does_not_count_for_another_arm(tmp_path: Path) -> None:
    """The restored store hands out its number again; the reward of one arm would count for the other."""
    here, there = f"sqlite:///{tmp_path}/here.db", f"sqlite:///{tmp_path}/there.db"
    with Campaign.create(here, "c", ["x", "y"], threshold=0.5, policy="uniform+gap-mixture") as campaign:
        backup(here, tmp_path / "kept.db")
        stale = campaign.ask(2)
    restore(tmp_path / "kept.db", there)
    with Campaign.open(there, "c") as campaign:
        campaign.suspend(stale[0].arm)
        (fresh,) = campaign.ask()
        assert fresh.ticket == stale[0].ticket
        with pytest.raises(Refused, match="Was the store restored from an older copy"):
            campaign.tell(stale[0], 1.0)
        campaign.tell(fresh, 1.0)
        assert campaign.arm(fresh.arm).total == 1.0
