"""`replay`: rewards drawn from a log. Ratings, votes, clicks or a labelled dataset become arms."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from goodarm.arguments import check_real
from goodarm.environments._base import Environment, Floats, fixed
from goodarm.environments.columns import Source, numbers, read_columns, title
from goodarm.environments.laws import bernoulli
from goodarm.environments.several import one_bar, several_metrics
from goodarm.errors import InvalidValue, UnreadableTable
from goodarm.question import Bars, BarsGiven
from goodarm.streams import uniform

COLUMNS = 2
"""Per arm in `extra`: the start of its rewards, and their number."""


def replay_reward(arm: int, means: Floats, extra: Floats, key: np.uint64) -> float:
    """One of the arm's logged rewards, each with the same probability."""
    start, length = extra[arm], extra[means.size + arm]
    return extra[int(start) + int(uniform(key, 0) * length)]  # type: ignore[no-any-return]  # an element of an array is Any


def replay(
    log: Source,
    threshold: float | None = None,
    *,
    bars: BarsGiven | None = None,
    arm: str = "arm",
    reward: str = "reward",
    low: float = 0.0,
    high: float = 1.0,
    binary: bool = False,
    horizon: int = 1_000_000,
) -> Environment:
    """Arms are the distinct values of the column `arm`; a pull draws one of the arm's logged rewards, with replacement.

    The mean of an arm is the average of its log. Drawing with replacement makes the pulls independent and the supply
    unlimited. Verdicts refer to the log's averages, not to those of a longer log.

    bars      : several bars instead of a threshold; each metric is a column of numbers in [0, 1], and a pull draws a
                whole row, so metrics are correlated as they are in the log
    low, high : the rewards' scale; rewards and threshold are mapped from it to [0, 1]
    binary    : 0/1 rewards with the same means, the paper's interpretation of MovieLens's ratings

    >>> log = {"arm": ["a", "a", "b"], "reward": [1.0, 5.0, 4.0]}
    >>> environment = replay(log, threshold=3.5, low=1, high=5)
    >>> environment.draw(np.random.default_rng(0)).tolist(), environment.threshold
    ([0.5, 0.75], 0.625)
    """
    asked = one_bar("replay", threshold, bars)
    if bars is not None:
        if (low, high, binary) != (0.0, 1.0, False):
            raise InvalidValue(
                "low, high and binary require a single reward per row. Leave them out if there are bars."
            )
        columns = {name: replay(log, 0.5, arm=arm, reward=name, horizon=horizon) for name in Bars(bars).names}
        named = next(iter(columns.values())).name
        return several_metrics(columns, bars, together=True, horizon=horizon, name=named)
    check_real(threshold=asked, low=low, high=high)
    names, rewards = read_columns(log, arm, reward)
    labels, which = _numbered([str(name) for name in names])
    scaled = _scaled(log, numbers(log, reward, rewards), low, high)
    lengths = np.bincount(which, minlength=len(labels))
    means = np.bincount(which, weights=scaled) / lengths
    name = f"replay:{Path(log).name}" if isinstance(log, str | Path) else "replay"
    bar = (asked - low) / (high - low)
    if binary:
        return replace(bernoulli(means, bar, horizon=horizon, name=name), labels=labels)
    grouped = scaled[np.argsort(which, kind="stable")]
    starts = COLUMNS * len(labels) + np.cumsum(lengths) - lengths
    return Environment(
        name,
        len(labels),
        bar,
        fixed(means),
        replay_reward,
        horizon=horizon,
        extra=np.concatenate([starts, lengths, grouped]),
        columns=COLUMNS,
        labels=labels,
        reading=f"{len(scaled)} logged rewards in [{low:g}, {high:g}], mapped to [0, 1] and drawn with replacement",
    )


def classification(data: Source, threshold: float, *, label: str = "label", horizon: int = 1_000_000) -> Environment:
    """A labelled dataset as a bandit: an arm is a class, and a pull gives 1 if a random row belongs to that class.

    The mean of an arm is its class's share of the rows, so good arms are frequent classes.

    >>> classification({"label": ["cat", "dog", "cat", "cow"]}, threshold=0.4).labels
    ('cat', 'dog', 'cow')
    """
    (labels,) = read_columns(data, label)
    counts = Counter(str(value) for value in labels)
    means = [count / len(labels) for count in counts.values()]
    found = bernoulli(means, threshold, horizon=horizon, name="classification")
    return replace(
        found, labels=tuple(counts), reading=f"0/1 rewards; an arm is a class, its mean the share of {len(labels)} rows"
    )


def _numbered(names: list[str]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The distinct names in the order in which they appear, and the number of each entry's name."""
    numbers_of = {name: i for i, name in enumerate(dict.fromkeys(names))}
    return tuple(numbers_of), np.array([numbers_of[name] for name in names], dtype=np.int64)


def _scaled(log: Source, rewards: Floats, low: float, high: float) -> Floats:
    """Map rewards from [low, high] to [0, 1]; refuse rewards outside."""
    if not low < high:
        raise InvalidValue(f"low must be less than high; got low={low}, high={high}.")
    wrong = (rewards < low) | (rewards > high)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise UnreadableTable(
            f"{title(log)}: the reward in row {row + 1} is {rewards[row]:g}, outside [{low:g}, {high:g}]. Give the "
            "rewards' range as low and high."
        )
    return (rewards - low) / (high - low)
