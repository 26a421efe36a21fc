"""A rule that runs in Python but can't be compiled: which rule, which line and what to do, in one message.

numba says where it stopped in one of two ways: `File "rules.py", line 6` or `Raised from rules.py (8)`. The first place
that lies in a user's function is the innermost one: what was called there failed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from types import FunctionType
from typing import Any

from goodarm.errors import InvalidValue
from goodarm.fingerprint import reachable
from goodarm.rules.parameters import owner_of

_PLACE = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)|Raised from (?P<from>.+?) \((?P<at>\d+)\)')
_EMPTY = re.compile(r"^\s*(?:File .*|During: .*|raised from .*|)\s*$")
HINT = (
    "A rule may use numbers, tuples, numpy arrays, `math`, and functions of these; import at the top of the file, and "
    "keep tables as tuples or arrays instead of dicts, lists or texts."
)


class Explained:
    """A compiled function whose failure to compile is an error of ours."""

    def __init__(self, dispatcher: Any) -> None:
        self.dispatcher = dispatcher
        self.py_func: FunctionType = dispatcher.py_func

    def __call__(self, *arguments: Any) -> Any:
        try:
            return self.dispatcher(*arguments)
        except Exception as error:
            if type(error).__module__.partition(".")[0] != "numba":
                raise
            raise (explained(error, self.py_func) or error) from error

    def __getattr__(self, name: str) -> Any:
        if name == "dispatcher":  # not set yet, while it is copied
            raise AttributeError(name)
        return getattr(self.dispatcher, name)


def explained(error: Exception, loop: FunctionType) -> InvalidValue | None:
    """The error in our own words; None if the place is not in a function of the user's rule."""
    text = str(error)
    for place in _PLACE.finditer(text):
        line = int(place["line"] or place["at"])
        for function in _holding(reachable([loop]), place["file"] or place["from"], line):
            name = owner_of(function, reachable)
            what = f"the rule {name!r}" if name else f"the function {function.__name__!r}"
            return InvalidValue(
                f"{what} runs in Python but can't be compiled: {os.path.basename(function.__code__.co_filename)}, "
                f"line {line}, in {function.__name__}: {_reason(text, place)}. {HINT}"
            )
    return None


def _holding(functions: Iterable[FunctionType], file: str, line: int) -> Iterable[FunctionType]:
    """The functions of other people that have this line; the shortest first, as one may stand inside another."""
    found = []
    for function in functions:
        code = function.__code__
        lines = [number for _, _, number in code.co_lines() if number is not None]
        ours = function.__module__.partition(".")[0] in ("goodarm", "numba", "numpy")
        same = os.path.basename(code.co_filename) == os.path.basename(file)
        if same and not ours and code.co_firstlineno <= line <= max(lines):
            found.append((max(lines) - code.co_firstlineno, function))
    return [function for _, function in sorted(found, key=lambda pair: pair[0])]


def _reason(text: str, place: re.Match[str]) -> str:
    """The last line before the place that says something."""
    before = text[: place.start()].rstrip()
    said = [line.strip() for line in before.splitlines() if not _EMPTY.match(line)]
    return (said[-1] if said else text.strip().splitlines()[0]).rstrip(". ")
