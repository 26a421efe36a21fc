"""`goodarm environments`: list environments."""

from __future__ import annotations

from typing import Annotated

import typer

from goodarm.cli._options import Json, Threshold
from goodarm.cli._show import console, print_json

EXAMPLES = ("goodarm environments kano-1", "goodarm environments table:examples/headlines.csv --threshold 0.02")

Name = Annotated[str | None, typer.Argument(metavar="[NAME]", help="A name, table:FILE or replay:FILE.")]


def environments(name: Name = None, threshold: Threshold = None, json: Json = False) -> None:
    """List the environments: arms, threshold, horizon, and interpretation of the source."""
    from goodarm.report import catalogue

    if name is not None:
        _show_one(name, threshold, json)
        return
    found = catalogue.environments()
    if json:
        print_json({"environments": found})
        return
    screen = console()
    screen.print(catalogue.environment_table(found))
    screen.print(
        "table:FILE reads the columns arm and mean of a CSV or Parquet file, replay:FILE the columns arm and reward of "
        "a log; both need --threshold. For a single one: goodarm environments NAME",
        style="dim",
    )


def _show_one(name: str, threshold: float | None, json: bool) -> None:
    from goodarm.environments.names import environment
    from goodarm.report import catalogue

    entry = catalogue.environment_entry(environment(name, threshold=threshold))
    if json:
        print_json({"environments": [entry]})
        return
    screen = console()
    arms = f"{entry['arms']:,} arm{'s' * (entry['arms'] != 1)}"
    screen.print(
        f"{entry['name']}: {arms}, threshold {entry['threshold']:g}, horizon {entry['horizon']:,}", style="bold"
    )
    for line in (f"{entry['rewards']}; {entry['reading']}", entry["reference"]):
        if line:
            screen.print(line)
    screen.print(f"try it: {catalogue.environment_example(name, threshold)}", style="dim", soft_wrap=True)
