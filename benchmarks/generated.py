"""Requests that schemathesis generates from the OpenAPI document, with all of its checks, against a real server."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from benchmarks.section import Row, Section

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "service")]

from fuzzing import fuzz  # noqa: E402

REQUESTS = int(os.environ.get("GOODARM_BENCH_REQUESTS", "100000"))
SECONDS = float(os.environ.get("GOODARM_BENCH_REQUESTS_SECONDS", "7200"))
"""It ends by itself."""


def run() -> Section:
    """The table."""
    with tempfile.TemporaryDirectory(prefix="goodarm-bench-") as folder:
        fuzzed = fuzz(Path(folder), REQUESTS, SECONDS)
    print(fuzzed.failure, file=sys.stderr)
    row = Row(
        {
            "store": "SQLite, 1 worker", "requests": fuzzed.requests, "asked for": REQUESTS,
            "minutes": round(fuzzed.seconds / 60.0, 1),
            "5xx, undocumented answers, other failed checks": "FAILED" if fuzzed.failure else "none",
            "all journals check": "not reached" if fuzzed.failure else "yes",
        }
    )  # fmt: skip
    return Section("generated", "requests made up by schemathesis", "", [row])
