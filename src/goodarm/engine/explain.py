"""Explain a rule that can't be compiled or that fails: one message with the rule, the line and the remedy.

numba reports a location in one of two forms: `File "rules.py", line 6` or `Raised from rules.py (8)`. The first
location in a user's function is the innermost one, where the call failed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from functools import wraps
from types import CodeType, FunctionType
from typing import Any, ParamSpec, TypeVar

from goodarm.errors import GoodarmError, RuleFailed
from goodarm.fingerprint import reachable, root
from goodarm.rules.parameters import owner_of

_PLACE = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)|Raised from (?P<from>.+?) \((?P<at>\d+)\)')
_EMPTY = re.compile(r"^\s*(?:File .*|During: .*|raised from .*|)\s*$")
HINT = (
    "A rule may use numbers, tuples, numpy arrays, `math`, and functions of these; import at the top of the file, and "
    "store tables as tuples or arrays instead of dicts, lists or strings."
)


class Explained:
    """A compiled function that raises a goodarm error if it can't be compiled."""

    def __init__(self, dispatcher: Any) -> None:
        self.dispatcher = dispatcher
        self.py_func: FunctionType = dispatcher.py_func

    def __call__(self, *arguments: Any) -> Any:
        try:
            return self.dispatcher(*arguments)
        except TypeError as error:
            if "got None" not in str(error):  # numba's error for a result that is None on some branch
                raise
            raise (without_a_number(self.py_func) or error) from error
        except Exception as error:
            if root(type(error).__module__) != "numba":
                raise
            raise (explained(error, self.py_func) or error) from error

    def __getattr__(self, name: str) -> Any:
        if name == "dispatcher":  # not set yet during copying
            raise AttributeError(name)
        return getattr(self.dispatcher, name)


def explained(error: Exception, loop: FunctionType) -> RuleFailed | None:
    """The error as a goodarm error; None if the place is not in a function of the user's rule."""
    text = str(error)
    for place in _PLACE.finditer(text):
        line = int(place["line"] or place["at"])
        for function in _holding(reachable([loop]), place["file"] or place["from"], line):
            return RuleFailed(
                f"{_whose(function.__code__)} runs in Python but can't be compiled: "
                f"{_where(function.__code__, line)}: {_reason(text, place)}. {HINT}"
            )
    return None


def without_a_number(loop: FunctionType) -> RuleFailed | None:
    """The error of a rule that returns None on some branch; None if all rules of the loop are goodarm's."""
    theirs = [each.__code__ for each in reachable([loop]) if not _is_ours(each.__module__)]
    if not theirs:
        return None
    return RuleFailed(
        f"{_whose(theirs[0])} returns None for some arm ({_where(theirs[0], theirs[0].co_firstlineno)}). Return a "
        "number on every branch."
    )


P = ParamSpec("P")
R = TypeVar("R")


def explains_rules(method: Callable[P, R]) -> Callable[P, R]:
    """Decorate a method that calls rules as Python: errors in a user's rule become goodarm errors that name it."""

    @wraps(method)
    def call(*arguments: P.args, **named: P.kwargs) -> R:
        try:
            return method(*arguments, **named)
        except GoodarmError:
            raise
        except Exception as error:
            raise (raised_in_python(error) or error) from error

    return call


def raised_in_python(error: Exception) -> RuleFailed | None:
    """The error as a goodarm error; None if it was not raised by a function of the user's rule."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or _is_ours(str(last.tb_frame.f_globals.get("__name__", ""))):
        return None
    code = last.tb_frame.f_code
    if owner_of(code, reachable) is None:
        return None
    return RuleFailed(
        f"{_whose(code)} failed: {_where(code, last.tb_lineno)}: {type(error).__name__}: {error}. A rule must return a "
        "number for every arm, even if its rewards are all 0 or all 1. Compiled code would continue with infinity or "
        "NaN."
    )


def _whose(code: CodeType) -> str:
    name = owner_of(code, reachable)
    return f"the rule {name!r}" if name else f"the function {code.co_name!r}"


def _where(code: CodeType, line: int) -> str:
    return f"{os.path.basename(code.co_filename)}, line {line}, in {code.co_name}"


def _is_ours(module: str) -> bool:
    """Whether the function belongs to goodarm or to one of its dependencies."""
    return root(module) in ("goodarm", "numba", "numpy")


def _holding(functions: Iterable[FunctionType], file: str, line: int) -> Iterable[FunctionType]:
    """User functions that contain this line, shortest first, since they may be nested."""
    found = []
    for function in functions:
        code = function.__code__
        lines = [number for _, _, number in code.co_lines() if number is not None]
        same = os.path.basename(code.co_filename) == os.path.basename(file)
        if same and not _is_ours(function.__module__) and code.co_firstlineno <= line <= max(lines):
            found.append((max(lines) - code.co_firstlineno, function))
    return [function for _, function in sorted(found, key=lambda pair: pair[0])]


def _reason(text: str, place: re.Match[str]) -> str:
    """The last non-empty line before the place."""
    before = text[: place.start()].rstrip()
    said = [line.strip() for line in before.splitlines() if not _EMPTY.match(line)]
    return (said[-1] if said else text.strip().splitlines()[0]).rstrip(". ")
