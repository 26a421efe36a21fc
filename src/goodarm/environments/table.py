"""`table`: arms and their means from a CSV or Parquet file, or from a dataframe."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from goodarm.environments._base import Environment
from goodarm.environments.columns import Source, numbers, read_columns, title
from goodarm.environments.laws import bernoulli
from goodarm.errors import InvalidValue, UnreadableTable


def table(
    source: Source, threshold: float, *, arm: str = "arm", mean: str = "mean", horizon: int = 1_000_000
) -> Environment:
    """0/1 rewards with the means of a table, in the columns `arm` and `mean`; the arms keep their names.

    >>> table({"arm": ["red", "blue"], "mean": [0.1, 0.3]}, threshold=0.2).labels
    ('red', 'blue')
    >>> table({"colour": ["red", "blue"], "rate": [0.1, 0.3]}, threshold=0.2, arm="colour", mean="rate").arms
    2
    """
    names, means = read_means(source, arm, mean)
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise UnreadableTable(f"{title(source)}: arm {twice[0]!r} is listed twice. Keep one row per arm.")
    name = f"table:{Path(source).name}" if isinstance(source, str | Path) else "table"
    try:
        found = bernoulli(means, threshold, horizon=horizon, name=name)
    except InvalidValue as error:
        raise UnreadableTable(f"{title(source)}: {error}") from None
    return replace(found, labels=tuple(names))


def read_means(source: Source, arm: str = "arm", mean: str = "mean") -> tuple[list[str], list[float]]:
    """The arms' names and their means, from these two columns."""
    names, means = read_columns(source, arm, mean)
    return [str(name) for name in names], numbers(source, mean, means).tolist()
