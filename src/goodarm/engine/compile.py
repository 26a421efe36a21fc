"""What a rule reaches: every plain function that it calls, and a fingerprint of their code.

Rules are plain Python functions and call others. Before numba can compile a loop around them, each one must be
registered with it; and because numba's disk cache looks only at the file of the loop, an edited rule would be served
from a stale cache. One walk over the functions that are reachable through globals, closures and defaults does both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
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
        if name in function.__globals__:
            yield from _members(name, function.__globals__[name], names)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell.cell_contents
    for j, value in enumerate(function.__defaults__ or ()):
        yield f"default {j}", value
    yield from sorted((function.__kwdefaults__ or {}).items())


def _members(path: str, value: Any, names: list[str], above: tuple[Any, ...] = ()) -> Iterator[tuple[str, Any]]:
    """The value itself; of a module, what the code names in it, also in a module of that module."""
    if not isinstance(value, ModuleType):
        yield path, value
        return
    if value in above:
        return
    for name in names:
        if hasattr(value, name):
            yield from _members(f"{path}.{name}", getattr(value, name), names, (*above, value))


def _functions(value: Any) -> Iterator[FunctionType]:
    """The plain functions in a value: itself, what numba has compiled it from, the elements of a tuple."""
    if isinstance(value, FunctionType):
        yield value
    elif isinstance(getattr(value, "py_func", None), FunctionType):
        yield value.py_func
    elif isinstance(value, tuple):
        for element in value:
            yield from _functions(element)


def reachable(functions: Iterable[FunctionType]) -> list[FunctionType]:
    """The functions and all plain functions that they call, each once, in a fixed order."""
    found: dict[FunctionType, None] = {}
    waiting = list(functions)
    while waiting:
        function = waiting.pop()
        if function in found:
            continue
        found[function] = None
        waiting.extend(called for _, value in _values(function) for called in _functions(value))
    return list(found)


def _constant_text(value: Any) -> str:
    """A value that numba freezes into compiled code, written out in full; empty for what it does not freeze."""
    if isinstance(value, np.ndarray):
        return repr((value.dtype.str, value.shape, value.tobytes()))
    if isinstance(value, tuple):
        return f"({','.join(map(_constant_text, value))})"
    return repr(value) if isinstance(value, bool | int | float | complex | str | bytes | np.generic) else ""


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
            digest.update(f"{name}={_constant_text(value)};".encode())
    return digest.hexdigest()


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
