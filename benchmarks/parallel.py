"""Simulated runs of `value` on synth-large in one thread, with two workers, and with the workers of Dask and Ray.

GOODARM_BENCHMARK_SECONDS sets about how long one thread takes (60 if not set; 600 is a ten-minute job).
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec

from benchmarks.scale import WORKERS, cluster, timed
from benchmarks.section import Row, Section, Target
from goodarm import compare

POLICY, ENVIRONMENT, HORIZON = "value", "synth-large", 300_000
SECONDS = float(os.environ.get("GOODARM_BENCHMARK_SECONDS", "60"))
BACKENDS = ("threading", "loky", "dask", "ray")
EXTRAS = {"dask": "cluster", "ray": "ray"}
PACKAGES = {"dask": "distributed", "ray": "ray"}
FASTER, SLOWER = Target(at_least=1.8), Target(at_most=1.3)


def run() -> Section:
    return Section(
        "parallel",
        f"{POLICY} on {ENVIRONMENT}, {WORKERS} workers, {os.cpu_count()} cores",
        "ratio",
        list(rows()),
        [
            f"The same runs of {HORIZON:,} rounds each, as many as take one thread about {SECONDS:g} s. Seconds are "
            "those of the whole call on the clock, with the start of its workers; a cluster of Dask or Ray is there "
            "before. The results of all backends are equal, run by run."
        ],
    )


def rows() -> Iterator[Row]:
    played(WORKERS, 1, "threading")  # compiled and on the disk when it counts
    one, _ = timed(partial(played, WORKERS, 1, "threading"))
    runs = WORKERS * max(2, math.ceil(SECONDS / one))
    alone, expected = timed(partial(played, runs, 1, "threading"))
    yield Row({"what": "one thread", "runs": runs, "rounds per second": sum(expected) / alone, "seconds": alone})
    seconds: dict[str, float] = {}
    for backend in BACKENDS:
        if find_spec(PACKAGES.get(backend, "joblib")) is None:
            install = f"pip install -e '.[{EXTRAS.get(backend, 'test')}]'"
            print(f"not measured: {backend} is not installed. Install it with: {install}", file=sys.stderr)
            continue
        with cluster(backend):
            seconds[backend], found = timed(partial(played, runs, WORKERS, backend))
        assert found == expected, f"{backend} gave other results"
        cells = {"runs": runs, "rounds per second": sum(expected) / seconds[backend], "seconds": seconds[backend]}
        what = f"{WORKERS} workers, {backend}"
        yield Row({"what": f"{what}: times the rounds of one thread", **cells}, alone / seconds[backend], FASTER)
        if backend in PACKAGES:
            row = {"what": f"{what}: times the seconds of loky", **cells}
            yield Row(row, seconds[backend] / seconds["loky"], SLOWER)


def played(runs: int, workers: int, backend: str) -> list[int]:
    found = compare(ENVIRONMENT, [POLICY], horizon=HORIZON, runs=runs, workers=workers, backend=backend)
    return [int(rounds) for rounds in found.runs["rounds"]]
