"""Rounds per second from 50 arms to a million: a round must not cost K."""

from __future__ import annotations

from benchmarks.section import Row, Section, Target
from benchmarks.timing import goodarm_contender, in_turns, median, plan_for, ratio

POLICIES = ("hdoc", "ucb+kt", "lucb-g", "value")
SIZES = {50: 1_000_000, 1000: 1_000_000, 10_000: 1_000_000, 100_000: 2_000_000, 1_000_000: 10_000_000}
"""Rounds for each number of arms."""
REPETITIONS = 3
PROMISED = {"hdoc", "ucb+kt"}


def run() -> Section:
    return Section(
        "arms",
        "rounds per second over the number of arms, one thread",
        "of K = 1000",
        [row for name in POLICIES for row in rows_of(name)],
        ["T = 10,000,000 at a million arms. The time includes allocating and returning everything of a run."],
    )


def rows_of(name: str) -> list[Row]:
    contenders = {str(arms): goodarm_contender(plan_for(name, arms, horizon)) for arms, horizon in SIZES.items()}
    seconds = in_turns(contenders, REPETITIONS)
    return [
        Row(
            {
                "policy": name,
                "K": arms,
                "ns per round": 1e9 * median(seconds[str(arms)]),
                "rounds/s": 1.0 / median(seconds[str(arms)]),
            },
            ratio(seconds["1000"], seconds[str(arms)]),
            Target(at_least=0.25) if arms == 1_000_000 and name in PROMISED else None,
        )
        for arms in SIZES
    ]
