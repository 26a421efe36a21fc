"""Webhooks: where they may go, how they are signed, and what the journal says is owed."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from goodarm.campaign import Campaign
from goodarm.campaign.journal import Row
from goodarm.campaign.stores import sqlite
from goodarm.campaign.stores.sqlite import SqliteStore
from goodarm.errors import InvalidValue
from goodarm.service import webhooks
from goodarm.service.desk import Desk
from goodarm.service.hosted import Hosted
from goodarm.service.sender import Sender
from goodarm.service.side import Lease, open_side
from goodarm.service.targets import resolve
from goodarm.service.webhooks import (
    ATTEMPTS,
    NOTE,
    TOLERANCE,
    UnknownWebhook,
    Webhook,
    Webhooks,
    new_secret,
    outbox,
    send,
    verify,
)

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("url", [
    "http://127.0.0.1/x", "http://localhost:8000/", "http://[::1]/", "http://10.1.2.3/", "http://192.168.0.1/",
    "http://169.254.169.254/latest/meta-data", "http://[::ffff:127.0.0.1]/", "http://0.0.0.0/", "http://[fe80::1]/",
    "http://2130706433/", "http://[2002:7f00:1::]/", "http://100.64.0.1/", "http://[64:ff9b::7f00:1]/",
    "http://[::7f00:1]/", "http://[fec0::1]/", "http://192.0.0.100/", "http://192.88.99.1/", "http://198.18.0.1/",
    "http://[64:ff9b:1::1]/", "http://[2001::1]/", "http://[5f00::1]/", "http://192.0.0.8/", "http://240.0.0.1/",
    "http://[::ffff:0:7f00:1]/", "http://0x7f.1/", "http://017700000001/",
])  # fmt: skip
def test_targets_inside_are_refused_unless_the_server_allows_them(url: str) -> None:
    with pytest.raises(InvalidValue, match=r"private network.*--private-webhooks"):
        resolve(url, private=False)
    assert resolve(url, private=True).address


@pytest.mark.parametrize("port", [22, 25, 5432, 6379])
def test_only_the_ports_of_the_list_are_called(port: int) -> None:
    url = f"https://93.184.216.34:{port}/"
    with pytest.raises(InvalidValue, match=f"got port {port}.*--webhook-ports"):
        resolve(url, private=False)
    assert resolve(url, private=False, ports=(port,)).port == port


def test_a_public_address_is_allowed() -> None:
    assert resolve("https://93.184.216.34:8443/a?b=1", private=False) == (
        "https", "93.184.216.34", 8443, "/a?b=1", "93.184.216.34",
    )  # fmt: skip


@pytest.mark.parametrize("url", ["ftp://example.org", "https://", "example.org", "http://user:pw@127.0.0.1/",
                                 "http://a:99999/", "file:///etc/passwd", "http://\ud800/", "http://[::1",
                                 "http://[/"])  # fmt: skip
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidValue):
        resolve(url, private=True)


SECRET, OTHER = new_secret(), new_secret()
HOOKS = [Webhook("a" * 12, "c", "http://127.0.0.1/", "s", 10, 0.0, None)]


def note(delivered: bool, **more: object) -> dict[str, object]:
    return {"note": NOTE, "delivery": f"{'a' * 12}-11", "webhook": "a" * 12, "delivered": delivered, **more}


def test_verdicts_after_the_registration_are_owed() -> None:
    assert list(outbox(HOOKS, [3, 10, 11, 40], [])) == [f"{'a' * 12}-11", f"{'a' * 12}-40"]


def test_attempts_wait_longer_and_longer_and_end() -> None:
    notes: list[tuple[dict[str, object], float]] = []
    waits = []
    for attempt in range(ATTEMPTS):
        notes.append((note(False, status=500), 100.0 * attempt))
        (owed,) = outbox(HOOKS, [11], notes).values()
        waits.append(owed.due_at - 100.0 * attempt)
    assert waits == sorted(waits)
    assert len(set(waits)) == ATTEMPTS
    assert owed.given_up
    (again,) = outbox(HOOKS, [11], [*notes, (note(False, again=True), 9000.0)]).values()
    assert not again.given_up
    assert again.due_at == 9000.0
    assert len(again.history) == ATTEMPTS + 1


def test_a_delivered_one_is_no_longer_owed_and_other_notes_do_not_matter() -> None:
    others = [({"note": "something else", "delivery": f"{'a' * 12}-11"}, 1.0), ({}, 2.0)]
    (owed,) = outbox(HOOKS, [11], [(note(False, status=None), 0.0), *others, (note(True, status=204), 3.0)]).values()
    assert (owed.delivered, owed.attempts) == (True, 2)


class Receiver:
    """A server that keeps what it gets, and answers as it is told."""

    server: ThreadingHTTPServer

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.paths: list[str] = []
        self.status = 204
        self.url = ""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            made.got.append((dict(self.headers), body))
            made.paths.append(self.path)
            self.send_response(made.status)
            if made.status == 302:
                self.send_header("Location", made.url)
            self.end_headers()

        def log_message(self, *ignored: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        made.server, made.url = server, f"http://127.0.0.1:{server.server_port}/hook"
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield made
        server.shutdown()
        thread.join()


def test_a_delivery_is_signed_over_id_time_and_body(receiver: Receiver) -> None:
    hook = Webhook("b" * 12, "c", receiver.url, SECRET, 0, 0.0, None)
    noted = send(hook, "b-1", {"verdict": {"arm": "x"}}, private=True, now=time.time())
    assert (noted["delivered"], noted["status"]) == (True, 204)
    ((headers, body),) = receiver.got
    at, id, signature = int(headers["Webhook-Timestamp"]), headers["Webhook-Id"], headers["Webhook-Signature"]
    assert json.loads(body) == {"verdict": {"arm": "x"}}
    assert verify(SECRET, id, at, body, signature, time.time())
    assert not verify(OTHER, id, at, body, signature, time.time())
    assert not verify(SECRET, "b-2", at, body, signature, time.time())
    assert not verify(SECRET, id, at + 1, body, signature, time.time())
    assert not verify(SECRET, id, at, body + b" ", signature, time.time())
    assert not verify(SECRET, id, at, body, signature, time.time() + TOLERANCE + 5)


@pytest.mark.parametrize("status", [302, 404, 500])
def test_any_other_answer_is_no_delivery_and_redirects_are_not_followed(receiver: Receiver, status: int) -> None:
    receiver.status = status
    hook = Webhook("b" * 12, "c", receiver.url, SECRET, 0, 0.0, None)
    noted = send(hook, "b-1", {}, private=True, now=0.0)
    assert (noted["delivered"], noted["status"]) == (False, status)
    assert len(receiver.got) == 1


def test_a_receiver_that_is_away_or_inside_is_noted(receiver: Receiver) -> None:
    away = Webhook("b" * 12, "c", "http://127.0.0.1:1/", "s", 0, 0.0, None)
    assert "refused" in send(away, "b-1", {}, private=True, now=0.0)["error"]
    inside = Webhook("b" * 12, "c", receiver.url, "s", 0, 0.0, None)
    assert "private network" in send(inside, "b-1", {}, private=False, now=0.0)["error"]
    assert receiver.got == []


def test_the_receiver_of_the_documents_believes_ours_and_nobody_elses(receiver: Receiver) -> None:
    page = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
    (code,) = (block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "def genuine" in block)
    known: dict[str, Any] = {}
    exec(code, known)
    hook = Webhook("b" * 12, "c", receiver.url, SECRET, 0, 0.0, None)
    send(hook, "b-1", {"verdict": {"arm": "x"}}, private=True, now=time.time())
    send(hook, "b-2", {}, private=True, now=time.time() - 1000.0)
    (headers, body), (old, empty) = receiver.got
    assert known["genuine"](SECRET, headers, body)
    assert not known["genuine"](OTHER, headers, body)
    assert not known["genuine"](SECRET, headers, body + b" ")
    assert not known["genuine"](SECRET, headers | {"Webhook-Id": "b-2"}, body)
    assert not known["genuine"](SECRET, old, empty)


def test_a_path_in_any_script_is_sent_as_the_receiver_reads_it(receiver: Receiver) -> None:
    """It was refused by the connection at each delivery, and held up all others."""
    hook = Webhook("b" * 12, "c", f"{receiver.url}/größe?a=1 2&b=%20日", "s", 0, 0.0, None)
    assert send(hook, "b-1", {}, private=True, now=0.0)["delivered"]
    assert receiver.paths == ["/hook/gr%C3%B6%C3%9Fe?a=1%202&b=%20%E6%97%A5"]


def test_a_delivery_that_can_not_even_be_written_is_noted_and_raises_nothing(receiver: Receiver) -> None:
    hook = Webhook("b" * 12, "c", receiver.url, "s", 0, 0.0, None)
    noted = send(hook, "not\na header", {}, private=True, now=0.0)
    assert (noted["delivered"], noted["status"]) == (False, None)
    assert "Invalid header value" in noted["error"]


def test_a_delivery_over_tls_arrives_where_the_certificate_is_trusted(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    command = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost"
    subprocess.run((*command.split(), "-addext", "subjectAltName=DNS:localhost"), cwd=tmp_path, check=True,
                   stderr=subprocess.DEVNULL)  # fmt: skip
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    receiver.server.socket = tls.wrap_socket(receiver.server.socket, server_side=True)
    right, wrong = (
        Webhook("a" * 12, "c", f"https://{host}:{receiver.server.server_port}/", SECRET, 0, 0.0, None)
        for host in ("localhost", "127.0.0.1")
    )
    assert "CERTIFICATE_VERIFY_FAILED" in send(right, "a-1", {}, private=True, now=0.0)["error"]
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    assert send(right, "a-1", {}, private=True, now=0.0)["delivered"]
    assert "CERTIFICATE_VERIFY_FAILED" in send(wrong, "a-1", {}, private=True, now=0.0)["error"]
    assert len(receiver.got) == 1


def test_a_receiver_whose_handshake_never_ends_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of its bytes comes in time, and together they never become a record of TLS."""
    monkeypatch.setattr(webhooks, "TIMEOUT", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as slow:

        def answer() -> None:
            client, _ = slow.accept()
            with client, suppress(OSError):
                client.sendall(b"\x16\x03\x03\x3f\x00")
                while True:
                    client.sendall(b"x")
                    time.sleep(0.05)

        thread = Thread(target=answer)
        thread.start()
        hook = Webhook("a" * 12, "c", f"https://127.0.0.1:{slow.getsockname()[1]}/", SECRET, 0, 0.0, None)
        noted = send(hook, "id", {}, private=True, now=0.0)
        thread.join(60.0)
    assert (noted["delivered"], noted["status"]) == (False, None)


def test_a_receiver_that_answers_letter_by_letter_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "TIMEOUT", 1.0)
    gone = Event()

    def trickle(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection, suppress(OSError):
            connection.sendall(b"HTTP/1.1 ")
            while True:
                connection.sendall(b"x")
                time.sleep(0.1)
        gone.set()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        Thread(target=trickle, args=(listening,), daemon=True).start()
        hook = Webhook("b" * 12, "c", f"http://127.0.0.1:{listening.getsockname()[1]}/", "s", 0, 0.0, None)
        assert send(hook, "b-1", {}, private=True, now=0.0)["delivered"] is False
        assert gone.wait(60.0)


def test_webhooks_are_kept_ended_and_known_by_their_campaign(tmp_path: Path) -> None:
    side = open_side(f"sqlite:///{tmp_path}/a.db")
    hooks = Webhooks(side, private=True)
    made = hooks.register("c", "http://127.0.0.1:9/", 7)
    assert (hooks.of("c"), hooks.of("d"), hooks.active()) == ([made], [], [made])
    with pytest.raises(UnknownWebhook):
        hooks.end("d", made.id)
    hooks.end("c", made.id)
    assert hooks.active() == []
    with pytest.raises(InvalidValue, match="private network"):
        Webhooks(side, private=False).register("c", "http://127.0.0.1:9/", 7)
    side.close()


class Gated(SqliteStore):
    """A store that reads one campaign's journal only while it may, and notes how many entries it reads at a time."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.gated: int | None = None
        self.began, self.may_read = Event(), Event()
        self.pieces: list[int] = []

    def chunks(self, campaign: int, after: int = 0, until: int | None = None) -> Iterator[list[Row]]:
        for rows in super().chunks(campaign, after, until):
            if campaign == self.gated:
                self.pieces.append(len(rows))
                self.began.set()
                self.may_read.wait(60)
            yield rows


def test_a_long_journal_is_read_in_pieces_and_delays_no_other_webhook(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "BLOCK_OF_ROWS", 50)
    store = Gated(tmp_path / "a.db")
    for name in ("long", "short"):
        with Campaign.create(store, name, ["a", "b"], threshold=0.5) as campaign, campaign.transaction():
            for _ in range(300 if name == "long" else 0):
                campaign.tell_arm("a", 1.0)
    desk: Desk[Hosted] = Desk(lambda name: Hosted.open(store, name), Hosted.together, Hosted.close)
    side = open_side(store.address)
    hooks = Webhooks(side, private=True)
    for name in ("long", "short"):
        hooks.register(name, receiver.url, after=0)
    sender = Sender(desk, hooks, Lease(side, "webhooks"), private=True)

    def told() -> list[tuple[str, str]]:
        contents = [json.loads(body) for _, body in receiver.got]
        return [(content["campaign"], content["verdict"]["arm"]) for content in contents]

    async def arrives(campaign: str, arm: str) -> None:
        async with asyncio.timeout(30):
            while (campaign, arm) not in told():
                await asyncio.sleep(0.05)

    async def play() -> None:
        for name in ("long", "short"):
            await desk.read(name, lambda campaign: campaign.number)
        store.gated = store.find("long")
        sending = asyncio.create_task(sender.run())
        assert await asyncio.to_thread(store.began.wait, 30)
        for arm in ("a", "b"):  # one after the other, so that the second is owed in a later turn
            for _ in range(30):
                await desk.write("short", partial(Hosted.tell_arm, arm=arm, reward=1.0))
            await arrives("short", arm)
        assert "long" not in dict(told())
        store.may_read.set()
        await arrives("long", "a")
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)

    desk.start()
    try:
        asyncio.run(play())
    finally:
        store.may_read.set()
        desk.stop()
        side.close()
        store.close()
    assert len(store.pieces) >= 4
    assert max(store.pieces) <= 50
