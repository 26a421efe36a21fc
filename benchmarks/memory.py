"""Peak memory of one run with a million arms, in a fresh process."""

from __future__ import annotations

from benchmarks.processes import fresh
from benchmarks.section import Row, Section, Target

ARMS, HORIZON = 1_000_000, 10_000_000
POLICIES = ("hdoc", "ucb+kt", "value", "settle")
GIBIBYTE = 2.0**30
PEAK = """
import json, pathlib, resource, sys
status = pathlib.Path("/proc/self/status")
if status.exists():
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    peak = int(line.split()[1]) * 1024
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps(peak))
"""
# On Linux ru_maxrss survives exec: a process started by a large one reports the large one's memory. VmHWM does not.
RUN = """
import goodarm, numpy
means = numpy.random.default_rng(1).uniform(0.475, 0.55, {arms})
runs = goodarm.simulate({policy!r}, goodarm.bernoulli(means, 0.5), horizon={horizon}, seed=3)
assert runs.runs[0].rounds == {horizon}
"""


def run() -> Section:
    size = {"K": ARMS, "T": HORIZON}
    programs = {
        "Python and numba alone": "import numba\n",
        "the same, one compiled run of 10 arms": RUN.format(arms=10, horizon=1000, policy="hdoc"),
    }
    rows = [
        Row({"what": what, "K": None, "T": None, "MiB": peak(program) / 2**20}) for what, program in programs.items()
    ]
    for policy in POLICIES:
        used = peak(RUN.format(arms=ARMS, horizon=HORIZON, policy=policy))
        rows.append(Row({"what": policy, **size, "MiB": used / 2**20}, used / GIBIBYTE, Target(at_most=1.0)))
    return Section(
        "memory",
        "peak memory of a process that plays one run",
        "GiB",
        rows,
        ["Resident set at its peak, everything included: interpreter, numba, compiler, results."],
    )


def peak(program: str) -> float:
    """Bytes of memory that a program held at its peak."""
    return float(fresh(program + PEAK))
