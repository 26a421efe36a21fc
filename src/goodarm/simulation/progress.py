"""Progress of many runs: a bar for each policy, or a callback."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from goodarm.engine.compile import seconds_to_compile

Progress = Callable[[str, int], None]
"""Callback with the policy's name and the number of its runs that have just ended."""


@contextmanager
def watched(progress: bool | Progress, names: Sequence[str], runs: int) -> Iterator[Progress]:
    """The progress callback: the given function, bars on stderr in a terminal, or nothing."""
    if callable(progress):
        yield progress
        return
    if not progress:
        yield lambda what, ended: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    screen = Console(stderr=True, markup=False, highlight=False, emoji=False)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("runs"),
        TimeRemainingColumn(),
    )
    seen = screen.is_terminal or screen.is_jupyter
    with Bars(*columns, console=screen, disable=not seen, transient=True) as bars:
        tasks = {name: bars.add_task(name, total=runs) for name in names}
        yield lambda what, ended: bars.advance(tasks[what], ended)


def say_if_compiling(name: str, loop: Any) -> None:
    """Write one line to stderr if the first call of a policy's loop has to wait for the compiler."""
    seconds = seconds_to_compile(loop)
    if seconds > 0.0:
        print(
            f"Compiling {name}, about {seconds:.0f} s, once for each policy and kind of rewards ...",
            file=sys.stderr,
            flush=True,
        )
