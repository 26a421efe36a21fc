"""The small tables of counts in the package, and the arms made from them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

ORDER_SEED = 651


def as_csv(header: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """A table as CSV in UTF-8, with the same bytes on every machine."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode("utf-8")


def counts(name: str) -> dict[str, NDArray[np.int64]]:
    """The columns of a table of counts.

    >>> int(counts("movielens.csv")["movies"].sum())
    9724
    """
    text = (files(__package__) / "tables" / name).read_text(encoding="utf-8")
    header, *rows = [line.split(",") for line in text.splitlines() if not line.startswith("#")]
    values = np.array(rows, dtype=np.int64)
    return {column: values[:, j] for j, column in enumerate(header)}


def in_no_order(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """The means in an uninformative order.

    A table of counts is sorted, so a policy that prefers low numbers, in ties or in its first pass over the arms, would
    profit. numpy never changes RandomState's stream, so the order is the same on every machine.


    >>> in_no_order(np.array([0.1, 0.2, 0.3, 0.4])).tolist()
    [0.2, 0.1, 0.3, 0.4]
    """
    return means[np.random.RandomState(ORDER_SEED).permutation(means.size)]
