"""Servers as they are in life: several workers, killed ones, stopped ones, and what they leave behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from in_process import InProcess, in_process
from serving import Server, events, is_held, path_of, serving

from goodarm.service.demo import PER_TURN, TURN_SECONDS
from goodarm.service.side import LEASE_SECONDS
from goodarm.service.webhooks import verify

pytestmark = pytest.mark.slow


def until(condition: Any, seconds: float = 300.0) -> None:
    """Wait for something that must happen; how long it takes is the machine's affair."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def make(server: Server | InProcess, name: str = "c", arms: int = 3) -> None:
    terms = {"name": name, "arms": [f"arm {i}" for i in range(arms)], "threshold": 0.5}
    assert server.call("POST", "/api/v1/campaigns", terms).status == 201


@pytest.mark.parametrize(("workers", "number"), [("1", signal.SIGTERM), ("1", signal.SIGINT), ("2", signal.SIGINT)])
def test_a_server_with_an_open_stream_stops(tmp_path: Path, workers: str, number: int) -> None:
    """The next test stops two workers by SIGTERM."""
    with serving(f"sqlite:///{tmp_path}/a.db", "--workers", workers) as server:
        make(server)
        connection, response = server.stream(path_of("c", "/events"))
        stream = events(response)
        assert json.loads(next(stream)["data"])["open"] == 3
        held = [server.process.pid, *server.workers()]
        assert server.stop(number) == 0  # by itself: the stream's client has not closed anything
        until(lambda: not any(map(is_running, held)))
        with socket.create_server((server.host, server.port)):
            """The port is free."""
        assert list(stream) == []
        connection.close()


def test_a_request_that_never_ends_does_not_keep_a_server(tmp_path: Path) -> None:
    """uvicorn waits for its answer as long as it was told, and leaves."""
    with serving(f"sqlite:///{tmp_path}/a.db", "--workers", "2") as server:
        make(server)
        head = f"POST {path_of('c', '/ask')} HTTP/1.1\r\nHost: {server.host}:{server.port}\r\nContent-Length: 9"
        with socket.create_connection((server.host, server.port)) as client:
            client.sendall(head.encode() + b"\r\n\r\n{")
            until(lambda: is_held(server, client))
            held = [server.process.pid, *server.workers()]
            assert server.stop() == 0
            until(lambda: not any(map(is_running, held)))


