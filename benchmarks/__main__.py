"""`python -m benchmarks [NAME ...] [--json | --markdown]`"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from rich.console import Console

from benchmarks.section import Section

BENCHMARKS = {
    "c": "benchmarks.against_c",
    "libraries": "benchmarks.against_libraries",
    "arms": "benchmarks.arms",
    "memory": "benchmarks.memory",
    "start": "benchmarks.start",
    "rules": "benchmarks.rules",
}
PACKAGES = ("goodarm", "numba", "numpy", "mabwiser", "river")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one or more of {', '.join(BENCHMARKS)}; all if none")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--markdown", action="store_true", help="print the tables of docs/performance.md")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    quiet = options.json or options.markdown
    sections = [measured(name, quiet) for name in options.names or BENCHMARKS]
    if options.json:
        print(json.dumps({"machine": machine(), "sections": [section.as_dict() for section in sections]}, indent=2))
    elif options.markdown:
        print("\n\n".join([machine_text(), *(section.markdown() for section in sections)]))
    else:
        Console().print(machine_text(), style="dim", markup=False)


def measured(name: str, quiet: bool) -> Section:
    """Run one benchmark; show its table at once unless everything is to be printed at the end."""
    print(f"measuring {name} ...", file=sys.stderr)
    section: Section = import_module(BENCHMARKS[name]).run()
    if not quiet:
        section.print(Console())
    return section


def machine() -> dict[str, str]:
    """Where and with what the numbers were taken."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "command": " ".join(["python", "-m", "benchmarks", *sys.argv[1:]]),
        "machine": f"{platform.system()} {platform.machine()}, {_processor()}",
        "python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
    }


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
