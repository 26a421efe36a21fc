"""A real server in a separate process, and a plain client."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import quote

from typer.testing import CliRunner

from goodarm.cli import app

COMMAND = (sys.executable, "-c", "from goodarm.cli import main; main()")
ADDRESS = re.compile(r"at http://([^/]+?):(\d+)/ ")
START_SECONDS = 300.0
"""A busy machine may take long to start; what hangs is found by this."""


@dataclass
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Server:
    """A server that runs."""

    process: subprocess.Popen[str]
    host: str
    port: int
    store: str
    said: list[str]

    @property
    def address(self) -> str:
        return f"http://{self.host}:{self.port}"

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request on a separate connection."""
        connection = HTTPConnection(self.host, self.port, timeout=300)
        try:
            sent = dict(headers or {})
            if token is not None:
                sent["Authorization"] = f"Bearer {token}"
            data = body
            if body is not None and not isinstance(body, bytes):
                data, sent["Content-Type"] = json.dumps(body).encode(), "application/json"
            connection.request(method, path, data, sent)
            answer = connection.getresponse()
            return Answer(answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def stream(self, path: str, headers: Mapping[str, str] | None = None) -> tuple[HTTPConnection, HTTPResponse]:
        """An open event stream; the caller closes it."""
        connection = HTTPConnection(self.host, self.port, timeout=300)
        connection.request("GET", path, headers=dict(headers or {}))
        return connection, connection.getresponse()

    def workers(self) -> list[int]:
        """The processes that answer: children that run our application."""
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    fields = (folder / "stat").read_text().rpartition(")")[2].split()
                    command = (folder / "cmdline").read_bytes()
                except OSError:
                    continue
                if int(fields[1]) == self.process.pid and b"spawn_main" in command:
                    found.append(int(folder.name))
        return found

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Stop it and wait for its end."""
        self.process.send_signal(number)
        return self.process.wait(300)


@contextmanager
def serving(store: str, *options: str, environment: Mapping[str, str] | None = None) -> Iterator[Server]:
    """`goodarm serve` on a free port until the block ends."""
    process = subprocess.Popen(
        (*COMMAND, "serve", "--store", store, "--port", "0", *options), stdout=subprocess.PIPE, text=True,
        start_new_session=True, env={**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        said = [process.stdout.readline()]
        found = ADDRESS.search(said[0])
        assert found, f"the server did not say its address: {said}"
        server = Server(process, found[1], int(found[2]), store, said)
        _wait_until_ready(server)
        yield server
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(300)
        assert process.stdout is not None
        process.stdout.close()


def _wait_until_ready(server: Server) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            if server.call("GET", "/readyz").status == 200:
                return
        except OSError:
            pass
        assert server.process.poll() is None, "the server ended while it started"
        assert time.monotonic() < deadline, "the server did not become ready"
        time.sleep(0.05)


def is_held(server: Server, client: socket.socket) -> bool:
    """Whether the server still has its end of the connection, as the kernel says."""
    near = client.getsockname()[1]
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        ports = [int(fields[i].rpartition(":")[2], 16) for i in (1, 2)]
        if ports == [server.port, near]:
            return fields[9] != "0"  # a socket that no process holds has no inode
    return False


def make_token(store: str, role: str) -> str:
    """A token, made by the command that people use, without a process of its own."""
    made = CliRunner().invoke(app, ["token", "create", "--store", store, "--role", role, "--json"])
    assert made.exit_code == 0, made.output
    return str(json.loads(made.stdout)["token"])


def revoke_token(store: str, id: str) -> None:
    """Revoke a token in the same way."""
    assert CliRunner().invoke(app, ["token", "revoke", id, "--store", store]).exit_code == 0


def path_of(name: str, rest: str = "") -> str:
    return f"/api/v1/campaigns/{quote(name, safe='')}{rest}"


def events(response: HTTPResponse) -> Iterator[dict[str, str]]:
    """The events of a stream, one by one."""
    event: dict[str, str] = {}
    for raw in response:
        line = raw.decode().rstrip("\n").rstrip("\r")
        if not line:
            if "data" in event:
                yield event
            event = {}
        elif not line.startswith(":"):
            field, _, value = line.partition(": ")
            event[field] = value
