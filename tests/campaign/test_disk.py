"""Disks that are full, files that may only be read, stores of a newer goodarm: clear errors, nothing half-written."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
import workers
from test_processes import CONTEXT

from goodarm import Campaign
from goodarm.campaign import open_store
from goodarm.campaign.stores import sqlite
from goodarm.campaign.stores.file_lock import refuse_network
from goodarm.errors import GoodarmError, InvalidValue, UnusableStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with one told reward, closed."""
    folder = tmp_path / "folder"
    folder.mkdir()
    with Campaign.create(f"sqlite:///{folder / 'store.db'}", "c", ["a", "b"], 0.5, delta=1e-200) as campaign:
        campaign.tell(campaign.ask()[0], 1.0)
    return folder / "store.db"


def in_another_process(work: Callable[[str, str], None], path: Path, answer: Path) -> str:
    answer.touch(mode=0o666)
    answer.chmod(0o666)
    process = CONTEXT.Process(target=work, args=(str(path), str(answer)))
    process.start()
    process.join(300)
    assert process.exitcode == 0
    return answer.read_text()


@pytest.mark.slow
def test_a_full_disk_loses_nothing_that_was_acknowledged(path: Path, tmp_path: Path) -> None:
    numbers, message = in_another_process(workers.fill_the_disk, path, tmp_path / "answer").split("\n", 1)
    acknowledged, told, more, ok = numbers.split()
    assert message.startswith("UnusableStore: ")
    assert "Nothing was half-written" in message
    assert int(acknowledged) > 0
    assert int(told) == 1 + int(acknowledged)
    assert int(more) == int(told) + 100
    assert ok == "True"


@pytest.mark.slow
def test_a_file_that_may_only_be_read_can_be_read(path: Path, tmp_path: Path) -> None:
    path.chmod(0o444)
    path.parent.chmod(0o555)
    for parent in path.parents:
        if parent.stat().st_mode & 0o005 != 0o005:
            parent.chmod(parent.stat().st_mode | 0o055)
        if parent.name.startswith("pytest-of"):
            break
    told, message = in_another_process(workers.without_rights, path, tmp_path / "answer").split("\n", 1)
    path.parent.chmod(0o755)
    assert told == "1"
    assert "read-only" in message