def test_what_was_acknowledged_is_there_after_a_restart(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    with serving(store) as server:
        make(server)
        tickets = server.call("POST", path_of("c", "/ask"), {"n": 5}).json["tickets"]
        server.call("POST", path_of("c", "/tell"), {"ticket": tickets[0]["ticket"], "reward": 1})
        os.kill(server.process.pid, signal.SIGKILL)
        server.process.wait(300)
    with serving(store) as server:
        summary = server.call("GET", path_of("c")).json
        assert (summary["asked"], summary["told"], summary["pending"]) == (5, 1, 4)
        again = {"ticket": tickets[0]["ticket"], "reward": 1}
        assert server.call("POST", path_of("c", "/tell"), again).status == 200
        assert server.call("GET", path_of("c", "/check")).json["ok"]


def is_running(process: int) -> bool:
    """Whether the process runs and is not a zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_workers_end_when_the_server_that_started_them_was_killed(tmp_path: Path) -> None:
    """One of the two has an open stream, the other has nothing to do."""
    with serving(f"sqlite:///{tmp_path}/a.db", "--workers", "2") as server:
        make(server)
        until(lambda: len(server.workers()) == 2)
        workers = server.workers()
        connection, _ = server.stream(path_of("c", "/events"))
        os.kill(server.process.pid, signal.SIGKILL)
        server.process.wait(300)
        until(lambda: not any(map(is_running, workers)))
        connection.close()


class Client(threading.Thread):
    """Asks and tells, and keeps a book of what was acknowledged."""

    def __init__(self, address: str, name: str, number: int) -> None:
        super().__init__(daemon=True)
        self._address, self._name, self._number = address, name, number
        self.told: dict[str, float] = {}
        self.asked: list[str] = []
        self.error: Exception | None = None
        self.ending = threading.Event()

    def run(self) -> None:
        from goodarm import Campaign

        try:
            with Campaign.open(self._address, self._name) as campaign:
                while not self.ending.is_set():
                    tickets = campaign.ask(2)
                    self.asked += [ticket.ticket for ticket in tickets]
                    for ticket in tickets:
                        reward = float(hash((self._number, ticket.ticket)) % 2)
                        campaign.tell(ticket, reward)
                        self.told[ticket.ticket] = reward
        except Exception as error:
            self.error = error


def test_killing_a_worker_costs_only_its_open_requests(tmp_path: Path) -> None:
    with serving(f"sqlite:///{tmp_path}/a.db", "--workers", "3") as server:
        make(server, arms=30)
        until(lambda: len(server.workers()) == 3)
        clients = [Client(server.address, "c", i) for i in range(6)]
        for client in clients:
            client.start()
        for _ in range(3):
            until(lambda: min(len(client.told) for client in clients) > 10 or any(client.error for client in clients))
            victim = server.workers()[0]
            os.kill(victim, signal.SIGKILL)
            seen = sum(len(client.told) for client in clients)
            until(lambda seen=seen: sum(len(client.told) for client in clients) > seen + 30)
            until(lambda victim=victim: len(server.workers()) == 3 and victim not in server.workers())
        for client in clients:
            client.ending.set()
        for client in clients:
            client.join(300)
            assert client.error is None
        asked = Counter(ticket for client in clients for ticket in client.asked)
        told = {ticket: reward for client in clients for ticket, reward in client.told.items()}
        journal: list[dict[str, Any]] = []
        after: int | None = 0
        while after is not None:
            piece = server.call("GET", path_of("c", f"/history?after={after}&limit=10000")).json
            journal, after = journal + piece["events"], piece["next"]
        assert max(asked.values()) == 1
        assert {event["ticket"]: event["reward"] for event in journal if event["kind"] == "told"} == told
        assert len([event for event in journal if event["kind"] == "told"]) == len(told)
        assert set(asked) == {event["ticket"] for event in journal if event["kind"] == "asked"}
        assert server.call("GET", path_of("c", "/check")).json["ok"]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Two workers for all tests that neither stop nor kill one."""
    store = f"sqlite:///{tmp_path_factory.mktemp('pair')}/a.db"
    with serving(store, "--workers", "2", "--private-webhooks") as server:
        yield server


ASKS = 'goodarm_requests_total{method="POST",route="/api/v1/campaigns/{name}/ask",status="200"} '


def asks_counted(server: Server) -> float:
    text = server.call("GET", "/metrics").body.decode()
    return sum(float(line.removeprefix(ASKS)) for line in text.splitlines() if line.startswith(ASKS))


def test_all_workers_show_the_same_figures(pair: Server) -> None:
    make(pair, "figures")
    before = asks_counted(pair)
    for _ in range(20):
        assert pair.call("POST", path_of("figures", "/ask"), {"n": 1}).status == 200
    for _ in range(6):
        assert 'goodarm_campaign_pending{campaign="figures"} 20.0' in pair.call("GET", "/metrics").body.decode()
        assert asks_counted(pair) == before + 20.0


def test_streams_of_all_workers_hear_of_what_any_of_them_wrote(pair: Server) -> None:
    make(pair, "streams")
    streams = [pair.stream(path_of("streams", "/events")) for _ in range(6)]
    readers = [events(response) for _, response in streams]
    for reader in readers:
        next(reader)
    pair.call("POST", path_of("streams", "/ask"), {"n": 3})
    for reader in readers:
        heard = json.loads(next(reader)["data"])
        while heard["asked"] < 3:
            heard = json.loads(next(reader)["data"])
    for connection, _ in streams:
        connection.close()


class Receiver:
    """Keeps what it gets; fails the first attempts of each delivery."""

    def __init__(self, fail_first: int) -> None:
        self.got: list[tuple[str, int, str, bytes]] = []
        self.left: dict[str, int] = {}
        self.fail_first = fail_first
        self.seconds = 0.0
        self.lock = threading.Lock()
        self.url = ""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver(fail_first=1)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            id = self.headers["Webhook-Id"]
            with made.lock:
                made.got.append((id, int(self.headers["Webhook-Timestamp"]), self.headers["Webhook-Signature"], body))
                left = made.left.setdefault(id, made.fail_first)
                made.left[id] = left - 1
            time.sleep(made.seconds)
            self.send_response(500 if left > 0 else 204)
            self.end_headers()

        def log_message(self, *ignored: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        made.url = f"http://127.0.0.1:{listening.server_port}/hook"
        thread = threading.Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        yield made
        listening.shutdown()
        thread.join()


def test_verdicts_are_delivered_signed_retried_once_each_and_replayed(pair: Server, receiver: Receiver) -> None:
    make(pair, "delivered", arms=2)
    hook = pair.call("POST", path_of("delivered", "/webhooks"), {"url": receiver.url}).json
    for arm, reward in (("arm 0", 1.0), ("arm 1", 0.0)):
        for _ in range(30):
            pair.call("POST", path_of("delivered", "/tell-arm"), {"arm": arm, "reward": reward})

    def deliveries() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = pair.call("GET", path_of("delivered", "/deliveries")).json["deliveries"]
        return found

    until(lambda: [each["state"] for each in deliveries()] == ["delivered"] * 2)
    assert [each["attempts"] for each in deliveries()] == [2, 2]
    assert Counter(id for id, *_ in receiver.got) == {each["id"]: 2 for each in deliveries()}
    for id, at, signature, body in receiver.got:
        assert verify(hook["secret"], id, at, body, signature, time.time())
    told = {json.loads(body)["verdict"]["arm"]: json.loads(body)["verdict"]["content"]["verdict"]
            for *_, body in receiver.got}  # fmt: skip
    assert told == {"arm 0": "good", "arm 1": "bad"}
    again = deliveries()[0]["id"]
    assert pair.call("POST", path_of("delivered", f"/deliveries/{again}/replay")).status == 202
    until(lambda: Counter(id for id, *_ in receiver.got)[again] == 3)
    until(lambda: [each["state"] for each in deliveries()] == ["delivered"] * 2)
    listed = pair.call("GET", path_of("delivered", "/webhooks"))
    assert hook["secret"].encode() not in listed.body
    assert pair.call("DELETE", path_of("delivered", f"/webhooks/{hook['id']}")).status == 204
    assert pair.call("GET", path_of("delivered", "/check")).json["ok"]


def test_a_slow_receiver_gets_each_delivery_once(pair: Server, receiver: Receiver) -> None:
    """While it takes longer than the sender's lease lasts, no other worker sends the same."""
    receiver.fail_first, receiver.seconds = 0, LEASE_SECONDS + 2.0
    make(pair, "slow", arms=2)
    pair.call("POST", path_of("slow", "/webhooks"), {"url": receiver.url})
    for _ in range(30):
        pair.call("POST", path_of("slow", "/tell-arm"), {"arm": "arm 0", "reward": 1.0})

    def states() -> list[str]:
        found = pair.call("GET", path_of("slow", "/deliveries")).json["deliveries"]
        return [each["state"] for each in found]

    until(lambda: states() == ["delivered"])
    assert len(receiver.got) == 1


def test_targets_inside_are_refused_without_the_flag(tmp_path: Path) -> None:
    with in_process(f"sqlite:///{tmp_path}/a.db") as server:
        make(server)
        answer = server.call("POST", path_of("c", "/webhooks"), {"url": "http://127.0.0.1:9/"})
        assert answer.status == 400
        assert "--private-webhooks" in answer.json["detail"]


def test_the_demo_decides_arms_by_itself(tmp_path: Path) -> None:
    with serving(f"sqlite:///{tmp_path}/unused.db", "--demo") as server:
        assert f"watch {server.address}/#/campaign/demo" in server.process.stdout.readline()  # type: ignore[union-attr]
        until(lambda: "demo" in [each["name"] for each in server.call("GET", "/api/v1/campaigns").json["campaigns"]])
        until(lambda: server.call("GET", path_of("demo")).json["bad"] > 0)
        summary = server.call("GET", path_of("demo")).json
        assert summary["told"] < 60 / TURN_SECONDS * PER_TURN  # within the first minute of a machine that keeps pace
        assert summary["metadata"]["title"] == "Which of 48 headlines do at least 30% of visitors click?"
        score = server.call("GET", path_of("demo", "/score")).json
        assert score["verdicts"] > 0
        assert score["wrong"] == 0
        assert score["claims"] > score["verdicts"]
        assert server.call("GET", path_of("demo", "/check")).json["ok"]
        make(server)
        assert server.call("GET", path_of("c", "/score")).status == 404
    assert list(tmp_path.iterdir()) == []
