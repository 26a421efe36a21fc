"""Against a control: the formula, the interval, and the verb."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize_scalar
from typer.testing import CliRunner

import goodarm
from goodarm.cli import app
from goodarm.errors import GoodarmError
from goodarm.judgement.options import LogOptions
from goodarm.judgement.versus import decide_versus
from goodarm.question import Control
from goodarm.rules.identification.versus import against_control, better_by, log_bets

LOG = {"arm": ["now", "red", "blue", "green"], "pulls": [9000, 3000, 3000, 3000], "total": [450, 240, 30, 156]}


def test_the_minimum_is_found_from_below() -> None:
    chance = np.random.default_rng(0)
    for _ in range(60):
        n, n0 = map(float, chance.integers(1, 5000, 2))
        s, s0 = (float(chance.binomial(int(each), chance.random())) for each in (n, n0))
        margin = chance.uniform(-0.3, 0.3)
        low, high = max(0.0, -margin), min(1.0, 1.0 - margin)
        rest = (n, s, n0, s0, margin)
        inside = minimize_scalar(
            lambda theta, rest=rest: log_bets(theta, *rest)[0], bounds=(low, high), method="bounded"
        )
        best = min(inside.fun, log_bets(low, *rest)[0], log_bets(high, *rest)[0])
        assert best - 0.02 - 1e-5 * abs(best) <= better_by(*rest) <= best + 1e-9 * abs(best)


def test_slope_is_the_derivative() -> None:
    for theta in (0.05, 0.3, 0.6):
        ahead, here = (log_bets(theta + h, 500.0, 90.0, 800.0, 100.0, 0.02)[0] for h in (1e-6, -1e-6))
        assert math.isclose((ahead - here) / 2e-6, log_bets(theta, 500.0, 90.0, 800.0, 100.0, 0.02)[1], rel_tol=1e-4)


def test_a_step_is_a_fair_game_at_the_boundary() -> None:
    """At the control's true mean each bet is worth what it was, on average over the next 0/1 reward of either arm."""
    for margin, theta in ((0.0, 0.1), (0.05, 0.3), (-0.2, 0.5)):
        for n, s, n0, s0 in ((40.0, 9.0, 60.0, 4.0), (500.0, 300.0, 20.0, 3.0)):
            now = math.exp(log_bets(theta, n, s, n0, s0, margin)[0])
            mean = theta + margin
            arm = [math.exp(log_bets(theta, n + 1, s + x, n0, s0, margin)[0]) for x in (0.0, 1.0)]
            control = [math.exp(log_bets(theta, n, s, n0 + 1, s0 + x, margin)[0]) for x in (0.0, 1.0)]
            assert math.isclose((1 - mean) * arm[0] + mean * arm[1], now, rel_tol=1e-9)
            assert math.isclose((1 - theta) * control[0] + theta * control[1], now, rel_tol=1e-9)


def test_the_two_sides_are_mirror_images() -> None:
    good, bad = against_control(300.0, 60.0, 400.0, 50.0, 0.03)
    mirrored = against_control(300.0, 240.0, 400.0, 350.0, -0.03)
    assert (bad, good) == mirrored


def test_interval_verdict_and_needs_agree() -> None:
    chance = np.random.default_rng(3)
    pulls = chance.integers(500, 8000, 40).astype(float)
    totals = chance.binomial(pulls.astype(int), chance.uniform(0.02, 0.09, 40)).astype(float)
    found = decide_versus(LogOptions(Control("c")), pulls, totals, 9000.0, 450.0, 40)
    assert {-1, 0, 1} == set(found.verdict.tolist())
    assert ((found.low >= 0.5) == (found.verdict == 1)).all()
    assert ((found.high <= 0.5) == (found.verdict == -1)).all()
    waiting = np.flatnonzero((found.verdict == 0) & np.isfinite(found.needs))
    for i in waiting[:5]:
        times = 1.0 + found.needs[i] / pulls[i]
        level = math.log(40 / 0.05)
        assert max(against_control(times * pulls[i], times * totals[i], times * 9000, times * 450, 0.0)) >= level - 0.05


