"""Requests that schemathesis generates from the OpenAPI document, with all of its checks, against a real server.

Making up the requests takes most of the time, in one process and on one core. What is done is kept in a file if
GOODARM_BENCH_REQUESTS_KEPT names one: a run that was interrupted goes on from there.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.section import Row, Section

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "service")]

from fuzzing import Fuzzed, fuzz  # noqa: E402

REQUESTS = int(os.environ.get("GOODARM_BENCH_REQUESTS", "100000"))
SECONDS = float(os.environ.get("GOODARM_BENCH_REQUESTS_SECONDS", "7200"))
"""It ends by itself."""
KEPT = os.environ.get("GOODARM_BENCH_REQUESTS_KEPT", "")


def kept() -> list[Fuzzed]:
    """What an interrupted run has left."""
    path = Path(KEPT)
    return [Fuzzed(**json.loads(line)) for line in path.read_text().splitlines()] if KEPT and path.exists() else []


def pieces(done: list[Fuzzed]) -> Iterator[Fuzzed]:
    """A server, a store and two runs of schemathesis at a time, until there are enough requests or a check fails."""
    while _requests(done) < REQUESTS and _seconds(done) < SECONDS:
        with tempfile.TemporaryDirectory(prefix="goodarm-bench-") as folder:
            piece = fuzz(Path(folder), 1, SECONDS - _seconds(done), done[-1].seed if done else 0)
        yield piece
        if piece.failure:
            return


def run() -> Section:
    """The table."""
    done = kept()
    for piece in pieces(done):
        done.append(piece)
        print(f"{_requests(done):,} of {REQUESTS:,} requests, {_seconds(done):,.0f} s", file=sys.stderr)
        if piece.failure:
            print(piece.failure, file=sys.stderr)
        elif KEPT:
            with Path(KEPT).open("a") as file:
                file.write(json.dumps(piece._asdict()) + "\n")
    failed = bool(done[-1].failure)
    row = Row(
        {
            "store": "SQLite, 1 worker", "requests": _requests(done), "target": REQUESTS,
            "seconds": round(_seconds(done)), "seeds": f"1 to {done[-1].seed}",
            "5xx, undocumented answers, other failed checks": "FAILED" if failed else "none",
            "all journals check": "not reached" if failed else "yes",
        }
    )  # fmt: skip
    return Section("generated", "requests made up by schemathesis", "", [row])


def _requests(done: list[Fuzzed]) -> int:
    return sum(piece.requests for piece in done)


def _seconds(done: list[Fuzzed]) -> float:
    return sum(piece.seconds for piece in done)
