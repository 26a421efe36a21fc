"""A log folded in its order: as a campaign would have seen it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from servers import postgresql
from typer.testing import CliRunner

import goodarm
from goodarm.cli import app
from goodarm.engine.ordered_log import OrderedLog
from goodarm.errors import GoodarmError
from goodarm.numerics import binomial_tail
from goodarm.policies import policy
from goodarm.policies.names import identification_rule
from goodarm.problem import Problem
from goodarm.rules.beliefs import Arm

MEANS = np.array([0.02, 0.1, 0.2, 0.3])


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    chance = np.random.default_rng(8)
    arm = chance.integers(0, 4, 8000)
    reward = (chance.random(arm.size) < MEANS[arm]).astype(int)
    at = np.datetime64("2026-05-01", "us") + np.arange(arm.size) * np.timedelta64(60_000_000, "us")
    frame = pl.DataFrame({"item": [f"i{k}" for k in arm], "click": reward, "at": at, "number": np.arange(arm.size)})
    return frame.sample(fraction=1.0, shuffle=True, seed=1)


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


def test_a_verdict_by_totals_agrees_with_its_interval_and_is_final(log: pl.DataFrame) -> None:
    found = goodarm.judge(log, threshold=0.15, order="number", rule="gap-mixture")
    assert ((found.arms.low >= 0.15) == (found.arms.verdict == 1)).all()
    late = goodarm.judge(log, threshold=0.15)
    assert set(late.good) <= set(found.good)
    early = goodarm.judge(log.filter(pl.col("number") <= int(found.arms.when[0])), threshold=0.15)
    assert found.arms.arm[0] in early.good + early.bad


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
    assert min(binomial_tail(good, runs, delta), binomial_tail(bad, runs, delta)) > 1e-6
