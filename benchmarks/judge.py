"""Verdicts from logs: `judge` against a bare GROUP BY of the same rows, and what a million arms take on top.

GOODARM_BENCHMARK_ROWS sets the rows (100 million if not set).
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.section import Row, Section, Target
from benchmarks.timing import in_turns, median, ratio

ROWS = int(float(os.environ.get("GOODARM_BENCHMARK_ROWS", "1e8")))
ARMS, MANY, MEMORY, REPETITIONS = 1000, 1_000_000, "1GiB", 5


REWARD = "CAST(hash(i + 7) % 50 = 0 AS TINYINT)"
MEASURED = "(hash(i + 7) % 1000003) / 1000003.0"
"""A 0/1 reward of mean 0.02, and a continuous one of mean 0.5, as DuckDB writes them."""
ZERO_ONE: dict[str, Any] = {"threshold": 0.02}
BY_SUMS: dict[str, Any] = {"threshold": 0.5, "rule": "bet-mixture"}


def run() -> Section:
    with tempfile.TemporaryDirectory(prefix="goodarm-bench-") as folder:
        few, many = (write(Path(folder) / f"{arms}.parquet", arms) for arms in (ARMS, MANY))
        rows = [scan(few, f"scan, {ARMS:,} arms", ZERO_ONE), scan(many, f"scan, {MANY:,} arms", ZERO_ONE), *verdicts()]
        measured = write(Path(folder) / "measured.parquet", ARMS, MEASURED)
        rows.append(scan(measured, f"scan, {ARMS:,} arms, continuous rewards by `bet-mixture`", BY_SUMS, 15.0))
    return Section(
        "judge",
        f"{ROWS:,} rows of Parquet, DuckDB limited to {MEMORY}, medians of {REPETITIONS} in turns",
        "ratio",
        rows,
        [
            "Bare: SELECT arm, count(*), sum(reward) GROUP BY arm. judge: the same scan with the checks of NULLs and "
            "range, from the statistics of the row groups where they prove it. "
            "Seconds on the wall; the ratio is of CPU time over all threads, which other load on "
            "the machine does not change. `bet-mixture` adds 20 sums of logarithms per arm in the same "
            "scan. Verdicts, intervals and needs are computed after the scan."
        ],
    )


def write(path: Path, arms: int, reward: str = REWARD) -> Path:
    """A log with many more rows than arms, made by DuckDB."""
    import duckdb

    duckdb.connect().execute(
        f"COPY (SELECT CAST(hash(i) % {arms} AS INTEGER) AS arm, {reward} AS reward "
        f"FROM range({ROWS}) t(i)) TO '{path}' (FORMAT parquet)"
    )
    return path


def scan(path: Path, what: str, asked: dict[str, Any], most: float = 1.3) -> Row:
    from goodarm.judgement.log_columns import choose_columns
    from goodarm.judgement.options import LogOptions
    from goodarm.judgement.sources._base import silent
    from goodarm.judgement.sources.duck import FileSource
    from goodarm.question import LOG
    from goodarm.question import asked as question

    source = FileSource(path, memory=MEMORY)
    options = LogOptions(question(place=LOG, **asked))
    columns = choose_columns(options, source.names(), source.title)
    walls: dict[str, list[float]] = {"bare": [], "judge": []}

    def timed(name: str, work: Any) -> float:
        wall, started = time.perf_counter(), time.process_time()
        work()
        walls[name].append(time.perf_counter() - wall)
        return time.process_time() - started

    bare = f"SELECT arm, count(*), sum(reward) FROM read_parquet('{path}') GROUP BY arm"
    seconds = in_turns(
        {
            "bare": lambda: timed("bare", lambda: source.con.execute(bare).fetchnumpy()),
            "judge": lambda: timed("judge", lambda: source.sums(columns, options, silent)),
        },
        REPETITIONS,
    )
    source.close()
    cells = {"what": what, "bare GROUP BY": median(walls["bare"]), "judge": median(walls["judge"])}
    return Row(cells, ratio(seconds["judge"], seconds["bare"]), Target(at_most=most))


def verdicts() -> list[Row]:
    """On top of the scan: all verdicts, intervals and needs of a million arms, with equal totals and without."""
    from goodarm.judgement.decide import Look, decide
    from goodarm.judgement.options import LogOptions
    from goodarm.question import Threshold

    chance = np.random.default_rng(0)
    options = LogOptions(Threshold(0.02))
    look = Look(options, options.problem(MANY))
    rows = []
    for words, pulls in (
        ("100 pulls each, as in the log", np.full(MANY, 100)),
        ("1 to 20,000 pulls, hardly two alike", chance.integers(1, 20_000, MANY)),
    ):
        totals = chance.binomial(pulls, chance.beta(1.0, 40.0, MANY)).astype(float)
        decide(look, pulls[:5000].astype(float), totals[:5000])  # compiled when it counts
        wall, used = time.perf_counter(), time.process_time()
        decide(look, pulls.astype(float), totals)
        wall, used = time.perf_counter() - wall, time.process_time() - used
        cells = {"what": f"verdicts of {MANY:,} arms: {words}", "bare GROUP BY": None, "judge": wall}
        rows.append(Row(cells, used / (os.cpu_count() or 1), Target(at_most=10.0)))
    return rows
