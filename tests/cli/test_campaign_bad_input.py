"""What a shell can hand to `goodarm campaign` by mistake: one message, exit code 2, never a traceback."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from goodarm.cli import app

runner = CliRunner()


def refused(*words: str) -> str:
    result = runner.invoke(app, ["campaign", *words])
    assert result.exit_code == 2, result.output
    return result.stderr


@pytest.fixture
def store(tmp_path: Path) -> str:
    address = f"sqlite:///{tmp_path / 'store.db'}"
    made = runner.invoke(app, ["campaign", "create", address, "c", "--arms", "a,b", "--threshold", "0.5"])
    assert made.exit_code == 0, made.output
    return address


ADDRESSES = ["", "sqlite:///", "sqlite://x.db", "postgresql://[::1", "https://[::1", "http://", "http://h:port", "x"]


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_that_is_none(address: str) -> None:
    assert "address" in refused("ask", address, "c") or "kind of store" in refused("ask", address, "c")


def test_the_password_of_an_unreadable_address_is_not_shown() -> None:
    assert "secret" not in refused("ask", "postgresql://ann:secret@[::1/x", "c")


def test_a_folder_as_the_store(tmp_path: Path) -> None:
    assert "can't be opened" in refused("create", f"sqlite:///{tmp_path}", "c", "--arms", "a", "--threshold", "0.5")


def test_a_name_that_is_taken_is_explained_as_a_command(store: str) -> None:
    said = refused("create", store, "c", "--arms", "a,b", "--threshold", "0.5")
    assert "Use it with goodarm campaign ask STORE 'c', or choose another name." in said
    said = refused("create", store, "d", "--arms", "a", "--threshold", "0.5", "--unanswered", "void")
    assert "for example --after 30min." in said


FILES = {
    "a header without rows": ("id\n", "at least one arm"),
    "nothing": ("", "at least one arm"),
    "a field without end": ("id\n" + "x" * 200_000 + "\n", "can't be read as CSV"),
    "two columns of one name": ("id,id\na,b\n", "two columns are named 'id'"),
    "another separator": ("id;label\na;b\n", "column 'id'"),
    "a weight that is none": ("id,weight\na,nan\n", "positive number"),
}


@pytest.mark.parametrize(("text", "reason"), FILES.values(), ids=FILES.keys())
def test_a_file_of_arms_that_is_none(text: str, reason: str, store: str, tmp_path: Path) -> None:
    file = tmp_path / "arms.csv"
    file.write_text(text, encoding="utf-8")
    assert reason in refused("create", store, "d", "--arms", str(file), "--threshold", "0.5")


def test_two_slashes_of_a_file() -> None:
    assert "A file has three slashes. Write sqlite:///banners.db" in refused("ask", "sqlite://foo.db", "c")


def test_an_empty_id_in_a_list(store: str) -> None:
    assert "has an empty id" in refused("create", store, "d", "--arms", "a,,b", "--threshold", "0.5")


@pytest.mark.parametrize("text", ["prompt\nbe brief\nbe kind\n", "prompt,tokens\nbe brief,3\nbe kind,3\n"])
def test_the_first_column_has_the_ids_if_its_texts_differ(text: str, store: str, tmp_path: Path) -> None:
    (tmp_path / "arms.csv").write_text(text, encoding="utf-8")
    words = ["campaign", "create", store, "d", "--arms", str(tmp_path / "arms.csv"), "--threshold", "0.5"]
    made = runner.invoke(app, words)
    assert made.exit_code == 0, made.output
    assert "has no column 'id': the ids are its column 'prompt', 2 arms." in made.stderr


@pytest.mark.parametrize("text", ["prompt\na\na\n", "number,mean\n1,2\n2,2\n", "a;b\nc;d\ne;f\n"])
def test_a_first_column_without_ids(text: str, store: str, tmp_path: Path) -> None:
    (tmp_path / "arms.csv").write_text(text, encoding="utf-8")
    assert "column 'id'" in refused("create", store, "d", "--arms", str(tmp_path / "arms.csv"), "--threshold", "0.5")


def test_units_are_explained_as_commands(store: str) -> None:
    words = ["campaign", "create", store, "u", "--arms", "a,b", "--threshold", "0.5", "--per-unit", "any"]
    made = runner.invoke(app, words)
    assert made.exit_code == 0, made.output
    said = refused("ask", store, "u")
    assert "ask without --unit is refused. Use ask --unit ID, tell-unit UNIT REWARD" in said
    assert "close-units UNIT." in said
    assert "Ask for it first: ask --unit 'x'." in refused("close-units", store, "u", "x")
    said = refused("create", store, "v", "--arms", "a,b", "--threshold", "0.5", "--per-unit", "ratio")
    assert "--per-unit ratio needs --unit-limit D" in said


@pytest.mark.parametrize("suffix", ["csv", "txt"])
def test_an_id_is_not_cut_at_unusual_line_ends(suffix: str, store: str, tmp_path: Path) -> None:
    names = ["a\u2028b", "c\x0cd", "e\x85f"]
    file = tmp_path / f"arms.{suffix}"
    file.write_text("\n".join([*(["id"] if suffix == "csv" else []), *names]) + "\n", encoding="utf-8")
    made = runner.invoke(app, ["campaign", "create", store, "d", "--arms", str(file), "--threshold", "0.5"])
    assert made.exit_code == 0, made.output
    asked = runner.invoke(app, ["campaign", "ask", store, "d", "-n", "3", "--json"])
    assert [each["arm"] for each in json.loads(asked.stdout)["tickets"]] == names


@pytest.mark.parametrize("after", ["nonsense", "-5min", "0", "1e999", "1 fortnight", "", "1..2s"])
def test_a_time_that_is_none_is_shown_as_it_was_written(after: str, store: str) -> None:
    said = refused("create", store, "d", "--arms", "a", "--threshold", "0.5", "--after", after)
    assert f"got {after!r}" in said


@pytest.mark.parametrize("every", ["-1", "0", "nan", "inf"])
def test_a_pause_that_is_none(every: str, store: str) -> None:
    assert "--every" in refused("watch", store, "c", "--every", every)


def test_history_from_before_the_beginning(store: str) -> None:
    assert "at least 0" in refused("history", store, "c", "--after", "-5")


def test_one_damaged_campaign_does_not_hide_the_others(store: str) -> None:
    made = runner.invoke(app, ["campaign", "create", store, "other", "--arms", "a", "--threshold", "0.5"])
    assert made.exit_code == 0
    connection = sqlite3.connect(store.removeprefix("sqlite:///"))
    with connection:
        connection.execute("UPDATE events SET at = 1.0 WHERE campaign = 1")
    connection.close()
    listed = runner.invoke(app, ["campaign", "list", store])
    assert listed.exit_code == 0
    first, second = listed.stdout.splitlines()
    assert "can't be opened: entry 1 of the journal" in first
    assert second.startswith("other: 0 of 1 above")


def shell(store: str, *words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """A real process, with an encoding that knows no mercy."""
    strict = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
    command = [sys.executable, "-m", "goodarm", "campaign", words[0], store, "c", *words[1:]]
    return subprocess.run(command, input=stdin, capture_output=True, env=strict, check=False)


@pytest.mark.slow
def test_bytes_that_are_no_text(store: str) -> None:
    answer = shell(store, "tell", stdin=b"\xff\xfe 1\n")
    assert answer.returncode == 2
    assert b"Traceback" not in answer.stderr
    assert b"is not a ticket" in answer.stderr


@pytest.mark.slow
def test_ctrl_c_while_watching(store: str) -> None:
    command = [sys.executable, "-m", "goodarm", "campaign", "watch", store, "c", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as watching:
        assert watching.stdout is not None
        assert b"headline" in watching.stdout.readline()
        watching.send_signal(signal.SIGINT)
        _, said = watching.communicate(timeout=300)
    assert (watching.returncode, said) == (130, b"goodarm: interrupted.\n")


def test_an_answer_that_was_lost_can_be_asked_for_again(store: str) -> None:
    words = ["campaign", "ask", store, "c", "-n", "3", "--key", "the morning's"]
    first, again = runner.invoke(app, words), runner.invoke(app, words)
    assert first.exit_code == 0
    assert first.stdout == again.stdout
    assert len(first.stdout.splitlines()) == 3


@pytest.mark.parametrize("written", ["{address}", "file:{folder}/secret"])
def test_no_command_line_needs_to_show_the_store(
    store: str, written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its address may contain a password, and everyone on the machine can read command lines."""
    (tmp_path / "secret").write_text(f"{store}\nignored\n")
    monkeypatch.setenv("GOODARM_STORE", written.format(address=store, folder=tmp_path))

    def ran(*words: str) -> str:
        result = runner.invoke(app, words)
        assert result.exit_code == 0, result.output
        return result.stdout

    ticket, arm = ran("campaign", "ask", "c", "--number", "1").split()
    ran("campaign", "tell", "c", ticket, "1")
    for words in (("-n", "1", "c"), ("c",), (store, "c"), (f"file:{tmp_path}/secret", "c")):
        assert ran("campaign", "ask", *words)
    assert ran("campaign", "list").startswith("c: ")
    ran("backup", f"{tmp_path}/kept.backup")
    monkeypatch.setenv("GOODARM_STORE", f"sqlite:///{tmp_path}/copy.db")
    ran("restore", f"{tmp_path}/kept.backup")
    assert json.loads(ran("campaign", "list", "--json"))["campaigns"][0]["told"] == 1
    assert arm in "ab"
    assert "Missing argument" in refused("ask")
    assert "can't be read" in refused("ask", f"file:{tmp_path}/none", "c")
