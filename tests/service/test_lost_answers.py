"""A real proxy that loses answers: whatever the client sends again is done once."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import Server, path_of, serving

from goodarm import Campaign
from goodarm.campaign import connection as connections
from goodarm.errors import Refused

pytestmark = pytest.mark.slow


class Proxy:
    """Passes requests on; while `lose` is above 0, the answer is thrown away and the connection broken off."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.lose = 0
        self.lost = 0
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def stop(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._accepting.join(30)
        for thread in self._threads:
            thread.join(30)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            self._threads.append(threading.Thread(target=self._serve, args=(near,), daemon=True))
            self._threads[-1].start()

    def _serve(self, near: socket.socket) -> None:
        with near, socket.create_connection(("127.0.0.1", self._port)) as far:
            while request := _message(near):
                far.sendall(request)
                answer = _message(far)
                if self.lose > 0:
                    self.lose -= 1
                    self.lost += 1
                    return
                near.sendall(answer)


def _message(source: socket.socket) -> bytes:
    """One HTTP message with a length; empty at the end."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = source.recv(65536)
        if not piece:
            return b""
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
    while len(body) < (int(lengths[0]) if lengths else 0):
        body += source.recv(65536)
    return head + b"\r\n\r\n" + body


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(f"sqlite:///{tmp_path_factory.mktemp('lost')}/a.db", "--private-webhooks") as running:
        yield running


@pytest.fixture
def proxy(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    monkeypatch.setattr(connections, "FIRST_WAIT", 0.001)
    made = Proxy(server.port)
    yield made
    made.stop()


def test_whatever_is_sent_again_is_done_once(server: Server, proxy: Proxy) -> None:
    proxy.lose = 2
    campaign = Campaign.create(proxy.address, "lost", ["a", "b"], 0.5, reserve=0.2)
    done = []
    for operation in (
        lambda: campaign.add_arms(["late", "later"]),
        lambda: done.extend(campaign.ask(3)),
        lambda: campaign.tell(done[0], 1.0),
        lambda: campaign.tell_many([(done[0], 1.0), (done[1], 0.0)]),
        lambda: done.append(campaign.step(done[2], 1.0)),
        lambda: campaign.void(done[3], "lost"),
        lambda: campaign.tell_arm("a", 1.0),
        lambda: campaign.tell_arm("a", 1.0),
        lambda: done.append(campaign.ask_block(10)),
        lambda: campaign.tell_block(done[4], {arm: (pulls, 1.0) for arm, pulls in done[4].pulls.items()}, part="1"),
        lambda: campaign.suspend("late"),
        lambda: campaign.resume("late"),
        lambda: campaign.retire("later"),
        lambda: campaign.end("enough"),
    ):
        proxy.lose = 2
        operation()
        assert proxy.lose == 0
    assert proxy.lost == 2 * 15
    campaign.close()
    with Campaign.open(server.address, "lost") as campaign:
        found = Counter(event["kind"] for event in campaign.history())
        assert campaign.check().ok
        assert campaign.tally().told == 3 + 2 + 10
    expected = {
        "created": 1, "added": 1, "asked": 4, "told": 3, "void": 1, "given": 2, "block": 1, "part": 1, "paused": 1,
        "resumed": 1, "retired": 1, "ended": 1,
    }  # fmt: skip
    assert {kind: many for kind, many in found.items() if kind not in ("request", "verdict")} == expected


def test_a_campaign_of_somebody_else_with_the_same_name_is_still_refused(server: Server) -> None:
    Campaign.create(server.address, "taken", ["a"], 0.5).close()
    with pytest.raises(Refused, match="already has a campaign 'taken'"):
        Campaign.create(server.address, "taken", ["a"], 0.5)


def test_a_key_creates_one_campaign_and_not_another(server: Server, tmp_path: Path) -> None:
    for store in (server.address, f"sqlite:///{tmp_path}/a.db"):
        for _ in range(2):
            Campaign.create(store, "keyed", ["a", "b"], 0.5, metadata={"b": 1, "a": 2}, key="k").close()
        with Campaign.open(store, "keyed") as campaign:
            campaign.ask(1, key="of an ask")
        for arms, bar, key in ((["a", "b"], 0.6, "k"), (["a"], 0.5, "k"), (["a", "b"], 0.5, "of an ask")):
            with pytest.raises(Refused, match="used for another request"):
                Campaign.create(store, "keyed", arms, bar, metadata={"b": 1, "a": 2}, key=key)


def test_a_key_is_for_one_request(server: Server) -> None:
    with Campaign.create(server.address, "keys", ["a", "b"], 0.5) as campaign:
        campaign.tell_arm("a", 1.0, key="k")
        for again in (
            lambda: campaign.tell_arm("b", 1.0, key="k"),
            lambda: campaign.ask(1, key="k"),
            lambda: campaign.ask_block(5, key="k"),
        ):
            with pytest.raises(Refused, match="used for another request"):
                again()
        assert campaign.ask_block(5, key="block") == campaign.ask_block(5, key="block")
        first, second = campaign.ask(2, key="two")
        following = campaign.step(first, 1.0, key="step")
        assert campaign.step(first, 1.0, key="step") == following
        for again in (
            lambda: campaign.ask(3, key="two"),
            lambda: campaign.step(second, 1.0, key="step"),
            lambda: campaign.step(second, 1.0, key="two"),
        ):
            with pytest.raises(Refused, match="used for another request"):
                again()
        assert campaign.ask(2, key="two") == [first, second]
        campaign.void(following, "enough")
        assert campaign.tally().pending == 5 + 1  # the second, too: its steps were refused and told nothing


def test_a_webhook_is_made_once_and_its_secret_shown_again_for_a_lost_answer(server: Server) -> None:
    Campaign.create(server.address, "hooked", ["a"], 0.5).close()
    path, target = path_of("hooked", "/webhooks"), {"url": "http://127.0.0.1:9/"}
    made = [server.call("POST", path, target, headers={"Idempotency-Key": "one"}).json for _ in range(2)]
    assert made[0] == made[1]
    assert len(server.call("GET", path).json["webhooks"]) == 1
    other = server.call("POST", path, {"url": "http://127.0.0.1:10/"}, headers={"Idempotency-Key": "one"})
    assert other.status == 409
    assert "a different or ended webhook" in other.json["detail"]


def test_keys_work_without_a_server_too(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    for _ in range(2):
        with Campaign.create(store, "c", ["a"], 0.5, reserve=0.1, key="mine") as campaign:
            campaign.add_arms(["b"], key="more")
            campaign.tell_arm("b", 1.0, key="first")
            assert (campaign.tally().arms, campaign.tally().told) == (2, 1)
            assert campaign.check().ok
    with pytest.raises(Refused, match="already"):
        Campaign.create(store, "c", ["a"], 0.5, key="another")
    with Campaign.open(store, "c") as campaign:
        assert [event["kind"] for event in campaign.history()].count("added") == 1
