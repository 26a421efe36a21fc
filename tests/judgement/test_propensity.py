"""Logs of a policy that showed arms with unequal probabilities: weights with a cap."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import goodarm
from goodarm.errors import GoodarmError
from goodarm.judgement.weighted import log_evidence
from goodarm.numerics import binomial_tail
from goodarm.testing.error_rates import LAW_LEVEL

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
    assert any("refer to the rows in which the arm could be shown" in note for note in weighted.notes)
    assert not any("only some of the rows" in note for note in weighted.notes)


def test_weights_are_never_cut(log: pl.DataFrame) -> None:
    """A cut would change the mean: that of `a` from 0.20 to 0.23."""
    with pytest.raises(GoodarmError, match=r"below 1/cap = 0\.2.*Give a larger `cap`"):
        goodarm.judge(log, threshold=0.17, propensity="pscore", cap=5)


def twenty_arms(rows: int, seed: int) -> pl.DataFrame:
    """Arms exactly at a bar of 1/2, each shown with probability 1/20, and a column that follows from the arm."""
    chance = np.random.default_rng(seed)
    arm = chance.integers(0, 20, rows)
    return pl.DataFrame(
        {
            "arm": [f"a{i:02d}" for i in arm], "kind": [f"k{i}" for i in arm], "p": np.full(rows, 0.05),
            "reward": (chance.random(rows) < 0.5).astype(int), "shop": chance.integers(0, 2, rows),
        }
    )  # fmt: skip


AT_THE_BAR = {"threshold": 0.5, "delta": 0.2, "propensity": "p", "cap": 20.0}


def test_rows_are_not_left_out_because_of_the_arm_that_was_shown() -> None:
    """Without the rows of other arms an arm's weights are too large: 34 of 60 logs were judged wrongly at 0.2."""
    log = twenty_arms(4000, 1)
    for where in ("arm = 'a00'", "P >= 0.01", 'shop = 1 AND "reward" IS NOT NULL'):
        with pytest.raises(GoodarmError, match="with propensities no row may be left out because of the arm"):
            goodarm.judge(log, where=where, **AT_THE_BAR)
    for options in ({"where": "kind = 'k0'"}, {"by": "kind"}):
        with pytest.raises(GoodarmError, match="The log must have the rows of all arms"):
            goodarm.judge(log, **options, **AT_THE_BAR)
    assert goodarm.judge(log, where="shop = 1", **AT_THE_BAR).rows < 4000


@pytest.mark.parametrize("missing", ["reward", "arm"])
def test_rows_without_a_reward_or_an_arm_stay_in_the_number_of_rows(missing: str, tmp_path: Path) -> None:
    """Where only one arm has rewards, its evidence is that of the whole log."""
    log = twenty_arms(4000, 2)
    whole = goodarm.judge(log, max_arms=20, **AT_THE_BAR)
    gaps = log.with_columns(pl.when(pl.col("arm") == "a07").then(pl.col(missing)).otherwise(None).alias(missing))
    gaps.write_parquet(tmp_path / "log.parquet")
    for data in (gaps, tmp_path / "log.parquet"):
        found = goodarm.judge(data, nulls="drop", max_arms=20, **AT_THE_BAR)
        assert len(found.arms.arm) == (1 if missing == "arm" else 20)  # arms without a reward keep their share of delta
        assert found.arms.arm[found.arms.pulls > 0].tolist() == ["a07"]
        place = list(whole.arms.arm).index("a07")
        assert found.arms.low[found.arms.pulls > 0] == pytest.approx(whole.arms.low[place], rel=1e-6)


@pytest.mark.slow
def test_the_promise_through_judge_with_and_without_gaps() -> None:
    """Six looks at each log; only the rows of one arm have rewards in every other log."""
    wrong, runs = 0, 60
    for seed in range(runs):
        log = twenty_arms(4000, 100 + seed)
        if seed % 2:
            log = log.with_columns(reward=pl.when(pl.col("arm") == "a00").then(pl.col("reward")).otherwise(None))
        looks = (goodarm.judge(log[:rows], nulls="drop", **AT_THE_BAR) for rows in (200, 500, 1000, 2000, 3000, 4000))
        wrong += any(found.bad for found in looks)
    assert binomial_tail(wrong, runs, 0.2) > LAW_LEVEL


