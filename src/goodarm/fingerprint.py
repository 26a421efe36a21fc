"""What a function reaches: every plain function that it calls, and a fingerprint of their code.

Rules are plain Python functions and call others. One walk over the functions that are reachable through globals,
closures and defaults serves two ends: the compiler registers each of them and keys its disk cache by their code, and a
certificate says which code it was measured with.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np


def _names(code: CodeType) -> Iterator[str]:
    """All names that a code object, or one nested in it, looks up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _values(function: FunctionType, packages: Collection[str] | None = None) -> Iterator[tuple[str, Any]]:
    """What the function can see: its globals by name (also `module.name`), its closure, its defaults."""
    names = sorted(set(_names(function.__code__)))
    for name in names:
        if name in function.__globals__:
            value = function.__globals__[name]
            if not isinstance(value, ModuleType) or packages is None or root(value.__name__) in packages:
                yield from _members(name, value, names)
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


def functions_in(value: Any) -> Iterator[FunctionType]:
    """The plain functions in a value: itself, what numba has compiled it from, the elements of a tuple."""
    if isinstance(value, FunctionType):
        yield value
    elif isinstance(getattr(value, "py_func", None), FunctionType):
        yield value.py_func
    elif isinstance(value, tuple):
        for element in value:
            yield from functions_in(element)


def reachable(functions: Iterable[FunctionType], packages: Collection[str] | None = None) -> list[FunctionType]:
    """The functions and all plain functions that they call, each once, in a fixed order.

    packages : go only into functions and modules of these top-level packages; None goes everywhere
    """
    found: dict[FunctionType, None] = {}
    waiting = list(functions)
    while waiting:
        function = waiting.pop()
        if function in found or (packages is not None and package_of(function) not in packages):
            continue
        found[function] = None
        waiting.extend(called for _, value in _values(function, packages) for called in functions_in(value))
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
    constants = [_code_text(c) if isinstance(c, CodeType) else _literal_text(c) for c in code.co_consts]
    return repr((code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars))


def _literal_text(value: Any) -> str:
    """A literal of the code; the order in which a set is written changes from process to process."""
    return f"frozenset({sorted(map(repr, value))})" if isinstance(value, frozenset) else repr(value)


def package_of(function: FunctionType) -> str:
    """The top-level package that a function was written in."""
    return root(str(function.__module__ or ""))


def root(module: str) -> str:
    """The first part of a module's name.

    >>> root("goodarm.rules.beliefs")
    'goodarm'
    """
    return module.partition(".")[0]


def fingerprint(functions: Iterable[FunctionType], packages: Collection[str] | None = None) -> str:
    """A hash that changes whenever any reachable function, or a constant that it reads, changes.

    >>> fingerprint([lambda x: x + 1]) == fingerprint([lambda x: x + 1])
    True
    >>> fingerprint([lambda x: x + 1]) == fingerprint([lambda x: x + 2])
    False
    """
    digest = hashlib.sha256()
    for function in reachable(functions, packages):
        digest.update(_code_text(function.__code__).encode())
        for name, value in _values(function, packages):
            digest.update(f"{name}={_constant_text(value)};".encode())
    return digest.hexdigest()
