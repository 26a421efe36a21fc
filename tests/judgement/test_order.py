"""A log folded in its order: as a campaign would have seen it."""

from __future__ import annotations

import io
from pathlib import Path

import ibis
import numpy as np
import polars as pl
import pytest
from rich.console import Console
from servers import postgresql
from typer.testing import CliRunner

import goodarm
from goodarm.cli import app
from goodarm.engine.ordered_log import OrderedLog
from goodarm.errors import GoodarmError
from goodarm.judgement import Judgement
from goodarm.judgement.order import shuffled_ties, whole_ties
from goodarm.judgement.sources._base import Batch
from goodarm.numerics import binomial_tail
from goodarm.policies import policy
from goodarm.policies.names import identification_rule
from goodarm.problem import Problem
from goodarm.rules.beliefs import Arm
from goodarm.testing.error_rates import LAW_LEVEL

MEANS = np.array([0.02, 0.1, 0.2, 0.3])


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    chance = np.random.default_rng(8)
    arm = chance.integers(0, 4, 8000)
    reward = (chance.random(arm.size) < MEANS[arm]).astype(int)
    at = np.datetime64("2026-05-01", "us") + np.arange(arm.size) * np.timedelta64(60_000_000, "us")
    frame = pl.DataFrame({"item": [f"i{k}" for k in arm], "click": reward, "at": at, "number": np.arange(arm.size)})
    return frame.sample(fraction=1.0, shuffle=True, seed=1)


@pytest.mark.slow
def test_the_fold_is_the_rule_applied_reward_by_reward() -> None:
    chance = np.random.default_rng(0)
    arms = chance.integers(0, 3, 500)
    rewards = (chance.random(500) < np.array([0.35, 0.6, 0.1])[arms]).astype(float)
    problem = Problem(threshold=0.3, arms=3, delta=0.2)
    seen = OrderedLog(policy("uniform", "kt"), problem)
    seen.absorb(arms[:200], rewards[:200])
    seen.absorb(arms[200:], rewards[200:])
    rule = identification_rule("kt")
    for i in range(3):
        arm, at = Arm(*[0.0] * len(Arm._fields)), 0
        for row in np.flatnonzero(arms == i):
            good, bad, memory = rule.observe(arm, rewards[row], None, problem.bar)
            n, s = arm.pulls + 1, arm.total + rewards[row]
            arm = Arm(n, s, s / n, n**-0.5, good, bad, memory, 0.0)
            if max(good, bad) >= problem.bar.budget:
                at = int(row) + 1
                break
        assert seen.decided_at[i] == at
        assert [side[i] for side in seen.evidence] == pytest.approx([arm.for_good, arm.for_bad], abs=1e-9)
    assert seen.decided_at.max() > 0


@pytest.mark.slow
def test_order_is_that_of_the_column_wherever_the_log_is(log: pl.DataFrame, tmp_path: Path) -> None:
    log.write_parquet(tmp_path / "log.parquet")
    log.write_csv(tmp_path / "log.csv")
    expected = goodarm.judge(log, threshold=0.15, order="number")
    assert (expected.rule, sorted(expected.good), sorted(expected.bad)) == ("learned-bets", ["i2", "i3"], ["i0", "i1"])
    by_time = goodarm.judge(log, threshold=0.15, order="at")
    for data in (tmp_path / "log.parquet", tmp_path / "log.csv", log.to_pandas(), log.to_arrow(), log.lazy()):
        for order, wanted in (("number", expected), ("at", by_time)):
            found = goodarm.judge(data, threshold=0.15, order=order)
            assert found.as_dict()["arms"] == wanted.as_dict()["arms"]
    row = int(expected.arms.when[0])
    moment = str(np.datetime64("2026-05-01T00:00:00") + np.timedelta64(row, "m")).replace("T", " ")
    assert by_time.arms.when is not None
    assert by_time.arms.when[0] == moment
    assert any("the first verdict was known at 2026-05-01" in note for note in by_time.notes)


@pytest.mark.slow
def test_a_verdict_by_totals_agrees_with_its_interval_and_is_final(log: pl.DataFrame) -> None:
    found = goodarm.judge(log, threshold=0.15, order="number", rule="gap-mixture")
    assert ((found.arms.low >= 0.15) == (found.arms.verdict == 1)).all()
    late = goodarm.judge(log, threshold=0.15)
    assert set(late.good) <= set(found.good)
    early = goodarm.judge(log.filter(pl.col("number") <= int(found.arms.when[0])), threshold=0.15)
    assert found.arms.arm[0] in early.good + early.bad


@pytest.mark.slow
def test_postgresql_in_order(log: pl.DataFrame) -> None:
    with postgresql() as server:
        import psycopg

        with psycopg.connect(server.url) as con:
            con.execute("CREATE TABLE log (item text, click bigint, number bigint)")
            with con.cursor().copy("COPY log FROM STDIN") as copy:
                for row in log.select("item", "click", "number").iter_rows():
                    copy.write_row(row)
        found = goodarm.judge(server.url, table="log", threshold=0.15, order="number").as_dict()["arms"]
    assert found == goodarm.judge(log, threshold=0.15, order="number").as_dict()["arms"]


