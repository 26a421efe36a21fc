"""`tt-ts`: top-two Thompson sampling on the open arms."""

from __future__ import annotations

from numpy.random import Generator

from goodarm.beliefs import Pool, Table
from goodarm.problem import Bar
from goodarm.sampling import thompson
from goodarm.sampling._base import ChoiceRule

REDRAWS = 100


def choose(arms: Table, pool: Pool, bar: Bar, generator: Generator, leader: float = 0.5) -> int:
    """Pull the posterior draw's leader with probability `leader`, else redraw until another arm leads.

    Redraws are capped at 100; then the runner-up of the last draw is pulled. A single open arm is pulled.
    """
    first, count = thompson.leader(arms, bar, generator)
    if count < 2 or generator.random() < leader:
        return first
    for _ in range(REDRAWS - 1):
        other = thompson.leader(arms, bar, generator)[0]
        if other != first:
            return other
    other, runner_up = thompson.leaders(arms, bar, generator)
    return other if other != first else runner_up


top_two = ChoiceRule(
    name="tt-ts",
    reference="Russo 2016, COLT (top-two Thompson sampling)",
    choose=choose,
)
