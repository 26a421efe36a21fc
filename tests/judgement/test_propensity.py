"""Logs of a policy that showed arms with unequal probabilities: weights with a cap."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import goodarm
from goodarm.errors import GoodarmError

ROWS = 60_000


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    """Two kinds of visitors; arm `a` is shown mostly to those who click on everything."""
    chance = np.random.default_rng(2)
    keen = chance.random(ROWS) < 0.5
    to_a = np.where(keen, 0.9, 0.1)
    is_a = chance.random(ROWS) < to_a
    rate = np.where(keen, 0.3, 0.1)  # the same for both arms: 0.2 on average over all visitors
    return pl.DataFrame(
        {
            "arm": np.where(is_a, "a", "b"), "reward": (chance.random(ROWS) < rate).astype(int),
            "pscore": np.where(is_a, to_a, 1.0 - to_a),
        }
    )  # fmt: skip


def test_weights_undo_what_the_policy_did(log: pl.DataFrame, tmp_path: object) -> None:
    plain = goodarm.judge(log, threshold=0.2)
    assert (plain.good, plain.bad) == (["a"], ["b"])
    assert any("there is a column pscore" in note for note in plain.notes)
    weighted = goodarm.judge(log, threshold=0.17, propensity="pscore", cap=12)
    assert sorted(weighted.good) == ["a", "b"]
    assert weighted.arms.mean == pytest.approx([0.2, 0.2], abs=0.01)
    assert weighted.arms.pulls.sum() == ROWS
    assert any("the cap of 12 cut 0 weights" in note for note in weighted.notes)


def test_a_cap_lowers_the_mean_and_says_so(log: pl.DataFrame) -> None:
    capped = goodarm.judge(log, threshold=0.17, propensity="pscore", cap=5)
    assert (capped.arms.mean < 0.19).all()
    assert any("good holds for the mean without the cap too" in note for note in capped.notes)
    assert any("cut 6,0" in note or "cut 5,9" in note for note in capped.notes)


def test_sql_and_frames_weigh_alike(log: pl.DataFrame, tmp_path: object) -> None:
    path = f"{tmp_path}/log.parquet"
    log.write_parquet(path)
    options = {"threshold": 0.17, "propensity": "pscore", "cap": 5}
    one, two = (goodarm.judge(data, **options) for data in (log, path))
    assert one.arms.low == pytest.approx(two.arms.low, rel=1e-6)
    assert one.good == two.good


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (1.5, {"cap": 5}, r"do not lie in \(0, 1\]"),
        (0.0, {"cap": 5}, r"do not lie in \(0, 1\]"),
        (0.5, {}, "self-normalised weights have no certificate"),
        (0.5, {"cap": 0.5}, "at least 1"),
        (0.5, {"cap": 5, "rewards": "gaussian:1"}, "needs bounded rewards"),
    ],
)
def test_what_is_refused(change: float, options: dict[str, object], message: str) -> None:
    log = {"arm": ["a", "b"], "reward": [1, 0], "p": [0.5, change]}
    with pytest.raises(GoodarmError, match=message):
        goodarm.judge(log, threshold=0.2, propensity="p", **options)
