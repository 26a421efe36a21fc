"""Find all functions reachable from a function, and compute fingerprints of their code.

Rules are plain Python functions and call others. One walk follows globals, closures and defaults to every reachable
function. It has three users. The compiler registers each function and keys its disk cache by `fingerprint`. A
certificate records the `fingerprint` of the measured code. A campaign records the `source_fingerprint` of its rules,
which does not depend on the version of Python.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import linecache
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import Any


def _names(code: CodeType) -> Iterator[str]:
    """All names that a code object and its nested code objects look up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _compiled_names(function: FunctionType) -> set[str]:
    return set(_names(function.__code__))


def _values(
    function: FunctionType,
    packages: Collection[str] | None = None,
    names_of: Callable[[FunctionType], set[str]] = _compiled_names,
) -> Iterator[tuple[str, Any]]:
    """Values that the function can read: its globals by name (also `module.name`), its closure, its defaults."""
    names = sorted(names_of(function))
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
    """The value itself, or for a module the attributes that the code names, recursively."""
    if not isinstance(value, ModuleType):
        yield path, value
        return
    if value in above:
        return
    for name in names:
        if hasattr(value, name):
            yield from _members(f"{path}.{name}", getattr(value, name), names, (*above, value))


def functions_in(value: Any) -> Iterator[FunctionType]:
    """The plain functions in a value: the value itself, the source of a numba function, or the elements of a tuple."""
    if isinstance(value, FunctionType):
        yield value
    elif isinstance(getattr(value, "py_func", None), FunctionType):
        yield value.py_func
    elif isinstance(value, tuple):
        for element in value:
            yield from functions_in(element)


def reachable(
    functions: Iterable[FunctionType],
    packages: Collection[str] | None = None,
    names_of: Callable[[FunctionType], set[str]] = _compiled_names,
) -> list[FunctionType]:
    """The functions and all plain functions that they call, each once, in a fixed order.

    packages : enter only functions and modules of these top-level packages; None enters all
    names_of : the names that a function looks up, from its bytecode or from its source
    """
    found: dict[FunctionType, None] = {}
    waiting = list(functions)
    while waiting:
        function = waiting.pop()
        if function in found or (packages is not None and package_of(function) not in packages):
            continue
        found[function] = None
        waiting.extend(called for _, value in _values(function, packages, names_of) for called in functions_in(value))
    return list(found)


def _constant_text(value: Any) -> str:
    """Full text of a value that numba freezes into compiled code; empty for other values."""
    if not isinstance(value, type) and hasattr(value, "dtype") and hasattr(value, "tobytes"):  # an array or its number
        return repr((value.dtype.str, value.shape, value.tobytes()))
    if isinstance(value, tuple):
        return f"({','.join(map(_constant_text, value))})"
    return repr(value) if isinstance(value, bool | int | float | complex | str | bytes) else ""


def _code_text(code: CodeType) -> str:
    """Instructions and constants of a code object, without file names and line numbers."""
    constants = [_code_text(c) if isinstance(c, CodeType) else _literal_text(c) for c in code.co_consts]
    return repr((code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars))


def _literal_text(value: Any) -> str:
    """Text of a literal. Sets are sorted, since their order changes between processes."""
    return f"frozenset({sorted(map(repr, value))})" if isinstance(value, frozenset) else repr(value)


def package_of(function: FunctionType) -> str:
    """The top-level package of a function."""
    return root(str(function.__module__ or ""))


def root(module: str) -> str:
    """The first part of a module's name.

    >>> root("goodarm.rules.beliefs")
    'goodarm'
    """
    return module.partition(".")[0]


