"""The first answer of a fresh process: a judgement, a live campaign, commands, plans and simulations."""

from __future__ import annotations

import compileall
import json
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import goodarm
from benchmarks.processes import GOODARM, command, fresh
from benchmarks.section import Row, Section, Target
from benchmarks.timing import median

REPETITIONS = 3
"""Processes with a filled cache, whose median is shown. With an empty one a single process, since it takes long.

Commands of a campaign compile nothing, so that both of their figures are medians.
"""
COMMANDS = ("ask", "tell")
ARMS = 50
"""Arms of the campaign that the commands work on."""
WHOLE = """
import json, sys, time
sys.modules["scipy"] = None
import goodarm
{task}
print(json.dumps(time.process_time()))
"""
JUDGE = """
log = {"arm": [f"arm {i}" for i in range(20)] * 50, "reward": [float((7 * i) % 20 < 9) for i in range(1000)]}
goodarm.judge(log, threshold=0.5)
"""
LIVE = """
import random, tempfile
rates, world = {f"arm {i}": 0.3 + 0.02 * i for i in range(20)}, random.Random(0)
with tempfile.TemporaryDirectory() as folder:
    with goodarm.Campaign.create(f"sqlite:///{folder}/first.db", "first", list(rates), threshold=0.5) as campaign:
        for _ in range(500):
            (ticket,) = campaign.ask()
            campaign.tell(ticket, float(world.random() < rates[ticket.arm]))
"""
QUICK_PLAN = """
from goodarm.planning.quick import quick_plan
quick_plan(threshold=0.02, arms=200)
"""
LINEAR = """
from benchmarks.structured import environment
goodarm.simulate("value@linear", environment(20, 3), runs=1, horizon=1000)
"""
TASKS = {
    "`judge`, 1000 rows": (JUDGE, 1.0),
    "a live campaign until 500 rewards are told": (LIVE, 3.0),
    "a quick plan, as the dashboard shows it": (QUICK_PLAN, 3.0),
    "`plan`, 20 arms, 5 runs": ("goodarm.plan(threshold=0.5, arms=20, gap=0.2, runs=5)", None),
    **{
        f"simulation of `{name}`": (f'goodarm.simulate("{name}", "kano-1", runs=1, horizon=1000)', most)
        for name, most in (("hdoc", 4.0), ("value", 8.0), ("settle", 8.0))
    },
    "simulation of `value@linear`": (LINEAR, 12.0),
}

WARMING_UP = ("`judge`, 1000 rows", "simulation of `hdoc`")
"""Tasks that import the packages which the others need."""


def run() -> Section:
    return Section(
        "first",
        f"processor time of fresh processes; filled cache: medians of {REPETITIONS}",
        "empty cache, s",
        list(rows()),
        [
            "Processor time of the whole process: Python's own start, the imports and the task. SciPy is hidden, since "
            "numba imports it where it is installed and goodarm does not need it. Python's bytecode is there, as after "
            "an installation. A live campaign runs its rules as Python until their compiled code is in the cache, so "
            "that its first 500 rewards fill a part of it only. `goodarm campaign ask` and `tell` open a campaign of "
            f"{ARMS} arms in SQLite for one ticket or one reward."
        ],
    )


def rows() -> Iterator[Row]:
    # an installer compiles the bytecode; in a checkout the first process would
    compileall.compile_dir(Path(goodarm.__file__).parent, quiet=2)
    with TemporaryDirectory() as folder:
        for what in WARMING_UP:
            measured(TASKS[what][0], folder)
    yield from commands()
    for what, (task, most) in TASKS.items():
        with TemporaryDirectory() as folder:
            cold = measured(task, folder)
            warm = median([measured(task, folder) for _ in range(REPETITIONS)])
        yield Row({"what": what, "filled cache, s": warm}, cold, None if most is None else Target(at_most=most))


def measured(task: str, folder: str) -> float:
    """Seconds of a process whose caches are in the folder."""
    places = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    seconds: float = fresh(WHOLE.format(task=task), PYTHONPATH=os.pathsep.join(places), **caches(folder))
    return seconds


def caches(folder: str) -> dict[str, str]:
    return {"NUMBA_CACHE_DIR": folder, "XDG_CACHE_HOME": folder}


def commands() -> Iterator[Row]:
    """`goodarm campaign ask` and `tell`, whole processes."""
    with TemporaryDirectory() as folder:
        words = [GOODARM, "campaign"]
        place = [f"sqlite:///{folder}/commands.db", "first"]
        names = ",".join(f"arm-{i}" for i in range(ARMS))
        command([*words, "create", *place, "--arms", names, "--threshold", "0.5"])

        def ask_and_tell(cache: str) -> tuple[float, ...]:
            asked = command([*words, "ask", *place, "--json"], **caches(cache))
            (ticket,) = json.loads(asked.printed)["tickets"]
            told = command([*words, "tell", *place, ticket["ticket"], "1"], **caches(cache))
            return asked.processor, told.processor

        ask_and_tell(folder)  # keeps the bytecode of everything that it imports
        cold = []
        for _ in range(REPETITIONS):
            with TemporaryDirectory() as empty:
                cold.append(ask_and_tell(empty))
        warm = [ask_and_tell(folder) for _ in range(REPETITIONS)]
    for verb, empty_cache, filled in zip(COMMANDS, zip(*cold, strict=True), zip(*warm, strict=True), strict=True):
        what = {"what": f"`goodarm campaign {verb}`, {ARMS} arms", "filled cache, s": median(list(filled))}
        yield Row(what, median(list(empty_cache)), Target(at_most=0.5))