def test_the_verb(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = zip(*LOG.values(), strict=True)
    path.write_text("\n".join([",".join(LOG), *(",".join(map(str, row)) for row in rows)]) + "\n")
    ran = CliRunner().invoke(app, ["judge", str(path), "--versus", "now", "--json"])
    assert ran.exit_code == 0, ran.output
    found = json.loads(ran.stdout)
    assert {row["arm"]: row["verdict"] for row in found["arms"]} == {
        "red": "better",
        "blue": "not better",
        "green": "open",
    }
    assert (found["good"], found["bad"], found["open"], found["threshold"]) == (1, 1, 1, None)
    assert found["sentence"].startswith("1 of 3 arms is better than now, 1 not, 1 undecided")
    assert found["arms"][0]["mean"] == pytest.approx(0.03)
    assert found["arms"][0]["low"] > 0.0
    shown = CliRunner().invoke(app, ["judge", str(path), "--versus", "now", "--margin", "-0.02"])
    assert "2 of 3 arms are better than now or less than 2 pp worse, 1 not" in " ".join(shown.output.split())


def test_each_segment_has_its_own_control() -> None:
    log = {
        "arm": ["a", "b", "a", "b"], "pulls": [4000] * 4, "total": [100, 250, 250, 100], "shop": ["x", "x", "y", "y"],
    }  # fmt: skip
    found = goodarm.judge(log, versus="a", by="shop")
    assert (found.good, found.bad) == ([("x", "b")], [("y", "b")])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"versus": "nwo"}, "unknown control 'nwo'. Did you mean 'now'"),
        (
            {"versus": "now", "threshold": 0.1},
            "threshold=0.1 and versus='now': leave `threshold` or `versus` out",
        ),
        ({"versus": "now", "margin": 1.5}, "margin must be less than"),
        ({"versus": "now", "rewards": "gaussian:1"}, "bounded rewards only. Compare .*nonnegative:CAP"),
        ({"versus": "now", "rule": "kt"}, "Leave `rule` out"),
    ],
)
def test_what_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(GoodarmError, match=message):
        goodarm.judge(LOG, **options)


def revenue(seed: int = 0, rows: int = 3000) -> dict[str, list[Any]]:
    """Amounts of users with two rows each. One of them lies far above all others."""
    chance = np.random.default_rng(seed)
    arm = np.array(["now", "new", "old"])[chance.integers(3, size=rows)]
    paid = chance.random(rows) < np.where(arm == "new", 0.5, 0.2)
    amounts = np.where(paid, chance.exponential(100.0, rows), 0.0)
    amounts[7] = 99_999.0
    return {"arm": arm.tolist(), "amount": amounts.tolist(), "user": (np.arange(rows) // 2).tolist()}


@pytest.mark.parametrize("unit", [{}, {"unit": "user"}, {"unit": "user", "per_unit": "sum"}])
@pytest.mark.filterwarnings("ignore::goodarm.errors.LogWarning")
def test_rewards_cut_at_a_cap_are_compared_in_every_source(tmp_path: Path, unit: dict[str, str]) -> None:
    log = pl.DataFrame(revenue())
    log.write_csv(tmp_path / "log.csv")
    log.write_parquet(tmp_path / "log.parquet")
    options: dict[str, Any] = {"arm": "arm", "reward": "amount", "versus": "now", **unit}
    if unit:  # one reward per user, cut
        per_user = log.group_by("arm", "user").agg(getattr(pl.col("amount"), unit.get("per_unit", "mean"))())
    else:
        per_user = log
    cut = per_user.with_columns(pl.col("amount").clip(upper_bound=150.0))
    plain = goodarm.judge(cut, **{**options, "per_unit": "mean"}, rewards="bounded:0,150")
    for source in (log, log.lazy(), log.to_pandas(), tmp_path / "log.csv", tmp_path / "log.parquet"):
        found = goodarm.judge(source, **options, rewards="nonnegative:150")
        assert found.good == plain.good == ["new"]
        for name in ("pulls", "mean", "low", "high", "evidence"):
            assert getattr(found.arms, name) == pytest.approx(getattr(plain.arms, name), rel=1e-9)
        assert "certified for rewards cut at 150" in found.sentence
        assert found.as_dict()["cut"] == 150.0
        assert found.conditions[0] == "the cap of 150 was fixed before anyone looked at these rewards"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rewards": "nonnegative"}, "Compare rewards cut at a cap, `rewards='nonnegative:CAP'`"),
        ({"rewards": "bounded:0,500"}, "or `rewards='nonnegative:CAP'` to compare amounts cut at CAP"),
        ({"rewards": "nonnegative:500", "value": -1.0}, "-1.0 of arm 'now'"),
        ({"rewards": "nonnegative:500", "value": math.inf}, "is infinite: inf"),
        ({"rewards": "nonnegative:500", "value": math.nan}, "1 reward is missing"),
    ],
)
@pytest.mark.filterwarnings("ignore::goodarm.errors.LogWarning")
def test_amounts_that_cannot_be_compared(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    log = revenue()
    if "value" in change:
        log["amount"][log["arm"].index("now")] = change["value"]
    pl.DataFrame(log).write_parquet(tmp_path / "log.parquet")
    for data in (pl.DataFrame(log), tmp_path / "log.parquet"):
        with pytest.raises(GoodarmError, match=re.escape(words)):
            goodarm.judge(data, arm="arm", reward="amount", versus="now", rewards=change["rewards"])


def test_totals_cannot_be_cut() -> None:
    totals = {"arm": ["a", "b"], "pulls": [10, 10], "total": [30.0, 40.0]}
    with pytest.raises(GoodarmError, match="only single rewards can be cut at 5"):
        goodarm.judge(totals, versus="a", rewards="nonnegative:5")
