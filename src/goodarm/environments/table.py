"""`table`: arms and their means from a CSV or Parquet file, or from a dataframe."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from goodarm.environments._base import Environment, checked_costs
from goodarm.environments.columns import Source, has_column, numbers, read_columns, title
from goodarm.environments.laws import bernoulli
from goodarm.environments.several import one_bar, several_metrics
from goodarm.errors import InvalidValue, UnreadableTable
from goodarm.question import Bars, BarsGiven

COST = "cost"
"""The optional column with the cost of a pull of each arm."""


def table(
    source: Source,
    threshold: float | None = None,
    *,
    bars: BarsGiven | None = None,
    arm: str = "arm",
    mean: str = "mean",
    horizon: int = 1_000_000,
) -> Environment:
    """0/1 rewards with the means of a table, in the columns `arm` and `mean`; the arms keep their names.

    bars : several bars instead of a threshold; the means of each metric are in the column of its name

    A column `cost` has the cost of a pull of each arm.

    >>> table({"arm": ["red", "blue"], "mean": [0.1, 0.3]}, threshold=0.2).labels
    ('red', 'blue')
    >>> table({"colour": ["red", "blue"], "rate": [0.1, 0.3]}, threshold=0.2, arm="colour", mean="rate").arms
    2
    >>> prompts = {"arm": ["a", "b"], "correct": [0.97, 0.6], "slow": [0.01, 0.02], "cost": [1, 20]}
    >>> several = table(prompts, bars="correct >= 90%, slow <= 5%")
    >>> [metric.name for metric in several.metrics], several.costs
    (['correct', 'slow'], (1.0, 20.0))
    """
    asked = one_bar("table", threshold, bars)
    name = f"table:{Path(source).name}" if isinstance(source, str | Path) else "table"
    columns = [mean] if bars is None else Bars(bars).names
    given, *values = read_columns(source, arm, *columns)
    names = [str(name) for name in given]
    means = {column: numbers(source, column, each) for column, each in zip(columns, values, strict=True)}
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise UnreadableTable(f"{title(source)}: arm {twice[0]!r} is listed twice. Keep one row per arm.")
    try:
        if bars is None:
            found = bernoulli(means[mean], asked, horizon=horizon, name=name)
        else:
            found = several_metrics(means, bars, horizon=horizon, name=name)
        if has_column(source, COST):
            (costs,) = read_columns(source, COST)
            found = replace(found, costs=checked_costs(numbers(source, COST, costs).tolist(), names))
    except InvalidValue as error:
        raise UnreadableTable(f"{title(source)}: {error}") from None
    return replace(found, labels=tuple(names))
