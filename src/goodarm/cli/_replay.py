"""Options of `goodarm compare replay:LOG`: the log's columns and scale, and a note on its limits."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Annotated

import typer

from goodarm.cli._options import number
from goodarm.errors import InvalidValue

if TYPE_CHECKING:
    from goodarm.environments import Environment
    from goodarm.simulation.runs import Runs

LogArm = Annotated[str | None, typer.Option("--arm", metavar="COLUMN", help="For replay:LOG: the column of arms.")]
LogReward = Annotated[
    str | None, typer.Option("--reward", metavar="COLUMN", help="For replay:LOG: the column of rewards.")
]
LogLow = Annotated[
    float | None, typer.Option("--low", parser=number, metavar="L", help="For replay:LOG: least reward.")
]
LogHigh = Annotated[
    float | None, typer.Option("--high", parser=number, metavar="H", help="For replay:LOG: largest reward.")
]


class ReplayWarning(UserWarning):
    """Verdicts of a replay refer to the log's averages, not to the arms behind it."""


def replayed(
    environment: str,
    threshold: float | None,
    bars: str | None,
    arm: str | None,
    reward: str | None,
    low: float | None,
    high: float | None,
) -> str | Environment:
    """The environment's name, or the log replayed as these options say."""
    given = {"arm": arm, "reward": reward, "low": low, "high": high}
    chosen = {name: value for name, value in given.items() if value is not None}
    if not chosen:
        return environment
    kind, _, path = environment.partition(":")
    if kind != "replay" or (threshold, bars) == (None, None):
        raise InvalidValue(
            f"`{next(iter(chosen))}` belongs to replay:LOG with a `threshold` or `bars`; got {environment}."
        )
    if bars is not None and reward is not None:
        raise InvalidValue("`reward` names one column, and `bars` name the column of each metric. Leave one out.")
    from goodarm.environments import replay

    return replay(path, threshold, bars=bars, **chosen)  # type: ignore[arg-type]  # names and numbers, as `given` has them


def warn_of_replay(environment: str, finished: tuple[Runs, ...]) -> None:
    """Print a note if arms were pulled more often than the log has rows for them."""
    if not environment.startswith("replay:") or not finished:
        return
    import numpy as np

    spec = finished[0].spec
    extra = spec.environment.metrics[0].extra
    if extra is None or not np.size(extra):
        return
    rows = np.asarray(extra)[spec.environment.arms : 2 * spec.environment.arms]
    most = np.max([run.pulls for runs in finished for run in runs.runs], axis=0)
    beyond = int((most > rows).sum())
    if beyond:
        warnings.warn(
            f"{beyond} of {rows.size} arms were pulled more often than the log has rows for them: a replay draws with "
            "replacement, and its verdicts refer to the log's averages. To find out which arms are good, use "
            f"goodarm judge {environment.partition(':')[2]} --{spec.question.setting}",
            ReplayWarning,
            stacklevel=2,
        )
