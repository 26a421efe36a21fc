"""`goodarm environments`: where rewards can come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from goodarm.cli._options import Json
from goodarm.cli._show import console, print_json

if TYPE_CHECKING:
    from goodarm.environments import Environment


def environments(json: Json = False) -> None:
    """List the environments: arms, threshold, horizon, and how each reads its source."""
    from goodarm.environments.names import environment, environment_names

    found = [environment(name) for name in environment_names()]
    if json:
        print_json({"environments": [_as_json(each) for each in found]})
    else:
        _print(found)


def _as_json(environment: Environment) -> dict[str, Any]:
    return {
        "name": environment.name,
        "arms": environment.arms,
        "threshold": environment.threshold,
        "horizon": environment.horizon,
        "rewards": str(environment.rewards),
        "reading": environment.reading,
        "reference": environment.reference,
    }


def _print(found: list[Environment]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("environment", style="bold", no_wrap=True)
    for heading in ("arms", "threshold", "horizon"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("reading and reference", ratio=1)
    for each in found:
        numbers = (f"{each.arms:,}", f"{each.threshold:g}", f"{each.horizon:,}")
        table.add_row(each.name, *numbers, f"{each.rewards}; {each.reading}. {each.reference}")
    screen = console()
    screen.print(table)
    screen.print(
        "table:FILE reads the columns arm and mean of a CSV or Parquet file, replay:FILE the columns arm and reward of "
        "a log; both need --threshold.",
        style="dim",
    )
