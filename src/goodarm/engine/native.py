"""What a live step calls as native code: what looks at all arms, and what Python would round otherwise."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from goodarm.engine.asking import choose_next, note_ask
from goodarm.engine.compile import compiled
from goodarm.engine.loop import FRESH, OPEN, ROUND, Tables
from goodarm.fingerprint import reachable
from goodarm.rules.beliefs import (
    ARM_FIELDS,
    FOR_BAD,
    FOR_GOOD,
    PULLS,
    TOTAL,
    VERDICT,
    Pool,
    at_round,
    read_arm_with_row,
)
from goodarm.rules.identification.false_discovery import settle
from goodarm.rules.parameters import Formula


class Native:
    """A function that is compiled when it has been called so often that loading numba pays; both round alike."""

    def __init__(self, function: Formula, few: int) -> None:
        def call(*arguments: Any) -> Any:
            return function(*arguments)

        self.py_func = call
        self._few = few
        self._built: Formula | None = None

    def __call__(self, *arguments: Any) -> Any:
        if self._built is None:
            if self._few > 0 and "numba" not in sys.modules:
                self._few -= 1
                return self.py_func(*arguments)
            self._built = compiled(self.py_func)
        return self._built(*arguments)


_made: dict[Formula, Formula] = {}


def native(function: Formula, few: int = 0) -> Formula:
    """The function as native code, after `few` calls as Python where numba is not loaded yet; made once."""
    return _made.setdefault(function, Native(function, few))


def _plain(function: Formula) -> Formula:
    """What `native` was given, for a loop that is compiled as a whole."""
    plain: Formula = getattr(function, "py_func", function)
    return plain


def as_native_rounds(function: Formula) -> Formula:
    """The function itself, unless it calls lgamma: the one function that Python rounds otherwise than native code."""
    inside = any("lgamma" in each.__code__.co_names for each in reachable([function]))  # type: ignore[list-item]  # plain functions
    return native(function) if inside else function


@cache
def asking(prepare: Formula, select: Formula, update: Formula) -> Callable[..., int]:
    """Many asks in a row, compiled."""
    ready, chosen, changed = (_plain(function) for function in (prepare, select, update))

    def ask_many(tables: Tables, pool: Pool, bar: Any, generator: Any, parameters: Any, pulls: int, counts: Any) -> int:
        for done in range(pulls):
            pool = at_round(pool, pool.round + 1.0)
            i = choose_next(ready, chosen, False, tables, pool, bar, generator, parameters)
            if i < 0:
                return done
            note_ask(changed, tables, i, pool, bar, parameters)
            counts[i] += 1
        return pulls

    run: Callable[..., int] = compiled(ask_many)
    return run


@cache
def showing(update: Formula) -> Callable[..., None]:
    """Let the selector see many arms that have changed, compiled."""
    changed = _plain(update)

    def show_many(tables: Tables, which: Any, pool: Pool, bar: Any, choosing: Any) -> None:
        if tables.progress[FRESH] >= len(tables.arms):
            for i in which:
                changed(tables.kept, i, read_arm_with_row(tables.arms, i), pool, bar, choosing)

    run: Callable[..., None] = compiled(show_many)
    return run


@cache
def judging(evidence: Formula, decide: Formula, fdr: bool) -> Callable[..., int]:
    """Evidence and verdicts of many arms whose totals have changed, compiled; what `Step._judge` does for a few."""
    decided_by = decided_by_rank if fdr else _decided_alone(decide)

    def count(arms: Any, i: int, bar: Any, observing: Any) -> None:
        if abs(arms[i, VERDICT]) != 1.0:
            arms[i, FOR_GOOD], arms[i, FOR_BAD] = evidence(
                arms[i, PULLS], arms[i, TOTAL], arms[i, ARM_FIELDS:], bar, *observing
            )

    def judge_many(
        tables: Tables, stale: Any, which: Any, pool: Pool, bar: Any, observing: Any, deciding: Any, decided: Any
    ) -> int:
        many = 0
        for i in stale:
            count(tables.arms, i, bar, observing)
        for i in which:
            if abs(tables.arms[i, VERDICT]) != 1.0:
                count(tables.arms, i, bar, observing)
                many += decided_by(tables, i, pool, bar, deciding, decided[many:])
        return many

    run: Callable[..., int] = compiled(judge_many)
    return run


def decided_by_rank(tables: Tables, i: int, pool: Pool, bar: Any, deciding: Any, decided: Any) -> int:
    """Verdicts that arm i's new evidence leads to by e-BH: written into `decided`; returns how many."""
    found = settle(tables.arms, i, tables.ledger, tables.settled, bar)
    tables.progress[OPEN] -= found
    for j in range(found):
        decided[j] = tables.settled[j]
        tables.decided_at[tables.settled[j]] = tables.progress[ROUND]
    return found


def _decided_alone(decide: Formula) -> Formula:
    """The same where each arm is decided on its own."""

    def decided_alone(tables: Tables, i: int, pool: Pool, bar: Any, deciding: Any, decided: Any) -> int:
        arms, progress = tables.arms, tables.progress
        verdict = decide(read_arm_with_row(arms, i), pool, bar, deciding)
        if verdict == 0.0:
            return 0
        progress[OPEN] -= 1 if arms[i, VERDICT] == 0.0 else 0
        arms[i, VERDICT] = verdict
        tables.decided_at[i] = progress[ROUND]
        decided[0] = i
        return 1

    return decided_alone
