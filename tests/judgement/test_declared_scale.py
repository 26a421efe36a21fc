"""Gaussian and sub-Gaussian declarations: refused where an arm refutes them, and printed beside the label."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

import goodarm
from goodarm.errors import GoodarmError
from goodarm.judgement.page import page
from goodarm.problem import SubGaussian


def revenue(arms: int = 20, rows: int = 2_000, seed: int = 3) -> dict[str, Any]:
    """99.9% zeros, sales of about 80: a mean of 0.08 and a standard deviation of 2.55."""
    chance = np.random.default_rng(seed)
    sold = chance.random(arms * rows) < 0.001
    return {
        "arm": np.repeat([f"a{i}" for i in range(arms)], rows),
        "reward": np.where(sold, chance.normal(80.0, 5.0, arms * rows), 0.0),
    }


@pytest.mark.parametrize("as_table", [dict, pl.DataFrame])
def test_revenue_is_not_gaussian_at_its_own_standard_deviation(as_table: Any, tmp_path: Path) -> None:
    log = revenue()
    deviation = float(np.std(log["reward"]))
    for scale, reason in ((deviation, "spread with"), (2.0 * deviation, "tail is heavier")):
        with pytest.raises(GoodarmError, match=reason) as refused:
            goodarm.judge(as_table(log), threshold=0.15, rewards=f"gaussian:{scale}")
        assert "nonnegative" in str(refused.value)
        assert not re.search(r"gaussian:|more than \d|scale of at least", str(refused.value))
    pl.DataFrame(log).write_csv(tmp_path / "log.csv")
    with pytest.raises(GoodarmError, match="tail is heavier"):
        goodarm.judge(tmp_path / "log.csv", threshold=0.15, rewards=SubGaussian(2.0 * deviation))


def test_one_arm_that_spreads_more_is_refused_among_many_that_spread_less() -> None:
    """The pooled spread is below the declared scale; that of the one arm is twice as large."""
    chance = np.random.default_rng(0)
    quiet, loud = chance.normal(0.0, 0.5, (40, 300)), chance.normal(0.0, 2.0, 300)
    log = {"arm": np.repeat([f"a{i}" for i in range(41)], 300), "reward": np.append(quiet.ravel(), loud)}
    with pytest.raises(GoodarmError, match=r"within arm 'a40'.*more than the declared 1,") as refused:
        goodarm.judge(log, threshold=0.3, rewards="gaussian:1")
    assert "bounded:LOW,HIGH" in str(refused.value)


@pytest.mark.slow
def test_true_declarations_are_hardly_ever_refused() -> None:
    """400 logs of 30 arms and 1 to 3,000 rewards. At a rate of 1 in 10,000 two or more have probability 0.08%.

    A check that refused 1% of such logs would pass with probability 9%; one of 2%, 0.3%.
    """
    chance = np.random.default_rng(1)
    refused = 0
    for _ in range(400):
        arm = chance.integers(0, 30, int(10 ** chance.uniform(0.0, 3.5)))
        log = {"arm": arm.astype(str), "reward": chance.normal(arm, 2.0)}
        try:
            goodarm.judge(log, threshold=10.0, rewards="gaussian:2")
        except GoodarmError:
            refused += 1
    assert binom.sf(1, 400, 1e-4) < 1e-3
    assert refused <= 1


def test_the_assumption_stands_beside_the_label_everywhere() -> None:
    chance = np.random.default_rng(5)
    log = {"arm": ["a"] * 400 + ["b"] * 400, "reward": chance.normal(0.0, 2.55, 800)}
    found = goodarm.judge(log, threshold=3.0, rewards="gaussian:2.55")
    words = "certified if rewards are Gaussian with scale 2.55"
    assert set(found.bad) == {"a", "b"}
    assert found.sentence.endswith(f"; {words}")
    assert set(found.columns()["guarantee"]) == {words}
    said = found.as_dict()
    assert (said["guarantee"], said["conditions"][0]) == (words, "rewards are Gaussian with scale 2.55")
    assert page(found).count(words) >= 3
    assert goodarm.judge(log | {"reward": [1, 0] * 400}, threshold=0.2).guarantee == "certified"


@pytest.mark.filterwarnings("ignore::goodarm.errors.LogWarning")
def test_totals_say_what_could_not_be_checked() -> None:
    totals = {"arm": ["a"], "pulls": [100], "total": [250.0]}
    found = goodarm.judge(totals, threshold=1.0, rewards="gaussian:2")
    assert any("do not show their spread and tail" in note for note in found.notes)
    squares = goodarm.judge(totals | {"squares": [1000.0]}, threshold=1.0, rewards="gaussian:2")
    assert any("do not show their tail" in note for note in squares.notes)
    assert found.guarantee == "certified only if rewards are Gaussian with scale 2"
