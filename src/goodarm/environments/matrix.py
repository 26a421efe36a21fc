"""`matrix`: a fixed test set with known results of all arms on all cases. Each arm draws each case at most once."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from goodarm.arguments import check_real, percentage, shown
from goodarm.environments._base import Environment, Floats, fixed
from goodarm.errors import InvalidValue, UnreadableTable
from goodarm.problem import Cases, GradedCases


def case_reward(arm: int, means: Floats, extra: Floats, case: int) -> float:
    """The arm's result on this case; `extra` has the cases one after the other, one number per arm in each."""
    return extra[case * means.size + arm]  # type: ignore[no-any-return]  # an element of an array is Any


def matrix(
    results: ArrayLike | str | Path, threshold: float, *, labels: Sequence[str] = (), name: str = "matrix"
) -> Environment:
    """Arms × cases with the result of every arm on every case, in [0, 1]. The mean of an arm is its row's average.

    results : numbers of shape (arms, cases); or a CSV file (.csv or .csv.gz) with a header, the arm's name in the first
              column and a case in each further one

    A pull draws a new case for the arm, in a separate random order for each arm. The horizon is the number of cells, so
    no certified policy leaves an arm undecided.

    >>> environment = matrix([[1, 0, 1, 1], [0, 0, 1, 0]], threshold=0.5)
    >>> environment.draw(np.random.default_rng(0)).tolist(), environment.rewards
    ([0.75, 0.25], Cases(count=4))
    """
    threshold = percentage(threshold)
    check_real(threshold=threshold)
    if isinstance(results, str | Path):
        name, (labels, results) = f"matrix:{Path(results).name}", read_matrix(Path(results))
    table = _checked(results)
    arms, cases = table.shape
    binary = bool(((table == 0.0) | (table == 1.0)).all())
    return Environment(
        name,
        arms,
        threshold,
        fixed(table.sum(axis=1) / cases),
        case_reward,
        Cases(cases) if binary else GradedCases(cases),
        horizon=arms * cases,
        extra=np.ascontiguousarray(table.T).ravel(),
        columns=cases,
        labels=tuple(map(str, labels)),
        reading=f"{cases:,} cases, each drawn at most once per arm",
    )


def read_matrix(file: Path) -> tuple[tuple[str, ...], Floats]:
    """The arms' names and their results, one row per arm, from a CSV file."""
    if not file.is_file():
        raise UnreadableTable(f"{file}: there is no such file. Give a CSV file with a row per arm, a column per case.")
    try:
        with gzip.open(file, "rt", newline="") if file.suffix == ".gz" else file.open(newline="") as lines:
            rows = [row for row in csv.reader(lines) if row][1:]
        return tuple(row[0] for row in rows), np.array([row[1:] for row in rows], dtype=np.float64)
    except (OSError, UnicodeDecodeError, csv.Error, ValueError) as error:
        raise UnreadableTable(
            f"{file}: can't be read as a matrix of results ({error}). Give a header, then one row per arm: its "
            "name, and one number per case."
        ) from None


def _checked(results: ArrayLike) -> Floats:
    try:
        table = np.array(results, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidValue(f"results must be numbers of shape (arms, cases); got {shown(results)}.") from None
    if table.ndim != 2 or table.size == 0:
        raise InvalidValue(f"results must have the shape (arms, cases), at least one of each; got {table.shape}.")
    wrong = ~((table >= 0.0) & (table <= 1.0))
    if wrong.any():
        i, j = np.unravel_index(int(np.argmax(wrong)), table.shape)
        raise InvalidValue(f"the result of arm {i} on case {j} must lie in [0, 1]; got {table[i, j]}. Rescale it.")
    return table
