"""Asking for a pull without waiting for the last one: which arm is next, and what changes once it was asked for."""

from __future__ import annotations

from typing import Any

from goodarm.engine.live import PENDING_COLUMN
from goodarm.engine.loop import FRESH, OPEN, Tables
from goodarm.problem import Bar
from goodarm.rules.beliefs import PULLS, Pool, is_open, read_arm_with_row
from goodarm.rules.parameters import Formula


def choose_next(
    prepare: Formula,
    select: Formula,
    modelled: bool,
    tables: Tables,
    pool: Pool,
    bar: Bar,
    generator: Any,
    parameters: Any,
) -> int:
    """The arm to ask for next: each arm once, then as the rule says; -1 where no arm is open.

    A model (`modelled`) believes something of arms never pulled and chooses from the start.
    """
    arms, kept, progress = tables.arms, tables.kept, tables.progress
    if progress[OPEN] <= 0:
        return -1
    if not modelled:
        count, fresh = len(arms), progress[FRESH]
        if fresh < count:
            while fresh < count and (
                arms[fresh, PULLS] + arms[fresh, PENDING_COLUMN] > 0.0 or not is_open(arms, fresh)
            ):
                fresh += 1
            progress[FRESH] = fresh
            if fresh < count:
                return int(fresh)
            prepare(kept, arms, pool, bar, parameters)
    return int(select(kept, arms, pool, bar, generator, parameters))


def note_ask(update: Formula, tables: Tables, i: int, pool: Pool, bar: Bar, parameters: Any) -> None:
    """One more pull of arm i is under way; the selector sees it as if it had come back with the arm's mean."""
    tables.arms[i, PENDING_COLUMN] += 1.0
    if tables.progress[FRESH] >= len(tables.arms):
        update(tables.kept, i, read_arm_with_row(tables.arms, i), pool, bar, parameters)
