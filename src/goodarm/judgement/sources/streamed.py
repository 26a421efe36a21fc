"""Rows in order from an engine that sorts them itself: Spark returns them piece by piece, Ibis all at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any

import numpy as np

from goodarm.judgement.options import LogOptions
from goodarm.judgement.sources._base import Batch, Sums

STREAMED = ("pyspark", "ibis")
PIECE = 100_000
"""Rows held in memory at a time, besides what the engine prefetches."""


def streamed(table: Any, kind: str, options: LogOptions, sums: Sums) -> Iterator[Batch]:
    """Batches of a table with the columns key0, ..., x and t, by t; rows of equal t in any order."""
    rows = iter(_from_spark(table) if kind == "pyspark" else _from_ibis(table))
    places = {key: i for i, key in enumerate(zip(*sums.segment, sums.arm, strict=True))}
    while piece := list(islice(rows, PIECE)):
        kept = [row for row in piece if tuple(row[:-2]) in places and (row[-2] is not None or options.nulls == "zero")]
        arms = np.array([places[tuple(row[:-2])] for row in kept], dtype=np.int64)
        rewards = np.array([0.0 if row[-2] is None else row[-2] for row in kept], dtype=np.float64)
        if kept:
            yield Batch(arms, rewards, _times([row[-1] for row in kept]))


def _from_spark(table: Any) -> Iterable[Any]:
    """Sorted by the cluster; this machine receives one partition after the other."""
    from pyspark.sql import functions

    numbered = table.withColumn("goodarm_row", functions.monotonically_increasing_id())
    ordered = numbered.orderBy(functions.col("t").asc_nulls_last(), "goodarm_row").drop("goodarm_row")
    return ordered.toLocalIterator(prefetchPartitions=False)  # type: ignore[no-any-return]  # rows are tuples


def _from_ibis(table: Any) -> Iterator[tuple[Any, ...]]:
    """Sorted by the engine; this machine receives the three columns as one table."""
    import ibis  # type: ignore[import-untyped]  # it has no types

    numbered = table.mutate(goodarm_row=ibis.row_number())
    ordered = numbered.order_by([ibis.asc("t", nulls_first=False), "goodarm_row"]).drop("goodarm_row")
    for batch in ordered.to_pyarrow().to_batches(max_chunksize=PIECE):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _times(values: list[Any]) -> Any:
    """Times as numpy datetimes; numbers and texts unchanged."""
    if all(isinstance(value, datetime) for value in values):
        return np.array([value.replace(tzinfo=None) for value in values], dtype="datetime64[us]")
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found
