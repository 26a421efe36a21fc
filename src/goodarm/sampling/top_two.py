"""`tt-ts`: top-two Thompson sampling on the open arms."""

from __future__ import annotations

from numpy.random import Generator

from goodarm.beliefs import Pool, Table
from goodarm.problem import Bar
from goodarm.sampling._base import ChoiceRule
from goodarm.sampling.thompson import leaders

REDRAWS = 100


def choose(arms: Table, pool: Pool, bar: Bar, generator: Generator, leader: float = 0.5) -> int:
    """Pull the posterior draw's leader with probability `leader`, else redraw until another arm leads.

    Redraws are capped at 100; then the runner-up of the last draw is pulled. A single open arm is pulled.
    """
    first, runner_up = leaders(arms, bar, generator)
    if runner_up < 0 or generator.random() < leader:
        return first
    for _ in range(REDRAWS):
        other, runner_up = leaders(arms, bar, generator)
        if other != first:
            return other
    return runner_up


top_two = ChoiceRule(
    name="tt-ts",
    reference="Russo 2016, COLT (top-two Thompson sampling)",
    choose=choose,
)
