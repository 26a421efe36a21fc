"""What a live step calls as native code: what looks at all arms, and what Python would round otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from goodarm.engine.asking import choose_next, note_ask
from goodarm.engine.compile import compiled
from goodarm.engine.loop import Tables
from goodarm.fingerprint import reachable
from goodarm.rules.beliefs import Pool, at_round
from goodarm.rules.parameters import Formula

_native: dict[Any, Any] = {}


def native(function: Formula) -> Formula:
    """The function as native code; compiled when first called."""
    if function not in _native:

        def call(*arguments: Any) -> Any:
            return function(*arguments)

        _native[function] = compiled(call)
    found: Formula = _native[function]
    return found


def as_native_rounds(function: Formula) -> Formula:
    """The function itself, unless it calls lgamma: the one function that Python rounds otherwise than native code."""
    inside = any("lgamma" in each.__code__.co_names for each in reachable([function]))  # type: ignore[list-item]  # plain functions
    return native(function) if inside else function


def asking(prepare: Formula, select: Formula, update: Formula) -> Callable[..., int]:
    """Many asks in a row, compiled."""
    key = (prepare, select, update)
    if key not in _native:
        ready, chosen = (getattr(function, "py_func", function) for function in (prepare, select))

        def ask_many(
            tables: Tables, pool: Pool, bar: Any, generator: Any, parameters: Any, pulls: int, counts: Any
        ) -> int:
            for done in range(pulls):
                pool = at_round(pool, pool.round + 1.0)
                i = choose_next(ready, chosen, False, tables, pool, bar, generator, parameters)
                if i < 0:
                    return done
                note_ask(update, tables, i, pool, bar, parameters)
                counts[i] += 1
            return pulls

        _native[key] = compiled(ask_many)
    found: Callable[..., int] = _native[key]
    return found
