"""MovieLens ml-latest-small: ratings of movies by 610 users."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.environments._base import Environment
from goodarm.environments.datasets._store import Dataset, File, read, unpacked
from goodarm.environments.datasets._tables import counts, in_no_order
from goodarm.environments.laws import bernoulli, bernoulli_reward

USERS = 610
THRESHOLD = 0.071
FOLDER = "movielens_latest_small"
ARCHIVE = "https://files.grouplens.org/datasets/movielens/ml-latest-small.zip"


def _member(name: str) -> Callable[[bytes], bytes]:
    """From the archive to one of its files."""

    def prepare(archive: bytes) -> bytes:
        import zipfile

        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            return unpacked(opened.read(f"ml-latest-small/{name}"), name)

    return prepare


MOVIELENS = Dataset(
    name="movielens",
    title="MovieLens ml-latest-small (September 2018)",
    files=(
        File(
            f"{FOLDER}/ratings.csv",
            "80da8b3393dae325bbba5a31f291a6ba55d8d4f4396de3c456f2c1635b1b70e8",
            ARCHIVE,
            _member("ratings.csv"),
        ),
        File(
            f"{FOLDER}/movies.csv",
            "c47b783f23eb304413307e1bb05335e427737da20ec8d3c0e96335567dd5f3dc",
            ARCHIVE,
            _member("movies.csv"),
        ),
    ),
    homepage="https://grouplens.org/datasets/movielens/",
    licence=(
        "research use; no commercial use without permission; redistribution under the same conditions; "
        "no endorsement by the University of Minnesota or GroupLens may be implied (README.txt of the archive)"
    ),
    citation=(
        "F. M. Harper and J. A. Konstan. The MovieLens Datasets: History and Context. "
        "ACM Transactions on Interactive Intelligent Systems 5(4), 2015. doi 10.1145/2827872"
    ),
)

READING = (
    "0/1 rewards; an arm is a rated movie, its mean the share of the 610 users who rated it (ml-latest-small): 549 of "
    "9724 good. The paper prints K = 9527 and xi = 0.071 as the 95th percentile; popularity has it at 0.077, mean "
    "ratings at 0.90 of their scale. Arms are in a fixed random order"
)


def _environment(name: str, horizon: int) -> Environment:
    table = counts("movielens.csv")
    means = in_no_order(np.repeat(table["ratings"], table["movies"]) / USERS)
    made = bernoulli(means, THRESHOLD, horizon=horizon, name=name)
    return replace(made, reading=READING, reference=MOVIELENS.citation)


def movielens() -> Environment:
    """Which movies does at least one user in fourteen rate? A hundred thousand rounds.

    >>> environment = movielens()
    >>> environment.arms, environment.horizon
    (9724, 100000)
    """
    return _environment("movielens", 100_000)


def movielens_long() -> Environment:
    """`movielens` with ten times as many rounds."""
    return _environment("movielens-long", 1_000_000)


RATED = 9724
RATINGS_THRESHOLD = 0.9
RATINGS_READING = (
    "0/1 rewards; an arm is a rated movie, its mean the movie's mean rating divided by 5 (ml-latest-small, 100,836 "
    "ratings of 9724 movies); the threshold 0.9 is the 95th percentile of these means. The other reading of the "
    "paper's MovieLens: it prints xi = 0.071 as the 95th percentile, which no mean rating is near. One movie in three "
    "has a single rating. Arms are in a fixed random order"
)


@cache
def _mean_ratings() -> NDArray[np.float64]:
    found = ratings()
    _, movie = np.unique(found.movie, return_inverse=True)
    return in_no_order(np.bincount(movie, weights=found.rating / 5.0) / np.bincount(movie))


def movielens_ratings() -> Environment:
    """Which movies have a mean rating of at least 4.5 stars? Nothing is read before the first run.

    >>> environment = movielens_ratings()
    >>> environment.arms, environment.threshold, environment.horizon
    (9724, 0.9, 100000)
    """
    return Environment(
        "movielens-ratings",
        RATED,
        RATINGS_THRESHOLD,
        lambda generator: _mean_ratings(),
        bernoulli_reward,
        horizon=100_000,
        reading=RATINGS_READING,
        reference=MOVIELENS.citation,
    )


class Ratings(NamedTuple):
    """One entry per rating."""

    user: NDArray[np.int64]
    movie: NDArray[np.int64]
    rating: NDArray[np.float64]  # 0.5, 1.0, ... 5.0
    timestamp: NDArray[np.int64]  # seconds since 1970


class Movies(NamedTuple):
    """One entry per movie, rated or not."""

    movie: NDArray[np.int64]
    title: tuple[str, ...]
    genres: tuple[tuple[str, ...], ...]


def ratings() -> Ratings:
    """All 100,836 ratings; fetched from GroupLens where they are not on this machine."""
    table = np.loadtxt(io.BytesIO(read(MOVIELENS, f"{FOLDER}/ratings.csv")), delimiter=",", skiprows=1)
    user, movie, stamp = (table[:, j].astype(np.int64) for j in (0, 1, 3))
    return Ratings(user, movie, table[:, 2], stamp)


def movies() -> Movies:
    """Titles and genres of all 9,742 movies."""
    text = read(MOVIELENS, f"{FOLDER}/movies.csv").decode("utf-8")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    return Movies(
        np.array([int(row["movieId"]) for row in rows]),
        tuple(row["title"] for row in rows),
        tuple(tuple(row["genres"].split("|")) for row in rows),
    )