@pytest.mark.parametrize("source", ["frame", "file"])
def test_an_arm_that_came_later_is_judged_by_the_rows_in_which_it_could_be_shown(source: str, tmp_path: Path) -> None:
    """Mean 0.45, bar 0.40, shown in the second half only: it is not bad."""
    chance = np.random.default_rng(7)
    rows = 20_000
    late = np.arange(rows) >= rows // 2
    new = late & (chance.random(rows) < 0.5)
    rate = np.where(new, 0.45, 0.3)
    log = pl.DataFrame(
        {
            "arm": np.where(new, "new", "old"), "reward": (chance.random(rows) < rate).astype(int),
            "p": np.where(late, 0.5, 1.0),
        }
    )  # fmt: skip
    log.write_parquet(tmp_path / "log.parquet")
    data = log if source == "frame" else tmp_path / "log.parquet"
    found = goodarm.judge(data, threshold=0.4, propensity="p", cap=2, max_arms=2)
    assert (found.good, found.bad) == (["new"], ["old"])
    assert dict(zip(found.arms.arm, found.arms.mean, strict=True))["new"] == pytest.approx(0.45, abs=0.02)
    assert any("1 arm could be shown in only some of the rows: new in about" in note for note in found.notes)


def test_the_promise_with_propensities() -> None:
    """An arm that appears halfway and is at the bar over all visitors, looked at often: wrong in at most delta."""
    runs, rows, delta, bar, cap = 400, 6000, 0.1, 0.2, 10.0
    at = np.arange(rows, step=20)
    chance, worst = np.random.default_rng(4), []
    for _ in range(runs):
        keen = chance.random(rows) < 0.5
        p = np.where(keen, 0.8, 0.1)
        shown = (chance.random(rows) < p) & (np.arange(rows) > rows // 2)
        b = np.where(shown, 1.0 / (p * cap), 0.0)
        a = b * (chance.random(rows) < np.where(keen, 0.3, 0.1))
        seen = (np.arange(1.0, rows + 1.0)[at], np.cumsum(a)[at], np.cumsum(b)[at], np.full(at.size, bar))
        worst.append([log_evidence(side, *seen, 1.0 / cap).max() for side in (1.0, -1.0)])
    wrong = (np.array(worst) >= np.log(1.0 / delta)).sum(axis=0)
    assert min(binomial_tail(int(each), runs, delta) for each in wrong) > LAW_LEVEL


def test_a_row_is_a_fair_game_at_the_bar() -> None:
    """Exactly: the mean factor of a row is at most 1, with equality where the weight is all or nothing."""
    one = np.ones(1)
    for bar, cap, p in ((0.2, 10.0, 0.1), (0.2, 10.0, 0.8), (0.01, 50.0, 0.02), (0.9, 3.0, 0.5)):
        for side in (1.0, -1.0):
            n, a, b = 500.0, 500.0 * bar / cap * (1.0 + 0.3 * side), 500.0 / cap
            weight = 1.0 / (p * cap)
            now = log_evidence(side, n * one, a * one, b * one, bar * one, 1.0 / cap)[0]
            after = [
                log_evidence(side, (n + 1) * one, (a + x * w) * one, (b + w) * one, bar * one, 1.0 / cap)[0]
                for x, w in ((0.0, 0.0), (0.0, weight), (1.0, weight))
            ]
            chance = np.array([1.0 - p, p * (1.0 - bar), p * bar])
            mean = float(chance @ np.exp(np.array(after) - now))
            assert mean <= 1.0 + 1e-12
            assert (mean > 1.0 - 1e-12) == (p * cap == 1.0)


def test_interval_and_verdict_agree(log: pl.DataFrame) -> None:
    for bar in (0.15, 0.18, 0.2, 0.22, 0.25):
        found = goodarm.judge(log, threshold=bar, propensity="pscore", cap=10)
        assert ((found.arms.low >= bar) == (found.arms.verdict == 1)).all()
        assert ((found.arms.high <= bar) == (found.arms.verdict == -1)).all()
        assert (found.arms.low < found.arms.mean).all()
        assert (found.arms.mean < found.arms.high).all()
        assert {0.15: 1, 0.25: -1}.get(bar, found.arms.verdict[0]) == found.arms.verdict[0]


def test_propensities_that_are_too_small_to_be_true_are_refused(log: pl.DataFrame) -> None:
    wrong = log.with_columns(pscore=pl.col("pscore") / 3.0)
    with pytest.raises(GoodarmError, match=r"can't be true.*there are only 60,000 rows"):
        goodarm.judge(wrong, threshold=0.17, propensity="pscore", cap=40)


def test_sql_and_frames_weigh_alike(log: pl.DataFrame, tmp_path: object) -> None:
    path = f"{tmp_path}/log.parquet"
    log.write_parquet(path)
    options = {"threshold": 0.17, "propensity": "pscore", "cap": 12}
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
        (0.5, {"cap": 5, "rule": "hoeffding"}, "weighted rewards are judged only by gap-mixture"),
    ],
)
def test_what_is_refused(change: float, options: dict[str, object], message: str) -> None:
    log = {"arm": ["a", "b"], "reward": [1, 0], "p": [0.5, change]}
    with pytest.raises(GoodarmError, match=message):
        goodarm.judge(log, threshold=0.2, propensity="p", **options)
