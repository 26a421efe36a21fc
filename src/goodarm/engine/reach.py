"""What a rule reaches: every plain function that it calls, and a fingerprint of their code.

Rules are plain Python functions and call others. Before numba can compile a loop around them, each one must be
registered with it; and because numba's disk cache looks only at the file of the loop, an edited rule would be served
from a stale cache. One walk over the functions that are reachable through globals, closures and defaults does both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

_registered: set[FunctionType] = set()


def _names(code: CodeType) -> Iterator[str]:
    """All names that a code object, or one nested in it, looks up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _values(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """What the function can see: its globals by name (also `module.name`), its closure, its defaults."""
    names = sorted(set(_names(function.__code__)))
    for name in names:
        value = function.__globals__.get(name)
        if isinstance(value, ModuleType):
            yield from ((f"{name}.{inner}", getattr(value, inner)) for inner in names if hasattr(value, inner))
        elif name in function.__globals__:
            yield name, value
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell.cell_contents
    for j, value in enumerate(function.__defaults__ or ()):
        yield f"default {j}", value


def reachable(functions: Iterable[FunctionType]) -> list[FunctionType]:
    """The functions and all plain functions that they call, each once, in a fixed order."""
    found: dict[FunctionType, None] = {}
    waiting = list(functions)
    while waiting:
        function = waiting.pop()
        if function in found:
            continue
        found[function] = None
        waiting.extend(value for _, value in _values(function) if isinstance(value, FunctionType))
    return list(found)


def _code_text(code: CodeType) -> str:
    """Instructions and constants of a code object, without file names and line numbers."""
    constants = [_code_text(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return repr((code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars))


def fingerprint(functions: Iterable[FunctionType]) -> str:
    """A hash that changes whenever any reachable function, or a constant that it reads, changes."""
    digest = hashlib.sha256()
    for function in reachable(functions):
        digest.update(_code_text(function.__code__).encode())
        for name, value in _values(function):
            if isinstance(value, bool | int | float | str | bytes | tuple | np.generic):
                digest.update(f"{name}={value!r};".encode())
    return digest.hexdigest()


def register(functions: Iterable[FunctionType]) -> None:
    """Tell numba that it may compile these functions and everything they call."""
    from numba.extending import register_jitable

    for function in reachable(functions):
        if function not in _registered:
            _registered.add(function)
            register_jitable(function)
