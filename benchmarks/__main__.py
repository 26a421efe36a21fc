"""`python -m benchmarks [NAME ...] [--against CHECKOUT] [--json | --markdown | --write FILE | --renew]`"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich.console import Console

from benchmarks import against
from benchmarks.section import Section

BENCHMARKS = {
    "c": "benchmarks.against_c",
    "libraries": "benchmarks.against_libraries",
    "arms": "benchmarks.arms",
    "memory": "benchmarks.memory",
    "start": "benchmarks.start",
    "first": "benchmarks.first",
    "rules": "benchmarks.rules",
    "structured": "benchmarks.structured",
    "learning": "benchmarks.learning",
    "dgai": "benchmarks.dgai",
    "one_good_arm": "benchmarks.one_good_arm",
    "step": "benchmarks.step",
    "campaign": "benchmarks.campaign",
    "opening": "benchmarks.campaign_opening",
    "batches": "benchmarks.campaign_batches",
    "blocks": "benchmarks.campaign_blocks",
    "control": "benchmarks.control",
    "versus": "benchmarks.versus",
    "judge": "benchmarks.judge",
    "service": "benchmarks.service",
    "steps": "benchmarks.steps",
    "stopping": "benchmarks.stopping",
    "webhooks": "benchmarks.webhooks",
    "generated": "benchmarks.generated",
    "cases": "benchmarks.cases",
    "bars": "benchmarks.bars",
    "costs": "benchmarks.costs",
    "families": "benchmarks.families",
    "revenue": "benchmarks.revenue",
    "lifts": "benchmarks.lifts",
    "units": "benchmarks.units",
    "pending": "benchmarks.pending",
    "lost": "benchmarks.lost",
    "pruners": "benchmarks.pruners",
    "rivals": "benchmarks.rivals",
    "forecasts": "benchmarks.forecasts",
    "worth": "benchmarks.worth",
    "dashboard": "benchmarks.dashboard",
    "scale": "benchmarks.scale",
    "parallel": "benchmarks.parallel",
}
PAGES = {
    "docs/performance.md": ("c", "libraries", "arms", "memory", "start", "first", "rules", "structured", "step"),
    "docs/scale.md": ("scale", "parallel"),
    "docs/service-speed.md": ("service", "steps", "generated", "stopping", "dashboard"),
    "docs/live-verdicts.md": ("lost", "batches", "opening", "campaign", "blocks"),
    "docs/bars-proof.md": ("bars", "costs"),
    "docs/log-verdicts.md": ("judge",),
    "docs/learning.md": ("learning",),
}
"""The tables of each document that `--renew` measures again: all tables between marks."""
LONG = ("service", "steps", "generated", "learning")
"""Tables that `--renew` measures only if they are named: half an hour or more, or beside another version."""
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
LOAD_AT_START = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
BUSY = 0.5
"""Load per processor, before a benchmark was started, from which on its seconds are not to be trusted."""
PACKAGES = ("goodarm", "numba", "numpy", "mabwiser", "optuna", "river")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one or more of {', '.join(BENCHMARKS)}; all if none")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put these tables between the marks in FILE")
    parser.add_argument(
        "--renew",
        action="store_true",
        help=f"measure the tables of {', '.join(PAGES)} and write them there; without those that take long "
        f"({', '.join(LONG)}) unless they are named",
    )
    parser.add_argument(
        "--against",
        type=Path,
        metavar="CHECKOUT",
        help="measure the version in this git checkout or worktree as well, in turns, and compare the times; "
        f"{', '.join(against.DEFAULT)} if no benchmark is named",
    )
    parser.add_argument("--turns", type=odd, default=3, help="number of turns of --against, odd; 3 if not given")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    if options.renew:
        if options.json or options.markdown or options.write or options.against:
            parser.error("--renew writes the tables of this version into the documents; leave the other options out")
        renew(options.names)
        return
    quiet = options.json or options.markdown or options.write
    if options.against:
        sections = [against.run(options.names, options.against, options.turns)]
        if not quiet:
            sections[0].print(Console())
    else:
        sections = [measured(name, quiet) for name in options.names or BENCHMARKS]
    if options.json:
        print(json.dumps({"machine": machine(), "sections": [section.as_dict() for section in sections]}, indent=2))
    elif options.markdown:
        print(as_markdown(sections))
    elif options.write:
        options.write.write_text(written(options.write.read_text(), sections))
    else:
        Console().print(machine_text(), style="dim", markup=False)


def odd(text: str) -> int:
    """An odd number of turns, whose median is one of them."""
    turns = int(text)
    if turns < 1 or turns % 2 == 0:
        raise argparse.ArgumentTypeError(f"must be odd and positive; got {turns}")
    return turns


def renew(names: list[str]) -> None:
    """Measure the tables of the documents, all but the `LONG` ones or those in `names`, and write them page by page.

    A busy machine is refused: documents carry figures from quiet runs only. A table whose benchmark can't run, for
    example because a package is missing, is left as it is and named at the end.
    """
    elsewhere = [name for name in names if not any(name in tables for tables in PAGES.values())]
    if elsewhere:
        raise SystemExit(f"no document of --renew has a table of {elsewhere[0]!r}; those that have one: {PAGES}")
    if is_busy(LOAD_AT_START):
        raise SystemExit(f"the load average is {load()}; wait until the machine is quiet. No document was changed.")
    left = []
    for page, tables in PAGES.items():
        wanted = [name for name in tables if (name in names if names else name not in LONG)]
        shared = [name for name in tables if f"measured {name}:" not in Path(page).read_text()]
        if any(name in shared for name in wanted):  # tables between the same marks are replaced together
            wanted = [name for name in tables if name in wanted or name in shared]
        started, sections, complete = time.monotonic(), list[Section](), True
        for name in wanted:
            try:
                sections.append(measured(name, quiet=True))
            except (SystemExit, Exception) as failed:
                left.append(f"{page}, {name}: {failed}")
                complete = complete and name not in shared
        sections = [section for section in sections if complete or section.name not in shared]
        if sections:
            Path(page).write_text(written(Path(page).read_text(), sections))
            names_written = ", ".join(section.name for section in sections)
            print(f"{page}: {names_written} in {time.monotonic() - started:.0f} s", file=sys.stderr)
    if left:
        raise SystemExit("left as they were:\n" + "\n".join(left))


def as_markdown(sections: list[Section]) -> str:
    return "\n\n".join([machine_text(), *(section.markdown() for section in sections)])


def written(page: str, sections: list[Section]) -> str:
    """The page with these tables: each between marks of its own name where it has them, others between the plain ones.

    A section's own marks are `<!-- measured NAME: begin -->` and `<!-- measured NAME: end -->`.
    """
    left = []
    for section in sections:
        begin, end = (mark.replace("measured", f"measured {section.name}") for mark in (BEGIN, END))
        if begin in page:
            page = between_marks(page, as_markdown([section]), begin, end)
        else:
            left.append(section)
    return between_marks(page, as_markdown(left), BEGIN, END) if left else page


def between_marks(page: str, tables: str, begin_mark: str = BEGIN, end_mark: str = END) -> str:
    """The page with what stands between its marks replaced."""
    before, begin, rest = page.partition(begin_mark)
    _, end, after = rest.partition(end_mark)
    if not (begin and end):
        raise SystemExit(f"no {begin_mark} ... {end_mark} in the file; nothing was written")
    return f"{before}{begin}\n{tables}\n{end}{after}"


def measured(name: str, quiet: object) -> Section:
    """Run one benchmark; show its table at once unless everything is to be printed at the end."""
    print(f"measuring {name} ...", file=sys.stderr)
    try:
        section: Section = import_module(BENCHMARKS[name]).run()
    except ModuleNotFoundError as missing:
        raise SystemExit(
            f"the benchmark {name} needs the package {missing.name}, which is not installed. Install what the "
            "benchmarks need: pip install -e '.[test,bench,cluster,ray,service,kernel,logs]'"
        ) from missing
    if not quiet:
        section.print(Console())
    return section


def machine() -> dict[str, str]:
    """Where and with what the numbers were taken."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "load": load(),
        "command": " ".join(["python", "-m", "benchmarks", *sys.argv[1:]]),
        "machine": f"{platform.system()} {platform.machine()}, {_processor()}",
        "python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
    }


def load(before: float | None = None) -> str:
    """The load average at the start, and a mark if other programs were running too.

    before : in place of the load average of the last minute when this program was started

    >>> load(0.3)
    '0.30'
    >>> load(1e9).endswith("BUSY: only the ratios mean something")
    True
    """
    average = LOAD_AT_START if before is None else before
    if average is None:
        return "unknown"
    return f"{average:.2f}{' BUSY: only the ratios mean something' if is_busy(average) else ''}"


def is_busy(average: float | None) -> bool:
    """Does this load average, taken before a benchmark was started, spoil its seconds?

    >>> is_busy(0.1), is_busy(1e9), is_busy(None)
    (False, True, False)
    """
    return average is not None and average > BUSY * (os.cpu_count() or 1)


def machine_text() -> str:
    return "; ".join(f"{name} {value}" for name, value in machine().items())


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


if __name__ == "__main__":
    main()
