"""What grows with processes, machines and backends: writers of one campaign, simulations, and a log on Spark.

GOODARM_BENCHMARK_LOG sets the rows of the log (10 million if not set).
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.section import Row, Section
from benchmarks.service import database
from goodarm import Campaign, compare, judge

ARMS, SECONDS = 1000, 4.0
"""Of each measurement with writers."""
RUNS, HORIZON, WORKERS = 60, 200_000, 2
ROWS = int(float(os.environ.get("GOODARM_BENCHMARK_LOG", "1e7")))


def run() -> Section:
    with tempfile.TemporaryDirectory(prefix="goodarm-bench-") as name:
        folder = Path(name)
        rows = [*writers(folder), *simulations(), *logs(folder)]
    return Section(
        "scale", f"{os.cpu_count()} cores; {ARMS:,} arms, {SECONDS:g} s per line of writers", "", rows, NOTES
    )


NOTES = [
    "Steps: each process tells a reward and asks for the next arm in one transaction, flushed to disk, again and "
    f"again. Simulation: {RUNS} runs of hdoc+kt on synth-small, {HORIZON:,} rounds each at most; 'at first' includes "
    "what each worker loads. The results of all backends were compared with those of one thread, run by run. "
    f"Log: {ROWS:,} rows of Parquet, {ARMS:,} arms; the Spark session is started before, and gave the same verdicts.",
]


def line(what: str, amount: float, unit: str, seconds: float, first: float | None = None) -> Row:
    return Row(
        {"what": what, "per second": amount / seconds, "of": unit, "seconds": seconds, "seconds at first": first}
    )


# --- writers ---------------------------------------------------------------------------------------------------------


def writers(folder: Path) -> Iterator[Row]:
    sqlite = f"sqlite:///{folder / 'scale.db'}"
    for processes in (1, 2, 4):
        yield stepped(sqlite, f"SQLite, one campaign, {counted(processes)}", processes, [f"s{processes}"] * processes)
    with database() as address:
        if address is None:
            return
        for processes in (1, 2, 4):
            names = [f"p{processes}"] * processes
            yield stepped(address, f"PostgreSQL, one campaign, {counted(processes)}", processes, names)
        yield stepped(address, "PostgreSQL, four campaigns, 4 processes", 4, [f"own{i}" for i in range(4)])


def counted(processes: int) -> str:
    return f"{processes} process{'es' if processes > 1 else ''}"


def stepped(store: str, what: str, processes: int, names: list[str]) -> Row:
    """Run one process per name, each on the campaign of that name, for a few seconds."""
    for name in dict.fromkeys(names):
        Campaign.create(store, name, [f"arm {i}" for i in range(ARMS)], 0.5).close()
    context = multiprocessing.get_context("spawn")
    told: Any = context.Queue()
    ready: Any = context.Barrier(processes)
    started = [context.Process(target=step_on, args=(store, name, ready, told), daemon=True) for name in names]
    for process in started:
        process.start()
    counts = [told.get() for _ in started]
    for process in started:
        process.join()
    return line(what, sum(counts), "steps", SECONDS)


def step_on(store: str, name: str, ready: Any, told: Any) -> None:
    with Campaign.open(store, name) as campaign:
        ticket = campaign.ask()[0]
        for _ in range(20):  # everything is loaded when it counts
            ticket = campaign.step(ticket, 1.0)
        ready.wait()
        count, until = 0, time.perf_counter() + SECONDS
        while time.perf_counter() < until:
            ticket = campaign.step(ticket, float(count % 2))
            count += 1
    told.put(count)


# --- simulations -----------------------------------------------------------------------------------------------------


def simulations() -> Iterator[Row]:
    rounds = played(1, "threading")
    for backend in ("one thread", "threading", "loky", "dask", "ray"):
        if find_spec({"dask": "distributed", "ray": "ray"}.get(backend, "joblib")) is None:
            print(f"not measured: {backend} is not installed", file=sys.stderr)
            continue
        alone = backend == "one thread"
        work = partial(played, *((1, "threading") if alone else (WORKERS, backend)))
        with cluster(backend):
            first, found = timed(work)
            again, same = timed(work)
        assert found == same == rounds, f"{backend} gave other results"
        words = backend if alone else f"{WORKERS} workers, {backend}"
        yield line(f"simulation, {words}", sum(rounds), "rounds", again, first)


def played(workers: int, backend: str) -> list[int]:
    found = compare("synth-small", ["hdoc+kt"], horizon=HORIZON, runs=RUNS, workers=workers, backend=backend)
    return [int(rounds) for rounds in found.runs["rounds"]]


@contextmanager
def cluster(backend: str) -> Iterator[None]:
    """A cluster that lives for both calls: what is there is used."""
    if backend == "dask":
        from distributed import Client

        with Client(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None):
            yield
    elif backend == "ray":
        import ray

        ray.init(num_cpus=WORKERS, include_dashboard=False, logging_level="ERROR")
        yield
        ray.shutdown()
    else:
        yield


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


# --- logs ------------------------------------------------------------------------------------------------------------


def logs(folder: Path) -> Iterator[Row]:
    import duckdb

    path = folder / "log.parquet"
    duckdb.connect().execute(
        f"COPY (SELECT CAST(hash(i) % {ARMS} AS INTEGER) AS arm, CAST(hash(i + 7) % 50 = 0 AS INTEGER) AS reward "
        f"FROM range({ROWS}) t(i)) TO '{path}' (FORMAT parquet)"
    )
    first, _ = timed(lambda: judge(path, threshold=0.02))
    again, found = timed(lambda: judge(path, threshold=0.02))
    yield line("log, DuckDB", ROWS, "rows", again, first)
    if find_spec("pyspark") is None:
        print("not measured: pyspark is not installed", file=sys.stderr)
        return
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master(f"local[{os.cpu_count()}]").config("spark.ui.enabled", "false").getOrCreate()
    table = spark.read.parquet(str(path))
    first, _ = timed(lambda: judge(table, threshold=0.02))
    again, same = timed(lambda: judge(table, threshold=0.02))
    spark.stop()
    assert sorted(map(str, same.good)) == sorted(map(str, found.good)), "Spark and DuckDB disagree"
    yield line("log, Spark on this machine", ROWS, "rows", again, first)