@pytest.mark.slow
def test_what_the_terminal_says(log: pl.DataFrame, tmp_path: Path) -> None:
    log.write_csv(tmp_path / "log.csv")
    out = str(tmp_path / "out")
    ran = CliRunner().invoke(
        app, ["judge", f"{tmp_path}/log.csv", "--threshold", "0.15", "--order", "at", "--out", out]
    )
    assert ran.exit_code == 0, ran.output
    assert "known at" in ran.stdout
    assert "2026-05-0" in ran.stdout
    assert (tmp_path / "out" / "judgement.html").read_text(encoding="utf-8").count("known at") >= 4


def test_rows_without_a_place_and_totals_are_refused() -> None:
    log = {"arm": ["a", "b"], "reward": [1, 0], "at": [1.0, None]}
    with pytest.raises(GoodarmError, match="some rows have no at"):
        goodarm.judge(log, threshold=0.5, order="at")
    with pytest.raises(GoodarmError, match="a table of totals, which have no order"):
        goodarm.judge({"arm": ["a"], "pulls": [3], "total": [1], "at": [1]}, threshold=0.5, order="at")


def by_day(seed: int) -> pl.DataFrame:
    """Four arms exactly at the bar 0.1; an export that lists the rows of each day sorted by click."""
    chance = np.random.default_rng(seed)
    rows = 8000
    log = pl.DataFrame(
        {
            "item": [f"i{k}" for k in chance.integers(0, 4, rows)], "click": (chance.random(rows) < 0.1).astype(int),
            "day": np.repeat(np.arange(20), rows // 20),
        }
    )  # fmt: skip
    return log.sort("day", "click", descending=[False, bool(seed % 2)], maintain_order=True)


@pytest.mark.slow
def test_rows_of_the_same_time_are_not_folded_in_the_order_of_the_export() -> None:
    """Sorted by click within a day every arm was called; in a random order hardly any is."""
    called = 0
    for seed in range(20):
        found = goodarm.judge(by_day(seed), threshold=0.1, order="day", delta=0.05)
        called += bool(found.good or found.bad)
    assert called <= 2
    assert any(
        "8,000 rows have the same day as another: they were processed in a random order" in n for n in found.notes
    )


def test_ties_are_broken_alike_wherever_the_log_is_and_however_it_is_listed(tmp_path: Path) -> None:
    log = by_day(1)
    log.write_parquet(tmp_path / "log.parquet")
    log.write_csv(tmp_path / "log.csv")
    shuffled = log.sample(fraction=1.0, shuffle=True, seed=3)
    sources = (log, shuffled, tmp_path / "log.parquet", tmp_path / "log.csv", ibis.memtable(shuffled.to_arrow()))
    found = [goodarm.judge(data, threshold=0.09, order="day", rule="kt").as_dict()["arms"] for data in sources]
    assert all(each == found[0] for each in found)


def test_ties_across_batches_stay_whole() -> None:
    chance = np.random.default_rng(0)
    at = np.sort(chance.integers(0, 40, 500))
    whole = Batch(chance.integers(0, 3, 500), chance.random(500), at)
    expected = shuffled_ties(whole, np.random.default_rng(5))[0]
    for size in (1, 7, 100, 500):
        parts = [Batch(*(each[i : i + size] for each in whole)) for i in range(0, 500, size)]
        generator = np.random.default_rng(5)
        pieces = [shuffled_ties(part, generator)[0] for part in whole_ties(parts)]
        for got, wanted in zip(zip(*pieces, strict=True), expected, strict=True):
            assert np.array_equal(np.concatenate(got), wanted)
    assert (expected.at == at).all()
    assert not (expected.arm == whole.arm).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::goodarm.errors.LogWarning")
def test_an_interval_is_never_inverted() -> None:
    """Good at first and then much worse: the verdict is final, and no mean agrees with all rewards."""
    rewards = [1] * 60 + [0] * 600
    log = {"arm": ["a"] * 660, "reward": rewards, "at": list(range(660))}
    found = goodarm.judge(log, threshold=0.5, order="at", rule="gap-mixture")
    assert found.good == ["a"]
    assert np.isnan(found.arms.low).all()
    assert np.isnan(found.arms.high).all()
    assert found.as_dict()["arms"][0]["low"] is None
    assert any("the rewards after the verdict contradict it" in note for note in found.notes)
    assert "interval" not in _shown(found)


def _shown(found: Judgement) -> str:
    from goodarm.report.judged import table

    screen = Console(width=120, record=True, file=io.StringIO())
    screen.print(table(found))
    return screen.export_text()


@pytest.mark.slow
@pytest.mark.parametrize("threshold", [0.02, 0.5])
def test_the_promise_in_order(threshold: float) -> None:
    """All arms at the threshold: any `bad` is wrong; by symmetry `good` is no more frequent than delta either."""
    runs, rows, arms, delta = 300, 1500, 4, 0.1
    chance = np.random.default_rng(int(100 * threshold))
    good = bad = 0
    for _ in range(runs):
        seen = OrderedLog(policy("uniform", "learned-bets"), Problem(threshold=threshold, arms=arms, delta=delta))
        seen.absorb(chance.integers(0, arms, rows), (chance.random(rows) < threshold).astype(float))
        good += int((seen.verdicts == 1).any())
        bad += int((seen.verdicts == -1).any())
    assert min(binomial_tail(good, runs, delta), binomial_tail(bad, runs, delta)) > LAW_LEVEL
