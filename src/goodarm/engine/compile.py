"""A loop compiled around plain functions.

Rules are plain Python functions and call others. Before numba can compile a loop around them, each one must be
registered with it; and because numba's disk cache looks only at the file of the loop, an edited rule would be served
from a stale cache. `goodarm.fingerprint` walks over all of them for both.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from goodarm.engine.explain import Explained
from goodarm.fingerprint import fingerprint, reachable
from goodarm.rules.parameters import Formula

_registered: set[FunctionType] = set()
_inlined: set[FunctionType] = set()
_registering = threading.RLock()
"""Two threads that compile at once must not find a function marked as registered before numba knows it."""


def compiled(loop: Callable[..., Any]) -> Any:
    """The function, compiled when first called, or from the disk cache.

    numba names its cache file after the function's qualified name. With the fingerprint in that name, changed rules
    have another file, so that a stale one is never read; and two processes which compile different loops at once do
    not write into one file, whose entries numba numbers without a lock.
    """
    from numba import njit

    assert isinstance(loop, FunctionType)
    register([loop])
    loop.__qualname__ = f"{loop.__qualname__}.{fingerprint([loop])[:24]}"
    return Explained(njit(cache=True, nogil=True, error_model="numpy")(loop))


def inlined(function: Formula) -> Formula:
    """Mark a function that runs in every round, to be compiled into its callers together with all that it calls.

    Left to itself the compiler calls the larger ones, with thirty arguments on the stack and the references of every
    array counted: up to a tenth of a round.
    """
    assert isinstance(function, FunctionType)
    _inlined.add(function)
    return function


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

    with _registering:
        for function in reachable(functions):
            if function not in _registered:
                options: Any = {"forceinline": True} if function in _inlined else {}
                implementation = _always(named_by_content(function, fingerprint([function])))
                overload(function, strict=False, jit_options=options)(implementation)
                _registered.add(function)


def _always(implementation: FunctionType) -> Any:
    """The same implementation whatever the types of the arguments."""

    def chosen(*arguments: Any, **named: Any) -> FunctionType:
        return implementation

    return chosen
