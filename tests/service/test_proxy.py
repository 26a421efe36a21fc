"""Behind nginx, below a path: `goodarm serve --root-path /goodarm`, whether or not nginx removes the path.

And behind an nginx that nobody configured for a server without a token.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from serving import Server, events, make_token, path_of, serving

from goodarm import Campaign

pytestmark = pytest.mark.slow

CONFIGURATION = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
{user}
events {{ }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port};
    {location}
  }}
}}
"""
BELOW_A_PATH = """
location /goodarm/ {{
  proxy_pass http://127.0.0.1:{behind}{forwarded};
  proxy_http_version 1.1;
  proxy_set_header Host $http_host;
  proxy_set_header X-Forwarded-For $remote_addr;
  proxy_set_header X-Forwarded-Proto https;
}}
"""
PLAIN = "location / {{ proxy_pass http://127.0.0.1:{behind}; }}"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


@contextmanager
def nginx(folder: Path, port: int, location: str) -> Iterator[None]:
    """nginx with one location until the block ends."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        pytest.skip("needs nginx: make test installs it as root")
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(CONFIGURATION.format(folder=folder, port=port, location=location, user=user))
    proxy = subprocess.Popen((program, "-p", str(folder), "-c", str(folder / "nginx.conf")))
    try:
        _wait(port, proxy)
        yield
    finally:
        proxy.terminate()
        proxy.wait(20)


@pytest.fixture(params=["/", ""], ids=["stripped", "whole"])
def proxied(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Server, str]]:
    store = f"sqlite:///{tmp_path}/a.db"
    token = make_token(store, "admin")
    port = free_port()
    with serving(store, "--root-path", "/goodarm", "--origin", f"http://127.0.0.1:{port}") as running:
        location = BELOW_A_PATH.format(behind=running.port, forwarded=request.param)
        with nginx(tmp_path, port, location):
            yield replace(running, port=port), token


def test_visitors_of_a_proxy_that_was_not_configured_for_it_are_refused_by_an_open_server(tmp_path: Path) -> None:
    """Such a proxy names the server as its host and adds no header, but it speaks HTTP/1.0."""
    port = free_port()
    with (
        serving(f"sqlite:///{tmp_path}/a.db") as running,
        nginx(tmp_path, port, PLAIN.format(behind=running.port)),
    ):
        terms = {"name": "c", "arms": ["calm", "loud"], "threshold": 0.5}
        through = replace(running, port=port)
        refused = through.call("POST", "/api/v1/campaigns", terms)
        assert (refused.status, refused.json["kind"]) == (403, "forwarded")
        assert through.call("GET", "/api/v1/campaigns").status == 403
        assert running.call("POST", "/api/v1/campaigns", terms).status == 201
        assert through.call("GET", path_of("c", "/events")).status == 403


def _wait(port: int, proxy: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 300.0
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            assert proxy.poll() is None, "nginx ended"
            assert time.monotonic() < deadline, "nginx does not listen"
            time.sleep(0.05)


def test_everything_works_below_a_path(proxied: tuple[Server, str], request: pytest.FixtureRequest) -> None:
    server, token = proxied
    # where nginx removes the path it writes the rest anew, and a slash in a name is then a slash of the path
    name = "a/b" if "whole" in request.node.name else "a b"
    page = server.call("GET", "/goodarm/")
    assert (page.status, b"js/app.js" in page.body) == (200, True)
    assert server.call("GET", "/goodarm/js/app.js").status == 200
    assert server.call("GET", "/goodarm/api/v1/openapi.json", token=token).json["servers"] == [{"url": "/goodarm"}]
    assert server.call("GET", "/goodarm/api/v1/campaigns").status == 401

    origin = {"Origin": server.address}
    login = server.call("POST", "/goodarm/login", {"token": token}, headers=origin)
    assert login.status == 200
    assert "Path=/goodarm/" in login.headers["set-cookie"]
    cookie = {"Cookie": login.headers["set-cookie"].partition(";")[0], **origin}

    with Campaign.create(f"{server.address}/goodarm", name, ["x", "y"], threshold=0.5, token=token) as campaign:
        connection, response = server.stream(f"/goodarm{path_of(name, '/events')}", cookie)
        following = events(response)
        assert json.loads(next(following)["data"])["asked"] == 0
        (ticket,) = campaign.ask()
        assert json.loads(next(following)["data"])["asked"] == 1  # through nginx at once, not when a buffer is full
        connection.close()
        campaign.tell(ticket, 1.0)
    old = server.call("POST", f"/goodarm{path_of(name, '/close')}", {}, headers=cookie)
    assert (old.status, old.headers["link"].partition(">")[0]) == (200, f"</goodarm{path_of(name, '/end')}")
    assert server.call("POST", "/goodarm/logout", {}, headers=cookie).status == 204
    assert server.call("GET", "/goodarm/api/v1/campaigns", headers=cookie).status == 401
