"""Everything that can be wrong with features gets an answer that names it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from goodarm.errors import InvalidValue, ModelWarning
from goodarm.models.features import checked_features, duplicate_rows
from goodarm.models.linear import Linear
from goodarm.models.mixed import Mixed

ROWS = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 1.0]])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_columns_of_a_dataframe(make):
    frame = make({"name": ["a", "b", "c"], "price": [1.0, 3.0, 4.0], "size": [2, 5, 1]})
    assert np.array_equal(checked_features(frame, 3, columns=["price", "size"]), ROWS)
    with pytest.raises(InvalidValue, match="column 'name' holds String, not numbers"):
        checked_features(frame)
    with pytest.raises(InvalidValue, match="no column 'prize'; it has: name, price, size"):
        checked_features(frame, columns=["prize"])


def test_a_gap_in_a_dataframe_is_named():
    frame = pl.DataFrame({"price": [1.0, None, 4.0], "size": [2, 5, 1]})
    with pytest.raises(InvalidValue, match="feature 'price' of arm 1 is nan; 1 arms have missing values"):
        checked_features(frame)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([[1.0, np.inf], [2.0, 3.0]], "feature 1 of arm 0 is inf"),
        ([[1.0, 7.0], [2.0, 7.0]], "feature 1 is 7.0 for every arm"),
        ([[0.0, 1.0], [0.0, 2.0]], "feature 0 is 0.0 for every arm"),
        ([1.0, 2.0], "one row per arm and at least one column"),
        ([[1.0], [2.0, 3.0]], "all rows equally long"),
        ([["red"], ["blue"]], "features must be numbers"),
    ],
)
def test_what_is_refused(features, message):
    with pytest.raises(InvalidValue, match=message):
        checked_features(features)


def test_wrong_length():
    with pytest.raises(InvalidValue, match="features have 3 rows, but there are 4 arms"):
        Linear(ROWS).bind(None, 4)


def test_standardised_on_request():
    scaled = Linear(ROWS, standardise=True).features
    assert np.allclose(scaled.mean(axis=0), 0.0, atol=1e-15)
    assert np.allclose(scaled.std(axis=0), 1.0)
    assert np.array_equal(Linear(ROWS).features, ROWS)


def test_features_are_copied_and_locked():
    mine = ROWS.copy()
    model = Linear(mine)
    mine[0, 0] = 99.0
    assert model.features[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        model.features[0, 0] = 2.0


def test_duplicate_rows_are_told_and_mixed_takes_them():
    twice = np.array([[1.0, 2.0], [3.0, 5.0], [1.0, 2.0]])
    assert duplicate_rows(twice) == [(0, 2)]
    with pytest.warns(ModelWarning, match="arms 0 and 2 have equal features"):
        Linear(twice).bind(None, 3)
    assert Mixed(twice).bind(None, 3).features.shape == (3, 2)


def test_no_features_at_all():
    with pytest.raises(InvalidValue, match=r"@linear needs features, and this environment has none"):
        Linear().bind(None, 3)
