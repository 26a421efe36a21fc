"""Tokens: hashed, revocable, with roles; sessions; wrong attempts; the lease that one worker holds."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from goodarm.errors import InvalidValue
from goodarm.service.side import LEASE_SECONDS, Lease, Side, UnusableSide, open_side
from goodarm.service.tokens import REMEMBERED_SECONDS, SESSION_SECONDS, WINDOW, Caller, Role, Tokens, UnknownToken


class Clock:
    """A time that tests move on."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def side(tmp_path: Path) -> Iterator[Side]:
    opened = open_side(f"sqlite:///{tmp_path}/a.db")
    yield opened
    opened.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_token_has_its_role_until_it_is_revoked(side: Side, clock: Clock) -> None:
    tokens = Tokens(side, clock, steady=clock)
    made, text = tokens.create("writer", "checkout")
    assert tokens.caller(text) == Caller(Role.writer, made.id)
    tokens.revoke(made.id)
    clock.now += REMEMBERED_SECONDS + 0.1
    assert tokens.caller(text) is None
    with pytest.raises(UnknownToken, match="no token 'ffffffff'"):
        tokens.revoke("ffffffff")


def test_a_revoked_token_does_not_come_back_when_the_clock_is_set_back(side: Side, clock: Clock) -> None:
    steady = Clock()
    tokens = Tokens(side, clock, steady=steady)
    made, text = tokens.create("writer")
    assert tokens.caller(text) is not None
    tokens.revoke(made.id)
    clock.now -= 3600.0
    steady.now += REMEMBERED_SECONDS + 0.1
    assert tokens.remembered(text) is None
    assert tokens.caller(text) is None


def test_the_file_holds_no_secret(side: Side, tmp_path: Path) -> None:
    _, text = Tokens(side).create("admin")
    session, _ = Tokens(side).open_session(text) or ("", None)
    secret = text.rpartition("_")[2]
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert session
    assert secret.encode() not in content
    assert session.encode() not in content


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
def test_a_file_of_tokens_that_is_replaced_is_not_believed(side: Side, tmp_path: Path, suffix: str) -> None:
    """Tokens are revoked in the new file, which a server with the old one would never read."""
    _, text = Tokens(side).create("admin")
    file = tmp_path / f"a.db.service{suffix}"
    copy = file.with_name("copy")
    copy.write_bytes(file.read_bytes())
    copy.replace(file)
    for use in (lambda: Tokens(side).caller(text), lambda: Tokens(side).create("reader"), lambda: side.load([])):
        with pytest.raises(UnusableSide, match="replaced by another file"):
            use()


@pytest.mark.parametrize("change", [lambda t: t[:-1], lambda t: t + "x", lambda t: t.replace("goodarm", "badarm"),
                                    lambda t: "", lambda t: "goodarm__", lambda t: "\0", lambda t: "goodarm_\ud800_x",
                                    lambda t: t.replace("_", "", 1)])  # fmt: skip
def test_a_token_that_is_changed_is_refused(side: Side, change: object) -> None:
    tokens = Tokens(side)
    _, text = tokens.create("admin")
    wrong = change(text)
    assert tokens.caller(wrong) is None
    assert tokens.open_session(wrong) is None


def test_a_session_ends_by_itself_by_logging_out_and_with_its_token(side: Side, clock: Clock) -> None:
    tokens = Tokens(side, clock, steady=clock)
    made, text = tokens.create("reader")
    sessions = [(tokens.open_session(text) or ("", None))[0] for _ in range(3)]
    reader = Caller(Role.reader, made.id)
    assert all(tokens.caller_of_session(session) == reader for session in sessions)
    tokens.close_session(sessions[0])
    assert [tokens.caller_of_session(session) for session in sessions] == [None, reader, reader]
    clock.now += SESSION_SECONDS + 1.0
    assert tokens.caller_of_session(sessions[1]) is None
    fresh, _ = tokens.open_session(text) or ("", None)
    tokens.revoke(made.id)
    clock.now += REMEMBERED_SECONDS + 0.1
    assert tokens.caller_of_session(fresh) is None


def test_the_last_use_is_shown(side: Side, clock: Clock) -> None:
    tokens = Tokens(side, clock, steady=clock)
    _, text = tokens.create("reader")
    assert tokens.all()[0].used_at is None
    clock.now += 5.0
    tokens.caller(text)
    assert tokens.all()[0].used_at == clock.now


def test_wrong_attempts_are_counted_by_address_and_forgotten_after_the_window(side: Side, clock: Clock) -> None:
    tokens = Tokens(side, clock, steady=clock)
    assert [tokens.failed("10.0.0.1") for _ in range(3)] == [1, 2, 3]
    assert tokens.failed("10.0.0.2") == 1
    clock.now += WINDOW + 1.0
    assert tokens.failures("10.0.0.1") == 0


def test_an_unknown_role_is_refused(side: Side) -> None:
    with pytest.raises(InvalidValue, match="reader, writer, admin; got 'boss'"):
        Tokens(side).create("boss")


def test_a_lease_is_held_by_one_and_passes_on_when_its_holder_is_silent(side: Side, clock: Clock) -> None:
    first, second = Lease(side, "sender", clock), Lease(side, "sender", clock)
    assert (first.take(), second.take()) == (True, False)
    clock.now += LEASE_SECONDS - 0.1
    assert (second.take(), first.take()) == (False, True)
    clock.now += LEASE_SECONDS + 0.1
    assert (second.take(), first.take()) == (True, False)


def test_tables_in_a_folder_that_is_not_there_are_explained(tmp_path: Path) -> None:
    with pytest.raises(UnusableSide, match="Does the folder exist"):
        open_side(f"sqlite:///{tmp_path}/no/a.db")
    with pytest.raises(InvalidValue, match="sqlite:///FILE or postgresql"):
        open_side("mysql://a")


def test_the_tables_are_their_own_file(side: Side, tmp_path: Path) -> None:
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".service"] == ["a.db.service"]
    with sqlite3.connect(tmp_path / "a.db.service") as connection:
        names = {row[0] for row in connection.execute("select name from sqlite_master where type = 'table'")}
    connection.close()
    assert {"goodarm_tokens", "goodarm_sessions"} <= names