def test_a_newer_store_is_refused(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(UnusableStore, match="newer goodarm"):
        Campaign.open(f"sqlite:///{path}", "c")


@pytest.mark.slow
def test_a_newer_store_on_a_server_is_refused(new_database: Callable[[], str]) -> None:
    address = new_database()
    Campaign.create(address, "c", ["a"], 0.5).close()
    with psycopg.connect(address) as connection:
        connection.execute("UPDATE goodarm_format SET version = 99")
    with pytest.raises(UnusableStore, match="newer goodarm"):
        Campaign.open(address, "c")


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(UnusableStore, match="another program"):
        open_store(f"sqlite:///{path}")
    assert path.read_bytes() == before


def test_what_is_no_store_is_named(tmp_path: Path) -> None:
    text = tmp_path / "text.db"
    text.write_text("this is not a database, and long enough to be noticed as something else " * 20)
    with pytest.raises(UnusableStore, match="not an SQLite database"):
        open_store(f"sqlite:///{text}")
    with pytest.raises(UnusableStore, match="no folder"):
        open_store(f"sqlite:///{tmp_path / 'nowhere' / 'store.db'}")
    for address in ("banners", "mysql://host/db", "", 7):
        with pytest.raises(InvalidValue, match="store"):
            open_store(address)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(UnusableStore, match="server"):
        open_store(f"postgresql://nobody@/none?host={tmp_path}")


def test_network_file_systems_are_refused(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/vda / ext4 rw 0 0\nserver:/home {tmp_path} nfs4 rw 0 0\n")
    with pytest.raises(UnusableStore, match="network file system"):
        refuse_network(tmp_path / "store.db", mounts)
    refuse_network(Path("/store.db"), mounts)


def test_a_changed_row_is_named_and_so_is_a_missing_one(path: Path) -> None:
    address = f"sqlite:///{path}"
    with Campaign.open(address, "c") as campaign:
        campaign.tell_many([(ticket, 1.0) for ticket in campaign.ask(3)])
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE events SET reward = 0.0 WHERE number = 7")
    connection.close()
    with pytest.raises(GoodarmError, match=r"entry 7 .*told.*has been changed"):
        Campaign.open(address, "c")
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM events WHERE number = 7")
    connection.close()
    with pytest.raises(GoodarmError, match="entry 7 of the journal is missing"):
        Campaign.open(address, "c")


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", ".lock"])
@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_is_deleted_or_replaced_while_it_is_open_is_not_written_to(
    path: Path, suffix: str, replaced: bool
) -> None:
    campaign = Campaign.open(f"sqlite:///{path}", "c")
    ticket, other = campaign.ask(2)
    campaign.tell(ticket, 1.0)
    file = path.with_name(path.name + suffix)
    content = file.read_bytes()
    file.unlink()
    if replaced:
        file.write_bytes(content)
    said = "replaced" if replaced else "deleted"
    with pytest.raises(UnusableStore, match=f"{said}.*restart this program"):
        campaign.tell(other, 1.0)
    with pytest.raises(UnusableStore, match=said):
        campaign.store.names()


def run_elsewhere(path: Path, statement: str) -> None:
    """Open the database in another process, run a statement, and close it."""
    code = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.commit(); c.close()"
    subprocess.run((sys.executable, "-c", code, str(path), statement), check=True)


def test_closing_keeps_what_others_wrote_after_the_shared_index_was_deleted(path: Path) -> None:
    """SQLite would copy its own part of the log to the file, and remove the log with the rest."""
    campaign = Campaign.open(f"sqlite:///{path}", "c")
    campaign.ask()
    path.with_name(path.name + "-shm").unlink()
    run_elsewhere(path, "INSERT INTO campaigns (name) VALUES ('later')")
    campaign.close()
    code = "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('SELECT name FROM campaigns').fetchall())"
    found = subprocess.run((sys.executable, "-c", code, str(path)), check=True, capture_output=True, text=True)
    assert found.stdout == "[('c',), ('later',)]\n"
    with pytest.raises(UnusableStore, match="restart this program"):
        open_store(f"sqlite:///{path}")  # SQLite would use the old index in this process


def test_opening_a_file_twice_keeps_its_locks(path: Path) -> None:
    """Closing any descriptor of a file drops this process's locks on it. Another process then removes the log."""
    first, second = (Campaign.open(f"sqlite:///{path}", "c") for _ in range(2))
    (ticket,) = first.ask()
    run_elsewhere(path, "SELECT count(*) FROM campaigns")
    first.tell(ticket, 1.0)
    assert second.number == first.number


def test_a_file_behind_a_link_is_private(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "target.db")
    Campaign.create(f"sqlite:///{tmp_path / 'link.db'}", "c", ["a"], 0.5).close()
    assert (tmp_path / "target.db").stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_deleted_during_a_transaction_is_not_acknowledged(path: Path) -> None:
    campaign = Campaign.open(f"sqlite:///{path}", "c")
    (ticket,) = campaign.ask()

    def tell_and_delete() -> None:
        with campaign.transaction():
            campaign.tell(ticket, 1.0)
            path.unlink()

    with pytest.raises(UnusableStore, match="deleted"):
        tell_and_delete()


def test_nobody_else_may_read_or_write_the_files(tmp_path: Path) -> None:
    with Campaign.create(f"sqlite:///{tmp_path / 'a.db'}", "c", ["a"], 0.5):
        modes = {file.name: oct(file.stat().st_mode & 0o777) for file in tmp_path.iterdir()}
    assert modes == dict.fromkeys(("a.db", "a.db-wal", "a.db-shm", "a.db.lock"), "0o600")


def test_every_answer_is_flushed_after_the_lock_is_released(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address, free = f"sqlite:///{path}", list[bool]()
    with Campaign.open(address, "c") as campaign, Campaign.open(address, "c") as other:
        (ticket,) = campaign.ask()

        def flush(file: int) -> None:
            with path.with_name(f"{path.name}.lock").open("r+") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    free.append(False)
                else:
                    free.append(True)
            os.fsync(file)

        monkeypatch.setattr(sqlite, "flush_file", flush)
        campaign.tell(ticket, 1.0)
        assert free == [True]
        campaign.tell(ticket, 1.0)  # it changes nothing, but is acknowledged: another process may have written it
        assert free == [True, True]
        other.tally()  # it shows entries that their writer may not have flushed yet
        assert free == [True, True, True]
        other.tally()
        assert len(free) == 3


def test_a_disk_that_does_not_keep_a_commit_ends_the_store(path: Path) -> None:
    with Campaign.open(f"sqlite:///{path}", "c") as campaign:
        (ticket,) = campaign.ask()
        (read, write), store = os.pipe(), campaign.store
        assert isinstance(store, sqlite.SqliteStore)
        kept, store._log = store._log, write  # a pipe can't be flushed
        try:
            with pytest.raises(UnusableStore):
                campaign.tell(ticket, 1.0)
        finally:
            store._log = kept
            os.close(read)
            os.close(write)
        with pytest.raises(UnusableStore, match="failed to save"):  # a later flush would succeed, and lie
            campaign.tell(ticket, 1.0)
