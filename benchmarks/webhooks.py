"""Delays while a webhook is fed from a long journal: of another campaign's webhook, and of a tell to that campaign."""

from __future__ import annotations

import os
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from benchmarks.section import Row, Section
from benchmarks.service import Server  # makes the tests' folder known
from goodarm.campaign import Campaign, open_store
from goodarm.campaign.journal import GIVEN, Event, chained
from goodarm.service.side import open_side
from goodarm.service.webhooks import Webhooks

from serving import path_of, serving  # isort: skip

REWARDS = int(os.environ.get("GOODARM_BENCH_REWARDS", "1000000"))
ARMS = 10
"""Arms of the long campaign, which all lie at the bar and stay undecided."""
VERDICTS = 12
"""Deliveries that are timed, one after the other."""
TELLS = 30
"""Rewards of 1 after which an arm is surely decided."""
AT_ONCE = 20_000


def lengthen(address: str) -> None:
    """A campaign with many rewards, none of which decides anything, and a snapshot at its end."""
    with Campaign.create(address, "long", [f"arm {i}" for i in range(ARMS)], threshold=0.5) as campaign:
        number, chain = campaign.number, b""
    with open_store(address) as store:
        found = store.find("long") or 0
        *_, last = store.read(found)
        number, chain = last.number, last.chain
        for first in range(0, REWARDS, AT_ONCE):
            events: list[Event] = []
            for i in range(first, min(first + AT_ONCE, REWARDS)):
                number += 1
                reward = float(i // ARMS % 2)
                events.append(chained(chain, number, GIVEN, last.at, ticket=i + 1, arm=i % ARMS, reward=reward))
                chain = events[-1].chain
            with store.transaction(found):
                store.append(found, events)
    with Campaign.open(address, "long") as campaign:
        campaign.ask()


@contextmanager
def receiver(arrived: list[float]) -> Iterator[str]:
    """The address of a receiver that notes when something arrives."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            arrived.append(time.perf_counter())
            self.send_response(204)
            self.end_headers()

        def log_message(self, *ignored: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_port}/"
        listening.shutdown()


def measure(address: str, label: str, long: bool) -> Row:
    """Verdicts of a short campaign, from the last tell to the receiver."""
    arrived: list[float] = []
    with receiver(arrived) as url:
        if long:
            side = open_side(address)
            Webhooks(side, private=True).register("long", url, after=0)
            side.close()
        with serving(address, "--private-webhooks") as server:
            name = label
            terms = {"name": name, "arms": [f"arm {i}" for i in range(VERDICTS)], "threshold": 0.5}
            assert server.call("POST", "/api/v1/campaigns", terms).status == 201
            assert server.call("POST", path_of(name, "/webhooks"), {"url": url}).status == 201
            tells: list[float] = []
            delays = [_delay(server, name, i, arrived, tells) for i in range(VERDICTS)]
    tells.sort()
    return Row(
        {
            "webhooks": label, "deliveries": len(delays), "delay p50 s": round(statistics.median(delays), 2),
            "delay max s": round(max(delays), 2), "tell p50 ms": round(1e3 * statistics.median(tells), 1),
            "tell max ms": round(1e3 * tells[-1], 1),
        }
    )  # fmt: skip


def _delay(server: Server, name: str, arm: int, arrived: list[float], tells: list[float]) -> float:
    """Seconds from the tell that decides an arm to the delivery of its verdict."""
    for _ in range(TELLS):
        began = time.perf_counter()
        told = server.call("POST", path_of(name, "/tell-arm"), {"arm": f"arm {arm}", "reward": 1.0}).json
        ended = time.perf_counter()
        tells.append(ended - began)
        if told["verdicts"]:
            break
    while len(arrived) <= arm:
        time.sleep(0.005)
    return arrived[arm] - ended


def run() -> Section:
    """The table: with and without a webhook on the long journal."""
    with tempfile.TemporaryDirectory(prefix="goodarm-bench-") as folder:
        address = f"sqlite:///{Path(folder) / 'a.db'}"
        lengthen(address)
        rows = [
            measure(address, "on a new campaign", long=False),
            measure(address, f"and on one with {REWARDS:,} rewards", long=True),
        ]
    return Section(
        "webhooks", "delay of a new campaign's webhook and tells while another webhook is fed from a long journal", "",
        rows,
        ["The long journal is read from its first entry, as after a restart of the server. The sender looks for new "
         "verdicts every 0.5 s."],
    )  # fmt: skip
