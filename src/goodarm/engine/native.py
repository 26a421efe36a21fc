"""What a live step calls as native code: what looks at all arms, and what Python would round otherwise."""

from __future__ import annotations

import sys
from collections.abc import Callable
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

_native: dict[Any, Any] = {}


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


def native(function: Formula, few: int = 0) -> Formula:
    """The function as native code, after `few` calls as Python where numba is not loaded yet."""
    if function not in _native:
        _native[function] = Native(function, few)
    found: Formula = _native[function]
    return found


def _plain(function: Formula) -> Formula:
    """What `native` was given, for a loop that is compiled as a whole."""
    plain: Formula = getattr(function, "py_func", function)
    return plain


def as_native_rounds(function: Formula) -> Formula:
    """The function itself, unless it calls lgamma: the one function that Python rounds otherwise than native code."""
    inside = any("lgamma" in each.__code__.co_names for each in reachable([function]))  # type: ignore[list-item]  # plain functions
    return native(function) if inside else function


def asking(prepare: Formula, select: Formula, update: Formula) -> Callable[..., int]:
    """Many asks in a row, compiled."""
    key = (prepare, select, update)
    if key not in _native:
        ready, chosen, changed = (_plain(function) for function in (prepare, select, update))

        def ask_many(
            tables: Tables, pool: Pool, bar: Any, generator: Any, parameters: Any, pulls: int, counts: Any
        ) -> int:
            for done in range(pulls):
                pool = at_round(pool, pool.round + 1.0)
                i = choose_next(ready, chosen, False, tables, pool, bar, generator, parameters)
                if i < 0:
                    return done
                note_ask(changed, tables, i, pool, bar, parameters)
                counts[i] += 1
            return pulls

        _native[key] = compiled(ask_many)
    found: Callable[..., int] = _native[key]
    return found


def showing(update: Formula) -> Callable[..., None]:
    """Let the selector see many arms that have changed, compiled."""
    key = ("showing", update)
    if key not in _native:
        changed = _plain(update)

        def show_many(tables: Tables, which: Any, pool: Pool, bar: Any, choosing: Any) -> None:
            if tables.progress[FRESH] >= len(tables.arms):
                for i in which:
                    changed(tables.kept, i, read_arm_with_row(tables.arms, i), pool, bar, choosing)

        _native[key] = compiled(show_many)
    found: Callable[..., None] = _native[key]
    return found


def judging(evidence: Formula, decide: Formula, fdr: bool) -> Callable[..., int]:
    """Evidence and verdicts of many arms whose totals have changed, compiled; what `Step._judge` does for a few."""
    key = ("judging", evidence, decide, fdr)
    if key not in _native:

        def count(arms: Any, i: int, bar: Any, observing: Any) -> None:
            if abs(arms[i, VERDICT]) != 1.0:
                arms[i, FOR_GOOD], arms[i, FOR_BAD] = evidence(
                    arms[i, PULLS], arms[i, TOTAL], arms[i, ARM_FIELDS:], bar, *observing
                )

        def judge_many(
            tables: Tables, stale: Any, which: Any, pool: Pool, bar: Any, observing: Any, deciding: Any, decided: Any
        ) -> int:
            arms, progress, many = tables.arms, tables.progress, 0
            for i in stale:
                count(arms, i, bar, observing)
            for i in which:
                if abs(arms[i, VERDICT]) == 1.0:
                    continue
                count(arms, i, bar, observing)
                if fdr:
                    found = settle(arms, i, tables.ledger, tables.settled, bar)
                    progress[OPEN] -= found
                    for j in range(found):
                        decided[many + j] = tables.settled[j]
                        tables.decided_at[tables.settled[j]] = progress[ROUND]
                    many += found
                else:
                    verdict = decide(read_arm_with_row(arms, i), pool, bar, deciding)
                    if verdict != 0.0:
                        progress[OPEN] -= 1 if arms[i, VERDICT] == 0.0 else 0
                        arms[i, VERDICT] = verdict
                        tables.decided_at[i] = progress[ROUND]
                        decided[many] = i
                        many += 1
            return many

        _native[key] = compiled(judge_many)
    found: Callable[..., int] = _native[key]
    return found
