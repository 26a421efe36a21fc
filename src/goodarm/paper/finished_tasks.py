"""Finished tasks of a reproduction on disk: each is a folder that appears completely or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FORMAT = 1
"""Incremented whenever the content of a finished task changes its meaning."""

PLAYS = (
    "engine",
    "environments",
    "learning",
    "models",
    "numerics",
    "policies",
    "rules",
    "fingerprint.py",
    "informed.py",
    "problem.py",
    "question.py",
    "streams.py",
    "theory.py",
    "verdict.py",
    "simulation/live_run.py",
    "simulation/run.py",
    "simulation/simulate.py",
    "simulation/specification.py",
    "paper/learned_bounds.py",
    "paper/objectives.py",
    "paper/rules.py",
    "paper/scope.py",
    "paper/soft_index.py",
    "paper/tasks.py",
    "paper/training.py",
)
"""Files and folders of the package that can affect results. Other changes keep finished work. A test checks that
everything a task loads is listed here."""

Columns = dict[str, NDArray[Any]]


class FinishedTask(NamedTuple):
    """The result of a task: tables of columns by name, and a few facts."""

    tables: dict[str, Columns]
    facts: dict[str, Any]


PACKAGE = Path(__file__).parents[1]


@cache
def code_print(package: Path = PACKAGE) -> str:
    """A hash of all code of the package that can affect results, and of the versions of its dependencies."""
    import numba

    from goodarm.version import __version__

    digest = hashlib.sha256(f"{FORMAT} {__version__} {np.__version__} {numba.__version__}".encode())
    for path in sorted(package.rglob("*")):
        inside = path.relative_to(package).as_posix()
        if path.suffix in (".py", ".csv") and plays(inside):
            digest.update(inside.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def plays(path: str) -> bool:
    """Whether this file of the package can affect results.

    >>> plays("rules/sampling/value.py"), plays("report/chart.py"), plays("simulation/run.py")
    (True, False, True)
    """
    return any(path == each or path.startswith(f"{each}/") for each in PLAYS)


def key_of(facts: dict[str, Any]) -> str:
    """A short hash of everything that a task depends on."""
    text = json.dumps({**facts, "code": code_print()}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def write_finished(folder: Path, task: FinishedTask) -> None:
    """Write all tables beside the folder, then move them there in one step."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    partial = folder.with_name(f".partial-{folder.name}")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        for name, columns in task.tables.items():
            parquet.write_table(pa.table(dict(columns)), partial / f"{name}.parquet")
        (partial / "facts.json").write_text(json.dumps(task.facts), encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(partial, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def read_finished(folder: Path) -> FinishedTask | None:
    """The result of the task in this folder; None if there is none, or it can't be read."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
        tables = {path.stem: parquet.read_table(path) for path in sorted(folder.glob("*.parquet"))}
    except (OSError, ValueError, pa.ArrowException):
        return None
    return FinishedTask({name: _columns(table) for name, table in tables.items()}, facts)


def _columns(table: Any) -> Columns:
    return {name: table.column(name).to_numpy() for name in table.column_names}
