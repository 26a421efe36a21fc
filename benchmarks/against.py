"""Two versions of goodarm in turns: this checkout and another one. Each section of each turn is a fresh process.

Both versions run the benchmarks of this checkout, so both do the same work. `PYTHONPATH` names the sources to import.
If a benchmark fails with the other version, for example because it calls a newer function, the other version runs the
benchmark of its own checkout, and a note names the section. Every column of times is compared. Rows are matched by
their labels: the texts and counts before the first measured column.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.processes import command
from benchmarks.section import Row, Section, Target

HERE = Path(__file__).resolve().parents[1]
DEFAULT = ("c", "rules", "step", "campaign")
"""The sections that are compared if none is named."""
SLOWER = Target(at_most=1.05)
UNITS = {"ns", "µs", "ms", "s", "seconds"}
NOTE = (
    "Medians of the turns. The last ratio is the median over the turns of this version's time divided by the other's. "
    "Rows of other programs (C, Optuna, SQLite) are a control. If their ratio differs from 1, the machine caused it. "
    "Times on the wall have no target, since they include waiting for the disk and for other programs."
)

Times = dict[tuple[str, str], float]
"""Times of one run of a section, by the row's label and the column's name."""


def run(names: list[str], other: Path, turns: int) -> Section:
    """One table of these sections: the times of this version, those of the other, and their ratio."""
    other = other.resolve()
    for checkout in (HERE, other):
        check_import(checkout)
    rows, notes = list[Row](), list[str]()
    for name in names or DEFAULT:
        ours, theirs, benchmarks = list[Times](), list[Times](), HERE
        for turn in range(turns):
            print(f"turn {turn + 1} of {turns}: {name} ...", file=sys.stderr)
            ours.append(times_of(measured(name, HERE, HERE)))
            try:
                theirs.append(times_of(measured(name, other, benchmarks)))
            except RuntimeError as failed:
                if turn or benchmarks == other:
                    raise
                print(f"the other version can't run this benchmark and runs its own:\n{failed}", file=sys.stderr)
                benchmarks = other
                theirs.append(times_of(measured(name, other, benchmarks)))
        rows += compared(name, ours, theirs)
        if benchmarks == other:
            notes.append(f"`{name}`: the other version ran the benchmark of its own checkout.")
    if not rows:
        raise SystemExit(f"the tables of {', '.join(names)} have no column of times; there is nothing to compare.")
    slower = sum(row.verdict == "not met" for row in rows)
    title = (
        f"{commit(HERE)} and {commit(other)} in turns, {turns} each; slower by more than 5%: {slower} of {len(rows)}"
    )
    return Section("against", title, "times the other", rows, [NOTE, *notes])


def check_import(checkout: Path) -> None:
    """Stop unless a process that is to measure this checkout imports the goodarm of this checkout."""
    program = [sys.executable, "-c", "import goodarm; print(goodarm.__file__)"]
    found = Path(command(program, cwd=str(HERE), **environment(checkout)).printed.strip())
    if not found.resolve().is_relative_to(checkout / "src"):
        raise SystemExit(f"{checkout} would be measured with the goodarm in {found.parent}, not with its own in src.")


def environment(checkout: Path) -> dict[str, str]:
    """Import goodarm from this checkout, also in processes that a benchmark starts."""
    paths = [str(checkout / "src"), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def measured(name: str, checkout: Path, benchmarks: Path) -> dict[str, Any]:
    """The section, measured with the goodarm of one checkout by the benchmarks of another or the same."""
    program = [sys.executable, "-m", "benchmarks", name, "--json"]
    section: dict[str, Any]
    (section,) = json.loads(command(program, cwd=str(benchmarks), **environment(checkout)).printed)["sections"]
    return section


def times_of(section: Mapping[str, Any]) -> Times:
    """The positive times of a section.

    >>> rows = [{"policy": "ucb", "K": 50, "ns per round": 40.0, "ratio": 1.5, "target": "", "verdict": ""}]
    >>> times_of({"ratio": "of kt", "rows": rows})
    {('ucb, K = 50', 'ns per round'): 40.0}
    """
    cells = [{name: row[name] for name in row if name not in ("ratio", "target", "verdict")} for row in section["rows"]]
    floats = {name for row in cells for name, value in row.items() if isinstance(value, float)}
    found: Times = {}
    for row, every in zip(cells, section["rows"], strict=True):
        label = labelled(row, floats)
        times = {name: value for name, value in row.items() if is_time(name)}
        if is_time(section["ratio"]) or is_time(label):  # "to absorb, µs": the column of ratios has the time
            times[section["ratio"]] = every["ratio"]
        found |= {(label, name): value for name, value in times.items() if value is not None and value > 0.0}
    return found


def labelled(row: Mapping[str, Any], floats: set[str]) -> str:
    """The texts and counts before the first measured column."""
    parts = list[str]()
    for name, value in row.items():
        if name in floats or is_time(name) or "second" in name:
            break
        if value is not None:
            parts.append(value if isinstance(value, str) else f"{name} = {value:,}")
    return ", ".join(parts)


def is_time(name: str) -> bool:
    """Whether a column or label names a unit of time.

    >>> is_time("C ns"), is_time("first step of a process, s"), is_time("pairs per second by Optuna's")
    (True, True, False)
    """
    return not UNITS.isdisjoint(re.split(r"[\s,:]+", name))


def compared(name: str, ours: list[Times], theirs: list[Times]) -> list[Row]:
    """One row per time. A time that a version doesn't have in every turn is left empty and not compared.

    Times on the wall are not judged.
    """
    rows = []
    for label, column in dict.fromkeys(key for run in (*ours, *theirs) for key in run):
        found = [[run[label, column] for run in runs if (label, column) in run] for runs in (ours, theirs)]
        medians = [median(values) if len(values) == len(ours) else None for values in found]
        what = f"{label}: {column}"
        cells = {"section": name, "row": what, "this version": medians[0], "the other": medians[1]}
        ratio = median(a / b for a, b in zip(*found, strict=True)) if None not in medians else None
        judged = ratio is not None and "wall" not in column
        rows.append(Row(cells, ratio, SLOWER if judged else None))
    return rows


def commit(checkout: Path) -> str:
    """The checkout's commit as git describes it, or the folder's name."""
    words = ["git", "-C", str(checkout), "describe", "--always", "--dirty"]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip() or checkout.name
