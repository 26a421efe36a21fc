"""Features of the arms: an array, or columns of a dataframe, checked once; errors name the column and the arm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goodarm.errors import InvalidValue

Floats = NDArray[np.float64]
ALIKE = 1e-12
"""Relative tolerance for equal rows and constant columns, as a share of the largest entry."""


def checked_features(
    features: Any, arms: int | None = None, *, columns: Sequence[str] | None = None, standardise: bool = False
) -> Floats:
    """Features as a read-only float array of shape (K, d).

    features    : an array of K rows, or a dataframe (pandas, polars, pyarrow: anything that narwhals reads)
    arms        : K, if already known
    columns     : columns of a dataframe to use; all by default
    standardise : shift each column to mean 0 and scale it to standard deviation 1

    >>> checked_features([[1.0, 2.0], [3.0, 5.0]], arms=2).shape
    (2, 2)
    >>> checked_features([[1.0, 7.0], [3.0, 7.0]])
    Traceback (most recent call last):
        ...
    goodarm.errors.InvalidValue: feature 1 is 7.0 for every arm: it can't tell arms apart. Drop it; for an intercept \
pass intercept=True.
    """
    array, names = _as_array(features, columns)
    if array.ndim != 2 or array.shape[1] == 0:
        raise InvalidValue(
            f"features must be a table of one row per arm and at least one column; got shape {array.shape}."
        )
    if arms is not None and len(array) != arms:
        raise InvalidValue(
            f"features have {len(array)} rows, but there are {arms} arms. Give one row per arm, in their order."
        )
    _refuse_nan(array, names)
    _refuse_constant(array, names)
    if standardise:
        array = (array - array.mean(axis=0)) / array.std(axis=0)
    array.setflags(write=False)
    return array


def duplicate_rows(features: Floats) -> list[tuple[int, int]]:
    """Pairs (first, later) of arms with equal features: only models with separate effects distinguish them.

    >>> duplicate_rows(np.array([[1.0, 2.0], [0.0, 1.0], [1.0, 2.0]]))
    [(0, 2)]
    """
    first: dict[bytes, int] = {}
    pairs = []
    for i, row in enumerate(np.ascontiguousarray(features) + 0.0):
        owner = first.setdefault(row.tobytes(), i)
        if owner != i:
            pairs.append((owner, i))
    return pairs


def _as_array(features: Any, columns: Sequence[str] | None) -> tuple[Floats, list[str]]:
    if hasattr(features, "columns") or hasattr(features, "column_names"):
        return _from_dataframe(features, columns)
    if columns is not None:
        raise InvalidValue(f"columns={list(columns)} needs a dataframe; got {type(features).__name__}.")
    try:
        array = np.array(features, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidValue(f"features must be numbers, one row per arm, all rows equally long ({error}).") from None
    return array, [str(j) for j in range(array.shape[-1] if array.ndim else 0)]


def _from_dataframe(features: Any, columns: Sequence[str] | None) -> tuple[Floats, list[str]]:
    import narwhals as nw

    frame = nw.from_native(features, eager_only=True)
    names = list(columns) if columns is not None else frame.columns
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise InvalidValue(f"the dataframe has no column {missing[0]!r}; it has: {', '.join(frame.columns)}.")
    for name in names:
        if not (frame[name].dtype.is_numeric() or frame[name].dtype == nw.Boolean):
            raise InvalidValue(
                f"column {name!r} holds {frame[name].dtype}, not numbers. Give columns=[...] without it, or encode it."
            )
    arrays = [np.asarray(frame[name].cast(nw.Float64).to_numpy(), dtype=np.float64) for name in names]
    return np.stack(arrays, axis=1) if arrays else np.zeros((len(frame), 0)), [repr(name) for name in names]


def _refuse_nan(array: Floats, names: list[str]) -> None:
    wrong = ~np.isfinite(array)
    if wrong.any():
        i, j = (int(k) for k in np.argwhere(wrong)[0])
        raise InvalidValue(
            f"feature {names[j]} of arm {i} is {array[i, j]}; {int(wrong.any(axis=1).sum())} arms have missing values. "
            "Impute them, or drop these arms."
        )


def _refuse_constant(array: Floats, names: list[str]) -> None:
    if len(array) < 2:
        return
    for j, column in enumerate(array.T):
        if np.ptp(column) <= ALIKE * np.abs(column).max():
            raise InvalidValue(
                f"feature {names[j]} is {column[0]} for every arm: it can't tell arms apart. Drop it; "
                "for an intercept pass intercept=True."
            )
