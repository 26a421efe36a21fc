"""MovieLens by ratings: the other reading of the paper's dataset."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from goodarm.environments.names import environment


def test_means_are_mean_ratings_and_the_threshold_their_95th_percentile(data_folder: Path) -> None:
    table = np.loadtxt(data_folder / "movielens_latest_small" / "ratings.csv", delimiter=",", skiprows=1)
    means = {movie: table[table[:, 1] == movie, 2].mean() / 5.0 for movie in np.unique(table[:, 1])[:50]}
    found = environment("movielens-ratings")
    drawn = found.draw(np.random.default_rng(0))
    assert drawn.size == found.arms == np.unique(table[:, 1]).size
    assert found.threshold == pytest.approx(np.quantile(drawn, 0.95), abs=1e-9)
    assert set(np.round(list(means.values()), 12)) <= set(np.round(drawn, 12))
    assert int((drawn >= found.threshold).sum()) > 0.05 * found.arms


def test_nothing_is_read_until_it_is_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOODARM_DATA", str(tmp_path))
    assert environment("movielens-ratings").arms == 9724
