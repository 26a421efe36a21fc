"""Arms with features: linear, smooth and network-made means, and movies with their genres."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator, default_rng

from goodarm.environments._base import Environment, Floats, fixed
from goodarm.environments.datasets import movielens as source
from goodarm.environments.laws import bernoulli_reward

BAND = 0.3
"""Means lie within this distance of the threshold."""
MISFIT = 0.05
LATENT = 12
MOVIES = 9724
OURS = "goodarm (docs/structured.md)"


def unit_vectors(arms: int, dimension: int) -> Floats:
    """Directions drawn uniformly, with a fixed seed."""
    drawn = default_rng([arms, dimension]).standard_normal((arms, dimension))
    features: Floats = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    features.setflags(write=False)
    return features


def in_band(values: Floats, threshold: float = 0.5, width: float = BAND) -> Floats:
    """Values scaled so that the one farthest from 0 lies `width` from the threshold."""
    return np.asarray(threshold + width * values / np.abs(values).max())


def _linear_means(features: Floats, misfit: float) -> Callable[[Generator], Floats]:
    def draw(generator: Generator) -> Floats:
        theta = generator.standard_normal(features.shape[1])
        own = misfit * generator.standard_normal(len(features))
        return np.clip(in_band(features @ theta) + own, 0.0, 1.0)

    return draw


def _with_features(name: str, features: Floats, draw: Callable[[Generator], Floats], reading: str) -> Environment:
    return Environment(
        name, len(features), 0.5, draw, bernoulli_reward, reading=reading, reference=OURS, describe=lambda: features
    )


def linear(arms: int = 1000, dimension: int = 10) -> Environment:
    """1000 unit vectors in 10 dimensions, means linear in them and within 0.3 of the threshold.

    >>> environment = linear()
    >>> environment.features.shape
    (1000, 10)
    """
    features = unit_vectors(arms, dimension)
    reading = (
        f"{arms} fixed unit vectors in {dimension} dimensions; mean = 0.5 + x'theta, theta drawn anew in each run and "
        f"scaled so that the largest gap is {BAND}; 0/1 rewards"
    )
    return _with_features("linear", features, _linear_means(features, 0.0), reading)


def linear_misspecified(arms: int = 1000, dimension: int = 10) -> Environment:
    """As `linear`, but each arm deviates from the line by N(0, 0.05^2)."""
    features = unit_vectors(arms, dimension)
    reading = (
        f"as linear, plus a deviation N(0, {MISFIT}^2) of each arm, drawn anew in each run: the features explain only "
        "part, and a linear model is wrong"
    )
    return _with_features("linear-misspecified", features, _linear_means(features, MISFIT), reading)


def grid(side: int) -> Floats:
    """The points of a square grid on [0, 1]^2, row by row."""
    ticks = np.linspace(0.0, 1.0, side)
    across, up = np.meshgrid(ticks, ticks, indexing="ij")
    return np.stack([across.ravel(), up.ravel()], axis=1)


def bump(points: Floats, centre: tuple[float, float], scale: float) -> Floats:
    """exp(-|x - centre|^2 / (2 scale^2))."""
    return np.asarray(np.exp(-((points - np.array(centre)) ** 2).sum(axis=1) / (2.0 * scale**2)))


def bumps(side: int = 30) -> Environment:
    """Two bumps on a 30 x 30 grid: 141 of 900 arms are good."""
    points = grid(side)
    means = 0.3 + 0.45 * bump(points, (0.3, 0.3), 0.145) + 0.4 * bump(points, (0.72, 0.68), 0.115)
    reading = (
        f"{side} x {side} points of the unit square; mean = 0.3 + 0.45 bump at (0.3, 0.3) + 0.4 bump at (0.72, 0.68) "
        f"of scales 0.145 and 0.115: {int((means >= 0.5).sum())} of {means.size} good; fixed; 0/1 rewards"
    )
    return _with_features("bumps", points, fixed(means), reading)


def network(arms: int = 1000, dimension: int = 8, hidden: int = 16) -> Environment:
    """Means from a random network of two layers; one arm in five is good."""
    features = unit_vectors(arms, dimension)

    def draw(generator: Generator) -> Floats:
        first = generator.standard_normal((dimension, hidden)) * 2.0
        second = generator.standard_normal(hidden)
        output = np.tanh(features @ first + generator.standard_normal(hidden)) @ second
        return in_band(output - np.quantile(output, 0.8))

    reading = (
        f"{arms} fixed unit vectors in {dimension} dimensions; mean from a network of {hidden} tanh units with weights "
        f"drawn anew in each run, shifted so that a fifth is good, scaled to gaps of at most {BAND}; 0/1 rewards"
    )
    return _with_features("network", features, draw, reading)


class _Movies(NamedTuple):
    titles: tuple[str, ...]
    means: Floats
    features: Floats


@cache
def _movies() -> _Movies:
    ratings, movies = source.ratings(), source.movies()
    rated, place = np.unique(ratings.movie, return_inverse=True)
    even = ratings.user % 2 == 0
    users = np.unique(ratings.user)
    where = {int(movie): row for row, movie in enumerate(movies.movie)}
    rows = [where[int(movie)] for movie in rated]
    kinds = sorted({kind for row in rows for kind in movies.genres[row]})
    genres = np.array([[float(kind in movies.genres[row]) for kind in kinds] for row in rows])
    seen = np.zeros((rated.size, users.size))
    seen[place[even], np.searchsorted(users, ratings.user[even])] = 1.0
    return _Movies(
        titles=tuple(movies.title[row] for row in rows),
        means=np.bincount(place[~even], minlength=rated.size) / (users % 2 == 1).sum(),
        features=np.concatenate([genres, latent(seen, LATENT)], axis=1),
    )


class _Titles(Sequence[str]):
    """The movies' titles, read at the first access."""

    def __len__(self) -> int:
        return MOVIES

    def __getitem__(self, i: Any) -> Any:
        return _movies().titles[i]


def movielens_genres() -> Environment:
    """Movies with titles, genres and latent features: which does at least one user in fourteen rate?

    The latent features are computed from half of the users (even numbers) and the means from the others, so that
    features do not contain means. Nothing is read before the first run.
    """
    reading = (
        f"0/1 rewards; {MOVIES} rated movies, mean = share of the users of odd number who rated it, 499 good; features "
        f"20 genres, and the {LATENT} largest principal directions of who rated what among the users of even number"
    )
    return Environment(
        "movielens-genres",
        MOVIES,
        source.THRESHOLD,
        lambda generator: _movies().means,
        bernoulli_reward,
        reading=reading,
        reference=source.MOVIELENS.citation,
        labels=_Titles(),
        describe=lambda: _movies().features,
    )


def latent(table: Floats, dimension: int) -> Floats:
    """The rows' coordinates along the largest principal directions, each scaled to at most 1."""
    values, vectors = np.linalg.eigh(table.T @ table)
    coordinates = table @ vectors[:, np.argsort(-values)[:dimension]]
    return np.asarray(coordinates / np.abs(coordinates).max(axis=0))
