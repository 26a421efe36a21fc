"""People who come back: logs in which an arm exactly at the bar is called, with and without `unit`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl

import goodarm
from benchmarks.section import Row, Section

SEED, LOGS, BAR, DELTA = 22, 200, 0.3, 0.1
SETTINGS = [(0.05, 2, 600), (0.05, 50, 200), (0.17, 5, 600), (0.17, 20, 300), (0.3, 2, 600), (0.3, 50, 200)]
"""Correlation between two rows of a person, rows per person, persons per arm."""
LOOKS = (0.25, 0.5, 0.75, 1.0)


def returning(chance: np.random.Generator, icc: float, each: int, people: int) -> pl.DataFrame:
    """Logs of two arms at the bar, one segment each; a person's own rate is Beta with this correlation."""
    size, all_people = (1.0 - icc) / icc, 2 * people * LOGS
    rate = chance.beta(BAR * size, (1.0 - BAR) * size, all_people)
    person = np.repeat(np.arange(all_people), each)
    return pl.DataFrame(
        {
            "log": person // (2 * people),
            "arm": person % 2,
            "user": person,
            "place": person // 2 % people,
            "click": (chance.random(person.size) < rate[person]).astype(np.int8),
        }
    )


def called(table: pl.DataFrame, people: int, **options: Any) -> int:
    """In how many logs an arm is called at any look. Logs are judged together, each at the level of its own delta."""
    wrong = np.zeros(LOGS, dtype=bool)
    for share in LOOKS:
        seen = table.filter(pl.col("place") < share * people).drop("place")
        if "unit" not in options:
            seen = seen.drop("user")
        found = goodarm.judge(seen, threshold=BAR, arm="arm", reward="click", by="log", **options).arms
        enough = found.evidence >= math.log(2.0 / DELTA)
        wrong[found.segment[0][enough].astype(int)] = True
    return int(wrong.sum())


def run() -> Section:
    chance, rows = np.random.default_rng(SEED), []
    for icc, each, people in SETTINGS:
        table = returning(chance, icc, each, people)
        ways: dict[str, dict[str, Any]] = {
            "unit, mean": {"unit": "user"},
            "unit, ratio": {"unit": "user", "per_unit": "ratio", "unit_limit": each},
            "without unit": {},
        }
        counts = {name: called(table, people, **options) for name, options in ways.items()}
        cells = {"correlation": icc, "rows per user, users per arm": f"{each}, {people}", **counts}
        rows.append(Row(cells, counts["unit, mean"] / LOGS))
    notes = [
        f"Logs of {LOGS} in which any of two arms exactly at the bar of {BAR:g} was called, good or bad, at delta "
        f"{DELTA:g}; looks after a quarter, half, three quarters and all of the users. {LOGS * DELTA:g} are allowed "
        "for each of good and bad."
    ]
    return Section("units", "people who come back: arms at the bar that are called", "share, unit", rows, notes)
