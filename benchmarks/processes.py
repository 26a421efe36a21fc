"""Small programs in fresh processes: for what can only be measured once in a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any, NamedTuple

GOODARM = str(Path(sys.executable).with_name("goodarm"))
"""The command of the environment that runs the benchmark."""


class Finished(NamedTuple):
    """A command that has ended: seconds of processor time, seconds on the wall, and what it printed."""

    processor: float
    wall: float
    printed: str


def fresh(program: str, **environment: str) -> Any:
    """Run a program in a new interpreter and return what it prints as JSON."""
    return json.loads(command([sys.executable, "-c", program], **environment).printed.splitlines()[-1])


def command(words: list[str], cwd: str | None = None, **environment: str) -> Finished:
    """Run a command, which may keep its bytecode: without it each process would compile every module again."""
    own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, started = getrusage(RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(words, cwd=cwd, env=own | environment, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - started, getrusage(RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"a measured command failed:\n{' '.join(words)}\n{done.stderr}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Finished(used, wall, done.stdout)