def fingerprint(functions: Iterable[FunctionType], packages: Collection[str] | None = None) -> str:
    """Hash of bytecode. It changes with any reachable function, the constants they read, and the Python version.

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


def source_fingerprint(functions: Iterable[FunctionType], packages: Collection[str] | None = None) -> str:
    """Hash of source code. It ignores the Python version, comments, docstrings, annotations and formatting.

    Functions without readable source are hashed by bytecode, which depends on the Python version.

    >>> source_fingerprint([root])[:16]
    '65da9c0040189816'
    """
    digest = hashlib.sha256()
    for function in reachable(functions, packages, _source_names):
        node = _node(function)
        text = _code_text(function.__code__) if node is None else _function_text(node)
        digest.update(text.encode())
        for name, value in _values(function, packages, _source_names):
            digest.update(f"{name}={_constant_text(value)};".encode())
    return digest.hexdigest()


Written = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@lru_cache(maxsize=4096)
def _source_names(function: FunctionType) -> set[str]:
    """All names and attributes in the source of a function, or in its bytecode if there is no source."""
    node = _node(function)
    if node is None:
        return _compiled_names(function)
    found, waiting = set(), [node.args, *(node.body if isinstance(node.body, list) else [node.body])]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Name | ast.Attribute):
            found.add(part.id if isinstance(part, ast.Name) else part.attr)
        for name, value in ast.iter_fields(part):
            if name not in WITHOUT_EFFECT:
                waiting += [
                    each for each in (value if isinstance(value, list) else [value]) if isinstance(each, ast.AST)
                ]
    return found


@lru_cache(maxsize=4096)
def _node(function: FunctionType) -> Written | None:
    """The syntax tree of a function, found by its first line; None without source."""
    code = function.__code__
    try:
        file = inspect.getsourcefile(function)
        lines = linecache.getlines(file, function.__globals__) if file else []
        candidates = _written_in("".join(lines)).get((code.co_firstlineno, function.__name__), ())
    except (OSError, SyntaxError, TypeError):
        return None
    return candidates[0] if len(candidates) == 1 else _at_position(candidates, code)


def _at_position(candidates: Collection[Written], code: CodeType) -> Written | None:
    """Choose among several lambdas on one line by the columns of their code."""
    columns = [
        start for _, _, start, end in code.co_positions() if start is not None and end is not None and start < end
    ]
    inside = [node for node in candidates if all(node.col_offset <= at < (node.end_col_offset or 0) for at in columns)]
    return inside[0] if len(inside) == 1 else None


@lru_cache(maxsize=256)
def _written_in(source: str) -> dict[tuple[int, str], list[Written]]:
    """The functions in a file by first line, that of a decorator if there is one, and name."""
    found: dict[tuple[int, str], list[Written]] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, Written):
            decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
            first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
            name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
            found.setdefault((first, name), []).append(node)
    return found


def _function_text(node: Written) -> str:
    """Arguments and body. The name is left out, since callers contain it."""
    body = node.body if isinstance(node, ast.Lambda) else _statements(node.body)
    return f"{_text(node.args)}:{_text(body)}"


WITHOUT_EFFECT = {"annotation", "returns", "ctx", "kind", "type_comment", "type_ignores", "type_params"}
"""Fields of the syntax tree without effect on behaviour."""


def _text(value: Any) -> str:
    """A syntax tree as text, identical under every version of Python.

    `ast.dump` is not stable: each version of Python adds fields and changes the defaults that it omits. This text omits
    all fields that are None or empty.
    """
    if isinstance(value, list):
        return f"[{','.join(map(_text, value))}]"
    if isinstance(value, ast.Constant):
        return f"{type(value.value).__name__} {value.value!r}"
    if isinstance(value, ast.JoinedStr):
        return f"JoinedStr({_text(_merged(value.values))})"
    if isinstance(value, ast.AST):
        shown = ((name, getattr(value, name, None)) for name in value._fields if name not in WITHOUT_EFFECT)
        inner = (
            f"{name}={_text(_statements(each) if name == 'body' and isinstance(each, list) else each)}"
            for name, each in shown
            if each is not None and each != []
        )
        return f"{type(value).__name__}({','.join(inner)})"
    return repr(value)


def _statements(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements without docstrings and other unused literals."""
    return [each for each in body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))]


def _merged(parts: list[ast.expr]) -> list[ast.expr]:
    """The parts of an f-string with adjacent texts joined, since Python versions split them differently."""
    found: list[ast.expr] = []
    for part in parts:
        last = found[-1] if found else None
        if isinstance(part, ast.Constant) and isinstance(last, ast.Constant):
            found[-1] = ast.Constant(str(last.value) + str(part.value))
        elif not (isinstance(part, ast.Constant) and part.value == ""):
            found.append(part)
    return found
