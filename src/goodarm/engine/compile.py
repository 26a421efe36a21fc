"""A loop compiled around plain functions.

Rules are plain Python functions and call others. Before numba can compile a loop around them, each one must be
registered with it; and because numba's disk cache looks only at the file of the loop, an edited rule would be served
from a stale cache. `goodarm.fingerprint` walks over all of them for both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from goodarm.fingerprint import fingerprint, reachable

_registered: set[FunctionType] = set()


def compiled(make: Callable[[str], Any]) -> Any:
    """The loop that `make(fingerprint)` returns, compiled when first called, or from the disk cache.

    Each loop gets a cache file of its own, named by the fingerprint: numba numbers the entries of a file without a
    lock, so that two processes which compile different loops into one file at once can store one under the other's key.
    """
    from numba import njit

    plain = make("")
    mark = fingerprint([plain])
    loop = make(mark)
    loop.__qualname__ = f"{loop.__qualname__}.{mark[:24]}"
    register([plain])
    return njit(cache=True, nogil=True, error_model="numpy")(loop)


def named_by_content(function: FunctionType, content: str) -> FunctionType:
    """A copy of the function whose qualified name ends in its fingerprint.

    numba names machine code after the function's qualified name and a counter. Loops that were compiled in different
    processes and loaded from the disk cache into one meet under the same names; the linker then keeps one of them, and
    a loop would call another rule's function. With the content in the name, the same name is the same code.
    """
    copy = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__module__ = function.__module__
    copy.__qualname__ = f"{function.__qualname__}_{content[:16]}"
    return copy


def register(functions: Iterable[FunctionType]) -> None:
    """Tell numba that it may compile these functions and everything they call."""
    from numba.extending import overload

    for function in reachable(functions):
        if function not in _registered:
            _registered.add(function)
            overload(function, strict=False)(_always(named_by_content(function, fingerprint([function]))))


def _always(implementation: FunctionType) -> Any:
    """The same implementation whatever the types of the arguments."""

    def chosen(*arguments: Any, **named: Any) -> FunctionType:
        return implementation

    return chosen
