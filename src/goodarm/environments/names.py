"""Named environments: those of goodarm, and those of other packages in the entry point group `goodarm.environments`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from goodarm.arguments import checked_number, percentage, shown
from goodarm.environments import literature, with_features
from goodarm.environments._base import Environment
from goodarm.environments.datasets import caption_contest, movielens, open_bandit
from goodarm.environments.matrix import matrix
from goodarm.environments.replay import replay
from goodarm.environments.table import table
from goodarm.errors import InvalidValue, UnknownName
from goodarm.question import BarsGiven

OWN: dict[str, Callable[[], Environment]] = {
    "bumps": with_features.bumps,
    "caption-651": caption_contest.caption_651,
    "kano-1": literature.kano_1,
    "kano-2": literature.kano_2,
    "kano-3": literature.kano_3,
    "linear": with_features.linear,
    "linear-misspecified": with_features.linear_misspecified,
    "medical-1": literature.medical_1,
    "medical-2": literature.medical_2,
    "movielens": movielens.movielens,
    "movielens-genres": with_features.movielens_genres,
    "movielens-long": movielens.movielens_long,
    "movielens-ratings": movielens.movielens_ratings,
    "network": with_features.network,
    "open-bandit": open_bandit.open_bandit,
    "open-bandit-sample": open_bandit.open_bandit_sample,
    "synth-large": literature.synth_large,
    "synth-large-printed": literature.synth_large_printed,
    "synth-small": literature.synth_small,
    "synth-small-printed": literature.synth_small_printed,
}
READERS: dict[str, Callable[..., Environment]] = {"table": table, "replay": replay, "matrix": matrix}
"""Environments that are read from a file, by the prefix before the colon."""
WITH_BARS = ("table", "replay")
"""Environments whose file may have a column per metric."""


@cache
def _plugins() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group="goodarm.environments")}


def environment_names() -> list[str]:
    """The names of all environments."""
    return sorted({*OWN, *_plugins()})


def environment(
    name: str | Environment, *, threshold: float | str | None = None, bars: BarsGiven | None = None
) -> Environment:
    """The environment of that name; `table:PATH`, `replay:PATH` and `matrix:PATH` read a file and need a threshold.

    A table has the arms' means, a replay is a log of rewards, a matrix has a row per arm and a column per case. With
    `bars` in place of the threshold, a table or a replay has a column per metric.

    >>> environment("kano-1").arms
    10
    >>> environment("kano-1", threshold=0.7).threshold
    0.7
    """
    if not isinstance(name, str | Environment):
        raise InvalidValue(
            f"environment must be a name or an environment such as bernoulli(means, threshold); got {shown(name)}."
        )
    if threshold is not None:
        threshold = checked_number("threshold", percentage(threshold))
    if isinstance(name, Environment):
        found = name
    elif name.partition(":")[0] in READERS and ":" in name:
        if threshold is None and bars is None:
            raise InvalidValue(f"{name} has no default threshold. Give one, for example `threshold=0.05`.")
        kind, _, path = name.partition(":")
        if not path.strip():
            raise InvalidValue(f"{name} names no file. Write for example {kind}:arms.csv.")
        if bars is None:
            return READERS[kind](path, threshold)
        if kind not in WITH_BARS:
            raise InvalidValue(f"{name} has one result per case, not several metrics. Give a threshold.")
        return READERS[kind](path, threshold, bars=bars)
    elif name in OWN:
        found = OWN[name]()
    elif name in _plugins():
        found = _plugins()[name].load()()
    elif not name.strip():
        raise InvalidValue("the environment's name is empty. Name one, for example kano-1.")
    elif name.lower().endswith((".csv", ".parquet", ".tsv", ".txt")):
        raise InvalidValue(
            f"{name} is a file, not the name of an environment. Write table:{name} if it has the columns arm and mean, "
            f"or replay:{name} if it is a log with the columns arm and reward."
        )
    else:
        raise UnknownName("environment", name, [*environment_names(), "table:PATH", "replay:PATH", "matrix:PATH"])
    if bars is not None:
        found = found.with_bars(bars)
    return found if threshold is None else found.with_threshold(threshold)
