"""How long a fresh process takes until something happens: import, help, first simulation."""

from __future__ import annotations

import sys
import tempfile

from benchmarks.processes import GOODARM, command, fresh
from benchmarks.section import Row, Section, Target
from benchmarks.timing import median

REPETITIONS = 5
FIRST_RUN = """
import json, sys, time
if {core}:
    sys.modules["scipy"] = None
now = lambda: (time.process_time(), time.perf_counter())
started = now()
import goodarm
imported = now()
goodarm.simulate({policy!r}, "kano-1", runs=1, horizon=1000)
done = now()
since = lambda before, after: [b - a for a, b in zip(before, after)]
print(json.dumps([since(started, imported), since(imported, done)]))
"""


Seconds = tuple[float, float]
"""Of processor time and on the wall: equal on a quiet machine."""


def run() -> Section:
    return Section(
        "start",
        f"fresh processes, medians of {REPETITIONS}",
        "seconds",
        rows(),
        [
            "A first simulation imports numba, reads the compiled loop from the disk cache and plays 1000 rounds; with "
            "an empty cache it compiles it, once per pairing and machine. `seconds` is processor time, and the target "
            "is judged by it; the wall exceeds it when the machine is busy with other things. goodarm itself does not "
            "need SciPy, but numba imports it where it is installed, as it is for these benchmarks: the rows with the "
            "target hide it."
        ],
    )


def rows() -> list[Row]:
    nothing = [sys.executable, "-c", "pass"]
    help_page = [GOODARM, "--help"]
    command(help_page)  # keeps the bytecode of everything that it imports
    imported, warm_hdoc = warm_runs("hdoc", core=True)
    _, warm_value = warm_runs("value", core=True)
    _, with_scipy = warm_runs("value", core=False)
    second = Target(at_most=1.0)
    return [
        row("an empty Python process", medians([command(nothing)[:2] for _ in range(REPETITIONS)])),
        row("`goodarm --help`, the whole process", medians([command(help_page)[:2] for _ in range(REPETITIONS)])),
        row("`import goodarm`, after Python's own start", imported),
        row("`hdoc`: first simulation after import, warm cache", warm_hdoc, second),
        row("`value`: first simulation after import, warm cache", warm_value, second),
        row("`value`: the same with SciPy installed", with_scipy),
        row("`hdoc`: first simulation after import, empty cache", cold_run("hdoc")),
        row("`value`: first simulation after import, empty cache", cold_run("value")),
    ]


def row(what: str, seconds: Seconds, target: Target | None = None) -> Row:
    return Row({"what": what, "on the wall": seconds[1]}, seconds[0], target)


def medians(times: list[Seconds]) -> Seconds:
    return median([processor for processor, _ in times]), median([wall for _, wall in times])


def first_run(policy: str, core: bool, **environment: str) -> list[Seconds]:
    """Import, and first simulation after it; `core` leaves out what goodarm does not need itself."""
    return [(used, wall) for used, wall in fresh(FIRST_RUN.format(policy=policy, core=core), **environment)]


def warm_runs(policy: str, core: bool) -> tuple[Seconds, Seconds]:
    """Medians of import and first simulation, from a cache that an earlier process has filled."""
    first_run(policy, core)
    times = [first_run(policy, core) for _ in range(REPETITIONS)]
    return medians([imported for imported, _ in times]), medians([played for _, played in times])


def cold_run(policy: str) -> Seconds:
    """First simulation, from an empty cache; once, since it takes long and varies little."""
    with tempfile.TemporaryDirectory() as folder:
        return first_run(policy, True, NUMBA_CACHE_DIR=folder)[1]
