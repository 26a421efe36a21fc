"""How many functions and files of goodarm three typical calls pass: `python -m benchmarks.walks`.

A simulated round, a told reward and a log, as docs/architecture.md describes them. Each is called once before, so that
imports, caches and compilation do not count, and then counted by `sys.setprofile`. The simulated round is played as
plain Python, since a profile does not see into compiled code.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import goodarm
from goodarm import Campaign
from goodarm.environments import bernoulli
from goodarm.simulation.run import assembly_of, source_of
from goodarm.simulation.specification import specify
from goodarm.streams import ENVIRONMENT, POLICY, generator

HOME = str(Path(goodarm.__file__).parent)


def passed(call: Callable[[], Any]) -> tuple[int, int]:
    """Distinct functions of goodarm that a call passes, and the files that they are in."""
    found: set[tuple[str, int, str]] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(HOME) and not code.co_name.startswith("<"):
            found.add((code.co_filename, code.co_firstlineno, code.co_name))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(found), len({file for file, _, _ in found})


def simulated_round() -> Callable[[], Any]:
    """One round of hdoc on ten arms, after every arm was pulled."""
    spec = specify("hdoc", bernoulli(np.linspace(0.1, 0.9, 10), threshold=0.5), horizon=1000)
    assembly = assembly_of(spec).uncompiled()
    state, chance = assembly.start(1000.0), generator(0, 0, POLICY)
    source = source_of(spec, 0, spec.environment.instance(generator(0, 0, ENVIRONMENT)))
    nothing = np.zeros(0, dtype=np.int64)

    def play() -> None:
        with np.errstate(over="ignore"):
            assembly.advance(state, source, chance, state.round + 1, nothing)

    for _ in range(20):
        play()
    return play


def told_reward() -> Callable[[], Any]:
    """`Campaign.tell` with the default policy, without a verdict."""
    campaign = Campaign.create("memory:", "walk", ["a", "b", "c"], threshold=0.5)
    tickets = iter(campaign.ask(60))
    for _ in range(55):  # the rules are compiled by then
        campaign.tell(next(tickets), 0.5)
    return lambda: campaign.tell(next(tickets), 0.5)


def log() -> Callable[[], Any]:
    """`judge` on totals of three arms."""
    totals = {"arm": ["a", "b", "c"], "pulls": [100, 100, 100], "total": [10, 50, 90]}

    def judge() -> None:
        goodarm.judge(totals, threshold=0.5)

    judge()
    return judge


WALKS = {"a simulated round": simulated_round, "a told reward": told_reward, "a log": log}


def main() -> None:
    print(f"{'walk':<20}{'functions':>10}{'files':>7}")
    for name, prepare in WALKS.items():
        functions, files = passed(prepare())
        print(f"{name:<20}{functions:>10}{files:>7}")


if __name__ == "__main__":
    main()
