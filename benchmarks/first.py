"""The first answer of a fresh process: judging, a live campaign, a plan, simulations; empty and filled caches."""

from __future__ import annotations

import tempfile

from benchmarks.processes import fresh
from benchmarks.section import Row, Section, Target
from benchmarks.timing import median

REPETITIONS = 3
"""Processes with a filled cache, of which the median is shown. One process with an empty cache: it takes long."""
LINEAR = """
from benchmarks.structured import environment
goodarm.simulate("value@linear", environment(20, 3), runs=1, horizon=1000)
"""
LIVE = """
from pathlib import Path
from tempfile import TemporaryDirectory
with TemporaryDirectory() as folder:
    with goodarm.Campaign.create(Path(folder) / "c.db", threshold=0.5, arms=[f"arm {i}" for i in range(20)]) as campaign:
        for told in range(500):
            asked = campaign.ask()
            campaign.tell(asked, float((7 * told) % 20 < 9))
"""
TASKS = {
    "`judge`, 20 arms": ("goodarm.judge([12] * 20, [20] * 20, threshold=0.5)", 1.0),
    "a live campaign, 500 rewards": (LIVE, 3.0),
    "`plan`, 20 arms": ("goodarm.plan(threshold=0.5, arms=20, gap=0.2)", 3.0),
    "simulation of `hdoc`": ('goodarm.simulate("hdoc", "kano-1", runs=1, horizon=1000)', 4.0),
    "simulation of `value`": ('goodarm.simulate("value", "kano-1", runs=1, horizon=1000)', 8.0),
    "simulation of `settle`": ('goodarm.simulate("settle", "kano-1", runs=1, horizon=1000)', 8.0),
    "simulation of `value@linear`": (LINEAR, 12.0),
}
