"""Environments whose arms have features: what their readings say is so."""

from __future__ import annotations

import numpy as np
import pytest

from goodarm.environments.names import environment
from goodarm.environments.with_features import latent
from goodarm.streams import ENVIRONMENT, generator

NAMES = ["linear", "linear-misspecified", "bumps", "network"]


def means(name: str, run: int = 0) -> np.ndarray:
    return environment(name).instance(generator(0, run, ENVIRONMENT)).means


@pytest.mark.parametrize("name", NAMES)
def test_features_are_fixed_and_means_are_probabilities(name):
    found = environment(name)
    assert found.features.shape[0] == found.arms
    assert np.array_equal(found.features, environment(name).features)
    assert ((means(name) >= 0.0) & (means(name) <= 1.0)).all()
    assert found.reading


def test_linear_means_are_linear_and_in_the_band():
    features, gap = environment("linear").features, means("linear") - 0.5
    theta = np.linalg.lstsq(features, gap, rcond=None)[0]
    assert np.abs(features @ theta - gap).max() < 1e-12
    assert np.abs(gap).max() == pytest.approx(0.3)
    assert np.allclose(np.linalg.norm(features, axis=1), 1.0)
    assert np.linalg.norm(theta) < 1.0  # the bound that the documents give to rules that need one
    assert not np.array_equal(means("linear"), means("linear", 1))


def test_misspecified_means_miss_the_line_by_5_percent():
    features, gap = environment("linear-misspecified").features, means("linear-misspecified") - 0.5
    rest = gap - features @ np.linalg.lstsq(features, gap, rcond=None)[0]
    assert rest.std() == pytest.approx(0.05, rel=0.1)


def test_two_bumps():
    surface = means("bumps").reshape(30, 30)
    inner = surface[1:-1, 1:-1]
    around = [np.roll(surface, (i, j), (0, 1))[1:-1, 1:-1] for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
    assert (inner > np.max(around, axis=0)).sum() == 2
    assert (surface >= 0.5).sum() == 141


def test_a_fifth_of_the_network_is_good():
    for run in range(3):
        assert (means("network", run) >= 0.5).sum() == 200


@pytest.mark.slow
def test_movielens_genres(data_folder):
    found = environment("movielens-genres")
    drawn = found.instance(generator(0, 0, ENVIRONMENT)).means
    assert found.features.shape == (found.arms, 32)
    assert (drawn >= found.threshold).sum() == 499
    assert found.labels[0] == "Toy Story (1995)"
    assert len(found.labels) == found.arms
    # genres and latent features carry some of the popularity, and by far not all of it
    centred = np.concatenate([found.features, np.ones((found.arms, 1))], axis=1)
    left = drawn - centred @ np.linalg.lstsq(centred, drawn, rcond=None)[0]
    assert 0.02 < left.var() / drawn.var() < 0.5


def test_movielens_genres_reads_nothing_until_it_is_played(cache):
    found = environment("movielens-genres")
    assert (found.arms, len(found.labels)) == (9724, 9724)


def test_latent_directions_are_the_principal_ones():
    rng = np.random.default_rng(0)
    table = np.outer(rng.random(20), rng.random(6)) + 1e-3 * rng.random((20, 6))
    coordinates = latent(table, 1)[:, 0]
    assert np.abs(np.corrcoef(coordinates, table.sum(axis=1))[0, 1]) > 0.999
