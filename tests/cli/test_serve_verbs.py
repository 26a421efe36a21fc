"""`goodarm serve` and `goodarm token` on the command line: what they say when something is wrong."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = (sys.executable, "-c", "from goodarm.cli import main; main()")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run((*COMMAND, *arguments), capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.slow
def test_tokens_are_made_listed_and_revoked(tmp_path: Path) -> None:
    store = ("--store", f"sqlite:///{tmp_path}/a.db")
    made = json.loads(run("token", "create", "--role", "writer", "--name", "checkout", "--json", *store).stdout)
    plain = run("token", "create", "--role", "reader", *store)
    assert f"for the store {store[1]}" in plain.stderr
    assert plain.stdout.startswith("goodarm_")
    assert "not shown again" in plain.stderr
    assert run("token", "revoke", made["id"], *store).returncode == 0
    listed = json.loads(run("token", "list", "--json", *store).stdout)["tokens"]
    assert [(each["role"], each["name"], each["revoked_at"] is None) for each in listed] == [
        ("writer", "checkout", False),
        ("reader", "", True),
    ]
    table = run("token", "list", *store).stdout
    assert made["id"] in table
    assert made["token"].rpartition("_")[2] not in table


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("token", "create", "--role", "boss", "--store", "sqlite:///{0}/a.db"), "reader, writer, admin; got 'boss'"),
        (("token", "revoke", "ffffffff", "--store", "sqlite:///{0}/a.db"), "no token 'ffffffff'"),
        (("token", "list", "--store", "mysql://x"), "sqlite:///FILE or postgresql"),
        (("serve", "--store", "sqlite:///{0}/no/a.db"), "does not exist"),
        (("serve", "--store", "memory:"), "is lost when its process exits"),
        (("serve", "--store", "sqlite:///{0}/a.db", "--workers", "0"), "workers must be at least 1"),
        (("serve", "--store", "sqlite:///{0}/a.db", "--port", "99999"), "between 0 and 65535"),
        (("serve", "--store", "sqlite:///{0}/a.db", "--host", "0.0.0.0"), "goodarm token create"),
    ],
)
def test_mistakes_are_one_message_and_exit_code_2(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    ran = run(*(argument.format(tmp_path) for argument in arguments))
    assert ran.returncode == 2
    assert words in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.slow
def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        ran = run("serve", "--store", f"sqlite:///{tmp_path}/a.db", "--port", port)
    assert ran.returncode == 2
    assert f"can't listen on 127.0.0.1:{port}" in ran.stderr
