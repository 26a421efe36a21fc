"""Open Bandit Dataset: clicks on 80 items of a fashion shop, shown at random or by Thompson sampling."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.environments._base import Environment
from goodarm.environments.datasets._store import Dataset, File, read
from goodarm.environments.datasets._tables import as_csv, counts
from goodarm.environments.laws import bernoulli
from goodarm.errors import UnknownName

THRESHOLD = 0.005
KEPT_COLUMNS = 10
"""The publisher's log has 80 more columns, the affinities of user and item, which no environment here uses."""
SAMPLES = (
    "https://raw.githubusercontent.com/st-tech/zr-obp/e86eab53f14b2de66de70841d65f01b1595403a9/obp/dataset/obd/"
    "{policy}/all/all.csv"
)


def _without_affinities(served: bytes) -> bytes:
    """The first ten columns of the publisher's log, its nameless first one called `row`."""
    reader = csv.reader(io.StringIO(served.decode("utf-8"), newline=""))
    return as_csv(["row", *next(reader)[1:KEPT_COLUMNS]], (row[:KEPT_COLUMNS] for row in reader))


OPEN_BANDIT = Dataset(
    name="open-bandit",
    title='Open Bandit Dataset, campaign "all", the logs of 10,000 rows',
    files=(
        File(
            "obd/log_random_all.csv.gz",
            "d3349ec75da01683e32b18b54c2b3b3d845332d6d204f65d0bc23383a2e0c751",
            SAMPLES.format(policy="random"),
            _without_affinities,
        ),
        File(
            "obd/log_bts_all.csv.gz",
            "0ea7aedf6c4fb5f6c866f213daa72ce14fbff74082bc89dfe2f0d41242692cfb",
            SAMPLES.format(policy="bts"),
            _without_affinities,
        ),
    ),
    homepage="https://research.zozo.com/data.html",
    licence="samples: Apache License 2.0, shipped with st-tech/zr-obp; the full dataset has its publisher's own terms",
    citation=(
        "Y. Saito, S. Aihara, M. Matsutani and Y. Narita. Open Bandit Dataset and Pipeline: "
        "Towards Realistic and Reproducible Off-Policy Evaluation. arXiv 2008.07146, 2020"
    ),
)

FULL = (
    "0/1 rewards; an arm is an item, its mean clicks/impressions in the full log of the random policy (1,374,327 "
    "rows): 16 of 80 good. The paper prints T = 107, read as 10^7"
)
SAMPLE = (
    "0/1 rewards; an arm is an item, its mean clicks/impressions in the 10,000-row sample of the random policy: about "
    "125 views per item, so that the means are mostly noise. Very likely what the paper used: ceiling "
    "1.575e6 here, 1.5e6 there"
)


def _environment(name: str, log: str, reading: str) -> Environment:
    table = counts("open_bandit.csv")
    means = table[f"random_{log}_clicks"] / table[f"random_{log}_impressions"]
    return replace(
        bernoulli(means, THRESHOLD, horizon=10_000_000, name=name),
        reading=reading,
        reference=OPEN_BANDIT.citation,
        labels=tuple(f"item {i}" for i in table["item_id"]),
    )


def open_bandit() -> Environment:
    """Which items are clicked at least once in two hundred views? Ten million rounds.

    >>> environment = open_bandit()
    >>> environment.arms, environment.threshold, environment.labels[0]
    (80, 0.005, 'item 0')
    """
    return _environment("open-bandit", "full", FULL)


def open_bandit_sample() -> Environment:
    """`open_bandit` with the click rates of the 10,000-row sample."""
    return _environment("open-bandit-sample", "sample", SAMPLE)


class Log(NamedTuple):
    """One entry per impression."""

    timestamp: NDArray[np.datetime64]  # UTC
    item: NDArray[np.int64]  # 0 .. 79
    position: NDArray[np.int64]  # 1, 2 or 3
    click: NDArray[np.int64]  # 0 or 1
    propensity: NDArray[np.float64]  # probability with which the policy showed this item at this position


def log(policy: str = "random") -> Log:
    """The 10,000-row log of the policy `random` or `bts` (Bernoulli Thompson sampling), with propensities."""
    paths = {"random": "obd/log_random_all.csv.gz", "bts": "obd/log_bts_all.csv.gz"}
    if policy not in paths:
        raise UnknownName("Open Bandit policy", policy, paths)
    text = read(OPEN_BANDIT, paths[policy]).decode("utf-8")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    item, position, click = (np.array([int(row[name]) for row in rows]) for name in ("item_id", "position", "click"))
    return Log(
        np.array([row["timestamp"].removesuffix("+00:00") for row in rows], dtype="datetime64[us]"),
        item,
        position,
        click,
        np.array([float(row["propensity_score"]) for row in rows]),
    )
